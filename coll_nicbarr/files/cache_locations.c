/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_locations.h. */
#include "coll_nicbarr/files/cache_locations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Find the user's own file. Returns false if the environment does not determine its directory. */
static bool find_own(struct nicbarr_cache_location *location)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (NULL != xdg && '/' == *xdg) {
        length = snprintf(location->path, PATH_MAX, "%s/nicbarr/tuning.jsonl", xdg);
        snprintf(location->below, PATH_MAX, "%.*s", (int)(strrchr(xdg, '/') - xdg), xdg);
    } else if (NULL != home && '/' == *home) {
        length = snprintf(location->path, PATH_MAX, "%s/.cache/nicbarr/tuning.jsonl", home);
    }
    return 0 < length && length < PATH_MAX;
}

bool nicbarr_cache_next_location(const char **list, struct nicbarr_cache_location *location)
{
    const char *home = getenv("HOME");
    bool found = false;
    while (!found && NULL != *list && '\0' != **list) {
        const size_t length = strcspn(*list, ",");
        *location = (struct nicbarr_cache_location){.anew = 4 == length &&
                                                            0 == strncmp(*list, "anew", length)};
        snprintf(location->below, PATH_MAX, "%s", NULL == home ? "" : home);
        if (4 == length && 0 == strncmp(*list, "auto", length)) {
            found = find_own(location);
        } else if (location->anew || (4 == length && 0 == strncmp(*list, "none", length))) {
            found = true;
        } else if (0 < length && length < PATH_MAX) {
            snprintf(location->path, PATH_MAX, "%.*s", (int)length, *list);
            found = true;
        }
        *list += length + (',' == (*list)[length]);
    }
    return found;
}
