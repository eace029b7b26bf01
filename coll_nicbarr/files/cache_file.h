/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and updates a file of the tuning cache, which contains measurements of jobs by shape
 * (docs/tuning-cache.md); cache_lines.c implements the format. This file depends neither on the
 * component nor on Open MPI, in contrast to cache.c, which selects the files.
 *
 * A writer holds a lock and replaces the whole file by rename(). Readers need no lock, because they
 * open either the old file or the new one. If a writer is killed, the old file remains unchanged,
 * and the next writer removes the temporary file. A file in another format is not changed, and no
 * lock file or temporary file is created next to it; an empty file is treated like a missing file.
 *
 * The lock and the order of operations take NFS into account. Directories cannot be locked over
 * NFS, so the lock is on a separate file, which is opened for writing, as NFS requires. The new
 * file is created after the lock is taken and before the old file is read. This makes the NFS
 * client revalidate the directory, so that it reads the file that another host has just renamed,
 * and not an older one.
 *
 * These functions keep no copy of a file, and read it once in each call. (node_cache.c keeps the
 * text of all files for a node.)
 *
 * The functions may be called by any thread of any process. If there is a problem to report,
 * `error` contains the message; otherwise its text stays empty. Its status is MYR_ERR_FOREIGN if
 * the file is not a cache, MYR_ERR_FULL if another process keeps it locked, or another value if the
 * file cannot be opened or written. */
#ifndef NICBARR_CACHE_FILE_H
#define NICBARR_CACHE_FILE_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/shape.h"
#include "libmyr/status.h"

struct nicbarr_cache_file {
    const char *path;
    const char *below; /* a directory within which missing directories are created; empty or NULL:
                          none are created */
    /* description of everything besides the shape on which a measurement depends */
    const char *machine;
    const char *what; /* name of the collective and its size; NULL: MPI_Barrier */
};

/* Write the key of `shape` in a file into `key`; returns key. */
enum { NICBARR_CACHE_KEY = 800 /* size in bytes */ };
const char *nicbarr_cache_file_key(const struct nicbarr_cache_file *file,
                                   const struct nicbarr_shape *shape, char key[NICBARR_CACHE_KEY]);

/* Read the file at `path` (cache_lines.h). Returns its content, which the caller frees, or an empty
 * text if there is no file. Returns NULL if the file is not a cache and must not be changed, or if
 * it cannot be read. */
char *nicbarr_cache_file_text(const char *path, size_t *bytes, struct myr_error *error);

/* Add the file's measurements of `shape` to `evidence`. Returns false if there is an error to
 * report; a missing or empty file is not an error. */
bool nicbarr_cache_file_read(const struct nicbarr_cache_file *file,
                             const struct nicbarr_shape *shape, struct nicbarr_evidence *evidence,
                             struct myr_error *error);

/* Add `measurement` to the file's measurements of `shape`. Returns false on failure. */
bool nicbarr_cache_file_add(const struct nicbarr_cache_file *file,
                            const struct nicbarr_shape *shape,
                            const struct nicbarr_measurement *measurement, struct myr_error *error);

#endif
