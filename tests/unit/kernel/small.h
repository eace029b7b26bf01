/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The group that most tests play with: a small one, as a rule.
 */
#ifndef TESTS_UNIT_KERNEL_SMALL_H
#define TESTS_UNIT_KERNEL_SMALL_H

#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "firmware/wire.h"
#include "tests/unit/kernel/pair.h"

enum {
    GROUP_USER = 61234, /* whose group it is, */
    OTHER_USER = 61235  /* ... and somebody else */
};

extern struct pair pair;

/* One step, with one message each way; the peer is node 1. */
void plan_small(struct mcp_kernel_plan *plan);

void open_small(uint32_t uid);

/* The same with data: each node has a block of so many bytes. */
void open_small_with_data(uint32_t bytes);

/* The same with broadcasts of so many bytes. */
void open_small_with_window(uint32_t bytes);

/* Node 1 of it has sent this block. */
struct mcp_header make_block(uint32_t number, uint32_t bytes, uint64_t *random);

/* And nothing has happened to it. */
void expect_untouched(void);

/* Its host arrives. */
void start_epoch(uint32_t epoch);

/* A process of this user rings for it. */
void have_rung(uint32_t uid, uint8_t what);

#endif
