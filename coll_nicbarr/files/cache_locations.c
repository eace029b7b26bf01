/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_locations.h. */
#include "coll_nicbarr/files/cache_locations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Write the directory that contains `path`, which begins with '/', into `parent`. Slashes at the
 * end of `path` are ignored. */
static void write_parent(const char *path, char parent[PATH_MAX])
{
    size_t length = strlen(path);
    while (length > 1 && '/' == path[length - 1]) {
        --length;
    }
    while (length > 1 && '/' != path[length - 1]) {
        --length;
    }
    snprintf(parent, PATH_MAX, "%.*s", (int)length, path);
}

/* Find the user's own file. Returns false if the environment does not determine its directory. */
static bool find_own(struct nicbarr_cache_location *location)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (NULL != xdg && '/' == *xdg) {
        length = snprintf(location->path, PATH_MAX, "%s/nicbarr/tuning.jsonl", xdg);
        write_parent(xdg, location->below);
    } else if (NULL != home && '/' == *home) {
        length = snprintf(location->path, PATH_MAX, "%s/.cache/nicbarr/tuning.jsonl", home);
    }
    return 0 < length && length < PATH_MAX;
}

static bool is_word(const char *entry, size_t length, const char *word)
{
    return strlen(word) == length && 0 == strncmp(entry, word, length);
}

static bool is_path(const char *entry, size_t length)
{
    return 0 != length && !is_word(entry, length, "auto") && !is_word(entry, length, "none") &&
           !is_word(entry, length, "remeasure");
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
        const bool relative = '/' != *list && is_path(list, length);
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
        *location =
            (struct nicbarr_cache_location){.remeasure = is_word(*list, length, "remeasure")};
        snprintf(location->below, PATH_MAX, "%s", NULL == home ? "" : home);
        if (is_word(*list, length, "auto")) {
            found = find_own(location);
        } else if (location->remeasure || is_word(*list, length, "none")) {
            found = true;
        } else if (0 < length && length < PATH_MAX) {
            snprintf(location->path, PATH_MAX, "%.*s", (int)length, *list);
            found = true;
        }
        *list += length + (',' == (*list)[length]);
    }
    return found;
}
