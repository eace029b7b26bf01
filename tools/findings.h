/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `nicbarr doctor` finds: findings, as JSON objects, and how they are printed.
 *
 * A finding says what was looked at, how it stands with it, what was seen, and what to do about it.
 * doctor.c and doctor_job.c make them, and so does the program that doctor starts as a job
 * (probe/probe.c), which prints each on a line. One thread.
 */
#ifndef TOOLS_FINDINGS_H
#define TOOLS_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum finding_state {
    FINDING_OK,
    FINDING_NOTE,    /* it works, or is not needed; the user may want to know */
    FINDING_PROBLEM, /* jobs suffer from it */
};

/* `host` is NULL where it is not of one host; `todo` is NULL where there is nothing to do. Any text
 * may be given; what cannot be printed is replaced. */
json_t *finding(const char *host, const char *what, enum finding_state state, const char *todo,
                const char *seen, ...) __attribute__((format(printf, 5, 6)));

/* Is that a finding, as finding() makes them? */
bool finding_is(const json_t *json);

/* How many of an array's are of this state? */
size_t findings_count(const json_t *findings, enum finding_state state);

/* All of an array, for people, and a line that counts what was printed: what several hosts have in
 * common is printed once. */
void findings_print(const json_t *findings, FILE *out);

#endif
