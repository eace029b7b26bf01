/* SPDX-License-Identifier: BSD-3-Clause */
/* A node that a group waits for. NICs list such nodes (engine.h, kernel/owner.h), myrd passes the
 * lists on (libmyr/kernel/kernel_words.h), and hosts use them to decide whether a node is dead
 * (libmyr/groups/nic_group.h). */
#ifndef MCP_MISSING_H
#define MCP_MISSING_H

#include <stdint.h>

struct mcp_missing {
    uint32_t node;
    /* when its NIC last reported its host late, in milliseconds of the clock of the NIC that waits,
     * which wraps around (CLOCK_MONOTONIC on Linux); 0 if never */
    uint32_t heard_ms;
};

#endif
