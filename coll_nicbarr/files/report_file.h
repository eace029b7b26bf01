/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of the report, and its file (docs/report.md). report.c composes the entries, and depends
 * on the component; this file depends on neither that nor Open MPI.
 *
 * Several processes of a job write into the same file. Each replaces its own entries, under a lock.
 * Entries of an earlier job are dropped. A file with other content is left unchanged: the user may
 * have mistyped the name.
 *
 * Threads: one at a time for the same entries; any process for the same file. */
#ifndef NICBARR_REPORT_FILE_H
#define NICBARR_REPORT_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "libmyr/status.h"

/* Can the file at `path` be written, or created if it does not exist? The file is not changed.
 * Returns false, with a line, if not. */
bool nicbarr_report_file_check(const char *path, struct myr_error *error);

/* Add `entry` to the array `entries`. If that has one that differs only by the communicator's name,
 * count the communicator there instead. Returns the entry that counts it. */
json_t *nicbarr_entries_add(json_t *entries, json_t *entry);

/* Decrement the count of communicators in the entry like `entry`; the last one removes it. */
void nicbarr_entries_take_back(json_t *entries, const json_t *entry);

/* Set the entries of `process` (a unique name in the job) in the file at `path`, and keep those of
 * the job's other processes. Entries with "collective" go to its list "collectives", all others to
 * "communicators". `head` is the document without entries, with "format" and "job"; it may have
 * entries afterwards. False, with a line, if the file cannot be written. */
bool nicbarr_report_file_write(const char *path, json_t *head, const char *process,
                               const json_t *entries, struct myr_error *error);

#endif
