/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group across nodes: the processes of a communicator, whose NICs play its barriers.
 *
 *   GM with NIC-based barriers (Buntinas et al., section 5.2)      here
 *   gm_provide_barrier_buffer, gm_barrier_send_with_callback       myr_nic_group_arrive
 *   the receive token that comes back                              myr_nic_group_test
 *
 * The processes of one node arrive in shared memory, and the last of them rings the NIC. The NIC
 * plays the schedule with the other nodes' NICs. Then it publishes the release, and all processes
 * of the node read it. Arriving and testing are separate calls, so that a process may compute in
 * between (the fuzzy barrier). Any number of barriers may be outstanding, and they complete in
 * order.
 *
 * Threads: one thread at a time uses a group. myr_nic_group_test() may run in any thread.
 */
#ifndef MYR_NIC_GROUP_H
#define MYR_NIC_GROUP_H

#include "firmware/missing.h"
#include "libmyr/groups/group_member.h"

/*
 * Join the group on a soft NIC (on the kernel's: kernel_nic.h). `schedule_of` gives the schedule of
 * a node among the nodes. Each member joins once and leaves once. No messages are sent: NICs of
 * other nodes may have opened the group or not. On failure MYR_ERR_*. When there is no memory, all
 * processes of a node fail alike.
 */
enum myr_status myr_soft_group_join(struct myr_nic_group *group, struct myr_soft_nic *nic,
                                    struct myr_waiter *waiter,
                                    const struct myr_nic_members *members,
                                    myr_schedule_fn schedule_of, const void *context,
                                    struct myr_error *error);
void myr_nic_group_leave(struct myr_nic_group *group);

/* A process has died without leaving its groups. They fail, and count it as having left. For
 * whoever oversees the NIC's processes. */
void myr_soft_groups_bury(struct myr_soft_nic *nic, uint32_t pid);

/* Arrive in the next epoch, which is returned. */
uint32_t myr_nic_group_arrive(struct myr_nic_group *group);

void myr_nic_group_remind(struct myr_nic_group *group);

/* Will nothing more be completed? So it is when the group has failed, or a process died while it
 * ran the NIC. */
bool myr_nic_group_over(const struct myr_nic_group *group);

/*
 * Has the group failed because a node is missing, or because a process of it has died? If so, true
 * with the node's number. If the group is over and this is false, this node's NIC is of no use any
 * more.
 */
bool myr_nic_group_failed(const struct myr_nic_group *group, uint32_t *node);

/*
 * Which nodes is the group waiting for in its present step, or for a block? Lists at most `most` of
 * them; returns how many. 0 also where processes of this node have not arrived. A node is alive if
 * its NIC answers that its host is late. For processes that wait for long: it takes the NIC's lock.
 */
uint32_t myr_nic_group_missing(struct myr_nic_group *group, struct mcp_missing *list,
                               uint32_t most);

/* Nobody will wait for this node any longer: the group fails on all nodes that can be reached. */
void myr_nic_group_fail(struct myr_nic_group *group, uint32_t node);

/* Run the NIC until everybody has arrived in `epoch`, or for `timeout_us` (0: for ever). False if
 * that did not happen, or never will: the NIC is broken, or a member has died. */
bool myr_nic_group_wait(struct myr_nic_group *group, uint32_t epoch, uint32_t timeout_us);

/* The same, until the block is here of the broadcast that this process has begun (nic_bcast.h). */
bool myr_nic_group_wait_bcast(struct myr_nic_group *group, uint32_t timeout_us);

#endif
