/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that writes a job's additions to the tuning cache, because a file system may take
 * seconds, and many jobs may need the same file. If no thread can be created, they are written at
 * once.
 *
 * Called by cache.c. Any thread. */
#ifndef NICBARR_CACHE_WRITER_H
#define NICBARR_CACHE_WRITER_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/files/cache_trouble.h"
#include "coll_nicbarr/shape.h"

enum { NICBARR_CACHE_MACHINE = 500, NICBARR_CACHE_WHAT = 60 /* bytes */ };

struct nicbarr_cache_addition {
    struct nicbarr_cache_addition *next; /* for the writer */
    char *list;                          /* of files, as in coll_nicbarr_cache; to be freed */
    struct nicbarr_shape shape;
    char machine[NICBARR_CACHE_MACHINE]; /* as in struct nicbarr_cache_file */
    char what[NICBARR_CACHE_WHAT];       /* likewise; empty: MPI_Barrier */
    struct nicbarr_measurement measurement;
};

/* Add it to the first file of its list that accepts it. Frees it. */
void nicbarr_cache_writer_add(struct nicbarr_cache_addition *addition);

/* The job ends: wait until all is written, with a timeout. */
void nicbarr_cache_writer_close(void);

/* The first file of a list of which none accepted an addition. */
extern struct nicbarr_cache_trouble nicbarr_cache_writer_trouble;

#endif
