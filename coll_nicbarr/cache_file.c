/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_file.h. */
#include "coll_nicbarr/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll_nicbarr/nics.h"
#include "coll_nicbarr/regular_file.h"

enum {
    KEY_BYTES = 512,
    /* How long another may keep the folder locked: one of this user's, or anybody. (What is not
     * remembered is measured again.) */
    OWN_LOCK_MS = 30000,
    FOREIGN_LOCK_MS = 2000,
};

static const char *format = "nicbarr tuning cache 1";

/* Between nodes: the NICs that can play; returns text. */
static const char *players_text(const struct nicbarr_shape *shape, char *text, size_t bytes)
{
    int length = 0;
    text[0] = '\0';
    for (uint32_t nic = 1; nic < nicbarr_nics_end() && length < (int)bytes; ++nic) {
        if (nicbarr_has(shape, nic)) {
            length += snprintf(text + length, bytes - (size_t)length, "%s%s",
                               0 == length ? ", by " : " or ", nicbarr_kind(nic)->name);
        }
    }
    return text;
}

static void make_key(const struct nicbarr_cache_file *file, const struct nicbarr_shape *shape,
                     char key[KEY_BYTES])
{
    char players[100];
    snprintf(key, KEY_BYTES,
             "%s | nodes %u, processes %u, bound to %u sets of processors of %u%s%s%s%s",
             file->machine, shape->nodes, shape->processes, shape->homes, shape->processors,
             shape->oversubscribed ? ", oversubscribed" : "",
             players_text(shape, players, sizeof(players)), NULL == file->what ? "" : " | ",
             NULL == file->what ? "" : file->what);
}

/* The file's contents; NULL where there is no file, or one that must be left alone (`foreign`). */
static json_t *load(const char *path, bool *foreign, struct myr_error *error)
{
    json_error_t trouble;
    struct myr_error why;
    const int in = nicbarr_open_regular(path, O_RDONLY, 0, &why);
    *foreign = in < 0 && MYR_ERR_NOT_THERE != why.status;
    if (in < 0) {
        *error = *foreign ? why : *error;
        return NULL;
    }
    json_t *root = json_loadfd(in, 0, &trouble);
    close(in);
    if (NULL == root) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0, "line %d: %s", trouble.line, trouble.text);
        *foreign = true;
        return NULL;
    }
    const char *says = json_string_value(json_object_get(root, "format"));
    if (NULL == says || 0 != strcmp(says, format) ||
        !json_is_object(json_object_get(root, "entries"))) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0,
                        "it is something else, or of another version of nicbarr");
        json_decref(root);
        *foreign = true;
        return NULL;
    }
    return root;
}

bool nicbarr_cache_file_read(const struct nicbarr_cache_file *file,
                             const struct nicbarr_shape *shape, struct nicbarr_choice *choice,
                             struct myr_error *error)
{
    char key[KEY_BYTES];
    bool foreign;
    json_t *root = load(file->path, &foreign, error);
    make_key(file, shape, key);
    const char *name = json_string_value(
        json_object_get(json_object_get(json_object_get(root, "entries"), key), "choice"));
    const bool known =
        NULL != name && (NULL == file->what ? nicbarr_choice_parse(name, choice)
                                            : nicbarr_choice_parse_data(name, choice));
    const bool found = known && nicbarr_playable(shape, *choice);
    if (NULL != name && !found) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0, "%s",
                        known ? "it names a NIC that is not there"
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

/* Its folder's descriptor, locked until it is closed; -1 otherwise. */
static int lock_folder(const char *path, struct myr_error *error)
{
    char folder[PATH_MAX];
    struct stat about;
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    const int door = open(NULL == slash ? "." : (*slash = '\0', folder[0] ? folder : "/"),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (door < 0) {
        myr_write_error(error, MYR_ERR_SYSTEM, errno, "its folder");
        return -1;
    }
    const bool private = 0 == fstat(door, &about) && 0 == (about.st_mode & 077);
    if (!nicbarr_lock(door, private ? OWN_LOCK_MS : FOREIGN_LOCK_MS, error)) {
        close(door);
        return -1;
    }
    return door;
}

/* Write to a new file beside it, then rename: readers see the old one or the new one. */
static bool replace(const char *path, const json_t *root)
{
    char fresh[PATH_MAX + 16];
    snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    (void)unlink(fresh); /* an earlier process's that was killed */
    const int out = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out < 0) {
        return false;
    }
    bool written = 0 == json_dumpfd(root, out, JSON_INDENT(1) | JSON_SORT_KEYS);
    written = 0 == close(out) && written && 0 == rename(fresh, path);
    const int why = errno;
    if (!written) {
        (void)unlink(fresh);
    }
    errno = why;
    return written;
}

static json_t *entry_json(const struct nicbarr_cache_entry *entry)
{
    char name[NICBARR_CHOICE_TEXT];
    return json_pack("{s:s, s:f, s:f, s:s}", "choice", nicbarr_choice_name(entry->choice, name),
                     "choice_us", entry->choice_us, "openmpi_us", entry->openmpi_us, "measured",
                     entry->measured);
}

bool nicbarr_cache_file_write(const struct nicbarr_cache_file *file,
                              const struct nicbarr_shape *shape,
                              const struct nicbarr_cache_entry *entry, struct myr_error *error)
{
    char key[KEY_BYTES];
    bool foreign, written = false;
    make_folders(file->path);
    const int door = lock_folder(file->path, error);
    if (door < 0) {
        return false;
    }
    json_t *root = load(file->path, &foreign, error);
    if (NULL == root && !foreign) {
        root = json_pack("{s:s, s:{}}", "format", format, "entries");
    }
    if (NULL != root) {
        make_key(file, shape, key);
        json_object_set_new(json_object_get(root, "entries"), key, entry_json(entry));
        written = replace(file->path, root);
        if (!written) {
            myr_write_error(error, MYR_ERR_SYSTEM, errno, "it cannot be written");
        }
        json_decref(root);
    }
    close(door);
    return written;
}
