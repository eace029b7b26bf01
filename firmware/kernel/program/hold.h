/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Locks a group, and verifies its identity.
 *
 * Since Linux 6.1 the memory of a deleted map element is reused immediately, and not after an RCU
 * grace period. A value that was just looked up may therefore belong to another group of another
 * user. Its lock is always valid, because the kernel preserves locks when it reuses memory.
 *
 * Before the owner deletes a group, it sets the key of the group to 0 while it holds the lock. Keys
 * are random and never reused. If the key is still the one that was looked up, everything that was
 * read from the value before this check belongs to this group. Invariant: code that writes to a
 * group, or sends on its behalf, verifies the key after all its reads, either with the lock held
 * (lock_group()) or without it (is_still_group()). */
#ifndef MCP_PROGRAM_HOLD_H
#define MCP_PROGRAM_HOLD_H

#include "firmware/kernel/program/maps.h"

/* Returns whether the value is still the group with this key. A CPU may reorder the reads, but only
 * within fewer instructions than the owner needs to close a group, delete it, and add another
 * one. */
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
