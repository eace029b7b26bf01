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

/* The number of groups in a segment. */
uint32_t groups_in(struct myr_segment *segment);

/* Bytes of a process's part of an epoch; 0 for some epochs. */
uint32_t part_of(const struct member *member, uint32_t epoch);

/* Check the parts of all processes. */
void expect_blocks(const struct member *member, uint32_t epoch);

/* Arrive in the next epoch with data. */
uint32_t arrive_with_data(struct member *member);

/* How many polls are between two groups that are joined and left, so that completed groups are
 * closed. If these came too often, the NIC would forget closed groups, of which it keeps
 * MCP_LATE. */
enum { POLLS = 16 };

/* Join a group of its own, and leave it. */
void join_and_leave(struct member *member, uint64_t key);

/* Play one group after the other, without waiting until the others have left. */
void play_groups(struct world *world, uint32_t rank, void (*play)(struct member *member));

#endif
