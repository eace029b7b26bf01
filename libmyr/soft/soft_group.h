/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups (nic_group.h) that a soft NIC plays. */
#ifndef MYR_SOFT_GROUP_H
#define MYR_SOFT_GROUP_H

#include "libmyr/groups/nic_group.h"
#include "libmyr/soft/nic.h"

/* Join a group. `schedule_of` returns the schedule of a node. Each member joins once and leaves
 * once. No messages are sent: NICs of other nodes may have opened the group or not. On failure
 * MYR_ERR_*. If there is no memory, all processes of a node fail alike. */
enum myr_status myr_soft_group_join(struct myr_nic_group *group, struct myr_soft_nic *nic,
                                    struct myr_waiter *waiter,
                                    const struct myr_nic_members *members,
                                    myr_schedule_fn schedule_of, const void *context,
                                    struct myr_error *error);

/* A process has died without leaving its groups: they fail, and count it as having left. For the
 * supervisor of the NIC's processes. */
void myr_soft_groups_reap(struct myr_soft_nic *nic, uint32_t pid);

#endif
