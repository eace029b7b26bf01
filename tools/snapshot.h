/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots of this node's NICs for `nicbarr status`. The soft NICs are read from the memory that
 * nicbarr's processes share, without writing to it (libmyr/soft/nic_inspect.h). The kernel NIC is
 * read from the report of its daemon (libmyr/kernel/kernel_nic.h). A snapshot is not atomic, so its
 * values may belong to slightly different times, which is harmless for a display.
 */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/kernel/kernel_nic.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/soft/nic_inspect.h"
#include "tools/segments.h"

/* The names and meanings of the NICs' counters, by number. */
enum { SNAPSHOT_COUNTERS = sizeof(struct mcp_counters) / sizeof(uint64_t) };
extern const struct snapshot_counter {
    const char *name, *text;
} snapshot_counters[SNAPSHOT_COUNTERS];
void snapshot_counts(const struct mcp_counters *counted, uint64_t counts[SNAPSHOT_COUNTERS]);

/* A segment, as far as it could be read. */
struct snapshot {
    struct myr_segment_view segment;
    struct myr_soft_view nic;
    enum myr_status segment_status, nic_status;
    struct myr_error error; /* describes the part that could not be read */
};

void snapshot_take(const struct segment *segment, struct snapshot *snapshot);

/* The current snapshot of a segment and, if needed, a snapshot taken a second earlier. */
struct snapshots {
    struct snapshot now, earlier;
};

/*
 * Takes snapshots of all segments. The caller frees them, with their NICs. For groups that wait for
 * processes of the same node, a segment does not contain the time when the wait began. If there are
 * such groups, the function takes another snapshot after a second, in which the long waits are
 * those that have not ended. It does not do so if `all` is set, as short waits are then printed as
 * well. */
struct snapshots *snapshot_take_all(const struct segments *segments, bool all);

/* The kernel NIC in the form of a soft NIC. The status is MYR_ERR_NOT_THERE if there is none. */
struct kernel_snapshot {
    struct myr_kernel_report report;
    struct myr_soft_view nic;
    struct myr_group_view group[MCP_KERNEL_GROUPS];
    enum myr_status status;
    struct myr_error error;
};

void snapshot_take_kernel(struct kernel_snapshot *snapshot);

uint32_t snapshot_groups_in_a_barrier(const struct myr_soft_view *nic);

/* Returns what runs the NIC, as a word. */
const char *snapshot_runner(const struct myr_soft_view *nic);

/* Returns whether this build seals its secrets: "sealed" or "clear". Processes of other builds may
 * differ, but segments do not show which build created them. */
const char *snapshot_secrets(void);

#endif
