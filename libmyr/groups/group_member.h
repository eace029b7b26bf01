/* SPDX-License-Identifier: BSD-3-Clause */
/* The state that a member process keeps of a group across nodes. The functions for epochs
 * (nic_group.h), data (nic_data.h) and broadcasts (nic_bcast.h) work on it, and so do the
 * operations of each kind of NIC (group_ops.h). */
#ifndef MYR_GROUP_MEMBER_H
#define MYR_GROUP_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/siphash.h"
#include "libmyr/nic_name.h"
#include "libmyr/node/waiter.h"
#include "libmyr/schedule.h"
#include "libmyr/status.h"

struct myr_record;
struct myr_nic_data;
struct myr_nic_bcast;

/* The members of a group. All processes of the group pass the same values, except for `node`,
 * `locals` and `local`. */
struct myr_nic_members {
    uint64_t key;             /* random, not 0, and unique to this group; each packet contains it */
    struct mcp_secret secret; /* random and unique to this group; no packet contains it */
    uint32_t nodes;           /* at least 1 */
    uint32_t node;            /* this process's node, 0 to nodes - 1 */
    uint32_t locals;          /* number of processes on this node */
    uint32_t local;           /* this process, 0 to locals - 1 */
    const struct myr_nic_name *const *names; /* [nodes]: the names of the NICs of all nodes */
    const uint32_t *firsts; /* [nodes]: the segment number of each node's first process (local 0) */
    /* The requested maximum size of a node's block in a group that carries data (nic_data.h), or of
     * a broadcast, in bytes; 0 if the group is for barriers. If a block of this size does not fit,
     * the group uses a lower maximum. */
    uint32_t unit_most;
    bool broadcasts; /* whether the group is for broadcasts (nic_bcast.h) */
    bool rooted; /* whether all nodes' blocks are for node 0 only; the schedule is of that kind */
};

struct myr_group_ops; /* see group_ops.h */

/* A process's side of a group. The fields that a barrier reads come first. */
struct myr_nic_group {
    const myr_word *done; /* the release: the last complete epoch; written by the NIC */
    myr_word *arrivals;   /* for each process of the node, the epoch in which it has arrived */
    uint32_t locals, local;
    uint32_t epoch;                  /* the last epoch in which this process has arrived */
    uint32_t given_up;               /* the node that this process has given up, + 1; 0 if none */
    const myr_word *watched;         /* the word on which this process waits: `done`, or another */
    const struct myr_group_ops *ops; /* NULL if not joined */
    struct myr_waiter *waiter;
    struct myr_segment *segment;
    /* in the segment, shared by the node's processes; NULL if there is none */
    struct myr_record *record;
    struct myr_nic_data *data;   /* NULL if the group carries no data */
    struct myr_nic_bcast *bcast; /* NULL if the group does not broadcast */
    /* Private to the kind of NIC: */
    void *nic, *own;
    uint32_t tag; /* for the caller that joined the group; not used here */
};

static inline bool myr_nic_group_joined(const struct myr_nic_group *group)
{
    return NULL != group->ops;
}

/* Returns whether `epoch` is complete. This function does not run the NIC, so some process must do
 * that (myr_soft_poll()). A process that polls with this function must also call
 * myr_nic_group_remind() from time to time, so that the NIC requests lost messages. */
static inline bool myr_nic_group_test(const struct myr_nic_group *group, uint32_t epoch)
{
    return myr_epoch_reached(myr_load_acquire(group->done), epoch);
}

#endif
