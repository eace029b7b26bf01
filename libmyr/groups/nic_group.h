/* SPDX-License-Identifier: BSD-3-Clause */
/* A group across nodes: the processes of a communicator, whose NICs perform its barriers.
 *   GM with NIC-based barriers (Buntinas et al., section 5.2)      here
 *   gm_provide_barrier_buffer, gm_barrier_send_with_callback       myr_nic_group_arrive
 *   the receive token that is returned                             myr_nic_group_test
 *
 * The processes of a node arrive in shared memory, and the last of them rings the doorbell of the
 * NIC. The NIC executes the schedule together with the NICs of the other nodes. Then it publishes
 * the release, a word that all processes of the node read. Arriving and testing are separate calls,
 * so a process may compute between them (a fuzzy barrier). Any number of barriers may be
 * outstanding, and they complete in order.
 *
 * Only one thread at a time may use a group, but myr_nic_group_test() may be called by any
 * thread. */
#ifndef MYR_NIC_GROUP_H
#define MYR_NIC_GROUP_H

#include "firmware/missing.h"
#include "libmyr/groups/group_member.h"

/* Leaves the group. Each member has joined once, through its kind of NIC (nic_kind.h), and leaves
 * once. */
void myr_nic_group_leave(struct myr_nic_group *group);

/* myr_nic_group_arrive() arrives in the next epoch, and returns its number. A process that polls
 * calls myr_nic_group_remind() from time to time, so that its NIC requests lost messages. */
uint32_t myr_nic_group_arrive(struct myr_nic_group *group);

void myr_nic_group_remind(struct myr_nic_group *group);

/* Returns true if no further epoch will complete, because the group has failed, or a process died
 * while it ran the NIC. */
bool myr_nic_group_over(const struct myr_nic_group *group);

/* Returns whether the group has failed because a node is missing or one of its processes has died.
 * If so, `*node` becomes the number of that node. A group can also be over without having failed
 * (myr_nic_group_over()); in that case the NIC of the calling process is unusable. */
bool myr_nic_group_failed(const struct myr_nic_group *group, uint32_t *node);

/* Lists up to `most` nodes from which the group still needs a message of its present step or the
 * block of a broadcast, and returns their number. The list is empty if processes of the calling
 * node have not arrived yet themselves. A listed node may be late rather than dead: then its NIC
 * reports that its host is late.
 *
 * The function takes the lock of the NIC, so it should be called only after a long wait. */
uint32_t myr_nic_group_missing(struct myr_nic_group *group, struct mcp_missing *list,
                               uint32_t most);

/* Stops waiting for this node. The group then fails on all nodes that can be reached. */
void myr_nic_group_fail(struct myr_nic_group *group, uint32_t node);

/* Runs the NIC until `epoch` is complete or `timeout_us` microseconds have passed (0: no timeout).
 * Returns whether the epoch is complete. If the NIC breaks or a member dies, the epoch will never
 * be complete, and the function returns false before the timeout. */
bool myr_nic_group_wait(struct myr_nic_group *group, uint32_t epoch, uint32_t timeout_us);

/* Runs the NIC until the block of the broadcast that this process has begun arrives (nic_bcast.h).
 * The timeout and the result are as in myr_nic_group_wait(). */
bool myr_nic_group_wait_bcast(struct myr_nic_group *group, uint32_t timeout_us);

#endif
