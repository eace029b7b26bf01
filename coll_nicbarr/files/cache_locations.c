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

static bool is_word(const char *entry, size_t length)
{
    static const char *const words[] = {"auto", "none", "anew"};
    bool is = 0 == length;
    for (size_t w = 0; !is && w < sizeof(words) / sizeof(words[0]); ++w) {
        is = strlen(words[w]) == length && 0 == strncmp(entry, words[w], length);
    }
    return is;
}

char *nicbarr_cache_absolute(const char *list, const char *directory)
{
    size_t entries = 1;
    for (const char *at = list; '\0' != *at; ++at) {
        entries += ',' == *at;
    }
    const size_t room = strlen(list) + entries * (strlen(directory) + 1) + 1;
    char *absolute = malloc(room);
    size_t filled = 0;
    while (NULL != absolute) {
        const size_t length = strcspn(list, ",");
        const bool relative = '/' != *list && !is_word(list, length);
        filled += (size_t)snprintf(absolute + filled, room - filled, "%s%s%.*s%s",
                                   relative ? directory : "", relative ? "/" : "", (int)length,
                                   list, ',' == list[length] ? "," : "");
        if ('\0' == list[length]) {
            break;
        }
        list += length + 1;
    }
    return absolute;
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
