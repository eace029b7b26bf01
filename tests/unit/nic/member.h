/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of a world (world.h): opens its node's NIC, joins a group, and leaves both.
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

/* The progress function of a waiter without other work. */
void no_progress(void);

bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule);
void open_nic(struct member *member, struct world *world, uint32_t rank);
void close_nic(struct member *member);

/* Open a NIC in a segment of `bytes` bytes that no other process can find. */
void open_alone(struct member *member, uint32_t bytes);

/* Join a group of this node's `locals` processes, and of another node that never arrives. */
void join_with_absent(struct member *member, uint64_t key, uint32_t locals,
                      struct myr_nic_group group[]);

/* Wait until all processes have NICs; then the first process of each node publishes the name of
 * its NIC. */
void exchange_names(struct member *member, int point);

/* Join the group with this key, together with the node's other processes or alone. */
void join_one(struct member *member, uint64_t key, uint32_t unit_most, bool alone,
              struct myr_nic_group *group);

void join_group(struct member *member, int point);

/* Open the NIC, and join the group. */
void begin(struct member *member, struct world *world, uint32_t rank);

/* Leave the group and close the NIC. Until all have arrived at `point`, each process polls,
 * because another one may still need responses of its NIC for the last barrier. */
void end(struct member *member, int point);

/* Enter the next barrier, and check afterwards that all have arrived in it. */
void one_barrier(struct member *member);

/* Execute all barriers of the world as one process. */
void do_barriers(uint32_t rank, void *context);

#endif
