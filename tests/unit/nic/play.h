/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data: what each process has for an epoch, and has to find after it; and groups that follow one
 * another.
 */
#ifndef TESTS_UNIT_NIC_PLAY_H
#define TESTS_UNIT_NIC_PLAY_H

#include <stdint.h>

#include "libmyr/node/segment.h"
#include "tests/unit/nic/member.h"

/* How many groups there are in a segment. */
uint32_t groups_in(struct myr_segment *segment);

/* Bytes of a process's part: for some epochs nobody has data. */
uint32_t part_of(const struct member *member, uint32_t epoch);

/* All parts of this epoch are there. */
void expect_blocks(const struct member *member, uint32_t epoch);

/* Come to the next epoch. */
uint32_t arrive_with_data(struct member *member);

/* Come and go, so that groups that are through are closed. Not too often: of groups that are closed
 * a NIC remembers MCP_LATE. */
enum { TURNS = 16 };

/* Come to a group of its own, and go. */
void pass_by(struct member *member, uint64_t key);

/* Groups follow one another at once: nobody waits for the others to leave. */
void play_groups(struct world *world, uint32_t rank, void (*turn)(struct member *member));

#endif
