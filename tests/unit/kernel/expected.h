/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks what a test expects of the NIC: its counters, the packets that it sends, and those that it
 * passes to the system.
 */
#ifndef TESTS_UNIT_KERNEL_EXPECTED_H
#define TESTS_UNIT_KERNEL_EXPECTED_H

#include <stddef.h>
#include <stdint.h>

#include "firmware/engine.h"
#include "firmware/wire.h"
#include "tests/unit/kernel/frames.h"

extern struct mcp_counters count; /* the expected counters */

/* A message that the NIC sends, with its payload. Its link is an IP address here. */
struct sent {
    struct mcp_message message;
    uint8_t payload[MCP_PAYLOAD_MOST];
};

/* Wait until the counters have the expected values. */
void expect_count(void);

/* Check that this message is the next one on the wire. */
void expect_message(const struct sent *expected);

/* Check that the program has passed this frame to the system unchanged. */
void expect_passed(const struct frame *frame, size_t payload_bytes);

/* Check that the program has let a packet with this payload leave unchanged. */
void expect_left(const void *payload, size_t bytes);

/* Check that nothing else was sent or passed, and that the counters have the expected values.
 * For that, marker packets are sent in both directions, which must be the next ones to arrive. */
void expect_nothing_more(void);

/* Check that nothing else was sent or passed, whatever the counters are. */
void expect_silence(void);

/* Discard all packets sent until now, and expect the present counters. */
void skip_sent(void);

#endif
