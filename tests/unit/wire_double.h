/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test double of the board: several NICs, each with memory of its own, a clock that stands still
 * between events, and a wire that loses, duplicates, reorders, delays and damages packets.
 *
 * Called by the tests of the control program (firmware/). What happens follows from the seed alone.
 * Nothing runs unless the test calls wire_next() or wire_run(): each event is a packet that comes
 * to a NIC (mcp_receive), a NIC's deadline that is over (mcp_timer), or a call that the test has
 * put in at a time. The clock goes from event to event, so a second of waiting costs nothing.
 *
 * Invariants. No two parts of a control program ever run inside each other: send and wake only take
 * note. A packet is a copy in memory of just its size, and a payload must lie in the sender's
 * memory. So AddressSanitizer sees who reads too far.
 */
#ifndef TESTS_UNIT_WIRE_DOUBLE_H
#define TESTS_UNIT_WIRE_DOUBLE_H

#include "firmware/mcp.h"

/* Of each NIC: room in its tables. */
enum { WIRE_PORTS = 16, WIRE_CONNECTIONS = 16 };

struct wire;

/* What the wire does to packets. Chances are out of a thousand, for each packet on its own. */
struct wire_faults {
    uint32_t loss, duplication, reordering, damage;
    uint64_t delay_least_ns, delay_most_ns; /* of every packet; those of a pair stay in order */
    uint64_t detour_most_ns; /* how much later a reordered packet or a duplicate may come */
};

/* What a wire has done so far. */
struct wire_tally {
    uint64_t sent, delivered, lost, duplicated, reordered, damaged, nowhere, timers, calls;
};

struct wire_nic {
    struct mcp_board board;
    struct wire *wire;
    uint32_t number;
    mcp_link link;       /* by which the others, and itself, know it */
    mcp_link sender;     /* of the packet that is being handled */
    uint32_t *held;      /* how often it holds the link to each NIC, by number */
    struct mcp_nic *mcp; /* in the board's memory */
    bool unplugged;      /* the test sets it: nothing reaches it, nothing leaves it */
    uint64_t wakes;      /* how often a word was woken */
    uint32_t taken;      /* bytes of memory that wire_memory() has given away */
};

struct wire {
    uint64_t now_ns;
    uint64_t random; /* state of the random numbers */
    struct wire_faults faults;
    struct wire_tally tally;
    uint32_t nnics;
    struct wire_nic *nics;
    struct wire_nic *touched; /* by the last event; NULL if that was a call without NIC */

    /* The test sets these if it wants to: called within send (true lets the packet pass) and
     * within wake; neither may call a control program. */
    bool (*transmitted)(void *context, const struct wire_nic *from, mcp_link to,
                        const struct mcp_header *header, const void *payload, size_t payload_bytes);
    void (*woken)(void *context, struct wire_nic *nic, myr_word *word);
    void *context;

    struct wire_event **events; /* a heap: the next one first */
    uint32_t nevents, room;
    uint64_t sequence;    /* of events: among those of one time the older is first */
    uint64_t *order_ns;   /* [from * nnics + to]: when the last packet of the pair arrives */
    uint32_t idle_timers; /* calls of mcp_timer() since the clock has gone on */
};

/* `nnics` NICs with `memory_bytes` each, keys drawn at random, no faults, 1 us from one to another.
 */
void wire_begin(struct wire *wire, uint32_t nnics, uint32_t memory_bytes, uint64_t seed);
void wire_end(struct wire *wire);

/* Memory of this NIC, all 0, aligned to MYR_LINE, until the end. */
void *wire_memory(struct wire_nic *nic, size_t bytes);

/* A NIC holds one of its links, as a host does before it connects. */
mcp_link wire_hold(struct wire_nic *nic, mcp_link link);

/* Have `call` called `after_ns` from now; `nic` (or NULL) is what it will touch. */
typedef void (*wire_call)(struct wire_nic *nic, void *context);
void wire_after(struct wire *wire, uint64_t after_ns, struct wire_nic *nic, wire_call call,
                void *context);

/* Put a packet on the wire as if `from` had sent it, as it is: the caller may have sealed it, or
 * not. Faults do not touch it. */
void wire_inject(struct wire *wire, const struct wire_nic *from, const struct wire_nic *to,
                 const void *packet, size_t bytes);

/* Let the next event happen. False if there is none: no packet, no call, no deadline. */
bool wire_next(struct wire *wire);

/* Let things happen until `until` says true, which it returns. False when nothing is left to happen
 * before that, or the clock would go beyond `limit_ns` from now. */
bool wire_run(struct wire *wire, bool (*until)(void *context), void *context, uint64_t limit_ns);

/* Let happen what happens within `span_ns`; the clock is that much later then. */
void wire_pass(struct wire *wire, uint64_t span_ns);

/* A random number from `least` to `most`, both included. */
uint64_t wire_between(struct wire *wire, uint64_t least, uint64_t most);

#endif
