/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes a node that a group waits for. NICs list these nodes (engine.h, kernel/owner.h), myrd
 * passes the lists on (libmyr/kernel/kernel_words.h), and hosts use them to decide whether a node
 * is dead (libmyr/groups/nic_group.h). */
#ifndef MCP_MISSING_H
#define MCP_MISSING_H

#include <stdint.h>

struct mcp_missing {
    uint32_t node;
    /* time when the NIC of this node last reported that its host is late, or 0 if it never has; in
     * milliseconds by the clock of the NIC that waits (CLOCK_MONOTONIC on Linux), which wraps
     * around */
    uint32_t heard_ms;
};

#endif
