/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets up the daemon's table of groups for tests. The tests in groups.c check that users share a
 * group only with their own processes, and that it fails when one of these dies.
 */
#ifndef TESTS_UNIT_KERNEL_SERVER_GROUPS_H
#define TESTS_UNIT_KERNEL_SERVER_GROUPS_H

#include <stdint.h>

#include "myrd/kernel_groups.h"
#include "myrd/users.h"

extern struct myrd_users no_users; /* no users, so that no quota of time applies */

/* Set up and tear down a test: *state is the daemon's table of groups. */
int begin_groups(void **state);
int end_groups(void **state);
#define GROUPS(name) TEST_IN(name, begin_groups, end_groups)

/* Open a group as a process of this user. */
enum myr_status open_for(struct myrd_groups *groups, uint64_t key, uint32_t uid, uint64_t holder);

#endif
