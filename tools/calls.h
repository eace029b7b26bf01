/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processes of a node have been in which collective for more than a second, and which members
 * of the communicator are not: in words and in JSON. Called for each segment; the processes publish
 * it themselves (libmyr/node/waits.h).
 */
#ifndef TOOLS_CALLS_H
#define TOOLS_CALLS_H

#include <jansson.h>
#include <stdint.h>

#include "tools/segments.h"

/* A paragraph for each communicator. `now_ms` is CLOCK_MONOTONIC's. */
void calls_print(const struct segment *segment, uint64_t now_ms);

/* A list of what each process waits for. */
json_t *calls_json(const struct segment *segment, uint64_t now_ms);

#endif
