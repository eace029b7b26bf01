/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group across nodes as one of its processes has it. Epochs (nic_group.h), data (nic_data.h) and
 * broadcasts (nic_bcast.h) work on it, and so does what plays it (group_player.h).
 */
#ifndef MYR_GROUP_MEMBER_H
#define MYR_GROUP_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/node/waiter.h"
#include "libmyr/schedule.h"
#include "libmyr/soft/nic.h"

struct myr_record;
struct myr_nic_data;
struct myr_nic_bcast;

/* Who is in a group; all its processes come with equal numbers. */
struct myr_nic_members {
    uint64_t key; /* random, for this group alone: never used before; not 0. In each packet */
    struct mcp_secret secret;                /* random, for this group alone. In no packet */
    uint32_t nodes;                          /* at least 1 */
    uint32_t node;                           /* this process's node, 0 to nodes - 1 */
    uint32_t locals;                         /* processes of this node */
    uint32_t local;                          /* this one, 0 to locals - 1 */
    const struct myr_nic_name *const *names; /* [nodes]: their NICs */
    const uint32_t
        *firsts; /* [nodes]: of their first processes (local 0) the number in the segment */
    /* Bytes of a node's block, if there is room for so many, in a group that carries data
     * (nic_data.h), or of a broadcast. 0: it is for barriers. */
    uint32_t unit_most;
    bool broadcasts; /* that is what it is for (nic_bcast.h) */
    bool rooted;     /* all nodes' blocks come to node 0 alone; the schedule is of that kind */
};

struct myr_player; /* what plays it, see group_player.h */

/* This process's side of a group. What a barrier reads comes first. */
struct myr_nic_group {
    const myr_word *done; /* the release: the last epoch that is complete; the NIC writes it */
    myr_word *arrivals;   /* of the node's processes: the epochs they have arrived in */
    uint32_t locals, local;
    uint32_t epoch;          /* the last one this process has arrived in */
    uint32_t given_up;       /* the node that this process waits for no longer + 1; 0: none */
    const myr_word *watched; /* the word that this process waits on: `done`, or another */
    const struct myr_player *player; /* NULL: not joined */
    struct myr_waiter *waiter;
    struct myr_segment *segment;
    struct myr_record *record; /* in the segment: what the node's processes share, if it is there */
    struct myr_nic_data *data; /* NULL: the group carries none */
    struct myr_nic_bcast *bcast; /* NULL: it does not broadcast */
    /* The player's own: */
    void *nic, *own;
    uint32_t tag; /* of whoever has joined it; of no meaning here */
};

static inline bool myr_nic_group_joined(const struct myr_nic_group *group)
{
    return NULL != group->player;
}

/* Has everybody arrived in `epoch`? Somebody must run the NIC (myr_soft_poll()). A process that
 * waits by testing also reminds now and then, so that the NIC soon asks for lost messages. */
static inline bool myr_nic_group_test(const struct myr_nic_group *group, uint32_t epoch)
{
    return myr_epoch_reached(myr_load_acquire(group->done), epoch);
}

#endif
