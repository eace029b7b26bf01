/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes doorbells, in the same format as hosts, and random packets of members: usually the packets
 * that are expected next, and otherwise late, early or wrong ones.
 */
#ifndef TESTS_UNIT_KERNEL_PACKETS_H
#define TESTS_UNIT_KERNEL_PACKETS_H

#include <stdint.h>

#include "firmware/kernel/kernel.h"
#include "firmware/wire.h"
#include "tests/unit/kernel/pair.h"

struct mcp_doorbell make_doorbell(uint64_t key, uint8_t what, uint32_t epoch);

/* Ring the bell with a message that is followed by `bytes` bytes of `carried` (frames.h). */
void ring_with(int bell, uint64_t key, uint8_t what, uint32_t epoch, uint32_t bytes);

void ring(int bell, uint64_t key, uint8_t what, uint32_t epoch);

/* Make a sealed packet of the group, without data. (An ARRIVE names its receiver, not `node`.) */
struct mcp_header make_header(const struct pair *pair, uint8_t type, uint32_t epoch, uint32_t slot,
                              uint32_t node);

void fill_carried(uint32_t bytes, uint64_t *random);

/* Returns a valid length of a payload or a block. */
uint32_t some_bytes(uint64_t *random);

/* Returns an epoch near the present one: complete, outstanding, next, or impossible. */
uint32_t some_epoch(const struct pair *pair, uint64_t *random);

/* Returns an arrival, sometimes for another node. */
struct mcp_header some_arrival(const struct pair *pair, uint64_t *random);

/* Returns the first arrival that is missing, so that epochs are completed. */
struct mcp_header missing_arrival(const struct pair *pair, uint64_t *random);

struct mcp_header some_ask(const struct pair *pair, uint64_t *random);

/* Returns a LATER for this node or a wrong one. */
struct mcp_header some_later(const struct pair *pair, uint64_t *random);

/* Returns a broadcast's number: usually the next one, otherwise one that has arrived or has not,
 * one at the edge of the window, or any. */
uint32_t some_number(const struct pair *pair, uint64_t *random);

uint32_t some_root(const struct pair *pair, uint64_t *random);

/* Fill `carried` with a block, which usually fits. Returns its length. */
uint32_t fill_block(const struct pair *pair, uint64_t *random);

/* Returns a BCAST, BCAST_ASK or BCAST_LATER. */
struct mcp_header some_bcast(const struct pair *pair, uint64_t *random);

#endif
