/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which files the tuning cache has: what the list in coll_nicbarr_cache means.
 *
 * Called by cache.c, and by `nicbarr doctor`. Reads the environment (XDG_CACHE_HOME, HOME), opens
 * nothing. Any thread.
 */
#ifndef NICBARR_CACHE_PLACES_H
#define NICBARR_CACHE_PLACES_H

#include <limits.h>
#include <stdbool.h>

/* A file of the list. */
struct nicbarr_cache_place {
    bool anew;            /* no file, but the word for it: nothing is read from here on */
    char path[PATH_MAX];  /* empty: "none" */
    char below[PATH_MAX]; /* where missing folders are made; empty: nowhere */
};

/* Take the next word off `list`, which moves on. False at its end. (Where nobody knows the user's
 * own file, "auto" is passed over.) */
bool nicbarr_cache_next_place(const char **list, struct nicbarr_cache_place *place);

#endif
