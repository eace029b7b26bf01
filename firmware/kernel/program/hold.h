/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Locks a group, and verifies its identity.
 *
 * Since Linux 6.1, the memory of a deleted map element is reused immediately instead of after an
 * RCU grace period. Therefore, when the program has looked up a group, its memory may already
 * belong to another group of another user. The lock in it is valid in any case, because the kernel
 * preserves locks when it reuses memory.
 *
 * Before the owner deletes a group, it locks the group and sets its key to 0. Keys are random and
 * never reused. If a group still has the key by which it was looked up, all that was read from it
 * before this check belongs to this group. Invariant: code that writes to a group, or sends on its
 * behalf, verifies the key after all its reads, either with the lock held (lock_group()) or without
 * it (is_still_group()). */
#ifndef MCP_PROGRAM_HOLD_H
#define MCP_PROGRAM_HOLD_H

#include "firmware/kernel/program/maps.h"

/* Returns whether the memory still contains the group with this key. The CPU may reorder the reads,
 * but only over fewer instructions than the owner needs to close a group, delete it, and add
 * another one. */
static __always_inline bool is_still_group(const struct mcp_kernel_group *group, uint64_t key)
{
    return key == *(const volatile uint64_t *)&group->group.key;
}

/* Locks the group with this key. Returns false, with nothing locked, if it has been closed. */
static __always_inline bool lock_group(struct mcp_kernel_group *group, uint64_t key)
{
    bpf_spin_lock(&group->lock);
    if (is_still_group(group, key)) {
        return true;
    }
    bpf_spin_unlock(&group->lock);
    return false;
}

static __always_inline void unlock_group(struct mcp_kernel_group *group)
{
    bpf_spin_unlock(&group->lock);
}

#endif
