/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports which groups wait for which nodes and processes, as text, as JSON, and as a number of
 * seconds. Called for each NIC of any kind. */
#ifndef TOOLS_WAITING_H
#define TOOLS_WAITING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libmyr/soft/nic_inspect.h"
#include "tools/segments.h"

/*
 * Prints a line for each group that has failed, and for each that waits, with the longest wait
 * first. Unless `all` is set, waits of less than a second are skipped. If a group waits for
 * processes of this node, the duration of its wait is unknown. Such a group is printed if it also
 * waited for them in `earlier`, a snapshot that was taken a second before (NULL, or a NIC without
 * groups, if there is no such snapshot).
 *
 * `processes` lists the processes attached to the segment (NULL: unknown). `now_ns` is the time of
 * CLOCK_MONOTONIC.
 */
void waiting_print(const struct myr_soft_view *nic, const struct myr_soft_view *earlier,
                   const struct segment *processes, bool all, uint64_t now_ns);

/* Returns whether a group waits for processes of this node. */
bool waiting_here(const struct myr_soft_view *nic);

/* Returns the longest time in seconds that one of the NIC's groups has waited for other nodes; 0 if
 * none waits. */
double waiting_longest(const struct myr_soft_view *nic, uint64_t now_ns);

/* Returns what the group waits for, with all known nodes and processes, or null if it does not
 * wait. */
json_t *waiting_json(const struct myr_group_view *group, uint64_t now_ns);

/* Returns the node whose absence has made the group fail, or null if it has not failed. */
json_t *waiting_json_lost(const struct myr_group_view *group);

#endif
