/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens, locks, reads and writes files whose names are given by the user: the tuning cache and the
 * report. Called by cache_file.c and report_file.c.
 *
 * Opening never blocks. Only regular files are opened, because a FIFO would hang the job. Locking
 * has a timeout, because any user who may read a file, or open a directory, can keep it locked.
 *
 * A file is read or written as a whole. This takes a single system call, unless the kernel
 * transfers fewer bytes than requested. Files that exceed the caller's size limit are rejected
 * without being read.
 *
 * Any thread may call these functions. */
#ifndef NICBARR_REGULAR_FILE_H
#define NICBARR_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "libmyr/status.h"

/* Open the regular file at `path`; `flags` and `mode` are those of open(). Returns -1 with a
 * message in `error` on failure; its status is MYR_ERR_NOT_THERE if there is no such file. */
int nicbarr_open_regular(const char *path, int flags, unsigned mode, struct myr_error *error);

/* Lock the open file `fd`; closing it releases the lock. Returns false, with a message in `error`,
 * if the file cannot be locked, or if another process holds the lock for more than `most_ms`
 * milliseconds (MYR_ERR_FULL). Over NFS, `fd` must be open for writing. */
bool nicbarr_lock(int fd, unsigned most_ms, struct myr_error *error);

/* Read the whole file behind `fd` from its beginning. Returns its content, which the caller frees;
 * `*bytes` becomes its length. Returns NULL, with a message in `error`, if the file has more than
 * `most` bytes (MYR_ERR_FOREIGN), or cannot be read. */
char *nicbarr_read_whole(int fd, size_t most, size_t *bytes, struct myr_error *error);

/* Write `bytes` bytes at the descriptor's offset. Returns false, with errno, on failure. */
bool nicbarr_write_whole(int fd, const char *text, size_t bytes);

#endif
