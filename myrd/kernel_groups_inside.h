/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the kernel NIC's groups; private to these files:
 *
 *   kernel_groups.c          opening, holding, leaving, closing
 *   kernel_groups_kept.c     taking over what another daemon has left
 *   kernel_groups_due.c      asking for missing messages of stuck groups
 *   kernel_groups_report.c   status for users
 */
#ifndef MYRD_KERNEL_GROUPS_INSIDE_H
#define MYRD_KERNEL_GROUPS_INSIDE_H

#include "myrd/kernel_groups.h"
#include "myrd/kernel_holders.h"

struct myrd_group {
    struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    bool failed;
    /* [holders]; one entry per open. An entry from before this daemon has MYRD_HOLDER_ABSENT until
     * its client reconnects. */
    uint64_t *holder;
    uint32_t holders, room;
    /* The state at the last poll or notification; see kernel_groups_due.c. */
    bool waited;
    uint32_t done;
    uint64_t since_ms; /* since when it has waited for the epoch after `done` */
    struct mcp_backoff backoff;
    /* At `ask_at_ms`: ask for missing messages, or repeat the doorbell about a failure, */
    bool due;
    bool meets;         /* ... and resolve the peers' addresses */
    uint64_t ask_at_ms; /* when its user's share permits it */
    uint32_t asked;     /* in this epoch */
    /* Its hosts have left, and it plays its farewell; see myrd_groups_look_after_farewells(). */
    bool leaves;
    bool closes;         /* ... which is over, but closing the group has failed so far */
    uint32_t last;       /* the farewell's epoch */
    uint64_t over_at_ms; /* when to end it at the latest; 0: it has just begun */
    struct mcp_backoff farewell;
};

/* A closed group whose last epoch the NIC keeps. */
struct myrd_closed {
    uint64_t key;
    uint32_t account; /* whose it was */
};

struct myrd_groups {
    struct mcp_kernel *kernel;
    struct myrd_users *users;
    bool notified; /* the kernel reports stuck groups, so polling is not needed */
    uint64_t received_at_ms;
    uint64_t looked_at_ms, look_at_ms;
    uint64_t ask_at_ms;      /* the earliest `ask_at_ms` of all groups; UINT64_MAX: none */
    uint64_t farewell_at_ms; /* the same for farewells */
    uint32_t count, closed_count;
    struct myrd_group group[MCP_KERNEL_GROUPS];
    struct myrd_closed closed[MCP_KERNEL_LATE]; /* in the order of closing */
    struct myrd_holders holders;
};

/* ---- kernel_groups.c ---- */

/* The group's index in the table, or the end of the table. */
uint32_t myrd_groups_find(const struct myrd_groups *groups, uint64_t key);

/* The number of closed groups of the account. */
uint32_t myrd_groups_closed_by(const struct myrd_groups *groups, uint32_t account);

/* Close the group and remove it from the table; the table's last group moves to its index. Returns
 * false if there was not enough memory to close it; then closing is retried when farewells are
 * sent. */
bool myrd_groups_close(struct myrd_groups *groups, struct myrd_group *group);

/* Notify the NIC that the group has failed. False if the doorbell did not get to the program, as
 * while the interface is down. */
bool myrd_groups_ring_failure(const struct myrd_groups *groups, const struct myrd_group *group);

/* Ensure room for another holder. */
bool myrd_groups_room_for_holder(struct myrd_group *group);

/* Add a reference. */
enum myr_status myrd_groups_hold(struct myrd_groups *groups, struct myrd_group *group,
                                 uint64_t holder, struct myr_error *error);

/* The index of the holder's entry, absent or not, or the number of entries. */
uint32_t myrd_groups_find_holder(const struct myrd_group *group, uint64_t holder);

/* All holders have left. If peers may still miss data or a broadcast, begin the group's farewell
 * and return true. Otherwise return false; the caller closes the group. */
bool myrd_groups_begin_farewell(struct myrd_groups *groups, struct myrd_group *group);

/* Close the groups whose farewell is complete. */
void myrd_groups_look_after_farewells(struct myrd_groups *groups, uint64_t now_ms);

/* ---- kernel_groups_kept.c ---- */

/* Fill the table with the groups of a NIC that was taken over. */
void myrd_groups_recall(struct myrd_groups *groups);

#endif
