/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records which process holds which groups. The record is stored in a map of the NIC, so that the
 * next daemon can take over the groups. Called by kernel_groups.c, which has the same data in its
 * own table.
 *
 * A holder is a client that holds groups. It is identified by a number that is never reused and
 * contains the PID of the client, so the next daemon can find out whether the holder is alive. If
 * the process with this PID was started after the holder was recorded, the PID has been reused, and
 * the holder is dead.
 *
 * Invariant: the record only contains references that exist, or references to groups that no longer
 * exist.
 *
 * The record has MCP_KERNEL_HOLDERS entries. If all of them are in use, further holders are not
 * recorded. The next daemon then does not know these holders, and closes their groups unless they
 * have reconnected before. */
#ifndef MYRD_KERNEL_HOLDERS_H
#define MYRD_KERNEL_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "firmware/kernel/owner.h"

/* A client's number consists of a serial number above the PID. The top bit is reserved for
 * kernel_groups.c. */
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
    uint32_t count; /* the entries from here on are free */
    struct mcp_kernel_holder holder[MCP_KERNEL_HOLDERS];
};

/* myrd_holders_recall() reads the record of the previous daemon. myrd_holders_keep() then removes
 * from it all groups whose bit in `groups` is not set. */
void myrd_holders_recall(struct myrd_holders *holders);
void myrd_holders_keep(struct myrd_holders *holders, const uint64_t groups[MCP_KERNEL_GROUPS / 64]);

/* Record that the holder, of user `uid`, holds the group with this number, or that it no longer
 * does. */
void myrd_holders_hold(struct myrd_holders *holders, uint64_t holder, uint32_t uid, uint32_t group);
void myrd_holders_let_go(struct myrd_holders *holders, uint64_t holder, uint32_t group);

static inline bool myrd_holders_has(const struct mcp_kernel_holder *holder, uint32_t group)
{
    return 0 != (holder->groups[group / 64] >> group % 64 & 1);
}

#endif
