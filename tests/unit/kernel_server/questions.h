/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of clients, the plans that the daemon computes for them, and the state of the groups in
 * the fake of the kernel's NIC.
 */
#ifndef TESTS_UNIT_KERNEL_SERVER_QUESTIONS_H
#define TESTS_UNIT_KERNEL_SERVER_QUESTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/soft/nic.h"
#include "myrd/kernel_groups.h"

enum { ALICE = 1001, BOB = 1002, NOW = 5000, MOST_MS = MCP_BACKOFF_MOST_NS / 1000000 };

extern uint16_t nic_port; /* of all hosts */

/* An IPv4 address (network byte order). */
uint32_t ip4_of(const char *text);

/* This host's NIC, and one node's part of a barrier of two nodes, with the other one at `peer`. */
struct myr_nic_name our_name(void);

struct myr_kernel_question question_of_two(uint64_t key, const char *peer);

/* The plan of a group of two nodes: a barrier, with data, with broadcasts. */
struct mcp_kernel_plan plan_of(uint64_t key, uint32_t uid);
struct mcp_kernel_plan plan_with_data(uint64_t key, uint32_t uid);
struct mcp_kernel_plan plan_with_window(uint64_t key, uint32_t uid);

/* What the double reports of a group. */
bool is_open(uint64_t key);
bool is_kept(uint64_t key);
uint32_t asked(uint64_t key);
uint32_t failed(uint64_t key);
uint32_t started(uint64_t key);

#endif
