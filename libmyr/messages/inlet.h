/* SPDX-License-Identifier: BSD-3-Clause */
/* An inlet receives short messages from other processes of the same node, bypassing the NIC.
 *
 * For a message of one or two cache lines between processes that share memory, the NIC is only a
 * detour, whose cost is the access to the cache lines of its lock, tables, tokens and events. A
 * port may therefore have an inlet, a ring of slots that all other processes of the node write
 * into, and that the process of the port reads. With one sender at a time, only the cache lines of
 * the message itself and, from time to time, the count of consumed messages are transferred between
 * CPUs.
 *
 * Messages in an inlet are delivered in the order of their tickets, so messages of one sender
 * arrive in the order in which they were sent. They are not ordered with respect to messages
 * through the NIC.
 *
 * A sender that is killed between myr_outlet_begin() and myr_outlet_end() blocks the inlet, because
 * the slots after its own are no longer delivered. (Open MPI ends such a job.)
 *
 * Only one thread at a time may use an outlet; the same applies to the receiving side of an
 * inlet. */
#ifndef MYR_INLET_H
#define MYR_INLET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/atomics.h"

enum {
    MYR_SHORT_BYTES = 240,    /* size of the longest message */
    MYR_INLET_SLOTS = 120,    /* chosen so that an inlet fills a block of 32 KiB */
    MYR_INLET_VOID = 1 << 30, /* `bytes` of a slot whose sender found that the port was closed */
};

struct myr_inlet_slot {
    _Alignas(
        MYR_LINE) myr_word sequence; /* lower half of the ticket + 1 once the message is complete */
    uint32_t bytes;
    uint64_t zero;
    uint8_t message[MYR_SHORT_BYTES]; /* aligned to 16 */
};

/* An inlet, in shared memory. */
struct myr_inlet {
    _Alignas(MYR_LINE) _Atomic uint64_t next; /* the next ticket; written by senders */
    myr_word key;                             /* the port's key; 0 if the port is closed */
    myr_word napping; /* not 0 if the receiver has a thread that may sleep */
    _Alignas(MYR_LINE) _Atomic uint64_t
        taken;       /* lower bound on the messages consumed; written by the receiver */
    myr_word asleep; /* not 0 if that thread sleeps, or is about to */
    struct myr_inlet_slot slot[MYR_INLET_SLOTS];
};

/* A sender's side; all 0 if there is no inlet. */
struct myr_outlet {
    struct myr_inlet *inlet;
    uint64_t taken; /* the inlet's `taken`, as last loaded */
    uint64_t ticket;
    uint32_t key;
};

/* The receiver's side; all 0 if there is no inlet. */
struct myr_intake {
    struct myr_inlet *inlet;
    uint64_t taken;
};

/* Opens an inlet in memory that is all 0 or was an inlet before. Returns false if a sender has
 * begun a message to the former port and not ended it, because it may still write into the inlet.
 *
 * A sender may be stopped for a long time, and then access an inlet that was closed meanwhile, or
 * even opened again for another port. Therefore the memory of an inlet is never used for anything
 * else, and its tickets continue when it is opened again. Such a sender finds that the key has
 * changed, and marks its slot as void. */
bool myr_inlet_open(struct myr_inlet *inlet, uint32_t key);
void myr_inlet_close(struct myr_inlet *inlet);

/* Returns the receiving side of an open inlet, before it has received anything. */
struct myr_intake myr_intake_of(struct myr_inlet *inlet);

/* Begins a message: returns a buffer for up to MYR_SHORT_BYTES, which myr_outlet_end() sends. The
 * sender must call myr_outlet_end() soon, because later messages are not delivered before this one.
 * Returns NULL if there is no inlet or no free slot, or if the port is closed; in this case the
 * caller uses the NIC. */
static inline void *myr_outlet_begin(struct myr_outlet *outlet);
void myr_outlet_end(struct myr_outlet *outlet, uint32_t bytes);

/* The slow path of myr_outlet_begin(), for a sender that has found the port open. */
void *myr_outlet_take(struct myr_outlet *outlet);

static inline void *myr_outlet_begin(struct myr_outlet *outlet)
{
    return NULL == outlet->inlet || outlet->key != myr_load_relaxed(&outlet->inlet->key)
               ? NULL
               : myr_outlet_take(outlet);
}

/* Returns the next message, or NULL. It is valid until myr_intake_done(). */
const void *myr_intake_check(struct myr_intake *intake, uint32_t *bytes);
void myr_intake_done(struct myr_intake *intake);

/* Sleep and wake-up of a thread of the receiver that waits for work. The thread calls
 * myr_inlet_nap(), checks for work, and if there is none calls myr_inlet_sleep(). A sender first
 * delivers its message, and then calls myr_inlet_wake(), which costs nothing if the receiver has no
 * such thread. */
void myr_inlet_nap(struct myr_inlet *inlet);
bool myr_inlet_sleep(struct myr_inlet *inlet, uint32_t timeout_us); /* true if woken */
void myr_inlet_wake_sleeper(struct myr_inlet *inlet);

static inline void myr_inlet_wake(struct myr_inlet *inlet)
{
    if (NULL != inlet && 0 != myr_load_relaxed(&inlet->napping)) {
        myr_inlet_wake_sleeper(inlet);
    }
}

#endif
