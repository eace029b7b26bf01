/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of a schedule, used by the code that computes schedules (libmyr/schedule.h) and by the
 * code that executes them (engine.h, and barriers in the memory of a node). */
#ifndef MCP_STEP_H
#define MCP_STEP_H

#include <stdint.h>

/* Numbers of peers that the process sends to in this step, and that it then waits for. */
struct mcp_step {
    uint32_t sends, waits;
};

#endif
