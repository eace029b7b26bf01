/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the groups that are open on the kernel NIC. It contains their users, their holders
 * (the client processes that use a group), and the work that is scheduled for them. Called by
 * kernel_server.c, which serves clients.
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
 * Quotas limit the open groups and closed groups of a user (share.h), and the requests for messages
 * that its groups miss (users.h). The caller supplies the time, so that tests can simulate it. */
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

/* Creates the table for a NIC. If the NIC was taken over from another daemon, the table contains
 * the groups of that daemon. `kernel` and `users` must outlive the table. Returns NULL if memory is
 * exhausted. */
struct myrd_groups *myrd_groups_make(struct mcp_kernel *kernel, struct myrd_users *users);

/* Free the table. myrd_groups_free() closes all groups, and notifies their hosts that the NIC is
 * removed. myrd_groups_abandon() leaves the groups to the next daemon. */
void myrd_groups_free(struct myrd_groups *groups);
void myrd_groups_abandon(struct myrd_groups *groups);

/* Returns whether there is a group with this key, of any user. */
bool myrd_groups_know(const struct myrd_groups *groups, uint64_t key);

/* Opens the group that `plan` describes, for the client with the number `holder`
 * (kernel_holders.h). If another client of the same user has already opened an identical group, the
 * two clients share it. On success, `seen` contains the location of the group's release and buffer;
 * its descriptors remain owned by the table. */
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

/* A client that held groups when the previous daemon ended is absent until it reconnects or is
 * reaped. myrd_groups_holder() returns the absent client at `index` (below MCP_KERNEL_HOLDERS), or
 * NULL if there is none at this index. myrd_groups_close_unheld() closes the groups without a
 * holder; to be called after the dead clients have been reaped. */
const struct mcp_kernel_holder *myrd_groups_holder(const struct myrd_groups *groups,
                                                   uint32_t index);
void myrd_groups_close_unheld(struct myrd_groups *groups);

/* Restore the references of an absent holder that has reconnected. Call myrd_groups_hold_on() for
 * each group that the holder claims; it returns false if the holder did not hold this group. Then
 * myrd_groups_settle() drops the references to groups that the holder has not claimed, except the
 * group `opening`. This is the group that the holder is about to request: if the previous daemon
 * opened it and ended before it replied, the holder has a reference that it does not know of. */
bool myrd_groups_hold_on(struct myrd_groups *groups, uint64_t key, uint64_t holder);
void myrd_groups_settle(struct myrd_groups *groups, uint64_t holder, uint64_t opening);

/* Reads from the kernel which groups are stuck, and requests the messages that they miss. To be
 * called when the descriptor of mcp_kernel_watch() is readable. If the group's user has used up its
 * quota of requests, the request is scheduled for myrd_groups_poll(). */
void myrd_groups_receive(struct myrd_groups *groups, uint64_t now_ms);

/* myrd_groups_poll() sends all requests that are due. It may be called at any time, and must be
 * called after myrd_groups_timeout() milliseconds (-1: nothing is scheduled). On kernels that do
 * not report stuck groups, it also polls all groups from time to time, and then returns true. In
 * this case the caller passes the CPU time of the call to myrd_groups_took(), which determines the
 * time of the next poll (mcp_kernel_rest()). */
bool myrd_groups_poll(struct myrd_groups *groups, uint64_t now_ms);
void myrd_groups_took(struct myrd_groups *groups, uint64_t took_ns);
int myrd_groups_timeout(const struct myrd_groups *groups, uint64_t now_ms);

/* Fills in the status of the groups that user `uid` may see. */
void myrd_groups_report(const struct myrd_groups *groups, uint32_t uid,
                        struct myr_kernel_report *report);

#endif
