/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a user's groups of the kernel NIC; see kernel_groups.h. */
#include "myrd/kernel_groups_inside.h"

#include "myrd/accounts.h"

static struct myr_kernel_node describe_node(const struct myrd_group *group, uint32_t node,
                                            uint32_t heard_ms)
{
    struct myr_kernel_node words = {.node = node, .heard_ms = heard_ms};
    for (uint32_t p = 0; p < group->plan.nsends + group->plan.nwaits; ++p) {
        if (node == group->plan.peers[p].node) {
            words.ip = group->plan.peers[p].ip;
        }
    }
    return words;
}

static void describe_missing(const struct myrd_groups *groups, const struct myrd_group *group,
                             struct myr_kernel_group_words *words)
{
    struct mcp_missing missing[MCP_KERNEL_MESSAGES];
    words->missing = mcp_kernel_group_missing(groups->kernel, group->plan.key, missing);
    for (uint32_t m = 0; m < words->missing && m < MYR_KERNEL_NODES; ++m) {
        words->node_missing[m] = describe_node(group, missing[m].node, missing[m].heard_ms);
    }
    words->since_ms = group->waited && group->done == words->done ? group->since_ms : 0;
}

static void describe_group(const struct myrd_groups *groups, const struct myrd_group *group,
                           struct myr_kernel_group_words *words)
{
    *words = (struct myr_kernel_group_words){
        .uid = group->plan.uid,
        .node = group->plan.node,
        .done = group->done,
        .failed = mcp_kernel_group_failed(groups->kernel, group->plan.key),
    };
    words->waits = 1 == mcp_kernel_group_waits(groups->kernel, group->plan.key, &words->done);
    if (0 == words->failed && group->failed) { /* the doorbell about the failure was lost */
        words->failed = words->node + 1;
    }
    if (0 != words->failed) {
        words->lost = describe_node(group, words->failed - 1, 0);
    } else if (words->waits) {
        describe_missing(groups, group, words);
    }
}

void myrd_groups_report(const struct myrd_groups *groups, uint32_t uid,
                        struct myr_kernel_report *report)
{
    report->groups = 0;
    report->closed =
        0 == uid ? groups->closed_count : myrd_groups_closed_by(groups, myrd_account(uid));
    for (uint32_t g = 0; g < groups->count; ++g) {
        const struct myrd_group *group = &groups->group[g];
        if ((0 == uid || uid == group->plan.uid) && group->leaves) {
            ++report->closed; /* closed, from the user's point of view */
        } else if (0 == uid || uid == group->plan.uid) {
            describe_group(groups, group, &report->group[report->groups++]);
        }
    }
}
