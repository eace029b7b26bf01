/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The groups that are open on the kernel NIC: their users, their holders (the client processes that
 * use a group), and the work that is scheduled for them. Called by kernel_server.c, which serves
 * clients.
 *
 * A group is visible to its own user only, and is open as long as it has a holder:
 *
 * - If a holder dies, its group fails.
 * - When a group is closed, the NIC keeps its last epoch, because peers may still request its
 *   messages. The epoch is evicted only after many other groups have been closed.
 * - A group that carries data or broadcasts runs one more epoch before it is closed, the closing
 *   epoch, because peers may have missed its last data. No process waits for this epoch, and a new
 *   group of the same user may cut it short.
 *
 * Open groups, closed groups (share.h), and requests for stuck groups (users.h) are limited per
 * user. The caller supplies the time, so that tests can simulate it. */
#ifndef MYRD_KERNEL_GROUPS_H
#define MYRD_KERNEL_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/status.h"

enum {
    MYRD_HOLDERS_OF_ONE = 4096, /* maximum holders of a group */
    MYRD_POLL_MS = MCP_KERNEL_SCAN_NS / 1000000,
    /* After so many unanswered requests, the addresses of the peers are resolved again. */
    MYRD_ASKED_BEFORE_MEET = 16,
    MYRD_CLOSING_MS = 60000, /* maximum duration of a closing epoch */
    /* Interval at which the doorbell for a failure is repeated until it has reached the NIC. */
    MYRD_FAIL_AGAIN_MS = 100,
};

struct myrd_groups;

struct myrd_users;

/* Creates the table of the groups of a NIC. If the NIC was taken over from another daemon, the
 * table contains its groups. `kernel` and `users` must outlive the table. Returns NULL if out of
 * memory. */
struct myrd_groups *myrd_groups_make(struct mcp_kernel *kernel, struct myrd_users *users);

/* Free the table. myrd_groups_free() closes all groups, and notifies their hosts that the NIC is
 * removed. myrd_groups_abandon() leaves the groups to the next daemon. */
void myrd_groups_free(struct myrd_groups *groups);
void myrd_groups_abandon(struct myrd_groups *groups);

/* Returns whether there is a group with this key, of any user. */
bool myrd_groups_know(const struct myrd_groups *groups, uint64_t key);

/* Opens the group of this plan for the client with the number `holder` (kernel_holders.h). If
 * another client of the same user has already opened an identical group, the two clients share it.
 * On success, `seen` contains the location of the group's release and buffer; its descriptors
 * remain owned by the table. */
enum myr_status myrd_groups_open(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                                 uint64_t holder, struct mcp_kernel_seen *seen,
                                 struct myr_error *error);

/* Lists the peers that a group waits for, on behalf of one of its holders. Returns their number, at
 * most MCP_KERNEL_MESSAGES. */
uint32_t myrd_groups_missing(const struct myrd_groups *groups, uint64_t key, uint64_t holder,
                             struct mcp_missing *list);

/* Drops the holder's reference. Returns false if it does not have one. */
bool myrd_groups_leave(struct myrd_groups *groups, uint64_t key, uint64_t holder);

/* Handles the death of a holder: its groups fail, and its references are dropped. */
void myrd_groups_reap(struct myrd_groups *groups, uint64_t holder);

/* Clients that held groups when the previous daemon ended are absent until they reconnect or are
 * reaped. myrd_groups_holder() returns the absent client at this index of a table with
 * MCP_KERNEL_HOLDERS entries, or NULL. myrd_groups_close_unheld() closes the groups that are left
 * without a holder; to be called after the dead clients have been reaped. */
const struct mcp_kernel_holder *myrd_groups_holder(const struct myrd_groups *groups,
                                                   uint32_t index);
void myrd_groups_close_unheld(struct myrd_groups *groups);

/* Restore the references of an absent holder that has reconnected. Call myrd_groups_hold_on() for
 * each group that it claims to hold; returns false if it did not hold the group.
 * myrd_groups_settle() then drops its references to all groups that it has not claimed, except
 * `opening`. The holder is about to request this group, perhaps again, because the previous daemon
 * may have opened it and then ended before it replied. */
bool myrd_groups_hold_on(struct myrd_groups *groups, uint64_t key, uint64_t holder);
void myrd_groups_settle(struct myrd_groups *groups, uint64_t holder, uint64_t opening);

/* Processes the kernel's reports of stuck groups, and requests the missing messages of these
 * groups; to be called when mcp_kernel_watch() is readable. If the user's share of requests is used
 * up, the request is scheduled for myrd_groups_poll(). */
void myrd_groups_receive(struct myrd_groups *groups, uint64_t now_ms);

/* myrd_groups_poll() sends all requests that are due. If the kernel does not report stuck groups,
 * it also polls all groups, and then returns true. In this case the caller passes the CPU time of
 * that call to myrd_groups_took(), which determines the time of the next poll (mcp_kernel_rest()).
 * Call myrd_groups_poll() after myrd_groups_timeout() milliseconds (-1: nothing is scheduled), or
 * at any time. */
bool myrd_groups_poll(struct myrd_groups *groups, uint64_t now_ms);
void myrd_groups_took(struct myrd_groups *groups, uint64_t took_ns);
int myrd_groups_timeout(const struct myrd_groups *groups, uint64_t now_ms);

/* Fills in the status of the groups that user `uid` may see. */
void myrd_groups_report(const struct myrd_groups *groups, uint32_t uid,
                        struct myr_kernel_report *report);

#endif
