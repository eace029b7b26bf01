/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_file.h. */
#include "coll_nicbarr/files/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll_nicbarr/files/cache_json.h"
#include "coll_nicbarr/files/regular_file.h"
#include "coll_nicbarr/nics.h"

enum {
    KEY_BYTES = 800,
    PATH_BYTES = PATH_MAX + 8, /* with a suffix */
    /* How long another may keep the lock: one of this user's, or anybody. (What is not remembered
     * is measured again.) */
    OWN_LOCK_MS = 30000,
    FOREIGN_LOCK_MS = 2000,
};

/* ---- keys ---- */

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
             "%s | nodes %u, processes %u, bound to %u sets of processors of %u%s%s | %s",
             file->machine, shape->nodes, shape->processes, shape->homes, shape->processors,
             shape->oversubscribed ? ", oversubscribed" : "",
             players_text(shape, players, sizeof(players)),
             NULL == file->what ? "MPI_Barrier" : file->what);
}

/* ---- reading ---- */

/* The content of a file that is open; NULL, with a line, if it is none of ours. */
static json_t *parse(int in, struct myr_error *error)
{
    size_t bytes = 0;
    char *text = nicbarr_read_whole(in, NICBARR_CACHE_MOST, &bytes, error);
    json_t *root = NULL == text ? NULL : nicbarr_cache_json_parse(text, bytes, error);
    free(text);
    return root;
}

/* What the file says, and which version of it that was; empty where there is none, with a version
 * that no file has. NULL, with a line, where it must be left alone. */
static json_t *load(const char *path, struct nicbarr_file_version *version, struct myr_error *error)
{
    struct myr_error why;
    *version = (struct nicbarr_file_version){0};
    const int in = nicbarr_open_regular(path, O_RDONLY, 0, &why);
    if (in < 0 && MYR_ERR_NOT_THERE == why.status) {
        return nicbarr_cache_json_empty();
    }
    if (in < 0) {
        *error = why;
        return NULL;
    }
    (void)nicbarr_version_of_open(in, version);
    json_t *root = parse(in, error);
    close(in);
    return root;
}

/* ---- what was parsed ---- */

/*
 * The last few files that this process has parsed, or refused. A file that has not changed since is
 * not opened again. The version cannot tell a file from one of the same size that got the inode of
 * an earlier one within the same tick of the kernel's clock. So only readers, who may see an old
 * file anyway, trust it; a writer always reads the file.
 */
enum { PARSED_KEPT = 4 };

static struct parsed {
    char path[PATH_BYTES];
    struct nicbarr_file_version version;
    json_t *root; /* NULL: it was refused, as `error` says */
    struct myr_error error;
} parsed[PARSED_KEPT];

static pthread_mutex_t parsed_lock = PTHREAD_MUTEX_INITIALIZER; /* around `parsed` */

/* The place of `path`, else the next one to use again. */
static struct parsed *parsed_of(const char *path)
{
    static uint32_t next;
    for (uint32_t i = 0; i < PARSED_KEPT; ++i) {
        if (0 == strcmp(parsed[i].path, path)) {
            return &parsed[i];
        }
    }
    struct parsed *place = &parsed[next++ % PARSED_KEPT];
    json_decref(place->root);
    *place = (struct parsed){.root = NULL};
    return place;
}

/* Takes the reference `root` over. */
static void keep(struct parsed *place, const char *path, const struct nicbarr_file_version *version,
                 json_t *root, const struct myr_error *error)
{
    json_decref(place->root);
    *place = (struct parsed){.version = *version, .root = root, .error = *error};
    snprintf(place->path, sizeof(place->path), "%s", path);
}

/* As load(), but borrowed, and only as new as the file's version tells. With the lock held. */
static const json_t *look_up(const char *path, struct myr_error *error)
{
    struct nicbarr_file_version now;
    struct parsed *place = parsed_of(path);
    if (!nicbarr_version_of_path(path, &now) || '\0' == place->path[0] ||
        !nicbarr_same_version(&now, &place->version)) {
        struct myr_error why = {.text = ""};
        json_t *root = load(path, &now, &why);
        if (NULL == root && MYR_ERR_FOREIGN != why.status) {
            now = (struct nicbarr_file_version){0}; /* it may go better the next time */
        }
        keep(place, path, &now, root, &why);
    }
    if (NULL == place->root) {
        *error = place->error;
    }
    return place->root;
}

void nicbarr_cache_file_forget(void)
{
    pthread_mutex_lock(&parsed_lock);
    for (uint32_t i = 0; i < PARSED_KEPT; ++i) {
        json_decref(parsed[i].root);
        parsed[i] = (struct parsed){.root = NULL};
    }
    pthread_mutex_unlock(&parsed_lock);
}

bool nicbarr_cache_file_read(const struct nicbarr_cache_file *file,
                             const struct nicbarr_shape *shape, struct nicbarr_evidence *evidence,
                             struct myr_error *error)
{
    char key[KEY_BYTES];
    make_key(file, shape, key);
    pthread_mutex_lock(&parsed_lock);
    const json_t *root = look_up(file->path, error);
    nicbarr_cache_json_read(root, key, evidence);
    pthread_mutex_unlock(&parsed_lock);
    return NULL != root;
}

/* ---- writing ---- */

/* Create the folders that lead to `path`, as far as they are missing within `below`. Who has made
 * that folder for another user is not to put his own ones there. Returns why the first one that
 * could not be created was not (errno), or 0. */
static int make_folders(const char *path, const char *below)
{
    char folder[PATH_BYTES];
    struct stat about;
    const size_t skip = NULL == below ? 0 : strlen(below);
    if (0 == skip || 0 != strncmp(path, below, skip) || '/' != path[skip] ||
        0 != stat(below, &about) || about.st_uid != geteuid()) {
        return 0;
    }
    snprintf(folder, sizeof(folder), "%s", path);
    int why = 0;
    for (char *slash = strchr(folder + skip + 1, '/'); NULL != slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) < 0 && EEXIST != errno && 0 == why) {
            why = errno;
        }
        *slash = '/';
    }
    return why;
}

/* Before the lock is made, which stays: nothing is to lie beside a file that is left alone. */
static bool is_ours(const char *path, struct myr_error *error)
{
    pthread_mutex_lock(&parsed_lock);
    const bool ours = NULL != look_up(path, error);
    pthread_mutex_unlock(&parsed_lock);
    return ours;
}

/* The lock's descriptor; it is locked until that is closed. -1 otherwise. Folders are missing
 * because of `no_folders` (errno), or because nobody has made them (0). */
static int lock(const char *path, int no_folders, struct myr_error *error)
{
    char name[PATH_BYTES], folder[PATH_BYTES];
    struct stat about;
    snprintf(name, sizeof(name), "%s.lock", path);
    const int door = nicbarr_open_regular(name, O_RDWR | O_CREAT | O_NOFOLLOW, 0666, error);
    if (door < 0) {
        if (MYR_ERR_NOT_THERE == error->status) {
            myr_write_error(error, MYR_ERR_NOT_THERE, 0 == no_folders ? errno : no_folders,
                            "its folder");
        }
        return -1;
    }
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    const char *inside = NULL == slash ? "." : (*slash = '\0', folder[0] ? folder : "/");
    const bool private = 0 == stat(inside, &about) && 0 == (about.st_mode & 077);
    if (!nicbarr_lock(door, private ? OWN_LOCK_MS : FOREIGN_LOCK_MS, error)) {
        close(door);
        return -1;
    }
    return door;
}

/* A new file beside it; -1 otherwise. Who has the lock may do with it as he likes: what is there is
 * of one who was killed. */
static int make_fresh(const char *fresh, struct myr_error *error)
{
    (void)unlink(fresh);
    const int out = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out < 0) {
        myr_write_error(error, MYR_ERR_SYSTEM, errno, "it cannot be written");
    }
    return out;
}

/* Have the file hold `text` (NULL: there is no memory), by way of the new one, which is closed. */
static bool replace(const char *path, const char *fresh, int out, const char *text,
                    struct nicbarr_file_version *version, struct myr_error *error)
{
    const bool dumped = NULL != text && nicbarr_write_whole(out, text, strlen(text)) &&
                        nicbarr_version_of_open(out, version);
    const bool written = 0 == close(out) && dumped && 0 == rename(fresh, path);
    if (!written) {
        myr_write_error(error, MYR_ERR_SYSTEM, errno, "it cannot be written");
    }
    return written;
}

/* The file is locked: read it, add to it, and replace it. */
static bool rewrite(const char *path, const char *key,
                    const struct nicbarr_measurement *measurement, struct myr_error *error)
{
    char fresh[PATH_BYTES];
    struct nicbarr_file_version version;
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    const int out = make_fresh(fresh, error);
    if (out < 0) {
        return false;
    }
    json_t *root = load(path, &version, error); /* (in this order: see the header) */
    bool written = false;
    if (NULL == root) {
        close(out);
    } else {
        nicbarr_cache_json_add(root, key, measurement);
        char *text = nicbarr_cache_json_text(root, key);
        written = replace(path, fresh, out, text, &version, error);
        free(text);
    }
    if (written) {
        pthread_mutex_lock(&parsed_lock);
        keep(parsed_of(path), path, &version, root, error);
        pthread_mutex_unlock(&parsed_lock);
    } else {
        json_decref(root);
        (void)unlink(fresh);
    }
    return written;
}

bool nicbarr_cache_file_add(const struct nicbarr_cache_file *file,
                            const struct nicbarr_shape *shape,
                            const struct nicbarr_measurement *measurement, struct myr_error *error)
{
    char key[KEY_BYTES];
    if (!is_ours(file->path, error)) {
        return false;
    }
    make_key(file, shape, key);
    const int no_folders = make_folders(file->path, file->below);
    const int door = lock(file->path, no_folders, error);
    if (door < 0) {
        return false;
    }
    const bool written = rewrite(file->path, key, measurement, error);
    close(door);
    return written;
}
