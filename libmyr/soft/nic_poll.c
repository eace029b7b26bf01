/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polls the soft NIC: receives packets and runs timers. This code is called by progress functions,
 * by the threads that run a NIC (nic_thread.c), and by processes that wait, so its execution time
 * is part of the latency of a barrier. */
#include "libmyr/soft/nic_parts.h"

#include "os/clock.h"

enum {
    CATCH_UP_POLLS = 4096, /* polls of the watch, before it checks whether to stop */
    MOST_TAKEN = 8,        /* datagrams or chains per poll */
    IDLE_NS = 20 * 1000,   /* minimum between two polls of a process that does not wait */
    /* Polls between two readings of the clock. This is often enough, because no timer expires
     * earlier than in a millisecond. */
    CLOCK_EVERY = 8
};

static void receive_packet(void *context, const struct mcp_address *from, const void *packet,
                           size_t bytes)
{
    struct myr_soft_nic *nic = context;
    nic->sender = from;
    mcp_receive(&nic->shared->mcp, &nic->board, packet, bytes);
}

static bool is_timer_due(struct myr_soft_nic *nic)
{
    const uint64_t deadline = mcp_deadline_ns(&nic->shared->mcp);
    return 0 != deadline && os_now_ns() >= deadline;
}

/* The lock must be held while packets are received, so that they are processed in the order of
 * their arrival.
 *
 * A datagram that is longer than the header of a collective usually belongs to a message, of which
 * more datagrams are likely to follow. In this case the next datagram is received immediately. */
uint32_t myr_soft_take_packets(struct myr_soft_nic *nic)
{
    const bool chains = 0 != myr_load_relaxed(&nic->shared->chains);
    uint32_t taken = 0;
    long bytes;
    /* This word is in the same cache line as the lock, which is written in any case. */
    myr_store_release(&nic->shared->polls, myr_load_relaxed(&nic->shared->polls) + 1);
    do {
        bytes = mcp_udp_take(&nic->udp, chains, receive_packet, nic);
        taken += MCP_UDP_NOTHING != bytes;
    } while (bytes > MCP_COLLECTIVE_BYTES && taken < MOST_TAKEN);
    if (++nic->polls_since_clock >= CLOCK_EVERY || 0 != myr_load_relaxed(&nic->slept)) {
        nic->polls_since_clock = 0;
        myr_store_release(&nic->slept, 0);
        if (is_timer_due(nic)) {
            mcp_timer(&nic->shared->mcp, &nic->board);
        }
    }
    return taken;
}

uint32_t myr_soft_poll(struct myr_soft_nic *nic)
{
    if (0 != pthread_mutex_trylock(&nic->mutex)) {
        return 0; /* another thread is polling already */
    }
    uint32_t taken = 0;
    if (myr_soft_try_lock(nic)) { /* otherwise another process is polling */
        taken = myr_soft_take_packets(nic);
        myr_soft_unlock(nic);
        myr_soft_flush(nic);
    } else if (0 == ++nic->missed % MYR_SOFT_LOCK_YIELDS) {
        myr_soft_check_lock(nic);
    }
    pthread_mutex_unlock(&nic->mutex);
    return taken;
}

uint32_t myr_soft_poll_now_and_then(struct myr_soft_nic *nic)
{
    const uint64_t now = os_now_ns();
    /* Two threads may poll concurrently, which is harmless. */
    if (now - atomic_load_explicit(&nic->polled_ns, memory_order_relaxed) < IDLE_NS) {
        return 0;
    }
    atomic_store_explicit(&nic->polled_ns, now, memory_order_relaxed);
    myr_store_release(&nic->slept, 1);
    return myr_soft_poll(nic);
}

bool myr_soft_catch_up(struct myr_soft_nic *nic)
{
    uint32_t poll = 0;
    myr_store_release(&nic->slept, 1);
    while (poll < CATCH_UP_POLLS && 0 != myr_soft_poll(nic)) {
        ++poll;
    }
    return CATCH_UP_POLLS != poll;
}

uint32_t myr_soft_polls(const struct myr_soft_nic *nic)
{
    return myr_load_acquire(&nic->shared->polls);
}

/* With GRO the kernel may deliver a chain of packets as one datagram. A process that has not
 * noticed `chains` yet drops such a datagram as a damaged packet, and the sender retransmits its
 * packets. */
void myr_soft_expect_messages(struct myr_soft_nic *nic)
{
    if (0 == myr_load_relaxed(&nic->shared->chains)) {
        myr_store_release(&nic->shared->chains, 1);
        mcp_udp_want_chains(nic->udp.socket);
    }
}
