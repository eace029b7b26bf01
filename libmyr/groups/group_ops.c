/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrival of a node's processes in an epoch; see group_ops.h. */
#include "libmyr/groups/group_ops.h"

/* Every process writes its own word before it reads the words of the others. If two processes
 * arrive at the same time, at least one of them therefore finds that all have arrived. If both do,
 * the NIC gets two doorbells, which is harmless. */
bool myr_group_all_arrived(const struct myr_nic_group *group, uint32_t epoch)
{
    for (uint32_t i = 1; i < group->locals; ++i) {
        uint32_t other = group->local + i;
        other = other < group->locals ? other : other - group->locals;
        if (!myr_epoch_reached(atomic_load(&group->arrivals[other]), epoch)) {
            return false;
        }
    }
    return true;
}

uint32_t myr_group_arrived(const struct myr_nic_group *group)
{
    uint32_t epoch = group->epoch;
    for (uint32_t i = 0; group->locals > 1 && i < group->locals; ++i) {
        const uint32_t other = myr_load_acquire(&group->arrivals[i]);
        epoch = myr_epoch_reached(other, epoch) ? epoch : other;
    }
    return epoch;
}

uint32_t myr_group_arrive_next(struct myr_nic_group *group)
{
    const uint32_t epoch = ++group->epoch;
    if (group->locals > 1) {
        atomic_store(&group->arrivals[group->local], epoch);
    }
    if (myr_group_all_arrived(group, epoch)) {
        group->ops->start(group, epoch, NULL, 0);
    }
    return epoch;
}
