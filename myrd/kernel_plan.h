/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Validates the request of a client for a group on the kernel NIC. The functions are pure, and are
 * called by kernel_server.c.
 *
 * Clients are processes of other users, and the program of the NIC does not check the tables of a
 * group. Therefore a client's request must be validated before it is used. */
#ifndef MYRD_KERNEL_PLAN_H
#define MYRD_KERNEL_PLAN_H

#include <stdbool.h>

#include "firmware/kernel/owner.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/status.h"

/* Converts a request of user `uid` into a plan, whose unused parts are 0. `nic` is the name of this
 * host's NIC. Returns MYR_ERR_TOO_LONG if the group does not fit the NIC, and MYR_ERR_SYSTEM for
 * other errors. */
enum myr_status myrd_kernel_plan(const struct myr_kernel_question *question, uint32_t uid,
                                 const struct myr_nic_name *nic, struct mcp_kernel_plan *plan,
                                 struct myr_error *error);

/* Checks that the longest packet of the group fits into the MTU of `nic`. The program of the NIC
 * cannot fragment packets, and the interface drops packets that are too long. Returns MYR_OK or
 * MYR_ERR_TOO_LONG. */
enum myr_status myrd_kernel_plan_fits(const struct mcp_kernel_plan *plan,
                                      const struct myr_nic_name *nic, uint32_t mtu,
                                      struct myr_error *error);

/* Returns whether both are plans of the same user for the same group, with the same tables. */
bool myrd_kernel_plan_equal(const struct mcp_kernel_plan *a, const struct mcp_kernel_plan *b);

#endif
