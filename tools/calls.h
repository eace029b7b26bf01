/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the processes of a node that have been in a collective for more than a second, and the
 * members of the communicator that have not entered it, as text and as JSON. Called for each
 * segment. The processes themselves publish their waits (libmyr/node/waits.h).
 */
#ifndef TOOLS_CALLS_H
#define TOOLS_CALLS_H

#include <jansson.h>
#include <stdint.h>

#include "tools/segments.h"

/* Prints a paragraph for each communicator. `now_ms` is the time of CLOCK_MONOTONIC in
 * milliseconds. */
void calls_print(const struct segment *segment, uint64_t now_ms);

/* Returns what each process waits for, as a list. */
json_t *calls_json(const struct segment *segment, uint64_t now_ms);

#endif
