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

/* One step, with one message each way. The peer is node 1. */
void plan_small(struct mcp_kernel_plan *plan);

void open_small(uint32_t uid);

/* The same with data: each node has a block of `bytes` bytes. */
void open_small_with_data(uint32_t bytes);

/* The same with broadcasts of up to `bytes` bytes. */
void open_small_with_window(uint32_t bytes);

/* A block that node 1 sends. */
struct mcp_header make_block(uint32_t number, uint32_t bytes, uint64_t *random);

/* No event has changed the pair. */
void expect_untouched(void);

/* The host arrives. */
void start_epoch(uint32_t epoch);

/* A process of this user rings for the group. */
void ring_by(uint32_t uid, uint8_t what);

#endif
