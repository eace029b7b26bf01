/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs epochs with data: computes the data that each process contributes to an epoch and expects
 * after it, and runs groups one after the other.
 */
#ifndef TESTS_UNIT_NIC_PLAY_H
#define TESTS_UNIT_NIC_PLAY_H

#include <stdint.h>

#include "libmyr/node/segment.h"
#include "tests/unit/nic/member.h"

uint32_t groups_in(struct myr_segment *segment);

/* Returns the size of a process's contribution to an epoch; 0 for some epochs. */
uint32_t part_of(const struct member *member, uint32_t epoch);

/* Check the contributions of all processes. */
void expect_blocks(const struct member *member, uint32_t epoch);

/* Arrive in the next epoch with data. */
uint32_t arrive_with_data(struct member *member);

/* Number of polls between two groups that a process joins and leaves so that completed groups are
 * closed. With fewer polls, groups would follow each other so fast that the NIC, which remembers
 * MCP_LATE closed groups, would forget some too early. */
enum { POLLS = 16 };

/* Join a group of this process alone, and leave it. */
void join_and_leave(struct member *member, uint64_t key);

/* Run one group after the other, without waiting until the others have left. */
void play_groups(struct world *world, uint32_t rank, void (*play)(struct member *member));

#endif
