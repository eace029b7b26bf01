/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring on one node: in each round one process writes a small payload, and all other processes
 * read it.
 *
 * All processes agree on the writer of each round, and different rounds may have different writers.
 * The writer does not wait for its readers until it is MYR_RING_WINDOW rounds ahead of the slowest
 * one, so a ring is *loosely synchronous*, like the MPI_Bcast of Zhang's thesis. Memory is
 * therefore bounded, and nothing is lost, no matter how long a reader sleeps. All processes share
 * one slot (slot.h) per round.
 *
 * For large payloads a ring may have *chunks*, which are larger buffers, one for each slot. The
 * writer fills a chunk before it publishes the slot, and a reader reads the chunk before it marks
 * the slot as read.
 *
 * Only one thread at a time may use a ring. The functions do not fail: they also wait for a process
 * that has died. */
#ifndef MYR_RING_H
#define MYR_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "libmyr/node/segment.h"
#include "libmyr/node/slot.h"
#include "libmyr/node/sram.h"
#include "libmyr/node/waiter.h"

enum {
    MYR_RING_WINDOW = 32, /* number of rounds, a power of two */
    /* size in bytes; with the header in front, all chunks fill a block */
    MYR_RING_CHUNK = 127 * MYR_LINE
};

struct myr_ring_lines {
    struct myr_slot slots[MYR_RING_WINDOW];
    struct {
        alignas(MYR_LINE) myr_word chunks; /* see myr_segment_alloc_once() */
        myr_word left;                     /* number of processes that have left */
    } apart;
    struct myr_passed passed[]; /* by rank */
};

struct myr_ring {
    struct myr_ring_lines *lines;
    uint32_t size, rank;
    uint32_t passed;     /* number of rounds that this process has written or read */
    uint32_t all_passed; /* number of rounds that every process has passed, as last loaded */
    uint8_t *chunks;     /* NULL if there are none */
    struct myr_watch watch;
    struct myr_record *record;
};

size_t myr_ring_bytes(uint32_t size); /* size of the record's slots */

/* Initialises a ring from a joined record, which serves only this ring. */
void myr_ring_init(struct myr_ring *ring, struct myr_record *record, struct myr_waiter *waiter,
                   uint32_t size, uint32_t rank);

/* Leaves the ring, its chunks and its record. */
void myr_ring_leave(struct myr_ring *ring, struct myr_segment *segment);

/* Allocates the chunks, which take 512 KiB for all processes together. Returns false if there is no
 * memory for them in the half of the segment that is not reserved for records. All processes get
 * the same result, no matter when they call this function.
 *
 * This function does not call the progress engine, because that might execute other collectives,
 * which would then overtake the non-blocking collective that needs the chunks. */
bool myr_ring_get_chunks(struct myr_ring *ring, struct myr_segment *segment);

/* Returns the size of the shared memory that a ring uses (bytes). */
size_t myr_ring_taken(const struct myr_ring *ring);

static inline struct myr_slot *myr_ring_slot(const struct myr_ring *ring, uint32_t round)
{
    return &ring->lines->slots[round % MYR_RING_WINDOW];
}

/* Returns the chunk of the next round, for its writer and its readers. */
static inline uint8_t *myr_ring_chunk(const struct myr_ring *ring)
{
    return ring->chunks + (size_t)((ring->passed + 1) % MYR_RING_WINDOW) * MYR_RING_CHUNK;
}

static inline void myr_ring_pass(struct myr_ring *ring)
{
    myr_word *word = &ring->lines->passed[ring->rank].round;
    myr_store_release(word, ++ring->passed);
    myr_wake(&ring->watch, word);
}

/* ---- the writer of a round ---- */

/* Waits until the next slot is free, that is, until all readers have passed the last round that
 * used this slot. */
void myr_ring_await_room(struct myr_ring *ring);

/* Loads the readers' progress without waiting, and returns whether the next slot is free now. */
bool myr_ring_update(struct myr_ring *ring);

static inline bool myr_ring_room(struct myr_ring *ring)
{
    return ring->passed - ring->all_passed < MYR_RING_WINDOW || myr_ring_update(ring);
}

/* Waits until the slot of the next round is free, and returns its payload, of MYR_SLOT_BYTES bytes.
 * The chunk of the slot is then free as well. */
static inline void *myr_ring_next(struct myr_ring *ring)
{
    if (ring->passed - ring->all_passed >= MYR_RING_WINDOW) {
        myr_ring_await_room(ring);
    }
    return myr_ring_slot(ring, ring->passed + 1)->payload;
}

/* Sets the number of bytes that are meant for each reader (in a scatter), before the slot is
 * written. Readers ignore this number unless all processes have agreed to use it. */
static inline void myr_ring_part(struct myr_ring *ring, uint32_t bytes)
{
    myr_word *word = &myr_ring_slot(ring, ring->passed + 1)->part;
    atomic_store_explicit(word, bytes, memory_order_relaxed);
}

/* Publishes the round. `info` is a value for the readers. */
static inline void myr_ring_write(struct myr_ring *ring, uint32_t info)
{
    const uint32_t round = ring->passed + 1;
    struct myr_slot *slot = myr_ring_slot(ring, round);
    atomic_store_explicit(&slot->info, info, memory_order_relaxed);
    myr_store_release(&slot->round, round);
    myr_wake(&ring->watch, &slot->round);
    myr_ring_pass(ring);
}

/* ---- the readers of a round ---- */

/* Waits for the next round. Its slot is valid until myr_ring_pass(). */
static inline const struct myr_slot *myr_ring_await(struct myr_ring *ring)
{
    const uint32_t round = ring->passed + 1;
    struct myr_slot *slot = myr_ring_slot(ring, round);
    myr_wait(&ring->watch, &slot->round, round);
    return slot;
}

/* Returns whether the next round has arrived, so that myr_ring_await() does not wait. */
static inline bool myr_ring_has(const struct myr_ring *ring)
{
    const uint32_t round = ring->passed + 1;
    return myr_epoch_reached(myr_load_acquire(&myr_ring_slot(ring, round)->round), round);
}

#endif
