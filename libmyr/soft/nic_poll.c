/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking packets from the soft NIC's socket, and doing what is due: the path of a barrier. Waiting
 * processes call it, and progress functions, and the threads that run a NIC (nic_sleep.c).
 */
#include "libmyr/soft/nic_parts.h"

#include "os/clock.h"

enum {
    CATCH_UP_POLLS = 4096, /* of the watch, before it looks whether it is to stop */
    MOST_TAKEN = 8,        /* datagrams, or chains of them, in one poll */
    IDLE_NS = 20 * 1000,   /* between two polls of a process that does not wait */
    CLOCK_EVERY = 8        /* polls in a row: nothing is due sooner than in a millisecond */
};

static void receive_packet(void *context, const struct mcp_address *from, const void *packet,
                           size_t bytes)
{
    struct myr_soft_nic *nic = context;
    nic->sender = from;
    mcp_receive(&nic->shared->mcp, &nic->board, packet, bytes);
}

static bool due(struct myr_soft_nic *nic)
{
    const uint64_t deadline = mcp_deadline_ns(&nic->shared->mcp);
    return 0 != deadline && os_now_ns() >= deadline;
}

/*
 * Take what has come and run the control program on it. Locked, so that packets are handled in the
 * order in which they came in. Where messages come, more packets are likely to be there;
 * collectives' packets come one at a time.
 */
static uint32_t take_packets(struct myr_soft_nic *nic)
{
    const bool chains = 0 != myr_load_relaxed(&nic->shared->chains);
    uint32_t taken = 0;
    long bytes;
    /* (In the lock's line, which is being written anyway.) */
    myr_store_release(&nic->shared->turns, myr_load_relaxed(&nic->shared->turns) + 1);
    do {
        bytes = mcp_udp_take(&nic->udp, chains, receive_packet, nic);
        taken += MCP_UDP_NOTHING != bytes;
    } while (bytes > MCP_COLLECTIVE_BYTES && taken < MOST_TAKEN);
    if (++nic->unlooked >= CLOCK_EVERY || 0 != myr_load_relaxed(&nic->slept)) {
        nic->unlooked = 0;
        myr_store_release(&nic->slept, 0);
        if (due(nic)) {
            mcp_timer(&nic->shared->mcp, &nic->board);
        }
    }
    return taken;
}

uint32_t myr_soft_poll(struct myr_soft_nic *nic)
{
    if (0 != pthread_mutex_trylock(&nic->mutex)) {
        return 0; /* another thread is at it */
    }
    uint32_t taken = 0;
    if (myr_soft_try_lock(nic)) { /* else another process is */
        taken = take_packets(nic);
        myr_soft_unlock(nic);
        myr_soft_flush(nic);
    } else if (0 == ++nic->missed % MYR_SOFT_LOCK_YIELDS) {
        myr_soft_inherit(nic);
    }
    pthread_mutex_unlock(&nic->mutex);
    return taken;
}

uint32_t myr_soft_poll_now_and_then(struct myr_soft_nic *nic)
{
    const uint64_t now = os_now_ns();
    /* (Two threads that come at once both poll; that does no harm.) */
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

uint32_t myr_soft_turns(const struct myr_soft_nic *nic)
{
    return myr_load_acquire(&nic->shared->turns);
}

/* (A process that does not know of chains takes one for a damaged packet. It will be sent again.)
 */
void myr_soft_expect_messages(struct myr_soft_nic *nic)
{
    if (0 == myr_load_relaxed(&nic->shared->chains)) {
        myr_store_release(&nic->shared->chains, 1);
        mcp_udp_want_chains(nic->udp.socket);
    }
}
