/* SPDX-License-Identifier: BSD-3-Clause */
/* How often an endpoint polls the NIC; see pace.h. */
#include "libmyr/messages/pace.h"

#include <unistd.h>

#include "os/clock.h"

enum {
    /* Polls without a packet until the network counts as idle: some milliseconds. */
    FAR_POLLS = 10000,
    QUIET = 64,               /* idle calls between two polls of the NIC */
    CHECK_EVERY = 64 * QUIET, /* idle calls between two checks whether the NIC is still usable */
    SELDOM = 1024,            /* calls of myr_seldom_due() between two readings of the clock */
    SELDOM_MS = 1000,         /* minimum interval at which it returns true */
    LINGER_US = 2000,         /* minimum duration of a drain, if peers are on other nodes */
    DRAIN_US = 200 * 1000,    /* its maximum, and its minimum for other jobs: several times the
                                 longest retransmission timeout */
    WAIT_US = 1000,
};

void myr_pace_expect(struct myr_pace *pace)
{
    pace->far = FAR_POLLS;
}

uint32_t myr_pace_poll(struct myr_pace *pace, struct myr_soft_nic *nic)
{
    uint32_t packets = 0;
    if (0 != pace->far) {
        --pace->far;
        packets = myr_soft_poll(nic);
    } else if (0 == ++pace->idle % QUIET) {
        packets = myr_soft_poll_now_and_then(nic);
    }
    if (0 != packets) {
        myr_pace_expect(pace);
    }
    return packets;
}

bool myr_pace_broken(const struct myr_pace *pace, struct myr_soft_nic *nic)
{
    return 0 == pace->far && 0 == pace->idle % CHECK_EVERY && myr_soft_broken(nic);
}

bool myr_seldom_due(struct myr_seldom *seldom)
{
    if (0 != ++seldom->calls % SELDOM) {
        return false;
    }
    const uint64_t now_ms = os_now_ms();
    if (now_ms - seldom->last_ms < SELDOM_MS) {
        return false;
    }
    seldom->last_ms = now_ms;
    return true;
}

struct myr_drain myr_drain_begin(enum myr_drain_peers peers)
{
    static const uint32_t least_us[] = {
        [MYR_DRAIN_THIS_NODE] = 0,
        [MYR_DRAIN_OTHER_NODES] = LINGER_US,
        [MYR_DRAIN_OTHER_JOBS] = DRAIN_US,
    };
    const uint64_t now = os_now_us();
    return (struct myr_drain){.begin_us = now, .least_us = now + least_us[peers]};
}

bool myr_drain_goes_on(const struct myr_drain *drain, bool busy)
{
    const uint64_t now = os_now_us();
    return now < drain->least_us || (busy && now < drain->begin_us + DRAIN_US);
}

bool myr_drain_wait(struct myr_drain *drain, uint32_t warn_s)
{
    (void)usleep(WAIT_US);
    const bool due = 0 != warn_s && !drain->warned &&
                     os_now_us() - drain->begin_us >= UINT64_C(1000000) * warn_s;
    drain->warned = drain->warned || due;
    return due;
}
