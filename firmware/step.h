/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of a schedule, shared by the code that computes schedules (libmyr/schedule.h) and the code
 * that executes them (engine.h, and barriers in a node's memory). */
#ifndef MCP_STEP_H
#define MCP_STEP_H

#include <stdint.h>

/* Sends to this many of the schedule's peers, and then waits for this many. */
struct mcp_step {
    uint32_t sends, waits;
};

#endif
