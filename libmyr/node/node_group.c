/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of a group on one node; see node_group.h. */
#include "libmyr/node/node_group.h"

size_t myr_group_arrival_bytes(uint32_t size)
{
    return myr_plan_flags_bytes(size, sizeof(myr_word)); /* the layout of `flags` */
}

void myr_group_init(struct myr_group *group, struct myr_record *record, struct myr_waiter *waiter,
                    uint32_t size, uint32_t rank)
{
    *group = (struct myr_group){
        .arrivals = (myr_word *)record->slots,
        .size = size,
        .rank = rank,
        .record = record,
    };
    myr_watch_init(&group->watch, waiter, &record->sleepers);
}

void *myr_group_slots(const struct myr_group *group)
{
    return group->record->slots + myr_group_arrival_bytes(group->size);
}

void myr_group_arrive(struct myr_group *group, struct myr_arrival *arrival)
{
    *arrival = (struct myr_arrival){group->arrivals, group->size, ++group->arrived, 0};
    myr_store_release(&group->arrivals[group->rank], arrival->epoch);
}
