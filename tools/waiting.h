/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which groups wait for which nodes and processes, in words, in JSON and as a figure. Called for
 * each NIC. Knows nothing of where groups are found.
 */
#ifndef TOOLS_WAITING_H
#define TOOLS_WAITING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libmyr/soft/nic_look.h"
#include "tools/segments.h"

/*
 * Print a line for each group that has failed, and for each that waits; the longest wait comes
 * first. Unless `all`, waits of less than a second are left out. How long a group has waited for
 * processes of this node is not known: it is shown if it also waited so a second ago. `earlier` is
 * a look at that time (NULL, or a NIC without groups: there was none).
 *
 * `processes` are those that have the segment (NULL: not known); `now_ns` is CLOCK_MONOTONIC's.
 */
void waiting_print(const struct myr_soft_view *nic, const struct myr_soft_view *earlier,
                   const struct segment *processes, bool all, uint64_t now_ns);

/* Does a group wait for processes of this node? */
bool waiting_here(const struct myr_soft_view *nic);

/* For how many seconds the NIC's groups have waited for other nodes at the most; 0: none does. */
double waiting_longest(const struct myr_soft_view *nic, uint64_t now_ns);

/* What the group waits for, with everybody who is known; null: it does not wait. */
json_t *waiting_json(const struct myr_group_view *group, uint64_t now_ns);

/* The group has failed because this node is missing; null: it has not failed. */
json_t *waiting_json_lost(const struct myr_group_view *group);

#endif
