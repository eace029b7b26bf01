/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake board for the tests of the control program (firmware/): several NICs with memory of their
 * own, a simulated clock, and a wire that loses, duplicates, reorders, delays and corrupts packets.
 *
 * The seed determines the whole simulation. Events happen only within wire_next() and wire_run():
 * the arrival of a packet at a NIC (mcp_receive), an expired deadline of a NIC (mcp_timer), or a
 * call that the test has scheduled. The clock jumps from event to event, so that waiting costs no
 * time.
 *
 * Invariants. Calls of control programs are never nested: send and wake only queue an event. Each
 * packet is an allocation of exactly its size, and its payload must be in the sender's memory, so
 * that AddressSanitizer detects reads beyond them.
 */
#ifndef TESTS_UNIT_WIRE_FAKE_H
#define TESTS_UNIT_WIRE_FAKE_H

#include "firmware/mcp.h"
#include "firmware/sim/events.h"

/* in ns, as all times of the wire */
#define MICROSECOND UINT64_C(1000)
#define MILLISECOND (1000 * MICROSECOND)
#define SECOND (1000 * MILLISECOND)

/* Sizes of each NIC's tables. */
enum { WIRE_PORTS = 16, WIRE_CONNECTIONS = 16 };

struct wire;

/* Faults of the wire, as probabilities per mille for each packet. */
struct wire_faults {
    uint32_t loss, duplication, reordering, damage;
    /* delay of every packet; packets of a pair of NICs stay in order */
    uint64_t delay_least_ns, delay_most_ns;
    uint64_t detour_most_ns; /* maximum additional delay of a reordered packet or a duplicate */
};

struct wire_tally {
    uint64_t sent, damaged;
};

struct wire_nic {
    struct mcp_board board;
    struct wire *wire;
    uint32_t number;
    mcp_link link;       /* link by which all NICs address this one */
    mcp_link sender;     /* of the packet being handled */
    uint32_t *held;      /* references of the link to each NIC, by number */
    struct mcp_nic *mcp; /* in the board's memory */
    bool unplugged;      /* set by the test: no packet arrives or leaves */
    uint64_t wakes;      /* number of calls of wake */
    uint32_t taken;      /* bytes allocated by wire_memory() */
};

struct wire {
    uint64_t now_ns;
    uint64_t random; /* state of the random numbers */
    struct wire_faults faults;
    struct wire_tally tally;
    uint32_t nnics;
    struct wire_nic *nics;
    struct wire_nic *touched; /* by the last event; NULL after a call without a NIC */

    /* Optional hooks of the test, called within send (the result determines whether the packet
     * passes) and within wake. Neither may call a control program. */
    bool (*transmitted)(void *context, const struct wire_nic *from, mcp_link to,
                        const struct mcp_header *header, const void *payload, size_t payload_bytes);
    void (*woken)(void *context, struct wire_nic *nic, myr_word *word);
    void *context;

    struct sim_events events; /* with times in ns */
    uint64_t *order_ns;       /* [from * nnics + to]: arrival of the pair's last packet */
    uint32_t idle_timers;     /* calls of mcp_timer() since the clock advanced */
};

/* Initialize `nnics` NICs with `memory_bytes` each, random keys, no faults, and a latency of 1
 * us. */
void wire_begin(struct wire *wire, uint32_t nnics, uint32_t memory_bytes, uint64_t seed);
void wire_end(struct wire *wire);

/* Allocate zeroed memory of this NIC, aligned to MYR_LINE, until wire_end(). */
void *wire_memory(struct wire_nic *nic, size_t bytes);

/* Take a reference of a NIC's link, as a host does before it connects. */
mcp_link wire_hold(struct wire_nic *nic, mcp_link link);

/* Schedule a call in `after_ns`. `nic` (or NULL) is the NIC that it will use. */
typedef void (*wire_call)(struct wire_nic *nic, void *context);
void wire_after(struct wire *wire, uint64_t after_ns, struct wire_nic *nic, wire_call call,
                void *context);

/* Inject a packet as if `from` had sent it. It is neither sealed nor subject to faults. */
void wire_inject(struct wire *wire, const struct wire_nic *from, const struct wire_nic *to,
                 const void *packet, size_t bytes);

/* Process the next event. Returns false if there is no packet, call or deadline. */
bool wire_next(struct wire *wire);

/* Process events until `until` returns true. Returns false if no event is left before that, or
 * the clock would advance by more than `limit_ns`. */
bool wire_run(struct wire *wire, bool (*until)(void *context), void *context, uint64_t limit_ns);

/* Process the events of the next `span_ns`, and advance the clock by this time. */
void wire_pass(struct wire *wire, uint64_t span_ns);

/* Returns a random number from `least` to `most`, both included. */
uint64_t wire_between(struct wire *wire, uint64_t least, uint64_t most);

#endif
