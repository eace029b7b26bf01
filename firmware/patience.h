/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patience: when to ask for a message that has not come.
 *
 * A message may be lost, or its sender may be late. The receiver waits for a while, then asks the
 * sender. After each question in vain it waits twice as long, up to MCP_PATIENCE_MOST_NS. The next
 * epoch begins anew. Whom to ask says the engine (mcp_group_misses()): the sender of each message
 * that the present step misses, and nobody else.
 *
 * A needless question slows a collective. So a NIC that knows how long its collectives take waits 8
 * times as long before the first one. That has a limit, MCP_PATIENCE_MORE_NS plus half of that
 * time: on a network that loses much, patience decides how long a collective takes, and would grow
 * without end.
 *
 * Who keeps patience, each with its own clock and only as long as an epoch lasts:
 *
 *   collective.c (soft NIC)       learns, as it sees when each epoch begins and ends
 *   libmyr/kernel/kernel_group.c         a waiting host, for the kernel's NIC. It does not learn:
 * the NIC keeps no times, as that would cost each barrier a look at a clock kernel/program.bpf.c
 * (timer)  for hosts that compute meanwhile. It first asks a look later, as those who wait ask for
 * themselves myrd/kernel_groups.c          in place of that timer, where kernels let programs have
 * none
 *
 * Messages between ports have a time-out of their own (recv.c), which is round trips.
 */
#ifndef MCP_PATIENCE_H
#define MCP_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds. */
#define MCP_PATIENCE_NS UINT64_C(1000000) /* before the first question, at the least */
#define MCP_PATIENCE_MORE_NS UINT64_C(2000000)
#define MCP_PATIENCE_MOST_NS UINT64_C(64000000) /* between two questions */
#define MCP_PATIENCE_TIMES 8

struct mcp_patience {
    uint64_t lasts_ns; /* how long to wait before asking */
    uint64_t ends_ns;  /* when that is over, by the clock of who asks */
};

/* From now on a message is missing. */
static inline void mcp_patience_begin(struct mcp_patience *patience, uint64_t first_ns,
                                      uint64_t now_ns)
{
    patience->lasts_ns = first_ns;
    patience->ends_ns = now_ns + first_ns;
}

/* Has patience ended? Then ask now; it lasts longer the next time. (What was learnt may be longer
 * than the longest time that doubling leads to. It stays.) */
static inline bool mcp_patience_ended(struct mcp_patience *patience, uint64_t now_ns)
{
    if (now_ns < patience->ends_ns) {
        return false;
    }
    if (patience->lasts_ns < MCP_PATIENCE_MOST_NS) {
        patience->lasts_ns = 2 * patience->lasts_ns < MCP_PATIENCE_MOST_NS ? 2 * patience->lasts_ns
                                                                           : MCP_PATIENCE_MOST_NS;
    }
    patience->ends_ns = now_ns + patience->lasts_ns;
    return true;
}

/* How long to wait before the first question where collectives usually take `usual_ns` (0: not
 * known). */
static inline uint64_t mcp_patience_first(uint64_t usual_ns)
{
    const uint64_t times_ns = MCP_PATIENCE_TIMES * usual_ns;
    const uint64_t more_ns = MCP_PATIENCE_MORE_NS + usual_ns / 2;
    const uint64_t first_ns = times_ns < more_ns ? times_ns : more_ns;
    return first_ns < MCP_PATIENCE_NS ? MCP_PATIENCE_NS : first_ns;
}

/*
 * How long collectives usually take, after one more that took `took_ns`.
 *
 * Do not call it for one in which somebody had to ask: then patience decided how long it took.
 * Patience must not learn from that, or it would never stop growing on a network that loses
 * packets. (For this reason TCP does not time packets that were sent twice: Karn and Partridge.) A
 * time much longer than usual says little, as a host was late.
 */
static inline uint64_t mcp_patience_learn(uint64_t usual_ns, uint64_t took_ns)
{
    const uint64_t counts_ns = took_ns < 2 * usual_ns ? took_ns : 2 * usual_ns;
    return (7 * usual_ns + counts_ns + 1000) / 8;
}

#endif
