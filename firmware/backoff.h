/* SPDX-License-Identifier: BSD-3-Clause */
/* The backoff of retransmission requests: how long a receiver waits before it requests a missing
 * message.
 *
 * If a message does not arrive, it may have been lost, or its sender may be late; the receiver
 * cannot distinguish these cases. Therefore it waits for a timeout and then sends a request (ASK)
 * to the sender. The timeout is doubled after each unsuccessful request, up to MCP_BACKOFF_MOST_NS,
 * and is reset when the next epoch begins. Only the senders of messages that the present step
 * misses are asked (mcp_group_misses()).
 *
 * Unnecessary requests slow down a collective. Therefore a NIC that has measured the duration of
 * its collectives waits for 8 times this duration before the first request, but at most for
 * MCP_BACKOFF_MORE_NS plus half of the duration. This limit is necessary on a network with many
 * losses, where the measured duration includes timeouts: a longer timeout would lead to a longer
 * duration, and vice versa, without bound.
 *
 * The following files keep such a timeout, each with its own clock, and only for the duration of an
 * epoch:
 *
 *   collective.c (soft NIC)        learns, because it sees when each epoch begins and ends
 *   libmyr/kernel/kernel_group.c   a waiting host, for the kernel NIC. It does not learn: the NIC
 *                                  keeps no times, as reading a clock would slow each barrier
 *   kernel/program.bpf.c (timer)   for hosts that compute meanwhile. Its first request is one
 *                                  period later, because waiting hosts send their own requests
 *   myrd/kernel_groups.c           in place of that timer, on kernels without timers for programs
 *
 * Messages between ports have a different retransmission timeout (recv.c), which is derived from
 * the RTT. */
#ifndef MCP_BACKOFF_H
#define MCP_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds. */
#define MCP_BACKOFF_NS UINT64_C(1000000) /* minimum before the first request */
#define MCP_BACKOFF_MORE_NS UINT64_C(2000000)
#define MCP_BACKOFF_MOST_NS UINT64_C(64000000) /* maximum between two requests */
#define MCP_BACKOFF_TIMES 8

struct mcp_backoff {
    uint64_t lasts_ns; /* the present timeout */
    uint64_t ends_ns;  /* when it expires, by the clock of the process or NIC that asks */
};

/* Starts the timeout, because a message is missing from now on. */
static inline void mcp_backoff_begin(struct mcp_backoff *backoff, uint64_t first_ns,
                                     uint64_t now_ns)
{
    backoff->lasts_ns = first_ns;
    backoff->ends_ns = now_ns + first_ns;
}

/* Returns whether the timeout has expired. If so, the caller must send its request now, and the
 * next timeout is twice as long, up to MCP_BACKOFF_MOST_NS. (A timeout derived from measurements
 * may already be longer, and then stays the same.) */
static inline bool mcp_backoff_expired(struct mcp_backoff *backoff, uint64_t now_ns)
{
    if (now_ns < backoff->ends_ns) {
        return false;
    }
    if (backoff->lasts_ns < MCP_BACKOFF_MOST_NS) {
        backoff->lasts_ns = 2 * backoff->lasts_ns < MCP_BACKOFF_MOST_NS ? 2 * backoff->lasts_ns
                                                                        : MCP_BACKOFF_MOST_NS;
    }
    backoff->ends_ns = now_ns + backoff->lasts_ns;
    return true;
}

/* Returns the timeout before the first request, for collectives that usually take `usual_ns` (0 if
 * not known). */
static inline uint64_t mcp_backoff_initial(uint64_t usual_ns)
{
    const uint64_t times_ns = MCP_BACKOFF_TIMES * usual_ns;
    const uint64_t more_ns = MCP_BACKOFF_MORE_NS + usual_ns / 2;
    const uint64_t first_ns = times_ns < more_ns ? times_ns : more_ns;
    return first_ns < MCP_BACKOFF_NS ? MCP_BACKOFF_NS : first_ns;
}

/* Updates the usual duration with a collective that took `took_ns`.
 *
 * A collective in which the NIC has requested a message must not be passed to this function. Its
 * duration includes the timeout itself, so the timeout would grow without bound on a network that
 * loses packets. (For the same reason TCP does not measure the RTT of retransmitted packets; see
 * Karn and Partridge.) A duration of more than twice the usual one indicates that a host was late,
 * and is counted as twice the usual one. */
static inline uint64_t mcp_backoff_learn(uint64_t usual_ns, uint64_t took_ns)
{
    const uint64_t counts_ns = took_ns < 2 * usual_ns ? took_ns : 2 * usual_ns;
    return (7 * usual_ns + counts_ns + 1000) / 8;
}

#endif
