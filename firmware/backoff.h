/* SPDX-License-Identifier: BSD-3-Clause */
/* The backoff of retransmission requests: how long a receiver waits before it requests a missing
 * message.
 *
 * A message may be lost, or its sender may be late, and the receiver cannot distinguish the two
 * cases. It therefore waits for a timeout and then sends the sender a request (ASK). After each
 * unsuccessful request it doubles the timeout, up to MCP_BACKOFF_MOST_NS. The next epoch starts
 * over. The engine decides which nodes to ask (mcp_group_misses()): only the sender of each message
 * that the present step misses.
 *
 * A needless request slows a collective down. So a NIC that has measured the duration of its
 * collectives waits 8 times as long before the first request, but not longer than
 * MCP_BACKOFF_MORE_NS plus half of the duration. Without this limit the timeout would grow without
 * bound on a network with many losses, because there the duration depends on the timeout.
 *
 * The timeout is kept in these files, each with its own clock and only for the duration of an
 * epoch:
 *   collective.c (soft NIC)        learns, because it sees when each epoch begins and ends
 *   libmyr/kernel/kernel_group.c   a waiting host, for the kernel's NIC. It does not learn: the
 *                                  NIC keeps no times, as reading a clock would slow each barrier
 *   kernel/program.bpf.c (timer)   for hosts that compute meanwhile. Its first request is one
 *                                  period later, because waiting hosts send their own requests
 *   myrd/kernel_groups.c           in place of that timer, on kernels without timers for programs
 *
 * Messages between ports have a retransmission timeout of their own (recv.c), derived from the
 * RTT. */
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

/* Starts the timeout because a message is missing from now on. */
static inline void mcp_backoff_begin(struct mcp_backoff *backoff, uint64_t first_ns,
                                     uint64_t now_ns)
{
    backoff->lasts_ns = first_ns;
    backoff->ends_ns = now_ns + first_ns;
}

/* Returns whether the timeout has expired. If so, the caller sends its request now, and the timeout
 * doubles up to MCP_BACKOFF_MOST_NS. (A learned timeout may be longer than that, and is then
 * kept.) */
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
 * Do not call it for a collective in which a NIC has requested a message, because that duration
 * includes the timeout itself: on a network that loses packets, the timeout would grow without
 * bound. (TCP does not measure the RTT of retransmitted packets for the same reason: Karn and
 * Partridge.) A duration much longer than usual has little weight, because it means that a host was
 * late. */
static inline uint64_t mcp_backoff_learn(uint64_t usual_ns, uint64_t took_ns)
{
    const uint64_t counts_ns = took_ns < 2 * usual_ns ? took_ns : 2 * usual_ns;
    return (7 * usual_ns + counts_ns + 1000) / 8;
}

#endif
