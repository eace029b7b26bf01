/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of a schedule. Schedules are computed by libmyr/schedule.h, and executed by the engine
 * (engine.h) and by the barriers in the memory of a node. */
#ifndef MCP_STEP_H
#define MCP_STEP_H

#include <stdint.h>

/* Numbers of peers that the process sends to in this step, and that it then waits for. */
struct mcp_step {
    uint32_t sends, waits;
};

#endif
