/* SPDX-License-Identifier: BSD-3-Clause */
/* See sight.h. */
#include "tools/sight.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libmyr/seal.h"
#include "tools/alloc.h"
#include "tools/waiting.h"

const struct sight_counter sight_counters[SIGHT_COUNTERS] = {
#define COUNTER(name, text) {#name, text},
    MCP_COUNTERS(COUNTER)
#undef COUNTER
};

void sight_counts(const struct mcp_counters *counted, uint64_t counts[SIGHT_COUNTERS])
{
    memcpy(counts, counted, sizeof(*counted));
}

void sight_look(const struct segment *segment, struct sight *sight)
{
    memset(sight, 0, sizeof(*sight));
    sight->nic_status = MYR_ERR_NOT_THERE;
    sight->segment_status = myr_look_at_segment(segment->fd, &sight->segment, &sight->error);
    if (MYR_OK == sight->segment_status) {
        sight->nic_status = myr_look_at_nic(segment->fd, &sight->nic, &sight->error);
    }
}

struct sights *sight_look_twice(const struct segments *segments, bool all)
{
    const struct timespec pause = {.tv_sec = 1};
    struct sights *sights = tool_alloc(segments->count, sizeof(*sights));
    bool again = false;
    for (size_t s = 0; s < segments->count; ++s) {
        sight_look(&segments->segment[s], &sights[s].now);
        again = again || (!all && waiting_here(&sights[s].now.nic));
    }
    if (again) {
        nanosleep(&pause, NULL);
    }
    for (size_t s = 0; again && s < segments->count; ++s) {
        sights[s].earlier = sights[s].now;
        sight_look(&segments->segment[s], &sights[s].now);
    }
    return sights;
}

static struct myr_node_view view_node(const struct myr_kernel_node *node)
{
    return (struct myr_node_view){node->node, node->ip, node->heard_ms};
}

static void view_kernel(struct kernel_sight *sight)
{
    const struct myr_kernel_report *report = &sight->report;
    sight->nic = (struct myr_soft_view){
        .there = true,
        .runner = report->pid,
        .name = report->nic,
        .counters = report->counters,
        .groups = report->groups,
        .group = sight->group,
    };
    for (uint32_t g = 0; g < report->groups; ++g) {
        const struct myr_kernel_group_words *group = &report->group[g];
        sight->group[g] = (struct myr_group_view){
            .place = g,
            .node = group->node,
            .done = group->done,
            .started = group->done + group->waits,
            .failed = 0 != group->failed,
            .lost = view_node(&group->lost),
            .since_ns = group->since_ms * 1000000,
            .nodes = group->missing,
        };
        for (uint32_t m = 0; m < group->missing && m < MYR_KERNEL_NODES; ++m) {
            sight->group[g].missing[sight->group[g].named++] = view_node(&group->node_missing[m]);
        }
    }
}

void sight_look_at_kernel(struct kernel_sight *sight)
{
    struct myr_kernel_nic *nic;
    memset(sight, 0, sizeof(*sight));
    sight->status = myr_kernel_nic_open(false, &nic, &sight->error);
    if (MYR_OK == sight->status) {
        sight->status = myr_kernel_nic_report(nic, &sight->report, &sight->error);
        myr_kernel_nic_close(nic);
    }
    if (MYR_OK == sight->status) {
        view_kernel(sight);
    }
}

uint32_t sight_groups_in_a_barrier(const struct myr_soft_view *nic)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < nic->groups; ++g) {
        count += nic->group[g].started != nic->group[g].done;
    }
    return count;
}

const char *sight_runner(const struct myr_soft_view *nic)
{
    static const char *const words[] = {
        [MYR_SOFT_POLLED] = "polled",
        [MYR_SOFT_THREAD] = "thread",
        [MYR_SOFT_DAEMON] = "daemon",
    };
    return (unsigned)nic->runs_as < sizeof(words) / sizeof(words[0]) ? words[nic->runs_as] : "?";
}

const char *sight_secrets(void)
{
    return myr_seals() ? "sealed" : "clear";
}
