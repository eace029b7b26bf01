/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reference: what the engine here makes of what hosts ring and peers send. The kernel's has to
 * make the same of it.
 */
#ifndef TESTS_UNIT_KERNEL_REFERENCE_H
#define TESTS_UNIT_KERNEL_REFERENCE_H

#include <stdint.h>

#include "firmware/wire.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/pair.h"

/* The messages that the engine here has sent because of one event. */
extern struct sent sent[];
extern uint32_t nsent;

/* One message has been sent here. */
void send_one(const struct pair *pair, const struct mcp_message *message);

/* The engine here sends what it has to; what is missing is asked for. */
void play_here(struct pair *pair);
void ask_here(struct pair *pair);

/* A whole packet of this group has come: as collective.c does. */
void receive_here(struct pair *pair, const struct mcp_header *header);

enum mcp_recorded take_block_here(struct pair *pair, uint32_t root, uint32_t number,
                                  uint32_t bytes);

/* This node misses a broadcast. */
void ask_bcast_here(struct pair *pair, uint32_t root, uint32_t number);

/* They come out of the kernel, too. */
void expect_sent(void);

/* After an event: what came of it in the kernel is what came of it here. */
void expect_same(struct pair *pair);

#endif
