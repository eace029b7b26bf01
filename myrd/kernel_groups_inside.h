/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel NIC's groups, for their own files: the table, and what these call of each other.
 *
 *   kernel_groups.c          opening, holding, leaving, closing
 *   kernel_groups_kept.c     taking over what another daemon has left
 *   kernel_groups_due.c      groups that are stuck: asking for them
 *   kernel_groups_report.c   what users are told
 */
#ifndef MYRD_KERNEL_GROUPS_INSIDE_H
#define MYRD_KERNEL_GROUPS_INSIDE_H

#include "myrd/kernel_groups.h"
#include "myrd/kernel_holders.h"

struct myrd_group {
    struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    bool failed;
    uint64_t *holder; /* [holders]; one that has opened it twice is in here twice, and one that was
                         here before this daemon has MYRD_HOLDER_ABSENT until it has come back */
    uint32_t holders, room;
    /* The group's state when we last looked, or were told; see kernel_groups_due.c. */
    bool waited;
    uint32_t done;
    uint64_t since_ms; /* since when it has waited for the epoch after `done` */
    struct mcp_backoff backoff;
    /* What is to be asked for it. */
    bool due;           /* at `ask_at_ms` its missing messages, or its failure is to be rung, */
    bool meets;         /* ... and where its peers are now */
    uint64_t ask_at_ms; /* when its user's share allows it */
    uint32_t asked;     /* in this epoch */
    /* Its hosts have left, and it still plays an epoch; see myrd_groups_look_after_farewells(). */
    bool leaves;
    bool closes;         /* ... no more, but closing it has failed so far */
    uint32_t last;       /* that epoch */
    uint64_t over_at_ms; /* until then at the most; 0: it has just begun */
    struct mcp_backoff farewell;
};

/* One whose last epoch the NIC keeps. */
struct myrd_closed {
    uint64_t key;
    uint32_t account; /* whose it was */
};

struct myrd_groups {
    struct mcp_kernel *kernel;
    struct myrd_users *users;
    bool notified; /* the kernel tells us which are stuck: we need not look */
    uint64_t received_at_ms;
    uint64_t looked_at_ms, look_at_ms;
    uint64_t ask_at_ms;      /* no group is to be asked for before; UINT64_MAX: none is */
    uint64_t farewell_at_ms; /* the same for groups that say farewell */
    uint32_t count, closed_count;
    struct myrd_group group[MCP_KERNEL_GROUPS];
    struct myrd_closed closed[MCP_KERNEL_LATE]; /* in this order */
    struct myrd_holders holders;
};

/* ---- kernel_groups.c ---- */

/* Its place in the table. If it is not there, the end of the table. */
uint32_t myrd_groups_find(const struct myrd_groups *groups, uint64_t key);

/* How many groups of this account's are closed, and kept. */
uint32_t myrd_groups_closed_by(const struct myrd_groups *groups, uint32_t account);

/* Close it. The last group takes its place. False: it could not be closed, for want of memory; it
 * is tried again, as with those that say farewell. */
bool myrd_groups_close(struct myrd_groups *groups, struct myrd_group *group);

/* Tell the NIC that the group has failed. False: it has not heard, as while the interface is down,
 * when no doorbell comes to the program. */
bool myrd_groups_ring_failure(const struct myrd_groups *groups, const struct myrd_group *group);

/* Is there room for one more holder? */
bool myrd_groups_room_for_holder(struct myrd_group *group);

/* Hold it once more. */
enum myr_status myrd_groups_hold(struct myrd_groups *groups, struct myrd_group *group,
                                 uint64_t holder, struct myr_error *error);

/* Where it stands among the group's holders, absent or not; the end of these if it does not. */
uint32_t myrd_groups_find_holder(const struct myrd_group *group, uint64_t holder);

/* All have left a group. Peers may still miss its data, or a broadcast: it begins one more epoch.
 * False: close it now. */
bool myrd_groups_begin_farewell(struct myrd_groups *groups, struct myrd_group *group);

/* Close those that are through with their farewell. */
void myrd_groups_look_after_farewells(struct myrd_groups *groups, uint64_t now_ms);

/* ---- kernel_groups_kept.c ---- */

/* Fill the table with what the NIC has. */
void myrd_groups_recall(struct myrd_groups *groups);

#endif
