/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job adds to the tuning cache is written by a thread: a file system may take seconds to
 * answer, and many jobs may want the same file. Where no thread can be had, it is written at once.
 *
 * Called by cache.c. Any thread.
 */
#ifndef NICBARR_CACHE_WRITER_H
#define NICBARR_CACHE_WRITER_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/files/cache_trouble.h"
#include "coll_nicbarr/shape.h"

enum { NICBARR_CACHE_MACHINE = 500, NICBARR_CACHE_WHAT = 60 /* bytes */ };

struct nicbarr_cache_addition {
    struct nicbarr_cache_addition *next; /* the writer's */
    char *list;                          /* of files, as in coll_nicbarr_cache; to be freed */
    struct nicbarr_shape shape;
    char machine[NICBARR_CACHE_MACHINE]; /* as in struct nicbarr_cache_file */
    char what[NICBARR_CACHE_WHAT];       /* likewise; empty: MPI_Barrier */
    struct nicbarr_measurement measurement;
};

/* Have it added to the first file of its list that takes it. Frees it. */
void nicbarr_cache_writer_add(struct nicbarr_cache_addition *addition);

/* The job ends: wait until all is written, but not for long. */
void nicbarr_cache_writer_close(void);

/* The first file of a list of which none took an addition. */
extern struct nicbarr_cache_trouble nicbarr_cache_writer_trouble;

#endif
