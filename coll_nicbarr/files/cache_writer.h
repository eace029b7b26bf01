/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the measurements of a job to the tuning cache. A background thread writes them, because a
 * file system may take seconds to respond, and many jobs may write to the same file. If no thread
 * can be created, each addition is written immediately.
 *
 * Called by cache.c, from any thread. */
#ifndef NICBARR_CACHE_WRITER_H
#define NICBARR_CACHE_WRITER_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/files/cache_trouble.h"
#include "coll_nicbarr/shape.h"

enum { NICBARR_CACHE_MACHINE = 500, NICBARR_CACHE_WHAT = 60 /* sizes in bytes */ };

struct nicbarr_cache_addition {
    struct nicbarr_cache_addition *next; /* used by the writer's queue */
    char *list; /* list of files, as in coll_nicbarr_cache; freed with the addition */
    struct nicbarr_shape shape;
    char machine[NICBARR_CACHE_MACHINE]; /* as in struct nicbarr_cache_file */
    char what[NICBARR_CACHE_WHAT];       /* as in struct nicbarr_cache_file; empty: MPI_Barrier */
    struct nicbarr_measurement measurement;
};

/* Queue an addition, to be written to the first file of its list that accepts it. Takes
 * ownership. */
void nicbarr_cache_writer_add(struct nicbarr_cache_addition *addition);

/* Wait until all additions are written, but not longer than a second, because the job is about to
 * end. */
void nicbarr_cache_writer_close(void);

/* Contains the error of the first file of a list, if none of its files has accepted an addition. */
extern struct nicbarr_cache_trouble nicbarr_cache_writer_trouble;

#endif
