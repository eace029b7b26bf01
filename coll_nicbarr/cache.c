/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning cache: what was measured, remembered across jobs in one JSON file of the user's.
 *
 * An entry's key names all that the measurement depends on. The file is replaced as a whole, by
 * rename, under a lock on its folder; one that is not ours, or broken, is left alone and ignored
 * with one line.
 */
#include "coll_nicbarr/coll_nicbarr.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll_nicbarr/tuning.h"

static const char *format = "nicbarr tuning cache 1";

/* The file's path; false where there is to be none. */
static bool find_path(char path[PATH_MAX])
{
    const char *cache = mca_coll_nicbarr_component.cache;
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

/* Nothing where the soft NIC alone plays: so entries older than the kernel's stay valid. */
static const char *players_text(const struct nicbarr_shape *shape)
{
    return !nicbarr_has(shape, NICBARR_KERNEL) ? ""
           : nicbarr_has(shape, NICBARR_SOFT)  ? ", kernel's NIC"
                                               : ", kernel's NIC alone";
}

static void make_key(const struct nicbarr_shape *shape, char *key, size_t bytes)
{
    snprintf(
        key, bytes,
        "%s | %s | Open MPI %d.%d.%d | nicbarr %s | nodes %u, processes %u, bound to %u sets of "
        "processors of %u%s%s",
        nicbarr_host_name(), nicbarr_processor_name(), OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
        OMPI_RELEASE_VERSION, NICBARR_VERSION, shape->nodes, shape->processes, shape->homes,
        shape->processors, shape->oversubscribed ? ", oversubscribed" : "", players_text(shape));
}

static void complain(const char *path, const char *why)
{
    if (nicbarr_say_once(NICBARR_SAID_CACHE)) {
        opal_output(0,
                    "nicbarr: the tuning cache %s is not used: %s. Remove it, or choose another "
                    "with --mca coll_nicbarr_cache FILE (or none)",
                    path, why);
    }
}

/* The file's contents; NULL where there is no file, or one that must be left alone (`foreign`). */
static json_t *load(const char *path, bool *foreign)
{
    json_error_t error;
    *foreign = false;
    if (0 != access(path, F_OK)) {
        return NULL;
    }
    json_t *root = json_load_file(path, 0, &error);
    if (NULL == root) {
        char why[sizeof(error.text) + 32];
        snprintf(why, sizeof(why), "line %d: %s", error.line, error.text);
        complain(path, why);
        *foreign = true;
        return NULL;
    }
    const char *says = json_string_value(json_object_get(root, "format"));
    if (NULL == says || 0 != strcmp(says, format) ||
        !json_is_object(json_object_get(root, "entries"))) {
        complain(path, "it is something else, or of another version of nicbarr");
        json_decref(root);
        *foreign = true;
        return NULL;
    }
    return root;
}

bool nicbarr_cache_read(const struct nicbarr_shape *shape, struct nicbarr_choice *choice)
{
    char path[PATH_MAX], key[512];
    bool foreign;
    if (!find_path(path)) {
        return false;
    }
    json_t *root = load(path, &foreign);
    make_key(shape, key, sizeof(key));
    const char *name = json_string_value(
        json_object_get(json_object_get(json_object_get(root, "entries"), key), "choice"));
    const bool known = NULL != name && nicbarr_choice_parse(name, choice);
    const bool found = known && nicbarr_playable(shape, *choice);
    if (NULL != name && !found) {
        complain(path, known ? "it names a NIC that is not there"
                             : "it names an algorithm that does not exist");
    }
    json_decref(root);
    return found;
}

/* Create the folders that lead to `path`. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    for (char *slash = strchr(folder + 1, '/'); NULL != slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0700); /* what cannot be created shows when the file is */
        *slash = '/';
    }
}

/* Write to a new file beside it, then rename: readers see the old one or the new one. */
static int replace(const char *path, const json_t *root)
{
    char fresh[PATH_MAX + 16];
    snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    if (0 != json_dump_file(root, fresh, JSON_INDENT(1) | JSON_SORT_KEYS)) {
        (void)unlink(fresh);
        return -1;
    }
    return rename(fresh, path);
}

static json_t *entry_of(const struct nicbarr_tuning *tuning, struct nicbarr_choice choice)
{
    char name[NICBARR_CHOICE_TEXT], when[NICBARR_TIME_TEXT];
    double us = 0;
    for (int c = 0; c < tuning->count; ++c) {
        if (nicbarr_choice_equal(tuning->candidates[c].choice, choice)) {
            us = tuning->candidates[c].us.median;
        }
    }
    return json_pack("{s:s, s:f, s:f, s:s}", "choice", nicbarr_choice_name(choice, name),
                     "choice_us", us, "openmpi_us", tuning->candidates[0].us.median, "measured",
                     nicbarr_time_of_day(when));
}

void nicbarr_cache_write(const struct nicbarr_shape *shape, const struct nicbarr_tuning *tuning,
                         struct nicbarr_choice choice)
{
    char path[PATH_MAX], key[512];
    if (!find_path(path)) {
        return;
    }
    make_folders(path);
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    const int door = open(NULL == slash ? "." : (*slash = '\0', folder[0] ? folder : "/"),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (door < 0 || flock(door, LOCK_EX) < 0) {
        complain(path, strerror(errno));
    } else {
        bool foreign;
        json_t *root = load(path, &foreign);
        if (NULL == root && !foreign) {
            root = json_pack("{s:s, s:{}}", "format", format, "entries");
        }
        if (NULL != root) {
            make_key(shape, key, sizeof(key));
            json_object_set_new(json_object_get(root, "entries"), key, entry_of(tuning, choice));
            if (0 != replace(path, root)) {
                complain(path, strerror(errno));
            }
            json_decref(root);
        }
    }
    if (door >= 0) {
        close(door);
    }
}
