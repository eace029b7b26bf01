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

/* Check after an event that the sleeping process is woken if `wakes` is set, and no process
 * otherwise. */
void expect_woken(struct pair *pair, bool wakes);

/* Deliver a packet of this group. */
void event_packet(struct pair *pair, struct mcp_header header, uint64_t *random);

/* Deliver a packet that no member has sent, with `payload_bytes` bytes after its header. If its
 * key is unknown or the packet is damaged, the program must pass it to the system. */
void inject_strange(struct pair *pair, uint32_t from, const struct mcp_header *header,
                    uint32_t payload_bytes);

void flip(void *bytes, uint32_t bit);

/* Let the host arrive if the previous epoch is complete, and repeat its doorbell otherwise. */
void event_start(struct pair *pair, uint64_t *random);

/* Deliver a packet for a closed group. An ASK for a completed epoch must be answered with DONE,
 * and one for another epoch or for a block with FAIL, if the group has failed. */
void event_late(struct pair *pair, struct mcp_header header, uint64_t *random);

/* Apply random events to the pair. Then close it, and finally make the NIC forget it, so that
 * its packets count as foreign. */
void play_trace(struct pair *pair, uint32_t events, uint64_t *random);

#endif
