/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step of a schedule, the same for whoever computes schedules (libmyr/schedule.h) and whoever
 * plays them (engine.h, and barriers in a node's memory).
 */
#ifndef MCP_STEP_H
#define MCP_STEP_H

#include <stdint.h>

/* Send to so many of the schedule's peers, then wait for so many. */
struct mcp_step {
    uint32_t sends, waits;
};

#endif
