/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Detects stuck groups, on behalf of hosts that compute while a message is missing.
 *
 * If a message does not arrive, a host that waits for the collective requests the message. If all
 * hosts of the group are computing instead, the owner of the NIC requests it. The owner is notified
 * of such groups by a timer, which runs only while at least one group is in an epoch.
 *
 * The timer must not stop while a group is in an epoch. A program enters an epoch with the group's
 * lock held, and afterwards reads `armed`. The timer first clears `armed`, and then checks each
 * group with its lock held. Therefore either the timer sees that the group is in an epoch, or the
 * program sees that the timer is not armed, and arms it. */
#ifndef MCP_PROGRAM_STUCK_H
#define MCP_PROGRAM_STUCK_H

#include "firmware/kernel/program/hold.h"

static __always_inline void arm_timer(struct watch *watch)
{
    if (0 == __sync_lock_test_and_set(&watch->armed, 1)) {
        (void)bpf_timer_start(&watch->timer, mcp_kernel_rest(scan_took), 0);
    }
}

/* Arms the timer if the group has entered an epoch that is not complete yet. */
static __always_inline void arm_if_waiting(const struct mcp_kernel_group *group)
{
    const uint32_t zero = 0;
    if (timed && mcp_group_waits_now(&group->group)) {
        struct watch *watch = bpf_map_lookup_elem(&watches, &zero);
        if (watch && !*(volatile uint32_t *)&watch->armed) {
            arm_timer(watch);
        }
    }
}

/* The state of one scan: its time, and whether any group waits. */
struct scan {
    uint64_t now_ns;
    bool any;
};

/* Checks one group in a scan. The group is looked up again, because kernels before 6.2 only permit
 * taking a lock in a value that was looked up. */
static long check_group(void *map, const uint64_t *key, struct mcp_kernel_group *found,
                        struct scan *scan)
{
    struct mcp_kernel_stuck report = {.key = *key};
    struct mcp_kernel_group *group = bpf_map_lookup_elem(&groups, &report.key);
    bool tells = false;
    (void)map;
    (void)found;
    if (!group || !lock_group(group, report.key)) {
        return 0;
    }
    struct mcp_kernel_watched *watched = &group->watched;
    const bool waits = mcp_group_waits_now(&group->group);
    report.done = myr_load_relaxed(&group->group.done);
    if (!waits || !watched->waits || report.done != watched->done) {
        *watched = (struct mcp_kernel_watched){.waits = waits, .done = report.done};
        mcp_backoff_begin(&watched->backoff, MCP_KERNEL_SCAN_NS, scan->now_ns);
    } else if (mcp_backoff_expired(&watched->backoff, scan->now_ns)) {
        report.reports = ++watched->reports;
        tells = true;
    }
    unlock_group(group);
    scan->any = scan->any || waits;
    if (tells) {
        (void)bpf_ringbuf_output(&stuck, &report, sizeof(report), 0);
    }
    return 0;
}

static int scan_groups(void *map, const uint32_t *zero, struct watch *watch)
{
    struct scan scan = {.now_ns = bpf_ktime_get_ns()};
    (void)map;
    (void)zero;
    (void)__sync_lock_test_and_set(&watch->armed, 0);
    (void)bpf_for_each_map_elem(&groups, check_group, &scan, 0);
    scan_took = bpf_ktime_get_ns() - scan.now_ns;
    if (scan.any) {
        arm_timer(watch);
    }
    return 0;
}

/* Initialises the timer. The owner runs this once, before anything else. If the NIC was taken over,
 * the timer exists already, but calls the previous program. Since its next run may have been lost
 * in the transition, it is armed again. */
SEC("tc")
int mcp_begin(struct __sk_buff *nothing)
{
    enum { THERE = -16 /* EBUSY */ };
    const uint32_t zero = 0;
    struct watch *watch = bpf_map_lookup_elem(&watches, &zero);
    (void)nothing;
    if (!watch) {
        return 1;
    }
    const long made = bpf_timer_init(&watch->timer, &watches, 1 /* CLOCK_MONOTONIC */);
    if ((made < 0 && THERE != made) || bpf_timer_set_callback(&watch->timer, scan_groups) < 0) {
        return 1;
    }
    if (THERE == made) {
        (void)__sync_lock_test_and_set(&watch->armed, 0);
        arm_timer(watch);
    }
    return 0;
}

#endif
