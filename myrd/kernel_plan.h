/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a client's question for a group on the kernel's NIC. Called by kernel_server.c. Pure.
 *
 * Clients are other users' processes. Nothing that they say is trusted before this check, as the
 * NIC's program trusts its tables.
 */
#ifndef MYRD_KERNEL_PLAN_H
#define MYRD_KERNEL_PLAN_H

#include <stdbool.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/status.h"

/* Make a plan of the question of user `uid`. `nic` is ours. Unused parts of the plan are 0.
 * MYR_ERR_TOO_LONG where it does not fit such a NIC, else MYR_ERR_SYSTEM. */
enum myr_status myrd_kernel_plan(const struct myr_kernel_question *question, uint32_t uid,
                                 const struct myr_nic_name *nic, struct mcp_kernel_plan *plan,
                                 struct myr_error *error);

/* Does the plan's longest packet fit into `mtu` bytes, as those of `nic`? The program cannot cut it
 * into fragments, and the interface drops what is longer. Else MYR_ERR_TOO_LONG. */
enum myr_status myrd_kernel_plan_fits(const struct mcp_kernel_plan *plan,
                                      const struct myr_nic_name *nic, uint32_t mtu,
                                      struct myr_error *error);

/* Are they the same user's plans of the same group, with the same tables? */
bool myrd_kernel_plan_equal(const struct mcp_kernel_plan *a, const struct mcp_kernel_plan *b);

#endif
