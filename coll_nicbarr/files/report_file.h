/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries of the report, and the file that they go to (docs/report.md). report.c says what an entry
 * says, and knows the component; here is neither that nor Open MPI.
 *
 * Several processes of a job write into the same file. Each replaces its own entries, under a lock.
 * Entries of an earlier job are dropped. A file that holds something else than a report is left as
 * it is: the user may have slipped in its name.
 *
 * Threads: one at a time for the same entries; any process for the same file.
 */
#ifndef NICBARR_REPORT_FILE_H
#define NICBARR_REPORT_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "libmyr/status.h"

/* Can the file at `path` be written, or made if it is not there? Nothing is written yet. False,
 * with a line, if not. */
bool nicbarr_report_file_check(const char *path, struct myr_error *error);

/* Add `entry` to the array `entries`. Where that has one that differs from it only by the
 * communicator's name, the communicator is counted there instead. Returns where it is counted. */
json_t *nicbarr_entries_add(json_t *entries, json_t *entry);

/* Count one communicator less in the entry like `entry`; the last one takes it away. */
void nicbarr_entries_take_back(json_t *entries, const json_t *entry);

/*
 * Have the file at `path` say `entries` for `process` (a name that no other process of the job
 * has), beside what others of the job have written. Entries with "collective" go to its list
 * "collectives", all others to "communicators". `head` is the document without entries, with
 * "format" and "job"; it may have entries afterwards. False, with a line, if the file cannot be
 * written.
 */
bool nicbarr_report_file_write(const char *path, json_t *head, const char *process,
                               const json_t *entries, struct myr_error *error);

#endif
