/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups and holders that the previous daemon has left; see kernel_groups.h. */
#include "myrd/kernel_groups_inside.h"

#include <stdlib.h>

#include "myrd/accounts.h"

static void recall_holders_of(const struct myrd_groups *groups, struct myrd_group *group)
{
    for (uint32_t h = 0; h < groups->holders.count; ++h) {
        const struct mcp_kernel_holder *holder = &groups->holders.holder[h];
        if (0 != holder->number && group->plan.uid == holder->uid &&
            myrd_holders_has(holder, group->seen.number) && myrd_groups_room_for_holder(group)) {
            group->holder[group->holders++] = holder->number | MYRD_HOLDER_ABSENT;
        }
    }
}

static void recall_open(struct myrd_groups *groups)
{
    uint64_t key = 0, there[MCP_KERNEL_GROUPS / 64] = {0};
    while (groups->count < MCP_KERNEL_GROUPS && mcp_kernel_next_group(groups->kernel, &key)) {
        struct mcp_kernel_recalled recalled;
        struct myrd_group *group = &groups->group[groups->count];
        if (mcp_kernel_recall(groups->kernel, key, &recalled)) {
            *group = (struct myrd_group){.plan = recalled.plan,
                                         .seen = recalled.seen,
                                         .failed = recalled.failed,
                                         .leaves = recalled.leaves,
                                         .last = recalled.last};
            recall_holders_of(groups, group);
            there[recalled.seen.number / 64] |= UINT64_C(1) << recalled.seen.number % 64;
            ++groups->count;
        }
    }
    myrd_holders_keep(&groups->holders, there);
    groups->closing_at_ms = 0; /* some groups may be in their closing epoch */
}

struct ordered {
    uint64_t closed_ns;
    struct myrd_closed closed;
};

static int by_time(const void *a, const void *b)
{
    const struct ordered *one = a, *other = b;
    return one->closed_ns < other->closed_ns ? -1 : one->closed_ns > other->closed_ns;
}

static void recall_closed(struct myrd_groups *groups)
{
    struct ordered *found = calloc(MCP_KERNEL_LATE, sizeof(*found));
    struct mcp_kernel_late late;
    uint64_t key = 0;
    while (NULL != found && groups->closed_count < MCP_KERNEL_LATE &&
           mcp_kernel_next_late(groups->kernel, &key, &late)) {
        if (!myrd_groups_know(groups, key)) { /* otherwise the group was about to be closed */
            found[groups->closed_count++] =
                (struct ordered){late.closed_ns, {key, myrd_account((uid_t)late.uid)}};
        }
    }
    if (NULL != found) {
        qsort(found, groups->closed_count, sizeof(*found), by_time);
    }
    for (uint32_t c = 0; c < groups->closed_count; ++c) {
        groups->closed[c] = found[c].closed;
    }
    free(found);
}

void myrd_groups_recall(struct myrd_groups *groups)
{
    myrd_holders_recall(&groups->holders);
    recall_open(groups);
    recall_closed(groups);
}

const struct mcp_kernel_holder *myrd_groups_holder(const struct myrd_groups *groups, uint32_t index)
{
    const struct mcp_kernel_holder *holder = &groups->holders.holder[index];
    return index < groups->holders.count && 0 != holder->number ? holder : NULL;
}

/* If a group has no holder, its last holder left or died while no daemon was running. */
void myrd_groups_close_unheld(struct myrd_groups *groups)
{
    for (uint32_t g = groups->count; g > 0; --g) {
        struct myrd_group *group = &groups->group[g - 1];
        if (0 == group->holders && !group->leaves && !myrd_groups_begin_closing(groups, group)) {
            (void)myrd_groups_close(groups, group);
        }
    }
}

bool myrd_groups_hold_on(struct myrd_groups *groups, uint64_t key, uint64_t holder)
{
    struct myrd_group *group = &groups->group[myrd_groups_find(groups, key)];
    if (!myrd_groups_know(groups, key) ||
        myrd_groups_find_holder(group, holder) == group->holders) {
        return false;
    }
    return MYR_OK == myrd_groups_hold(groups, group, holder, NULL);
}

void myrd_groups_settle(struct myrd_groups *groups, uint64_t holder, uint64_t opening)
{
    for (uint32_t g = groups->count; g > 0; --g) {
        struct myrd_group *group = &groups->group[g - 1];
        const uint32_t h = myrd_groups_find_holder(group, holder);
        if (h < group->holders && 0 != (group->holder[h] & MYRD_HOLDER_ABSENT) &&
            opening != group->plan.key) {
            (void)myrd_groups_leave(groups, group->plan.key, holder);
        }
    }
}
