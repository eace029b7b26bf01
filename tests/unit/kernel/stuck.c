/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a waiting group is checked periodically until the missing peer arrives, because
 * otherwise a lost packet hangs the job.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "os/clock.h"
#include "tests/unit/crew.h"
#include "tests/unit/kernel/elements.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* mcp_kernel_group_missing() returns the missing peer, and the time of its last LATER. */
TEST(missing_peers_are_named)
{
    struct mcp_missing missing[MCP_KERNEL_MESSAGES];
    uint64_t random = crew_seed() + 9;
    open_small(geteuid());
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 0);
    start_epoch(1);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 1);
    assert_int_equal(missing[0].node, 1);
    assert_int_equal(missing[0].heard_ms, 0);
    event_packet(&pair, make_header(&pair, MCP_LATER, 1, 0, 1), &random);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 1);
    assert_int_not_equal(missing[0].heard_ms, 0);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 0);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key + 2, missing), 0);
    close_pair(&pair);
}

/* Complete an epoch in the kernel's group without publishing it in the page. */
static void complete_unpublished(uint32_t epoch)
{
    const int map = find_map("groups", 0);
    struct bpf_map_info about = {.type = 0};
    uint32_t bytes = sizeof(about);
    assert_int_equal(bpf_obj_get_info_by_fd(map, &about, &bytes), 0);
    uint8_t *group = calloc(1, about.value_size);
    assert_int_equal(bpf_map_lookup_elem(map, &pair.key, group), 0);
    memcpy(group + MCP_KERNEL_STATE, &epoch, sizeof(epoch));
    assert_int_equal(bpf_map_update_elem(map, &pair.key, group, BPF_EXIST), 0);
    free(group);
}

/* If a host waits although its epoch is complete, its page is updated when it rings again. */
TEST(a_stale_page_is_renewed)
{
    static const uint8_t rings[] = {MCP_RING_ASK, MCP_RING_START};
    for (size_t r = 0; r < sizeof(rings); ++r) {
        open_small(geteuid());
        mcp_group_start(pair.group, 1);
        play_here(&pair);
        ring(pair.bell, pair.key, MCP_RING_START, 1);
        expect_same(&pair);
        complete_unpublished(1);
        assert_int_equal(myr_load_acquire(&pair.line->done), 0);
        ring(pair.bell, pair.key, rings[r], 1);
        assert_int_equal(myr_load_acquire(&pair.line->done), 1);
        close_pair(&pair);
        drain(wire);
    }
}

static bool is_armed(void)
{
    const uint32_t zero = 0;
    struct {
        uint64_t timer[2];
        uint32_t armed, zero;
    } watch;
    assert_int_equal(bpf_map_lookup_elem(find_map("watches", 0), &zero, &watch), 0);
    return 0 != watch.armed;
}

static void await_armed(bool armed)
{
    while (armed != is_armed()) {
        sched_yield();
    }
}

/* The reports so far, of which `taken` were processed. (A process that was descheduled for a while
 * gets several at once.) */
static struct {
    struct mcp_kernel_stuck stuck[64];
    uint32_t count, taken;
} reports;

static void add_report(void *context, const struct mcp_kernel_stuck *stuck)
{
    (void)context;
    assert_true(reports.count < sizeof(reports.stuck) / sizeof(reports.stuck[0]));
    reports.stuck[reports.count++] = *stuck;
}

static void ignore_report(void *context, const struct mcp_kernel_stuck *stuck)
{
    (void)context;
    (void)stuck;
}

static void forget_stuck(void)
{
    mcp_kernel_consume(kernel, ignore_report, NULL);
    reports.count = reports.taken = 0;
}

/* Wait for the next report. */
static struct mcp_kernel_stuck receive_stuck(void)
{
    struct pollfd watched = {.fd = mcp_kernel_watch(kernel), .events = POLLIN};
    while (reports.taken == reports.count) {
        assert_int_equal(poll(&watched, 1, -1), 1);
        mcp_kernel_consume(kernel, add_report, NULL);
    }
    return reports.stuck[reports.taken++];
}

/* The timer runs only while an epoch is outstanding. An epoch that is complete at once does not
 * arm it. */
TEST(the_timer_runs_while_a_group_waits)
{
    uint64_t random = crew_seed() + 7;
    await_armed(false); /* groups of earlier tests may have waited until now */
    open_small(geteuid());
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    start_epoch(1);
    assert_int_equal(done(&pair), 1);
    assert_false(is_armed());
    start_epoch(2);
    assert_true(is_armed());
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, 0, 1), &random);
    await_armed(false);
    start_epoch(3);
    assert_true(is_armed());
    close_pair(&pair);
    await_armed(false);
}

TEST(stuck_groups_are_reported)
{
    uint64_t random = crew_seed() + 8;
    struct mcp_kernel_stuck stuck;
    await_armed(false);
    forget_stuck();
    open_small(geteuid());
    start_epoch(1);
    for (uint32_t times = 1; times < 5; ++times) {
        stuck = receive_stuck();
        assert_int_equal(stuck.key, pair.key);
        assert_int_equal(stuck.done, 0);
        assert_int_equal(stuck.reports, times);
    }
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    await_armed(false);
    start_epoch(2);
    do {
        stuck = receive_stuck();
    } while (1 != stuck.done); /* epoch 1 may have been reported once more */
    assert_int_equal(stuck.reports, 1);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    await_armed(false); /* a failed group is not reported */
    close_pair(&pair);
}

/* Pretend that the NIC's last scan took this long. */
static void pretend_took(uint64_t took_ns)
{
    const uint32_t zero = 0;
    assert_int_equal(bpf_map_update_elem(find_map("program.bss", 0), &zero, &took_ns, BPF_ANY), 0);
}

static uint64_t last_took(void)
{
    const uint32_t zero = 0;
    uint64_t took_ns;
    assert_int_equal(bpf_map_lookup_elem(find_map("program.bss", 0), &zero, &took_ns), 0);
    return took_ns;
}

/* After a scan that took 3 ms the next one follows 300 ms later instead of 10. (A timer may be
 * late, but is never early.) A scan that still runs may overwrite the duration and arm the
 * timer, in which case the test tries again. */
TEST(scans_back_off_by_their_duration)
{
    const uint64_t took_ns = 3000000;
    uint64_t random = crew_seed() + 9, begin_ns;
    uint32_t epoch = 0;
    bool pretended;
    skip_sent(); /* packets of the group that failed in the previous test */
    open_small(geteuid());
    forget_stuck();
    do {
        await_armed(false);
        begin_ns = os_now_ns();
        pretend_took(took_ns);
        pretended = !is_armed();
        start_epoch(++epoch);
        pretended = pretended && took_ns == last_took();
        if (!pretended) {
            event_packet(&pair, make_header(&pair, MCP_ARRIVE, epoch, 0, 1), &random);
        }
    } while (!pretended);
    while (epoch - 1 != receive_stuck().done) {
    }
    assert_true(os_now_ns() - begin_ns >= mcp_kernel_rest(took_ns));
    assert_int_not_equal(last_took(), took_ns);
    assert_int_not_equal(last_took(), 0);
    close_pair(&pair);
}

/* If programs cannot have timers, the NIC is loaded without them. */
TEST(without_timers)
{
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel *other;
    const struct mcp_ip own = address_of(ip_of(OWN));
    const char *without = getenv("NICBARR_KERNEL_WITHOUT");
    char before[80], now[90];
    snprintf(before, sizeof(before), "%s", NULL == without ? "" : without);
    snprintf(now, sizeof(now), "%s,timer", before);
    setenv("NICBARR_KERNEL_WITHOUT", now, 1);
    assert_int_equal(mcp_kernel_load(&own, htons(OTHER_PORT), &other, why), 0);
    setenv("NICBARR_KERNEL_WITHOUT", before, 1);
    assert_int_equal(mcp_kernel_attach(other, why), 0);
    assert_int_equal(mcp_kernel_watch(other), -1);
    mcp_kernel_close(other);
}
