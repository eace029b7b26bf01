/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the files of the tuning cache, from the list in coll_nicbarr_cache.
 *
 * The component and `nicbarr doctor` (tools/probe) use these functions. They read the environment
 * (XDG_CACHE_HOME, HOME), but open no files. Any thread may call them. */
#ifndef NICBARR_CACHE_LOCATIONS_H
#define NICBARR_CACHE_LOCATIONS_H

#include <limits.h>
#include <stdbool.h>

/* An entry of the list. */
struct nicbarr_cache_location {
    bool remeasure; /* the keyword "remeasure" and not a file: the files that follow are not read */
    char path[PATH_MAX];  /* empty: "none" */
    char below[PATH_MAX]; /* directory within which missing directories are created; empty: none are
                             created */
};

/* Returns a copy of the list in which relative paths have been made absolute, based on `directory`,
 * because the program may change its working directory. The caller frees the copy. Returns NULL if
 * out of memory. An empty list stays empty. */
char *nicbarr_cache_absolute(const char *list, const char *directory);

/* Parse the next word of `list`, and advance `list` past it. Returns false at the end of the list.
 * The word "auto", which denotes the user's own file, is skipped if the environment does not
 * determine that file. */
bool nicbarr_cache_next_location(const char **list, struct nicbarr_cache_location *location);

#endif
