/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The groups that are open on the kernel's NIC: their users, their holders, and the work that is
 * due for them. Called by kernel_server.c, which serves clients.
 *
 * Invariants: a group is known to its own user only. It is open as long as it has a holder. Of a
 * closed group the NIC keeps the last epoch, since peers may ask for its messages later; it is
 * evicted only after many other groups have been closed. A group that carries data or broadcasts
 * plays one more epoch (a farewell) before it is closed, since peers may miss its last data. No
 * process waits for that, and a new group of the same user may cut it short. If a holder dies, its
 * group fails. Open groups, closed groups (share.h), and requests for stuck groups (users.h) are
 * limited per user. The caller supplies the time, so tests can simulate it.
 */
#ifndef MYRD_KERNEL_GROUPS_H
#define MYRD_KERNEL_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/status.h"

enum {
    MYRD_HOLDERS_OF_ONE = 4096, /* maximum holders of a group */
    MYRD_LOOK_MS = MCP_KERNEL_LOOK_NS / 1000000,
    /* After this many unanswered requests, resolve the peers' addresses again. */
    MYRD_ASKED_BEFORE_MEET = 16,
    MYRD_FAREWELL_MS = 60000, /* maximum duration of a farewell */
    /* Interval of repeating the doorbell about a failure until the NIC has it. */
    MYRD_FAIL_AGAIN_MS = 100,
};

struct myrd_groups;

struct myrd_users;

/* Create the table of a NIC's groups. `kernel` and `users` must outlive it. Contains the groups of
 * a NIC that was taken over. NULL: out of memory. */
struct myrd_groups *myrd_groups_make(struct mcp_kernel *kernel, struct myrd_users *users);

/* Close all groups, whose hosts see that the NIC is removed; or leave them to the next daemon. */
void myrd_groups_free(struct myrd_groups *groups);
void myrd_groups_abandon(struct myrd_groups *groups);

/* True if there is a group with this key, of any user. */
bool myrd_groups_know(const struct myrd_groups *groups, uint64_t key);

/* `holder` opens the group, or shares an identical one of the same user. Holder numbers are never
 * reused (kernel_holders.h). The page in `seen` remains owned by the table. */
enum myr_status myrd_groups_open(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                                 uint64_t holder, struct mcp_kernel_seen *seen,
                                 struct myr_error *error);

/* The peers that a held group waits for. Returns their number, at most MCP_KERNEL_MESSAGES. */
uint32_t myrd_groups_missing(const struct myrd_groups *groups, uint64_t key, uint64_t holder,
                             struct mcp_missing *list);

/* Drop the holder's reference. False if it has none. */
bool myrd_groups_leave(struct myrd_groups *groups, uint64_t key, uint64_t holder);

/* The holder has died: fail its groups, and drop its references. */
void myrd_groups_reap(struct myrd_groups *groups, uint64_t holder);

/* Clients that held groups when the previous daemon ended are absent until they reconnect or are
 * reaped. myrd_groups_holder() returns the absent client at index `place` of a table with
 * MCP_KERNEL_HOLDERS entries, or NULL. Call myrd_groups_close_unheld() when the clients that have
 * died were reaped. */
const struct mcp_kernel_holder *myrd_groups_holder(const struct myrd_groups *groups,
                                                   uint32_t place);
void myrd_groups_close_unheld(struct myrd_groups *groups);

/* An absent holder has reconnected and claims to hold this group; false if it did not.
 * myrd_groups_settle() follows: the holder has left all other groups except `opening`, which it is
 * about to open, perhaps for the second time. */
bool myrd_groups_hold_on(struct myrd_groups *groups, uint64_t key, uint64_t holder);
void myrd_groups_settle(struct myrd_groups *groups, uint64_t holder, uint64_t opening);

/* To be called when mcp_kernel_watch() is readable: the kernel reports stuck groups. Ask for their
 * missing messages, or, if their user's share is used up, schedule it for myrd_groups_look(). */
void myrd_groups_receive(struct myrd_groups *groups, uint64_t now_ms);

/* Send all requests that are due. If the kernel does not report stuck groups, this polls all groups
 * first. To be called after myrd_groups_timeout() milliseconds (-1: nothing is due), or at any
 * time. If it returns true, it has polled all groups, and the caller reports the processor time
 * that this took (nanoseconds), which determines the time of the next poll (mcp_kernel_rest()). */
bool myrd_groups_look(struct myrd_groups *groups, uint64_t now_ms);
void myrd_groups_took(struct myrd_groups *groups, uint64_t took_ns);
int myrd_groups_timeout(const struct myrd_groups *groups, uint64_t now_ms);

/* The status of the groups, as far as user `uid` may know it. */
void myrd_groups_report(const struct myrd_groups *groups, uint32_t uid,
                        struct myr_kernel_report *report);

#endif
