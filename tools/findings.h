/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The findings of `nicbarr doctor` as JSON objects, and how they are printed.
 *
 * A finding says what was checked, its state, what was seen, and what to do about it. doctor.c and
 * doctor_job.c make findings, and so does the program that doctor starts as a job (probe/probe.c),
 * which prints one per line. One thread.
 */
#ifndef TOOLS_FINDINGS_H
#define TOOLS_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum finding_state {
    FINDING_OK,
    FINDING_NOTE,    /* it works, or is not needed; the user may want to know */
    FINDING_PROBLEM, /* it harms jobs */
};

/* Make a finding. `host` is NULL unless it is about one host; `todo` is NULL if there is nothing to
 * do. Characters in these texts that cannot be printed are replaced. */
json_t *finding(const char *host, const char *what, enum finding_state state, const char *todo,
                const char *seen, ...) __attribute__((format(printf, 5, 6)));

/* Is the object a finding, as made by finding()? */
bool finding_is(const json_t *json);

/* The number of findings in an array with this state. */
size_t findings_count(const json_t *findings, enum finding_state state);

/* Print all findings of an array, once if several hosts have them in common, and a line with their
 * numbers. */
void findings_print(const json_t *findings, FILE *out);

#endif
