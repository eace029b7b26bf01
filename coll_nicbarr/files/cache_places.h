/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of the tuning cache, from the list in coll_nicbarr_cache.
 *
 * Called by cache.c, and by `nicbarr doctor`. Reads the environment (XDG_CACHE_HOME, HOME), opens
 * nothing. Any thread. */
#ifndef NICBARR_CACHE_PLACES_H
#define NICBARR_CACHE_PLACES_H

#include <limits.h>
#include <stdbool.h>

/* A file of the list. */
struct nicbarr_cache_place {
    bool anew;            /* not a file, but the keyword for it: files from here on are not read */
    char path[PATH_MAX];  /* empty: "none" */
    char below[PATH_MAX]; /* where missing folders are created; empty: nowhere */
};

/* Parse the next word of `list`, which is advanced. False at its end. (If the user's own file is
 * not known, "auto" is skipped.) */
bool nicbarr_cache_next_place(const char **list, struct nicbarr_cache_place *place);

#endif
