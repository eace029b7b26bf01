/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The findings of `nicbarr doctor` as JSON objects, and functions that print them.
 *
 * A finding states what was checked, whether it works, what was observed, and what to do about it.
 * Findings are created by doctor.c and doctor_job.c, and by the program that doctor starts as a job
 * (probe/probe.c), which prints one finding per line. These functions are not thread-safe. */
#ifndef TOOLS_FINDINGS_H
#define TOOLS_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum finding_state {
    FINDING_OK,
    FINDING_NOTE,    /* it works, or is not needed, but the user may want to know */
    FINDING_PROBLEM, /* it affects jobs */
};

/* Creates a finding. `host` is NULL unless the finding is about one host; `todo` is NULL if there
 * is nothing to do. Characters in these texts that cannot be printed are replaced. */
json_t *finding(const char *host, const char *what, enum finding_state state, const char *todo,
                const char *seen, ...) __attribute__((format(printf, 5, 6)));

/* Returns whether the object is a finding, as created by finding(). */
bool finding_is(const json_t *json);

/* Returns the number of findings in an array that have this state. */
size_t findings_count(const json_t *findings, enum finding_state state);

/* Prints all findings of an array, and a line with their numbers. A finding that several hosts have
 * in common is printed once. */
void findings_print(const json_t *findings, FILE *out);

#endif
