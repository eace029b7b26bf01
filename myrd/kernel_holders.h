/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process holds which groups, kept with the NIC for the next daemon. Called by
 * kernel_groups.c, which knows the same for itself.
 *
 * A holder is a client, by a number that no other ever has. It contains the number of its process,
 * so the next daemon can find out which of them live. Processes that began after their holder was
 * noted have its number by chance.
 *
 * Invariant: what stands in the NIC is never more than is true, but for groups that are not there
 * any more. There is room for MCP_KERNEL_HOLDERS; any beyond that are not noted, and have to come
 * back by themselves before their groups are closed.
 */
#ifndef MYRD_KERNEL_HOLDERS_H
#define MYRD_KERNEL_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "firmware/kernel/owner.h"

/* A client's number: the process's below a serial number. The bit on top is for kernel_groups.c. */
enum { MYRD_HOLDER_PID_BITS = 22 /* the kernel's PID_MAX_LIMIT */ };
#define MYRD_HOLDER_ABSENT (UINT64_C(1) << 63)

static inline uint64_t myrd_holder_number(uint64_t serial, pid_t pid)
{
    return serial << MYRD_HOLDER_PID_BITS | (uint64_t)pid;
}

static inline pid_t myrd_holder_pid(uint64_t number)
{
    return (pid_t)(number & ((UINT64_C(1) << MYRD_HOLDER_PID_BITS) - 1));
}

static inline uint64_t myrd_holder_serial(uint64_t number)
{
    return (number & ~MYRD_HOLDER_ABSENT) >> MYRD_HOLDER_PID_BITS;
}

struct myrd_holders {
    struct mcp_kernel *kernel;
    uint32_t count; /* places from here on are free */
    struct mcp_kernel_holder holder[MCP_KERNEL_HOLDERS];
};

/* What the daemon before has noted; then forget all groups but those with a bit here. */
void myrd_holders_recall(struct myrd_holders *holders);
void myrd_holders_keep(struct myrd_holders *holders, const uint64_t groups[MCP_KERNEL_GROUPS / 64]);

/* This one of user `uid` holds the group with this number, or does so no more. */
void myrd_holders_hold(struct myrd_holders *holders, uint64_t holder, uint32_t uid, uint32_t group);
void myrd_holders_let_go(struct myrd_holders *holders, uint64_t holder, uint32_t group);

static inline bool myrd_holders_has(const struct mcp_kernel_holder *holder, uint32_t group)
{
    return 0 != (holder->groups[group / 64] >> group % 64 & 1);
}

#endif
