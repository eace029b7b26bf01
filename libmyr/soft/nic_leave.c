/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells connected NICs that this one is closed for good ("taking leave"). Each NIC has a table with
 * an entry for each NIC that it is connected to. If a program spawned processes on other hosts
 * again and again, and the entries for their NICs were never reused, the table of its NIC would
 * fill up. Therefore the last process of a node, before it closes the NIC, notifies all NICs that
 * are connected to it, which may then reuse their entries for this NIC.
 *
 * The NIC stays locked meanwhile. A process that opens the NIC at this time waits for the lock, and
 * then creates a new NIC with another key, so a NIC that has taken leave never sends anything
 * again. */
#include "libmyr/soft/nic_parts.h"

#include <poll.h>

#include "os/clock.h"

enum {
    LEAVE_MS = 200, /* how long to wait for replies: several times the longest pause */
    PAUSE_MS = 1,   /* the first interval between two reports */
    PAUSE_MOST_MS = 32,
};

static void wait_for_packet(const struct myr_soft_nic *nic)
{
    struct pollfd pollfd = {.fd = nic->udp.socket, .events = POLLIN};
    (void)poll(&pollfd, 1, PAUSE_MS);
}

/* Runs the NIC until all connected NICs have replied, or this time has come. */
static void run_until(struct myr_soft_nic *nic, uint64_t until_ms)
{
    while (0 != mcp_messages_unaware(&nic->shared->mcp) && os_now_ms() < until_ms) {
        wait_for_packet(nic);
        (void)myr_soft_take_packets(nic);
        myr_soft_flush(nic);
    }
}

void myr_soft_take_leave(struct myr_soft_nic *nic)
{
    const uint64_t begin_ms = os_now_ms();
    uint64_t pause_ms = PAUSE_MS, now_ms = begin_ms;
    while (now_ms - begin_ms < LEAVE_MS &&
           0 != mcp_messages_leave(&nic->shared->mcp, &nic->board)) {
        myr_soft_flush(nic);
        run_until(nic, now_ms + pause_ms);
        pause_ms = pause_ms < PAUSE_MOST_MS ? 2 * pause_ms : PAUSE_MOST_MS;
        now_ms = os_now_ms();
    }
}
