/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is expected of the NIC: what it counts, sends, and lets pass.
 */
#ifndef TESTS_UNIT_KERNEL_EXPECTED_H
#define TESTS_UNIT_KERNEL_EXPECTED_H

#include <stddef.h>
#include <stdint.h>

#include "firmware/engine.h"
#include "firmware/wire.h"
#include "tests/unit/kernel/frames.h"

extern struct mcp_counters count; /* what the NIC should have counted so far */

/* A message of the NIC's, with what it carries; its link is an IP address here. */
struct sent {
    struct mcp_message message;
    uint8_t payload[MCP_PAYLOAD_MOST];
};

/* It has counted just this. */
void expect_count(void);

/* It comes out next. */
void expect_message(const struct sent *expected);

/* This very frame has passed the program on its way in. */
void expect_passed(const struct frame *frame, size_t payload_bytes);

/* What is sent like this has left, past the program. */
void expect_left(const void *payload, size_t bytes);

/* Nothing else has come out or passed: what is sent now, both ways, is what comes next. */
void expect_nothing_more(void);

/* The same, whatever it has counted. */
void expect_silence(void);

/* Whatever was sent and counted until now is of no interest. */
void skip_sent(void);

#endif
