/* SPDX-License-Identifier: BSD-3-Clause */
/* Backoff: the timeout after which to ask for a missing message.
 *
 * A message may be lost, or its sender may be late. The receiver waits for a while, then asks the
 * sender. After each question without success it doubles the timeout, up to MCP_BACKOFF_MOST_NS.
 * The next epoch starts over. The engine decides which nodes to ask (mcp_group_misses()): only the
 * sender of each message that the present step misses.
 *
 * A needless question slows a collective. So a NIC that has measured the duration of its
 * collectives waits 8 times as long before the first question. That has a limit,
 * MCP_BACKOFF_MORE_NS plus half of the duration: on a network with many losses, the timeout
 * determines the duration, and would grow without bound.
 *
 * It is kept in these places, each with its own clock and only for the duration of an epoch:
 *
 *   collective.c (soft NIC)        learns, because it sees when each epoch begins and ends
 *   libmyr/kernel/kernel_group.c   a waiting host, for the kernel's NIC. It does not learn: the
 *                                  NIC keeps no times, as reading a clock would slow each barrier
 *   kernel/program.bpf.c (timer)   for hosts that compute meanwhile. It first asks one period
 *                                  later, because waiting hosts ask for themselves
 *   myrd/kernel_groups.c           in place of that timer, on kernels without timers for programs
 *
 * Messages between ports have a retransmission timeout of their own (recv.c), derived from the
 * RTT. */
#ifndef MCP_BACKOFF_H
#define MCP_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds. */
#define MCP_BACKOFF_NS UINT64_C(1000000) /* before the first question, at least */
#define MCP_BACKOFF_MORE_NS UINT64_C(2000000)
#define MCP_BACKOFF_MOST_NS UINT64_C(64000000) /* between two questions */
#define MCP_BACKOFF_TIMES 8

struct mcp_backoff {
    uint64_t lasts_ns; /* the present timeout */
    uint64_t ends_ns;  /* when it expires, by the clock of the process or NIC that asks */
};

/* Start the timeout: a message is missing from now on. */
static inline void mcp_backoff_begin(struct mcp_backoff *backoff, uint64_t first_ns,
                                     uint64_t now_ns)
{
    backoff->lasts_ns = first_ns;
    backoff->ends_ns = now_ns + first_ns;
}

/* Has the timeout expired? If so, the caller asks now, and the timeout doubles up to
 * MCP_BACKOFF_MOST_NS. (A learned timeout may be longer than that, and is then kept.) */
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

/* The timeout before the first question for collectives that usually take `usual_ns` (0: not
 * known). */
static inline uint64_t mcp_backoff_initial(uint64_t usual_ns)
{
    const uint64_t times_ns = MCP_BACKOFF_TIMES * usual_ns;
    const uint64_t more_ns = MCP_BACKOFF_MORE_NS + usual_ns / 2;
    const uint64_t first_ns = times_ns < more_ns ? times_ns : more_ns;
    return first_ns < MCP_BACKOFF_NS ? MCP_BACKOFF_NS : first_ns;
}

/* Update the usual duration with a collective that took `took_ns`.
 *
 * Do not call it for a collective in which a NIC has asked for a message, since the duration of
 * that includes the timeout itself: on a network that loses packets, the timeout would grow without
 * bound. (TCP does not measure the RTT of retransmitted packets for the same reason: Karn and
 * Partridge.) A duration much longer than usual has little weight, because it means that a host was
 * late. */
static inline uint64_t mcp_backoff_learn(uint64_t usual_ns, uint64_t took_ns)
{
    const uint64_t counts_ns = took_ns < 2 * usual_ns ? took_ns : 2 * usual_ns;
    return (7 * usual_ns + counts_ns + 1000) / 8;
}

#endif
