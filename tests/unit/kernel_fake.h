/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake of the kernel NIC, for tests of its owner (firmware/kernel/owner.h). It executes no
 * collectives: it records the calls, and has the state that the test sets. It needs no privileges.
 *
 * Thread-safe: myrd's server runs in one thread, the test in another.
 */
#ifndef TESTS_UNIT_KERNEL_FAKE_H
#define TESTS_UNIT_KERNEL_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "firmware/soft/addresses.h"

/* A group, open or closed. */
struct fake_group {
    struct mcp_kernel_plan plan;
    uint32_t line, number;
    bool open;
    bool recorded; /* its holders were recorded when it was opened */
    bool kept;     /* closed, but still known to the NIC */
    bool fails;    /* closed as failed */
    bool waits;
    uint32_t done;
    uint32_t asked, failed, started; /* number of doorbells; `started`: for a close message */
};

/* Choose whether the next NIC takes over the present groups and their holders (which
 * mcp_kernel_leave() keeps), or starts without any. */
void fake_keep(bool keep);

/* Reset everything. No NIC may be open. */
void fake_reset(void);

/* Get the state of the last group with this key. Returns false if there never was one. */
bool fake_find_group(uint64_t key, struct fake_group *group);
uint32_t fake_open_count(void);
uint32_t fake_met_count(void);
uint32_t fake_asked_count(void);

/* Take the interface down, or up again. While it is down, doorbells are lost. */
void fake_set_deaf(bool deaf);

/* Make closing a group fail for lack of memory, or succeed again. */
void fake_set_full(bool full);

/* Set whether the group waits in a barrier, and its last completed epoch. */
void fake_set(uint64_t key, bool waits, uint32_t done);

/* Publish to the group's hosts that this epoch is complete (in its cache line), or this
 * broadcast (in its window). */
void fake_release(uint64_t key, uint32_t done);
void fake_broadcast(uint64_t key, uint32_t number, const void *block, uint32_t bytes);

/* Set whether this host ignores requests. */
void fake_set_absent(struct mcp_ip ip, bool absent);

/* Block until MCP_RING_FAIL has been rung for the group, or the absent host has been sent a
 * request. */
void fake_await_failure(uint64_t key);
void fake_await_meeting(void);

/* Enable reports of stuck groups until the fake is reset; report a group. */
void fake_enable_reports(void);
void fake_report_stuck(uint64_t key, uint32_t done, uint32_t reports);

/* Block until an ASK has been requested for this group. */
void fake_await_asking(uint64_t key);

#endif
