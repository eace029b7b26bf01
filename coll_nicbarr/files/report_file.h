/* SPDX-License-Identifier: BSD-3-Clause */
/* Manages the entries of the report, and writes its file (docs/report.md). report.c composes the
 * entries, and depends on the component; this file depends neither on the component nor on Open
 * MPI.
 *
 * Several processes of a job write into the same file, so each of them holds a lock while it
 * replaces its own entries. Entries of an earlier job are dropped. A file that is not a report is
 * left unchanged, because the user may have specified it by mistake.
 *
 * Only one thread at a time may use the same entries. Any process may write the same file. */
#ifndef NICBARR_REPORT_FILE_H
#define NICBARR_REPORT_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "libmyr/status.h"

/* Check whether the file at `path` can be written, or created if it does not exist. The file is not
 * changed. Returns false, with a message, if it cannot be written. */
bool nicbarr_report_file_check(const char *path, struct myr_error *error);

/* Add `entry` to the array `entries`. If the array has an entry that differs only by the
 * communicator's name, count the communicator there instead. Returns the entry that counts it. */
json_t *nicbarr_entries_add(json_t *entries, json_t *entry);

/* Decrement the count of communicators in the entry that equals `entry`, and remove it at 0. */
void nicbarr_entries_remove(json_t *entries, const json_t *entry);

/* Set the entries of `process` (a unique name in the job) in the file at `path`, and keep the
 * entries of other processes of the job. Entries with a field "collective" are stored in the file's
 * list "collectives", and all others in its list "communicators". `head` is the document without
 * entries, which contains at least "format" and "job"; the function may add entries to it. Returns
 * false, with a message, if the file cannot be written. */
bool nicbarr_report_file_write(const char *path, json_t *head, const char *process,
                               const json_t *entries, struct myr_error *error);

#endif
