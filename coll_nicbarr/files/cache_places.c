/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_places.h. */
#include "coll_nicbarr/files/cache_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Find the user's own file. Returns false if the environment does not determine its directory. */
static bool find_own(struct nicbarr_cache_place *place)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (NULL != xdg && '/' == *xdg) {
        length = snprintf(place->path, PATH_MAX, "%s/nicbarr/tuning.jsonl", xdg);
        snprintf(place->below, PATH_MAX, "%.*s", (int)(strrchr(xdg, '/') - xdg), xdg);
    } else if (NULL != home && '/' == *home) {
        length = snprintf(place->path, PATH_MAX, "%s/.cache/nicbarr/tuning.jsonl", home);
    }
    return 0 < length && length < PATH_MAX;
}

bool nicbarr_cache_next_place(const char **list, struct nicbarr_cache_place *place)
{
    const char *home = getenv("HOME");
    bool found = false;
    while (!found && NULL != *list && '\0' != **list) {
        const size_t length = strcspn(*list, ",");
        *place = (struct nicbarr_cache_place){.anew = 4 == length &&
                                                      0 == strncmp(*list, "anew", length)};
        snprintf(place->below, PATH_MAX, "%s", NULL == home ? "" : home);
        if (4 == length && 0 == strncmp(*list, "auto", length)) {
            found = find_own(place);
        } else if (place->anew || (4 == length && 0 == strncmp(*list, "none", length))) {
            found = true;
        } else if (0 < length && length < PATH_MAX) {
            snprintf(place->path, PATH_MAX, "%.*s", (int)length, *list);
            found = true;
        }
        *list += length + (',' == (*list)[length]);
    }
    return found;
}
