/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of the holders of groups, in a map that outlives the daemon; see kernel_holders.h. */
#include "myrd/kernel_holders.h"

#include <string.h>
#include <time.h>

/* Reads the clock to which the start times of processes refer. */
static uint64_t boot_time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Returns the index of the holder's entry or, if `holder` is 0, of a free entry. Returns the size
 * of the table if there is none. */
static uint32_t find_holder(const struct myrd_holders *holders, uint64_t holder)
{
    uint32_t h = 0;
    while (h < holders->count && holder != holders->holder[h].number) {
        ++h;
    }
    return h < holders->count || 0 == holder ? h : MCP_KERNEL_HOLDERS;
}

static void record_holder(const struct myrd_holders *holders, uint32_t index)
{
    mcp_kernel_record_holder(holders->kernel, index, &holders->holder[index]);
}

void myrd_holders_recall(struct myrd_holders *holders)
{
    for (uint32_t h = 0; h < MCP_KERNEL_HOLDERS; ++h) {
        mcp_kernel_recall_holder(holders->kernel, h, &holders->holder[h]);
        if (0 != holders->holder[h].number) {
            holders->count = h + 1;
        }
    }
}

/* Removes all groups but these from the holder. A holder without groups is removed itself. */
static void keep_groups(struct mcp_kernel_holder *holder,
                        const uint64_t groups[MCP_KERNEL_GROUPS / 64])
{
    uint64_t left = 0;
    for (uint32_t w = 0; w < MCP_KERNEL_GROUPS / 64; ++w) {
        holder->groups[w] &= groups[w];
        left |= holder->groups[w];
    }
    if (0 == left) {
        holder->number = 0;
    }
}

void myrd_holders_keep(struct myrd_holders *holders, const uint64_t groups[MCP_KERNEL_GROUPS / 64])
{
    for (uint32_t h = 0; h < holders->count; ++h) {
        if (0 != holders->holder[h].number) {
            keep_groups(&holders->holder[h], groups);
            record_holder(holders, h);
        }
    }
}

void myrd_holders_hold(struct myrd_holders *holders, uint64_t number, uint32_t uid, uint32_t group)
{
    uint32_t index = find_holder(holders, number);
    if (MCP_KERNEL_HOLDERS == index) {
        index = find_holder(holders, 0);
        if (MCP_KERNEL_HOLDERS == index) {
            return;
        }
        holders->count += index == holders->count;
        holders->holder[index] =
            (struct mcp_kernel_holder){.number = number, .since_ns = boot_time_ns(), .uid = uid};
    }
    holders->holder[index].groups[group / 64] |= UINT64_C(1) << group % 64;
    record_holder(holders, index);
}

void myrd_holders_let_go(struct myrd_holders *holders, uint64_t number, uint32_t group)
{
    const uint32_t index = find_holder(holders, number);
    if (MCP_KERNEL_HOLDERS == index) {
        return;
    }
    uint64_t others[MCP_KERNEL_GROUPS / 64];
    memset(others, 0xff, sizeof(others));
    others[group / 64] &= ~(UINT64_C(1) << group % 64);
    keep_groups(&holders->holder[index], others);
    record_holder(holders, index);
}
