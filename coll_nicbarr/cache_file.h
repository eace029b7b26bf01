/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of the tuning cache: measured choices by the shape they were measured on, as JSON.
 * cache.c says which file it is, and knows the component; here is neither that nor Open MPI.
 *
 * The file is replaced as a whole, by rename, under a lock on its folder. Readers need no lock.
 * They see the old file or the new one. A file that is not ours, or is broken, is left alone.
 *
 * Functions may be called by any thread of any process. Where there is something to complain of,
 * `error` says what; else its text stays empty.
 */
#ifndef NICBARR_CACHE_FILE_H
#define NICBARR_CACHE_FILE_H

#include "coll_nicbarr/shape.h"
#include "libmyr/status.h"

struct nicbarr_cache_file {
    const char *path;
    const char *machine; /* all that a measurement depends on besides the shape, in words */
    const char *what;    /* which collective, of which size, in words; NULL: MPI_Barrier */
};

/* What was measured. */
struct nicbarr_cache_entry {
    struct nicbarr_choice choice;
    double choice_us, openmpi_us; /* medians of this one and of Open MPI's own */
    const char *measured;         /* when, ISO 8601 */
};

/* The remembered choice for `shape`; false if there is none, or none that can be played there. */
bool nicbarr_cache_file_read(const struct nicbarr_cache_file *file,
                             const struct nicbarr_shape *shape, struct nicbarr_choice *choice,
                             struct myr_error *error);

/* Remember it, in place of what was known of `shape`; makes the folders that lead to the file. */
bool nicbarr_cache_file_write(const struct nicbarr_cache_file *file,
                              const struct nicbarr_shape *shape,
                              const struct nicbarr_cache_entry *entry, struct myr_error *error);

#endif
