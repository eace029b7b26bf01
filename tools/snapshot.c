/* SPDX-License-Identifier: BSD-3-Clause */
/* See snapshot.h. */
#include "tools/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libmyr/seal.h"
#include "tools/alloc.h"
#include "tools/waiting.h"

const struct snapshot_counter snapshot_counters[SNAPSHOT_COUNTERS] = {
#define COUNTER(name, text) {#name, text},
    MCP_COUNTERS(COUNTER)
#undef COUNTER
};

void snapshot_counts(const struct mcp_counters *counted, uint64_t counts[SNAPSHOT_COUNTERS])
{
    memcpy(counts, counted, sizeof(*counted));
}

void snapshot_take(const struct segment *segment, struct snapshot *snapshot)
{
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->nic_status = MYR_ERR_NOT_THERE;
    snapshot->segment_status =
        myr_inspect_segment(segment->fd, &snapshot->segment, &snapshot->error);
    if (MYR_OK == snapshot->segment_status) {
        snapshot->nic_status = myr_inspect_nic(segment->fd, &snapshot->nic, &snapshot->error);
    }
}

struct snapshots *snapshot_take_all(const struct segments *segments, bool all)
{
    const struct timespec pause = {.tv_sec = 1};
    struct snapshots *snapshots = tool_alloc(segments->count, sizeof(*snapshots));
    bool again = false;
    for (size_t s = 0; s < segments->count; ++s) {
        snapshot_take(&segments->segment[s], &snapshots[s].now);
        again = again || (!all && waiting_here(&snapshots[s].now.nic));
    }
    if (again) {
        nanosleep(&pause, NULL);
    }
    for (size_t s = 0; again && s < segments->count; ++s) {
        snapshots[s].earlier = snapshots[s].now;
        snapshot_take(&segments->segment[s], &snapshots[s].now);
    }
    return snapshots;
}

static struct myr_node_view view_node(const struct myr_kernel_node *node)
{
    return (struct myr_node_view){node->node, node->ip, node->heard_ms};
}

static void view_kernel(struct kernel_snapshot *snapshot)
{
    const struct myr_kernel_report *report = &snapshot->report;
    snapshot->nic = (struct myr_soft_view){
        .there = true,
        .runner = report->pid,
        .name = report->nic,
        .counters = report->counters,
        .groups = report->groups,
        .group = snapshot->group,
    };
    for (uint32_t g = 0; g < report->groups; ++g) {
        const struct myr_kernel_group_words *group = &report->group[g];
        snapshot->group[g] = (struct myr_group_view){
            .offset = g,
            .node = group->node,
            .done = group->done,
            .started = group->done + group->waits,
            .failed = 0 != group->failed,
            .lost = view_node(&group->lost),
            .since_ns = group->since_ms * 1000000,
            .nodes = group->missing,
        };
        for (uint32_t m = 0; m < group->missing && m < MYR_KERNEL_NODES; ++m) {
            snapshot->group[g].missing[snapshot->group[g].named++] =
                view_node(&group->node_missing[m]);
        }
    }
}

void snapshot_take_kernel(struct kernel_snapshot *snapshot)
{
    struct myr_kernel_nic *nic;
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->status = myr_kernel_nic_open(false, &nic, &snapshot->error);
    if (MYR_OK == snapshot->status) {
        snapshot->status = myr_kernel_nic_report(nic, &snapshot->report, &snapshot->error);
        myr_kernel_nic_close(nic);
    }
    if (MYR_OK == snapshot->status) {
        view_kernel(snapshot);
    }
}

uint32_t snapshot_groups_in_a_barrier(const struct myr_soft_view *nic)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < nic->groups; ++g) {
        const struct myr_group_view *group = &nic->group[g];
        count += !group->failed && (group->started != group->done || 0 != group->absent);
    }
    return count;
}

const char *snapshot_runner(const struct myr_soft_view *nic)
{
    static const char *const words[] = {
        [MYR_SOFT_POLLED] = "polled",
        [MYR_SOFT_THREAD] = "thread",
        [MYR_SOFT_DAEMON] = "daemon",
    };
    return (unsigned)nic->runs_as < sizeof(words) / sizeof(words[0]) ? words[nic->runs_as] : "?";
}

const char *snapshot_secrets(void)
{
    return myr_seals() ? "sealed" : "clear";
}
