/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes clients' requests and the plans that the daemon derives from them, and reads the state of
 * groups in the fake of the kernel NIC.
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

extern uint16_t nic_port; /* the port of all hosts' NICs */

/* Returns an IPv4 address (network byte order). */
uint32_t ip4_of(const char *text);

/* Return the name of this host's NIC, and the request for one node's part of a barrier of two
 * nodes, of which the other one is at `peer`. */
struct myr_nic_name our_name(void);

struct myr_kernel_question question_of_two(uint64_t key, const char *peer);

/* Return the plan of a group of two nodes: for a barrier, with data, and with broadcasts. */
struct mcp_kernel_plan plan_of(uint64_t key, uint32_t uid);
struct mcp_kernel_plan plan_with_data(uint64_t key, uint32_t uid);
struct mcp_kernel_plan plan_with_window(uint64_t key, uint32_t uid);

/* Return the state of a group in the fake NIC. */
bool is_open(uint64_t key);
bool is_kept(uint64_t key);
uint32_t asked(uint64_t key);
uint32_t failed(uint64_t key);
uint32_t started(uint64_t key);

#endif
