/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning cache as the component has it. Which file is it (coll_nicbarr_cache)? What do its
 * measurements depend on? What is said of it, once on a node? The file itself is cache_file.c's.
 */
#include "coll_nicbarr/cache.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/cache_file.h"
#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/this_host.h"

/* The file's path; false where there is to be none. */
static bool find_path(char path[PATH_MAX])
{
    const char *cache = mca_coll_nicbarr_component.parameters.cache;
    if (NULL == cache || '\0' == *cache || 0 == strcmp(cache, "none")) {
        return false;
    }
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (0 != strcmp(cache, "auto")) {
        length = snprintf(path, PATH_MAX, "%s", cache);
    } else if (NULL != xdg && '/' == *xdg) {
        length = snprintf(path, PATH_MAX, "%s/nicbarr/tuning.json", xdg);
    } else if (NULL != home && '/' == *home) {
        length = snprintf(path, PATH_MAX, "%s/.cache/nicbarr/tuning.json", home);
    }
    return 0 < length && length < PATH_MAX;
}

/* The file's name, and what its measurements depend on; their memory is the caller's. */
enum { MACHINE_BYTES = 400 };
static bool find_file(struct nicbarr_cache_file *file, const char *what, char path[PATH_MAX],
                      char machine[MACHINE_BYTES])
{
    snprintf(machine, MACHINE_BYTES, "%s | %s | Open MPI %d.%d.%d | nicbarr %s",
             nicbarr_host_name(), nicbarr_processor_name(), OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
             OMPI_RELEASE_VERSION, NICBARR_VERSION);
    *file = (struct nicbarr_cache_file){path, machine, what};
    return find_path(path);
}

static void complain(const char *path, const struct myr_error *error)
{
    if ('\0' != error->text[0] && nicbarr_say_once(NICBARR_SAID_CACHE)) {
        opal_output(0,
                    "nicbarr: the tuning cache %s is not used: %s. Remove it, or choose another "
                    "with --mca coll_nicbarr_cache FILE (or none)",
                    path, error->text);
    }
}

bool nicbarr_cache_read(const struct nicbarr_shape *shape, const char *what,
                        struct nicbarr_choice *choice)
{
    char path[PATH_MAX], machine[MACHINE_BYTES];
    struct nicbarr_cache_file file;
    struct myr_error error = {0};
    if (!find_file(&file, what, path, machine)) {
        return false;
    }
    const bool found = nicbarr_cache_file_read(&file, shape, choice, &error);
    complain(path, &error);
    return found;
}

void nicbarr_cache_write(const struct nicbarr_shape *shape, const char *what,
                         struct nicbarr_choice choice, double choice_us, double openmpi_us)
{
    char path[PATH_MAX], machine[MACHINE_BYTES], when[NICBARR_TIME_TEXT];
    struct nicbarr_cache_file file;
    struct myr_error error = {0};
    const struct nicbarr_cache_entry entry = {choice, choice_us, openmpi_us,
                                              nicbarr_time_of_day(when)};
    if (find_file(&file, what, path, machine)) {
        (void)nicbarr_cache_file_write(&file, shape, &entry, &error);
        complain(path, &error);
    }
}
