/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: who may have them, who closes them, and what is told of them.
 */
#ifndef TESTS_UNIT_KERNEL_SERVER_GROUPS_H
#define TESTS_UNIT_KERNEL_SERVER_GROUPS_H

#include <stdint.h>

#include "myrd/kernel_groups.h"
#include "myrd/users.h"

extern struct myrd_users nobody; /* who is not there has no share */

/* Before and after a test: *state is the daemon's groups. */
int begin_groups(void **state);
int end_groups(void **state);

/* A process of this user opens a group. */
enum myr_status open_for(struct myrd_groups *groups, uint64_t key, uint32_t uid, uint64_t holder);

#endif
