/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of the tuning cache: what jobs have measured, by the shape they measured it on
 * (docs/tuning-cache.md; cache_lines.c has the content). cache.c says which files there are, and
 * knows the component; here is neither that nor Open MPI.
 *
 * A file is replaced as a whole, by rename, under a lock. Readers need no lock. They see the old
 * file or the new one. A writer that is killed leaves the old file, and a new one beside it that
 * the next writer removes. A file that is not ours is left alone, and nothing is put beside it;
 * an empty one is as none.
 *
 * Over NFS. The lock is on a file of its own, as NFS has none on folders, and that file is opened
 * for writing, as NFS wants it. The new file is made after locking and before reading: that has a
 * client look at the folder anew, so it reads the file that another host has just renamed.
 *
 * Nothing is kept in the process: asking reads the file, once.
 *
 * Functions may be called by any thread of any process. Where there is something to complain of,
 * `error` says what; else its text stays empty. Of the status: MYR_ERR_FOREIGN, the file is not
 * ours; MYR_ERR_FULL, another process keeps it locked; others, it cannot
 * be opened or written.
 */
#ifndef NICBARR_CACHE_FILE_H
#define NICBARR_CACHE_FILE_H

#include "coll_nicbarr/choice/evidence.h"
#include "coll_nicbarr/shape.h"
#include "libmyr/status.h"

struct nicbarr_cache_file {
    const char *path;
    const char *below;   /* a folder, within which missing ones are made; NULL: none are */
    const char *machine; /* all that a measurement depends on besides the shape, in words */
    const char *what;    /* which collective, of which size, in words; NULL: MPI_Barrier */
};

/* What stands for `shape` in a file; returns key. */
enum { NICBARR_CACHE_KEY = 800 /* bytes */ };
const char *nicbarr_cache_file_key(const struct nicbarr_cache_file *file,
                                   const struct nicbarr_shape *shape, char key[NICBARR_CACHE_KEY]);

/* What the file at `path` says (cache_lines.h), to be freed; an empty text where there is none.
 * NULL where it must be left alone, or cannot be read. */
char *nicbarr_cache_file_text(const char *path, size_t *bytes, struct myr_error *error);

/* Add to `evidence` what the file knows of `shape`; false where there is something to complain of.
 * No file, or nothing in it, is nothing to complain of. */
bool nicbarr_cache_file_read(const struct nicbarr_cache_file *file,
                             const struct nicbarr_shape *shape, struct nicbarr_evidence *evidence,
                             struct myr_error *error);

/* Add `measurement` to what the file knows of `shape`; false if that cannot be. */
bool nicbarr_cache_file_add(const struct nicbarr_cache_file *file,
                            const struct nicbarr_shape *shape,
                            const struct nicbarr_measurement *measurement, struct myr_error *error);

#endif
