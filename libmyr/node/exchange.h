/* SPDX-License-Identifier: BSD-3-Clause */
/* An exchange on one node: in each round every process contributes a small payload, and reads the
 * payloads of all processes.
 *
 * Each process has a fixed number of slots (slot.h), the *window*, and writes its payload of each
 * round into the next of them without waiting for late processes. It may therefore be ahead of the
 * slowest process by as many rounds as the window has slots. A process participates in each round
 * with the following calls, in this order, and in the order of rounds:
 *    if (myr_exchange_room(x))  { fill myr_exchange_next(x);
 *                                 myr_exchange_write(x); }
 *    if (myr_exchange_ready(x)) { read myr_exchange_payload(x, rank) of all;
 *                                 myr_exchange_pass(x); }
 *
 * The functions with await in their names are the blocking versions.
 *
 * Only one thread at a time may use an exchange. The functions do not fail: they wait even for a
 * dead process, unless the caller's watch abandons the wait (struct myr_watch). In that case they
 * return immediately, and the payloads that they waited for may be missing. */
#ifndef MYR_EXCHANGE_H
#define MYR_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "libmyr/node/slot.h"
#include "libmyr/node/sram.h"
#include "libmyr/node/waiter.h"

/* The kinds of slots, which differ in the size of a slot and in the window, the number of slots
 * that each process has. In a slot of several cache lines, the payload continues behind the first
 * line.
 *
 * The windows are chosen to waste no memory, which is allocated in blocks whose sizes are powers of
 * two: the record for 2^n processes, with its header and a cache line for the `passed` of each
 * process, fills its block. */
enum myr_slots {
    MYR_SLOTS_LINE,  /* one cache line (MYR_LINE); in total 2 KiB for each process */
    MYR_SLOTS_WIDE,  /* 4608 bytes; in total 32 KiB */
    MYR_SLOTS_LARGE, /* 21,760 bytes, for fewer rounds; in total 64 KiB */
    MYR_SLOTS_KINDS,
};
enum { MYR_EXCHANGE_WINDOW = 14 /* of slots of one line */ };

struct myr_exchange {
    uint8_t *lines; /* by rank: struct myr_passed, then the slots */
    uint8_t *own;   /* this process's part */
    uint32_t size, rank;
    uint32_t window;     /* number of slots of a process */
    uint32_t slot;       /* size of a slot (bytes) */
    uint32_t stride;     /* size of a process's part of the record (bytes) */
    uint32_t written;    /* number of rounds that this process has written */
    uint32_t passed;     /* number of rounds that it has read */
    uint32_t all_passed; /* number of rounds that all processes have read, as last loaded */
    uint32_t seen;       /* all ranks below this one have written round passed + 1 */
    uint32_t write_at;   /* offset of the slot of round written + 1 in a process's part */
    uint32_t read_at;    /* offset of the slots of round passed + 1 */
    struct myr_watch watch;
    struct myr_record *record;
};

/* Returns the size of the record's slots for `size` processes (bytes). */
size_t myr_exchange_bytes(uint32_t size, enum myr_slots slots);

/* Initialises an exchange from a joined record, which serves only this exchange. */
void myr_exchange_init(struct myr_exchange *x, struct myr_record *record, struct myr_waiter *waiter,
                       uint32_t size, uint32_t rank, enum myr_slots slots);

/* Returns the size of a payload (bytes). */
static inline uint32_t myr_exchange_width(const struct myr_exchange *x)
{
    return x->slot - MYR_LINE + MYR_SLOT_BYTES;
}

static inline struct myr_slot *myr_exchange_slot(const struct myr_exchange *x, uint32_t rank,
                                                 uint32_t at)
{
    return (struct myr_slot *)(x->lines + (size_t)rank * x->stride + at);
}

static inline myr_word *myr_exchange_passed(const struct myr_exchange *x, uint32_t rank)
{
    return &((struct myr_passed *)(x->lines + (size_t)rank * x->stride))->round;
}

/* Returns the offset of the slot after the one at `at`. The slot of a round cannot be computed from
 * the number of the round, because these numbers wrap around at a power of two, which is not a
 * multiple of the window. */
static inline uint32_t myr_exchange_behind(const struct myr_exchange *x, uint32_t at)
{
    return at + x->slot < x->stride ? at + x->slot : MYR_LINE;
}

/* ---- writing ---- */

/* Loads the other processes' progress, and returns whether the window has space now. */
bool myr_exchange_update(struct myr_exchange *x);

/* Returns whether the next round may be written. */
static inline bool myr_exchange_room(struct myr_exchange *x)
{
    return x->written - x->all_passed < x->window || myr_exchange_update(x);
}

/* Returns the payload of this process's next round, of myr_exchange_width() bytes. */
static inline void *myr_exchange_next(struct myr_exchange *x)
{
    return ((struct myr_slot *)(x->own + x->write_at))->payload;
}

static inline void myr_exchange_write(struct myr_exchange *x)
{
    struct myr_slot *slot = (struct myr_slot *)(x->own + x->write_at);
    x->write_at = myr_exchange_behind(x, x->write_at);
    myr_store_release(&slot->info, x->passed);
    myr_store_release(&slot->round, ++x->written);
    myr_wake(&x->watch, &slot->round);
}

/* Waits until there is space in the window, that is, until the other processes have passed the
 * oldest round in it. To be called only if these processes pass this round soon in any case. */
void myr_exchange_await_room(struct myr_exchange *x);

/* ---- reading ---- */

/* Returns whether all have written the round after the last one that this process has passed. */
static inline bool myr_exchange_ready(struct myr_exchange *x)
{
    const uint32_t round = x->passed + 1;
    while (x->seen < x->size &&
           myr_epoch_reached(myr_load_acquire(&myr_exchange_slot(x, x->seen, x->read_at)->round),
                             round)) {
        ++x->seen;
    }
    return x->seen == x->size;
}

/* Waits until all have written that round. This process must have written it itself. */
static inline void myr_exchange_await(struct myr_exchange *x)
{
    const uint32_t round = x->passed + 1;
    for (; x->seen < x->size; ++x->seen) {
        myr_wait(&x->watch, &myr_exchange_slot(x, x->seen, x->read_at)->round, round);
    }
}

/* myr_exchange_has() tests whether one process has written that round, and myr_exchange_await_one()
 * waits until it has. */
static inline bool myr_exchange_has(const struct myr_exchange *x, uint32_t rank)
{
    return myr_epoch_reached(myr_load_acquire(&myr_exchange_slot(x, rank, x->read_at)->round),
                             x->passed + 1);
}

static inline void myr_exchange_await_one(struct myr_exchange *x, uint32_t rank)
{
    myr_wait(&x->watch, &myr_exchange_slot(x, rank, x->read_at)->round, x->passed + 1);
}

/* Returns the payload of `rank` in the round after the last one that this process has passed. The
 * payload is valid from its arrival until this process passes its round. */
static inline const void *myr_exchange_payload(const struct myr_exchange *x, uint32_t rank)
{
    return myr_exchange_slot(x, rank, x->read_at)->payload;
}

/* Ends the round for this process, which no longer reads its payloads. */
static inline void myr_exchange_pass(struct myr_exchange *x)
{
    myr_word *word = &((struct myr_passed *)x->own)->round;
    x->seen = 0;
    x->read_at = myr_exchange_behind(x, x->read_at);
    myr_store_release(word, ++x->passed);
    myr_wake(&x->watch, word);
}

#endif
