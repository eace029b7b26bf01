/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies events of a group to the kernel and to the reference, and checks that both reach the same
 * state.
 */
#ifndef TESTS_UNIT_KERNEL_EVENTS_H
#define TESTS_UNIT_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/wire.h"
#include "tests/unit/kernel/pair.h"

/* After an event: the sleeping process is woken if `wakes` is set, and no process otherwise. */
void expect_woken(struct pair *pair, bool wakes);

/* A packet of this group arrives. */
void event_packet(struct pair *pair, struct mcp_header header, uint64_t *random);

/* A packet arrives that no member has sent, with `payload_bytes` behind its header. If its key is
 * unknown or the packet is damaged, it is passed to the system. */
void inject_strange(struct pair *pair, uint32_t from, const struct mcp_header *header,
                    uint32_t payload_bytes);

/* Flip one bit. */
void flip(void *bytes, uint32_t bit);

/* The host arrives if the epoch before is complete; otherwise it repeats its doorbell. */
void event_start(struct pair *pair, uint64_t *random);

/* A packet for a closed group. An ASK for a completed epoch is answered with DONE, and one for
 * another epoch or for a block with FAIL, if the group has failed. */
void event_late(struct pair *pair, struct mcp_header header, uint64_t *random);

/* Play random events on the pair. Then close it, and at last forget it, so that its packets are
 * foreign. */
void play_trace(struct pair *pair, uint32_t events, uint64_t *random);

#endif
