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

/* Wait until the counters are as expected. */
void expect_count(void);

/* This message is the next on the wire. */
void expect_message(const struct sent *expected);

/* The program has passed this frame to the system unchanged. */
void expect_passed(const struct frame *frame, size_t payload_bytes);

/* A packet with this payload has left, unchanged by the program. */
void expect_left(const void *payload, size_t bytes);

/* Nothing else was sent or passed, and the counters are as expected. Marker packets in both
 * directions show it: they are the next to come. */
void expect_nothing_more(void);

/* The same, without the counters. */
void expect_silence(void);

/* Discard what was sent until now, and take over the counters. */
void skip_sent(void);

#endif
