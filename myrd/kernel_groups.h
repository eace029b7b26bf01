/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The groups that are open on the kernel's NIC: their users, their holders, and the work that is
 * due for them. Called by kernel_server.c, which talks to clients.
 *
 * Invariants: only its own user knows a group. A group is open as long as somebody holds it. Of a
 * closed group the NIC keeps the last epoch, as peers may still ask for its messages, however late.
 * Only many later closings make the NIC forget it. A group that carries data, or broadcasts, plays
 * one more epoch before it is closed, as peers may miss its last data; nobody waits for that, and
 * it gives way to a new group of its user's where there is no room. A holder that dies makes its
 * group fail. Of groups, and of those that are closed, a user has a share (share.h), and so of the
 * questions that are asked for groups that are stuck (users.h). The caller gives the time, so a
 * test can pretend any time.
 */
#ifndef MYRD_KERNEL_GROUPS_H
#define MYRD_KERNEL_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/status.h"

enum {
    MYRD_HOLDERS_OF_ONE = 4096, /* the most holders of a group */
    MYRD_LOOK_MS = MCP_KERNEL_LOOK_NS / 1000000,
    MYRD_ASKED_BEFORE_MEET = 16, /* after this many vain questions, look where its peers are now */
    MYRD_FAREWELL_MS = 60000,    /* no group says farewell for longer */
    MYRD_FAIL_AGAIN_MS = 100,    /* until the NIC has heard that a group fails, it is rung again */
};

struct myrd_groups;

struct myrd_users;

/* The groups of a NIC and of its users, which must both outlive them. Those of a NIC that was taken
 * over are there already. NULL: out of memory. */
struct myrd_groups *myrd_groups_make(struct mcp_kernel *kernel, struct myrd_users *users);

/* Close them all; hosts that hold one see that the NIC is removed. Or leave them to the next
 * daemon. */
void myrd_groups_free(struct myrd_groups *groups);
void myrd_groups_abandon(struct myrd_groups *groups);

/* Is there a group with this key, of any user? */
bool myrd_groups_know(const struct myrd_groups *groups, uint64_t key);

/* `holder` opens the group, or shares an equal one of the same user. A holder's number is never
 * used for another (kernel_holders.h). The page in `seen` stays ours. */
enum myr_status myrd_groups_open(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                                 uint64_t holder, struct mcp_kernel_seen *seen,
                                 struct myr_error *error);

/* The peers that a held group waits for. Returns how many, at the most MCP_KERNEL_MESSAGES. */
uint32_t myrd_groups_missing(const struct myrd_groups *groups, uint64_t key, uint64_t holder,
                             struct mcp_missing *list);

/* The holder has done with the group. False if it does not hold it. */
bool myrd_groups_leave(struct myrd_groups *groups, uint64_t key, uint64_t holder);

/* The holder has died. Its groups fail, and it has left them. */
void myrd_groups_reap(struct myrd_groups *groups, uint64_t holder);

/*
 * Those who held groups when the daemon before this one ended are absent: the NIC may have them die
 * (reap), or come back. At `place` in a table of MCP_KERNEL_HOLDERS; NULL: there is none. Call
 * myrd_groups_close_unheld() when the dead ones are reaped.
 */
const struct mcp_kernel_holder *myrd_groups_holder(const struct myrd_groups *groups,
                                                   uint32_t place);
void myrd_groups_close_unheld(struct myrd_groups *groups);

/* An absent holder has come back, and still holds this group (false: it did not); it has left all
 * others, but for the group `opening`, which it will open (again, perhaps). */
bool myrd_groups_hold_on(struct myrd_groups *groups, uint64_t key, uint64_t holder);
void myrd_groups_settle(struct myrd_groups *groups, uint64_t holder, uint64_t opening);

/* The kernel tells of stuck groups (mcp_kernel_watch() can be read): ask for them, or, where their
 * user's share is used up, have myrd_groups_look() do so at its time. */
void myrd_groups_receive(struct myrd_groups *groups, uint64_t now_ms);

/* Ask for whatever is due. Where the kernel does not tell, look at all groups before. Call it after
 * myrd_groups_timeout() milliseconds (-1: nothing will be due), or at any time. True: it has looked
 * at all groups. Then say how long that call took of a processor (nanoseconds), as the next look
 * rests for that (mcp_kernel_rest()). */
bool myrd_groups_look(struct myrd_groups *groups, uint64_t now_ms);
void myrd_groups_took(struct myrd_groups *groups, uint64_t took_ns);
int myrd_groups_timeout(const struct myrd_groups *groups, uint64_t now_ms);

/* All that user `uid` may know of the groups. */
void myrd_groups_report(const struct myrd_groups *groups, uint32_t uid,
                        struct myr_kernel_report *report);

#endif
