/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The groups that are open on the kernel's NIC: whose they are, who holds them, and what is due for
 * them. Called by kernel_server.c, which does the talking.
 *
 * Invariants: a group is known to its user alone. A group is open as long as somebody holds it. Of
 * a closed one the NIC keeps the last epoch, as peers may still ask for its messages, however late;
 * only many more that are closed have it forgotten. Whoever dies with a group has it fail. The
 * caller says what time it is, so time can be pretended.
 */
#ifndef MYRD_KERNEL_GROUPS_H
#define MYRD_KERNEL_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel_words.h"
#include "libmyr/status.h"

enum {
    MYRD_GROUPS_OF_ONE = 256,   /* a user may have so many, */
    MYRD_HOLDERS_OF_ONE = 4096, /* ... a group may be held so often */
    MYRD_CLOSED_OF_ONE = 4096,  /* closed groups of a user that are kept in mind */
    MYRD_LOOK_MS = MCP_KERNEL_LOOK_MS,
    MYRD_PATIENCE_MOST_MS = 64,  /* the longest between two askings for a stuck group */
    MYRD_ASKED_BEFORE_MEET = 16, /* askings in vain, before it is looked where its peers are now */
};

struct myrd_groups;

/* Those of a NIC, which must outlive them; NULL: out of memory. */
struct myrd_groups *myrd_groups_make(struct mcp_kernel *kernel);
void myrd_groups_free(struct myrd_groups *groups);

/* Is there one with this key, whosever it is? */
bool myrd_groups_know(const struct myrd_groups *groups, uint64_t key);

/* `holder` (a number never used for another) opens the group, or shares it if it is there, the
 * same, and its user's. `page` stays ours. */
enum myr_status myrd_groups_open(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                                 uint64_t holder, int *page, struct myr_error *error);

/* Whom does a group wait for that it holds? How many, at the most MCP_KERNEL_MESSAGES. */
uint32_t myrd_groups_missing(const struct myrd_groups *groups, uint64_t key, uint64_t holder,
                             struct mcp_kernel_missing *list);

/* It has done with it; false if it does not hold such a group. */
bool myrd_groups_leave(struct myrd_groups *groups, uint64_t key, uint64_t holder);

/* It has died: what it holds fails, and it has left it. */
void myrd_groups_bury(struct myrd_groups *groups, uint64_t holder);

/* The kernel tells of groups that are stuck (mcp_kernel_watch() can be read): ask for them. */
void myrd_groups_hear(struct myrd_groups *groups, uint64_t now_ms);

/* Do the same where it does not tell: look at all groups. To be called after myrd_groups_timeout()
 * milliseconds (-1: nothing is due ever), or any time. */
void myrd_groups_look(struct myrd_groups *groups, uint64_t now_ms);
int myrd_groups_timeout(const struct myrd_groups *groups, uint64_t now_ms);

/* What user `uid` may know of the groups. */
void myrd_groups_report(const struct myrd_groups *groups, uint32_t uid,
                        struct myr_kernel_report *report);

#endif
