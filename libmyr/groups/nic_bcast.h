/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts across nodes: groups (nic_group.h) in which one process at a time, the root, sends a
 * block to all others (firmware/bcast.h). All processes begin the same broadcasts in the same
 * order, with the same root.
 *     myr_nic_bcast_begin(group, node of the root);
 *     root:    wait until myr_nic_bcast_room(group), see there;
 *              memcpy(myr_nic_bcast_data(group), mine, bytes);
 *              myr_nic_bcast_send(group, bytes);
 *     all:     myr_nic_group_wait_bcast(group, ...);
 *              (the root too, as its NIC may not have taken the block yet)
 *     others:  read myr_nic_bcast_check(group, &bytes);
 *     all:     myr_nic_bcast_end(group);
 *
 * The root need not wait for other processes as long as the window has space. The epochs of the
 * group serve as credits: whenever a process has read half a window, it arrives in the next epoch.
 * A barrier between two broadcasts (myr_nic_group_arrive()) also takes an epoch, and therefore
 * skips the rest of the current half of the window.
 *
 * Only one thread at a time may use a group. */
#ifndef MYR_NIC_BCAST_H
#define MYR_NIC_BCAST_H

#include "firmware/bcast.h"
#include "firmware/missing.h"
#include "libmyr/groups/group_member.h"
#include "libmyr/groups/spread.h"

/* A process's side of the broadcasts: `bcast` of struct myr_nic_group. */
struct myr_nic_bcast {
    const uint8_t *slots; /* the window, written by the NIC */
    uint32_t window, slot_bytes;
    uint32_t nodes, node;
    uint32_t number; /* of the last broadcast that this process has begun */
    uint32_t root;   /* the node of its root */
    uint32_t sent;   /* size of the block, once this process has sent it; 0 if not sent */
    struct mcp_backoff backoff;
    struct myr_spread spread;
    uint8_t *block; /* where the root assembles a block */
};

/* ---- for users of groups ---- */

/* Returns the size of the largest broadcast (bytes of data). */
uint32_t myr_nic_bcast_most(const struct myr_nic_group *group);

void myr_nic_bcast_begin(struct myr_nic_group *group, uint32_t root);

/* Returns whether the window has space, so that the root may send its block now. If not, the root
 * must first wait for the completion of epoch group->epoch - 1, the last but one in which it has
 * arrived. */
static inline bool myr_nic_bcast_room(const struct myr_nic_group *group)
{
    return myr_nic_group_test(group, group->epoch - 1);
}

/* Returns the root's buffer for the data. */
uint8_t *myr_nic_bcast_data(const struct myr_nic_group *group);

/* Sends the first `bytes` of the buffer, as the root. */
void myr_nic_bcast_send(struct myr_nic_group *group, uint32_t bytes);

/* Returns the word that is set to the number of the current broadcast when the block of this
 * broadcast arrives on the node. This also happens on the node of the root. */
static inline const myr_word *myr_nic_bcast_word(const struct myr_nic_group *group)
{
    const struct myr_nic_bcast *bcast = group->bcast;
    return (const myr_word *)(bcast->slots +
                              mcp_bcast_offset(bcast->window, bcast->slot_bytes, bcast->number));
}

static inline bool myr_nic_bcast_test(const struct myr_nic_group *group)
{
    return group->bcast->number == myr_load_acquire(myr_nic_bcast_word(group));
}

/* Called from time to time by a process that polls; the counterpart of myr_nic_group_remind(). */
void myr_nic_bcast_remind(struct myr_nic_group *group);

/* Returns the data of the broadcast, which remain valid until the process ends the broadcast.
 * `*bytes` is set to the length that the root has sent, but at most to myr_nic_bcast_most(). */
const void *myr_nic_bcast_check(const struct myr_nic_group *group, uint32_t *bytes);

/* Ends the broadcast for this process. */
void myr_nic_bcast_end(struct myr_nic_group *group);

/* ---- for kinds of NICs ---- */

/* Creates the broadcast state of a group. *bcast becomes NULL if `members` does not request
 * broadcasts. Returns MYR_ERR_TOO_LONG if the schedule is not suitable for broadcasts. */
enum myr_status myr_nic_bcast_new(const struct myr_nic_members *members,
                                  const struct myr_schedule *schedule, struct myr_nic_bcast **bcast,
                                  struct myr_error *error);
void myr_nic_bcast_free(struct myr_nic_bcast *bcast);

/* Called when the process arrives in a barrier, which takes an epoch. Skips the rest of the current
 * half of the window, or the whole next half if nothing is left of the current one. */
void myr_nic_bcast_leave_half(struct myr_nic_group *group);

/* Called at `now_us` when a process has waited long for a block. */
void myr_nic_bcast_remind_at(struct myr_nic_group *group, uint64_t now_us);

/* Finds the node that this process waits for; returns false if that is its own node. */
bool myr_nic_bcast_missing(const struct myr_nic_group *group, struct mcp_missing *missing);

#endif
