/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provides `pair`, the group that most tests use, which is usually small.
 */
#ifndef TESTS_UNIT_KERNEL_SMALL_H
#define TESTS_UNIT_KERNEL_SMALL_H

#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "firmware/wire.h"
#include "tests/unit/kernel/pair.h"

enum {
    GROUP_USER = 61234, /* the group's user */
    OTHER_USER = 61235  /* another user */
};

extern struct pair pair;

/* Plan one step, with one message in each direction. The peer is node 1. */
void plan_small(struct mcp_kernel_plan *plan);

void open_small(uint32_t uid);

/* Open such a group with data: each node has a block of `bytes` bytes. */
void open_small_with_data(uint32_t bytes);

/* Open such a group with broadcasts of up to `bytes` bytes. */
void open_small_with_window(uint32_t bytes);

/* Make a block that node 1 sends. */
struct mcp_header make_block(uint32_t number, uint32_t bytes, uint64_t *random);

/* Check that no event has changed the pair. */
void expect_untouched(void);

/* Let the host arrive in `epoch`. */
void start_epoch(uint32_t epoch);

/* Ring for the group as a process of this user. */
void ring_by(uint32_t uid, uint8_t what);

#endif
