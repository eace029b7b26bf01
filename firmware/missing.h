/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes a node that a group waits for. NICs list these nodes (engine.h, kernel/owner.h), myrd
 * passes the lists on (libmyr/kernel/kernel_words.h), and hosts use them to decide whether a node
 * is dead (libmyr/groups/nic_group.h). */
#ifndef MCP_MISSING_H
#define MCP_MISSING_H

#include <stdint.h>

struct mcp_missing {
    uint32_t node;
    /* when this node's NIC last reported that its host is late, or 0 if it has not done so: a time
     * in milliseconds (modulo 2^32), measured by the clock of the waiting NIC, which is
     * CLOCK_MONOTONIC on Linux */
    uint32_t heard_ms;
};

#endif
