/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files whose names the user gives: the tuning cache and the report. Called by cache_file.c and
 * report_file.c.
 *
 * Opening such a file never waits, whatever it is, and only a regular file is opened: a pipe in its
 * place would hold up the job for ever. Locking waits a while: another user who may read a file, or
 * look into a folder, can keep it locked.
 *
 * Such a file is read and written as a whole, by one system call each where the kernel takes it at
 * once, up to a size that the caller states. Larger files are refused unread.
 *
 * Threads: any.
 */
#ifndef NICBARR_REGULAR_FILE_H
#define NICBARR_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "libmyr/status.h"

/* Open the regular file at `path`; `flags` and `mode` as for open(). -1 with a line in `error`
 * where that cannot be, and with MYR_ERR_NOT_THERE where there is no file. */
int nicbarr_open_regular(const char *path, int flags, unsigned mode, struct myr_error *error);

/* Lock what `fd` has open, until it is closed; false, with a line, after `most_ms` in vain
 * (MYR_ERR_FULL), or where it cannot be locked. Over NFS, `fd` must be open for writing. */
bool nicbarr_lock(int fd, unsigned most_ms, struct myr_error *error);

/* All that `fd` has open, from its beginning; to be freed. `bytes` becomes its length. NULL, with a
 * line, if it has more than `most` bytes (MYR_ERR_FOREIGN), or cannot be read. */
char *nicbarr_read_whole(int fd, size_t most, size_t *bytes, struct myr_error *error);

/* Write all of it at the descriptor's offset; false, with errno, if that cannot be. */
bool nicbarr_write_whole(int fd, const char *text, size_t bytes);

#endif
