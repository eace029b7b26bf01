/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's question for a group on the kernel's NIC, checked. Called by kernel_server.c. Pure.
 *
 * Clients are other users' processes: nothing that they say is believed before it has been through
 * here, as the NIC's program takes its tables for sound.
 */
#ifndef MYRD_KERNEL_PLAN_H
#define MYRD_KERNEL_PLAN_H

#include <stdbool.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel_words.h"
#include "libmyr/status.h"

/* Make a plan of the question of user `uid`; `nic` is ours. What the plan does not use is 0, so
 * that equal plans are equal bytes. MYR_ERR_TOO_LONG where it does not fit such a NIC, else
 * MYR_ERR_SYSTEM. */
enum myr_status myrd_kernel_plan(const struct myr_kernel_question *question, uint32_t uid,
                                 const struct myr_nic_name *nic, struct mcp_kernel_plan *plan,
                                 struct myr_error *error);

#endif
