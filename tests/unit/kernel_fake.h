/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake of the kernel NIC for tests of the daemon: it implements firmware/kernel/owner.h without
 * the kernel. It executes no collectives, but records calls, and reports the state that the test
 * sets.
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
    /* numbers of doorbells MCP_RING_ASK, MCP_RING_FAIL and MCP_RING_CLOSING */
    uint32_t asked, failed, started;
};

/* What the test sets before it calls the owner in its own thread. */
extern struct fake_faults {
    bool keeps; /* the next NIC takes over the present groups and their holders */
    bool deaf;  /* the interface is down, and doorbells are lost */
    bool full;  /* closing a group fails for lack of memory */
} fake;

/* Reset everything. No NIC may be open. */
void fake_reset(void);

/* Get the state of the last group with this key. Returns false if there never was one. */
bool fake_find_group(uint64_t key, struct fake_group *group);
uint32_t fake_open_count(void);
uint32_t fake_met_count(void);
uint32_t fake_asked_count(void);

/* Set whether the group is waiting in an epoch, and its last completed epoch. */
void fake_set(uint64_t key, bool waits, uint32_t done);

/* Publish to the group's hosts that this epoch is complete (in its cache line), or this
 * broadcast (in its window). */
void fake_release(uint64_t key, uint32_t done);
void fake_broadcast(uint64_t key, uint32_t number, const void *block, uint32_t bytes);

/* Set whether this host does not respond. Only one can be absent at a time. */
void fake_set_absent(struct mcp_ip ip, bool absent);

/* Block until MCP_RING_FAIL or MCP_RING_ASK has been rung for the group, or the NIC has tried to
 * reach the absent host. */
void fake_await_ring(uint64_t key, enum mcp_ring ring);
void fake_await_meeting(void);

/* Enable reports of stuck groups until the fake is reset; report a group. */
void fake_enable_reports(void);
void fake_report_stuck(uint64_t key, uint32_t done, uint32_t reports);

#endif
