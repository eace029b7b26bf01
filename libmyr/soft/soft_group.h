/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups (nic_group.h) whose schedules a soft NIC executes. */
#ifndef MYR_SOFT_GROUP_H
#define MYR_SOFT_GROUP_H

#include "libmyr/groups/nic_group.h"
#include "libmyr/soft/nic.h"

/* Joins a group; each member joins once and leaves once. `schedule_of` returns the schedule of any
 * node. Joining sends no messages, so the NICs of other nodes need not have opened the group yet.
 * Returns MYR_ERR_* on failure. If memory is exhausted, the call fails in the same way in all
 * processes of the node. */
enum myr_status myr_soft_group_join(struct myr_nic_group *group, struct myr_soft_nic *nic,
                                    struct myr_waiter *waiter,
                                    const struct myr_nic_members *members,
                                    myr_schedule_fn schedule_of, const void *context,
                                    struct myr_error *error);

/* Fails the groups that a dead process has not left, and leaves them on its behalf. To be called by
 * the supervisor of the processes that use the NIC. */
void myr_soft_groups_reap(struct myr_soft_nic *nic, uint32_t pid);

#endif
