/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of a world: how it comes to its node's NIC and to a group, and how it leaves both.
 */
#ifndef TESTS_UNIT_NIC_MEMBER_H
#define TESTS_UNIT_NIC_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/groups/nic_group.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "libmyr/schedule.h"
#include "libmyr/soft/nic.h"
#include "tests/unit/nic/world.h"

struct member {
    struct world *world;
    uint32_t rank, node, local;
    uint64_t random;
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_waiter waiter;
    struct myr_nic_group group;
    uint32_t generation;
};

/* For a waiter that has nothing else to do. */
void no_progress(void);

bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule);
void open_nic(struct member *member, struct world *world, uint32_t rank);

/* All have NICs; whoever is the first of its node tells the others its name. */
void exchange_names(struct member *member, int point);

/* Join the group of this key: with the node's others, or alone. */
void join_one(struct member *member, uint64_t key, uint32_t unit_most, bool alone,
              struct myr_nic_group *group);

void join_group(struct member *member, int point);

/* Come to the NIC, and to the group. */
void begin(struct member *member, struct world *world, uint32_t rank);

/* One at a time may be in its last barrier when others are through: their NIC must still answer, so
 * all stay until all are done. */
void end(struct member *member, int point);

/* Come to the next barrier; after it all must have come to it. */
void one_barrier(struct member *member);

/* A process that plays the barriers of its world. */
void do_barriers(uint32_t rank, void *context);

#endif
