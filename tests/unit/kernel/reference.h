/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies doorbells and packets to the engine in this process, the reference with whose results
 * those of the kernel's program must agree.
 */
#ifndef TESTS_UNIT_KERNEL_REFERENCE_H
#define TESTS_UNIT_KERNEL_REFERENCE_H

#include <stdint.h>

#include "firmware/wire.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/pair.h"

/* The messages that the reference sends because of one event. */
extern struct sent sent[];
extern uint32_t nsent;

/* Append a message to `sent`. */
void send_one(const struct pair *pair, const struct mcp_message *message);

/* Send the messages that are ready; request those that are missing. */
void play_here(struct pair *pair);
void ask_here(struct pair *pair);

/* Process a valid packet of this group, as collective.c does. */
void receive_here(struct pair *pair, const struct mcp_header *header);

enum mcp_recorded take_block_here(struct pair *pair, uint32_t root, uint32_t number,
                                  uint32_t bytes);

/* Request a broadcast on behalf of this node. */
void ask_bcast_here(struct pair *pair, uint32_t root, uint32_t number);

/* Check that the kernel has sent the same messages. */
void expect_sent(void);

/* Check that the kernel has sent, counted and published the same as the reference after an
 * event. */
void expect_same(struct pair *pair);

#endif
