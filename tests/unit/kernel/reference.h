/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the reference: the result of doorbells and packets in the engine of this process, with
 * which the result of the kernel's program must agree.
 */
#ifndef TESTS_UNIT_KERNEL_REFERENCE_H
#define TESTS_UNIT_KERNEL_REFERENCE_H

#include <stdint.h>

#include "firmware/wire.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/pair.h"

/* The messages of the reference because of one event. */
extern struct sent sent[];
extern uint32_t nsent;

/* Add a message to them. */
void send_one(const struct pair *pair, const struct mcp_message *message);

/* Send what is due, and ask for what is missing. */
void play_here(struct pair *pair);
void ask_here(struct pair *pair);

/* A valid packet of this group has arrived. Follows collective.c. */
void receive_here(struct pair *pair, const struct mcp_header *header);

enum mcp_recorded take_block_here(struct pair *pair, uint32_t root, uint32_t number,
                                  uint32_t bytes);

/* This node asks for a broadcast. */
void ask_bcast_here(struct pair *pair, uint32_t root, uint32_t number);

/* The kernel has sent the same messages. */
void expect_sent(void);

/* After an event the kernel has sent, counted and published what the reference has. */
void expect_same(struct pair *pair);

#endif
