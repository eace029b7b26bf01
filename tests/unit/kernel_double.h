/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test double of the kernel's NIC, for its owner (firmware/kernel/owner.h). It plays nothing,
 * remembers what it was told, and is in the state that the test says. No rights are needed.
 *
 * For several threads: myrd's server in one, the test in another.
 */
#ifndef TESTS_UNIT_KERNEL_DOUBLE_H
#define TESTS_UNIT_KERNEL_DOUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "firmware/soft/addresses.h"

/* One group that was ever opened. */
struct double_group {
    struct mcp_kernel_plan plan;
    uint32_t line, number;
    bool open;
    bool noted; /* who holds it, when it was opened */
    bool kept;  /* closed, and not forgotten */
    bool fails; /* ... as one that has failed */
    bool waits;
    uint32_t done;
    uint32_t asked, failed, started; /* how often was rung: for the last, to say farewell */
};

/* The next NIC is taken over: what is open and closed now, and who holds that. (mcp_kernel_leave()
 * leaves it as it is.) Or it begins anew, with nothing. */
void double_keep(bool keep);

/* As if nothing had ever been; no NIC may be open. */
void double_reset(void);

/* What became of the last group with this key; false: there never was one. */
bool double_look(uint64_t key, struct double_group *group);
uint32_t double_open_count(void);
uint32_t double_met_count(void);
uint32_t double_asked_count(void); /* of all groups */

/* The interface is down, or up again: no doorbell is heard while it is down. */
void double_set_deaf(bool deaf);

/* There is no memory to close a group, or there is again. */
void double_set_full(bool full);

/* Let the group be in a barrier or not. */
void double_set(uint64_t key, bool waits, uint32_t done);

/* Have its hosts see on its line that this epoch is done; or, on its window, this broadcast. */
void double_release(uint64_t key, uint32_t done);
void double_broadcast(uint64_t key, uint32_t number, const void *block, uint32_t bytes);

/* This host does not answer, or does from now on. */
void double_set_absent(struct mcp_ip ip, bool absent);

/* Sleep until somebody has rung MCP_RING_FAIL for the group, or has asked for the absent host. */
void double_await_failure(uint64_t key);
void double_await_meeting(void);

/* From now on, until it is reset, the double tells who is stuck; tell of a group. */
void double_watch(void);
void double_tell(uint64_t key, uint32_t done, uint32_t reports);

/* Wait until this group has been asked for. */
void double_await_asking(uint64_t key);

#endif
