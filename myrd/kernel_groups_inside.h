/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the kernel NIC's groups; private to these files:
 *
 *   kernel_groups.c          opening, holding, leaving, closing
 *   kernel_groups_kept.c     groups taken over from another daemon
 *   kernel_groups_due.c      requests for missing messages of stuck groups
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
    /* array of `holders` elements: the numbers of the clients that hold this group, one for each
     * time a client has opened it. A number that was inherited from another daemon has the bit
     * MYRD_HOLDER_ABSENT until the client reconnects. */
    uint64_t *holder;
    uint32_t holders, room;
    /* The state at the last poll or report of the kernel; see kernel_groups_due.c. */
    bool waited;
    uint32_t done;
    uint64_t since_ms; /* time since which it has waited for the epoch after `done` */
    struct mcp_backoff backoff;
    /* A request for missing messages, or the repetition of a doorbell for a failure, is scheduled
     * for `ask_at_ms`, when the share of the user permits it. */
    bool due;
    bool meets; /* whether the peers' addresses are resolved again with that request */
    uint64_t ask_at_ms;
    uint32_t asked; /* number of requests in this epoch */
    /* All holders have left, and the group runs its closing epoch; see
     * myrd_groups_poll_closing(). */
    bool leaves;
    bool closes;         /* the closing epoch is over, but closing the group has failed so far */
    uint32_t last;       /* number of the closing epoch */
    uint64_t over_at_ms; /* timeout of the closing epoch; 0: the epoch has just begun */
    struct mcp_backoff closing;
};

/* A closed group whose last epoch is kept by the NIC. */
struct myrd_closed {
    uint64_t key;
    uint32_t account; /* account of its user */
};

struct myrd_groups {
    struct mcp_kernel *kernel;
    struct myrd_users *users;
    bool notified; /* the kernel reports stuck groups, so polling is not needed */
    uint64_t received_at_ms;
    uint64_t polled_at_ms, poll_at_ms;
    uint64_t ask_at_ms;     /* the earliest `ask_at_ms` of all groups; UINT64_MAX: none */
    uint64_t closing_at_ms; /* the earliest next step of all closing epochs; UINT64_MAX: none */
    uint32_t count, closed_count;
    struct myrd_group group[MCP_KERNEL_GROUPS];
    struct myrd_closed closed[MCP_KERNEL_LATE]; /* oldest first */
    struct myrd_holders holders;
};

/* ---- kernel_groups.c ---- */

/* Returns the group's index in the table, or the number of groups if there is no such group. */
uint32_t myrd_groups_find(const struct myrd_groups *groups, uint64_t key);

/* Returns the number of closed groups of the account. */
uint32_t myrd_groups_closed_by(const struct myrd_groups *groups, uint32_t account);

/* Closes the group and removes it from the table; the last group of the table moves to its place.
 * If there is not enough memory for closing it, returns false, and myrd_groups_poll_closing() tries
 * again. */
bool myrd_groups_close(struct myrd_groups *groups, struct myrd_group *group);

/* Reports to the NIC, by a doorbell, that the group has failed. Returns false if the doorbell has
 * not reached the program of the NIC, for example because the interface is down. */
bool myrd_groups_ring_failure(const struct myrd_groups *groups, const struct myrd_group *group);

/* Ensures capacity for another holder. Returns false if out of memory. */
bool myrd_groups_room_for_holder(struct myrd_group *group);

/* Adds a reference of this holder to the group. */
enum myr_status myrd_groups_hold(struct myrd_groups *groups, struct myrd_group *group,
                                 uint64_t holder, struct myr_error *error);

/* Returns the index of the holder's entry, absent or not, or the number of entries if it has
 * none. */
uint32_t myrd_groups_find_holder(const struct myrd_group *group, uint64_t holder);

/* Called when all holders have left a group. If peers may have missed data or a broadcast, begins
 * the group's closing epoch and returns true. Otherwise returns false, and the caller closes the
 * group. */
bool myrd_groups_begin_closing(struct myrd_groups *groups, struct myrd_group *group);

/* Closes the groups whose closing epoch is complete. */
void myrd_groups_poll_closing(struct myrd_groups *groups, uint64_t now_ms);

/* ---- kernel_groups_kept.c ---- */

/* Fills the table with the groups of a NIC that was taken over. */
void myrd_groups_recall(struct myrd_groups *groups);

#endif
