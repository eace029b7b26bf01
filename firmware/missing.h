/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node that a group waits for. NICs list them (engine.h, kernel/owner.h), myrd hands lists on
 * (libmyr/kernel/kernel_words.h), and hosts judge by them whether a node is gone
 * (libmyr/groups/nic_group.h).
 */
#ifndef MCP_MISSING_H
#define MCP_MISSING_H

#include <stdint.h>

struct mcp_missing {
    uint32_t node;
    uint32_t heard_ms; /* when its NIC last said that its host is late: milliseconds of the clock
                          of the NIC that waits, which wraps around (CLOCK_MONOTONIC on Linux);
                          0: never */
};

#endif
