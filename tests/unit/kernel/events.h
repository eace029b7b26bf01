/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: what happens to a group, in the kernel and here. Whatever it is, the same comes of it.
 */
#ifndef TESTS_UNIT_KERNEL_EVENTS_H
#define TESTS_UNIT_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/wire.h"
#include "tests/unit/kernel/pair.h"

/* Something has happened. Is whoever sleeps woken if it `wakes`, and nobody else? */
void expect_woken(struct pair *pair, bool wakes);

/* A packet of this group comes in. */
void event_packet(struct pair *pair, struct mcp_header header, uint64_t *random);

/* One comes in that nobody of the group has sent, with so many bytes behind its header. Where its
 * key is not the group's, or it is none at all, nobody knows whose it is: it passes. */
void inject_strange(struct pair *pair, uint32_t from, const struct mcp_header *header,
                    uint32_t behind_it);

/* Change this bit of it. */
void flip(void *bytes, uint32_t bit);

/* The host arrives, if it has left the epoch before; else it says again what it has said. */
void event_start(struct pair *pair, uint64_t *random);

/* A packet for a group that is closed. Who asks for an epoch that was done hears that it is; for
 * another one, or for a block, that the group has failed, if it has. */
void event_late(struct pair *pair, struct mcp_header header, uint64_t *random);

/* Play it; then it is closed, and at last forgotten: nobody's any more. */
void play_trace(struct pair *pair, uint32_t events, uint64_t *random);

#endif
