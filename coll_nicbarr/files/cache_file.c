/* SPDX-License-Identifier: BSD-3-Clause */
/* See cache_file.h. */
#include "coll_nicbarr/files/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll_nicbarr/files/cache_lines.h"
#include "coll_nicbarr/files/regular_file.h"
#include "coll_nicbarr/nics.h"

enum {
    PATH_BYTES = PATH_MAX + 8, /* for a path with a suffix */
    /* Timeouts for the lock of the file. OWN_LOCK_MS applies if the directory is private, so that
     * no other user can hold the lock. After a timeout the measurement is lost, and a later job
     * measures again. */
    OWN_LOCK_MS = 30000,
    FOREIGN_LOCK_MS = 2000,
};

/* ---- keys ---- */

/* Write the names of the usable NICs, across nodes, into text[bytes]; returns text. */
static const char *nics_text(const struct nicbarr_shape *shape, char *text, size_t bytes)
{
    int length = 0;
    text[0] = '\0';
    for (uint32_t nic = 1; nic < nicbarr_nics_end() && length < (int)bytes; ++nic) {
        if (nicbarr_shape_has(shape, nic)) {
            length += snprintf(text + length, bytes - (size_t)length, "%s%s",
                               0 == length ? ", by " : " or ", nicbarr_kind(nic)->name);
        }
    }
    return text;
}

const char *nicbarr_cache_file_key(const struct nicbarr_cache_file *file,
                                   const struct nicbarr_shape *shape, char key[NICBARR_CACHE_KEY])
{
    char nics[100];
    snprintf(key, NICBARR_CACHE_KEY,
             "%s | nodes %u, processes %u, bound to %u sets of processors of %u%s%s | %s",
             file->machine, shape->nodes, shape->processes, shape->homes, shape->processors,
             shape->oversubscribed ? ", oversubscribed" : "", nics_text(shape, nics, sizeof(nics)),
             NULL == file->what ? "MPI_Barrier" : file->what);
    return key;
}

/* ---- reading ---- */

char *nicbarr_cache_file_text(const char *path, size_t *bytes, struct myr_error *error)
{
    struct myr_error why;
    const int in = nicbarr_open_regular(path, O_RDONLY, 0, &why);
    *bytes = 0;
    if (in < 0 && MYR_ERR_NOT_THERE == why.status) {
        return strdup("");
    }
    if (in < 0) {
        *error = why;
        return NULL;
    }
    char *text = nicbarr_read_whole(in, NICBARR_CACHE_MOST, bytes, error);
    close(in);
    if (NULL != text && !nicbarr_cache_lines_are_ours(text, *bytes)) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0,
                        "it is not a tuning cache, or one of another version of nicbarr");
        free(text);
        return NULL;
    }
    return text;
}

bool nicbarr_cache_file_read(const struct nicbarr_cache_file *file,
                             const struct nicbarr_shape *shape, struct nicbarr_evidence *evidence,
                             struct myr_error *error)
{
    char key[NICBARR_CACHE_KEY];
    size_t bytes;
    char *text = nicbarr_cache_file_text(file->path, &bytes, error);
    if (NULL != text) {
        nicbarr_cache_lines_read(text, bytes, nicbarr_cache_file_key(file, shape, key), evidence);
    }
    free(text);
    return NULL != text;
}

/* ---- writing ---- */

/* Create the missing directories of `path` within `below`. If the process runs as another user (su,
 * sudo), no directories are created, because they would belong to that user. Returns the errno of
 * the first failure, or 0. */
static int make_dirs(const char *path, const char *below)
{
    char dir[PATH_BYTES];
    struct stat about;
    size_t skip = NULL == below ? 0 : strlen(below);
    if (0 == skip) {
        return 0;
    }
    while (skip > 0 && '/' == below[skip - 1]) {
        --skip;
    }
    if (0 != strncmp(path, below, skip) || '/' != path[skip] || 0 != stat(below, &about) ||
        about.st_uid != geteuid()) {
        return 0;
    }
    snprintf(dir, sizeof(dir), "%s", path);
    int why = 0;
    for (char *slash = strchr(dir + skip + 1, '/'); NULL != slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(dir, 0700) < 0 && EEXIST != errno && 0 == why) {
            why = errno;
        }
        *slash = '/';
    }
    return why;
}

/* Returns whether the file is a cache, empty or missing. This is checked before the lock file is
 * created: the lock file is never removed, so it must not be created next to a file that does not
 * belong to nicbarr. */
static bool is_cache_file(const char *path, struct myr_error *error)
{
    size_t bytes;
    char *text = nicbarr_cache_file_text(path, &bytes, error);
    free(text);
    return NULL != text;
}

/* Create and lock the lock file. Returns its descriptor, which keeps the lock until it is closed,
 * or -1. `no_dirs` is the errno of make_dirs(), for the error message. */
static int lock_cache(const char *path, int no_dirs, struct myr_error *error)
{
    char name[PATH_BYTES], dir[PATH_BYTES];
    struct stat about;
    snprintf(name, sizeof(name), "%s.lock", path);
    const int lock_fd = nicbarr_open_regular(name, O_RDWR | O_CREAT | O_NOFOLLOW, 0666, error);
    if (lock_fd < 0) {
        if (MYR_ERR_NOT_THERE == error->status) {
            myr_write_error(error, MYR_ERR_NOT_THERE, 0 == no_dirs ? errno : no_dirs,
                            "its directory cannot be used");
        }
        return -1;
    }
    snprintf(dir, sizeof(dir), "%s", path);
    char *slash = strrchr(dir, '/');
    const char *inside = NULL == slash ? "." : (*slash = '\0', dir[0] ? dir : "/");
    const bool private = 0 == stat(inside, &about) && 0 == (about.st_mode & 077);
    if (!nicbarr_lock(lock_fd, private ? OWN_LOCK_MS : FOREIGN_LOCK_MS, error)) {
        close(lock_fd);
        return -1;
    }
    return lock_fd;
}

/* Create the temporary file, which only the holder of the lock uses. If it exists already, it was
 * left by a process that was killed while it held the lock, and is removed first. Returns the
 * descriptor, or -1. */
static int create_temporary(const char *temporary, struct myr_error *error)
{
    (void)unlink(temporary);
    const int out = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out < 0) {
        myr_write_error(error, MYR_ERR_SYSTEM, errno, "it cannot be written");
    }
    return out;
}

/* Write `text` (NULL: out of memory) to the temporary file, close it, and rename it to `path`. */
static bool replace_file(const char *path, const char *temporary, int out, const char *text,
                         size_t bytes, struct myr_error *error)
{
    bool written = NULL != text && nicbarr_write_whole(out, text, bytes);
    int err = NULL == text ? ENOMEM : errno; /* of the first failure */
    if (0 != close(out) && written) {
        err = errno;
        written = false;
    }
    if (written && 0 != rename(temporary, path)) {
        err = errno;
        written = false;
    }
    if (!written) {
        myr_write_error(error, MYR_ERR_SYSTEM, err, "it cannot be written");
    }
    return written;
}

/* Read the locked file, add the measurement, and replace the file. */
static bool rewrite_file(const char *path, const char *key,
                         const struct nicbarr_measurement *measurement, struct myr_error *error)
{
    char temporary[PATH_BYTES];
    size_t bytes;
    bool written = false;
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    const int out = create_temporary(temporary, error);
    if (out < 0) {
        return false;
    }
    /* over NFS, the file must not be read before create_temporary(); see cache_file.h */
    char *text = nicbarr_cache_file_text(path, &bytes, error);
    if (NULL == text) {
        close(out);
    } else {
        char *added = nicbarr_cache_lines_add(text, bytes, key, measurement, &bytes);
        written = replace_file(path, temporary, out, added, bytes, error);
        free(added);
    }
    free(text);
    if (!written) {
        (void)unlink(temporary);
    }
    return written;
}

bool nicbarr_cache_file_add(const struct nicbarr_cache_file *file,
                            const struct nicbarr_shape *shape,
                            const struct nicbarr_measurement *measurement, struct myr_error *error)
{
    char key[NICBARR_CACHE_KEY];
    if (!is_cache_file(file->path, error)) {
        return false;
    }
    const int no_dirs = make_dirs(file->path, file->below);
    const int lock_fd = lock_cache(file->path, no_dirs, error);
    if (lock_fd < 0) {
        return false;
    }
    const bool written =
        rewrite_file(file->path, nicbarr_cache_file_key(file, shape, key), measurement, error);
    close(lock_fd);
    return written;
}
