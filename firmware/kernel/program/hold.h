/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Holding a group: its lock, and the proof that it still is that group.
 *
 * The memory of a deleted map element is given to the next one at once since Linux 6.1, not after
 * an RCU grace period. So a value that was looked up a moment ago may be another group's by now, of
 * another user. Its lock is one at any time, as the kernel leaves it alone where memory is reused.
 *
 * Before the owner deletes a group it sets the group's key to 0, under the lock. Keys are random
 * and do not come back. So where the key is still the one that was looked up, all that was read of
 * the value before was that group's, too. Invariant: whoever writes to a group, or sends for it,
 * has found its key after all reading: under the lock (hold()), or behind the reads (is_still()).
 */
#ifndef MCP_PROGRAM_HOLD_H
#define MCP_PROGRAM_HOLD_H

#include "firmware/kernel/program/maps.h"

/* Is it still the group with this key? (Processors may read ahead by fewer instructions than it
 * takes the owner to close a group, delete it, and add another.) */
static __always_inline bool is_still(const struct mcp_kernel_group *group, uint64_t key)
{
    return key == *(const volatile uint64_t *)&group->group.key;
}

/* Lock the group with this key. False: it has been closed, and nothing is locked. */
static __always_inline bool hold(struct mcp_kernel_group *group, uint64_t key)
{
    bpf_spin_lock(&group->lock);
    if (is_still(group, key)) {
        return true;
    }
    bpf_spin_unlock(&group->lock);
    return false;
}

static __always_inline void let_go(struct mcp_kernel_group *group)
{
    bpf_spin_unlock(&group->lock);
}

#endif
