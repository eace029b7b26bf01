/* SPDX-License-Identifier: BSD-3-Clause */
/* A slot: a word with a payload, which carries the data of collectives on one node (exchange.h,
 * ring.h).
 *
 * The payload is adjacent to the epoch. A payload of up to 48 bytes is in the same cache line (of
 * 64 bytes) as the epoch, so a reader that finds the epoch gets the data with the same cache line
 * transfer. (This corresponds to Hoefler's array with additional data; in Zhang's thesis the
 * packets of the barrier contain the payload.)
 *
 * Exchanges and rings number their rounds from 1, and the numbers wrap around like epochs. A slot
 * is reused after a window of rounds. By then all processes must have passed the last round in the
 * slot, that is, must have finished reading it. Each process publishes the last round that it has
 * passed in a separate word. */
#ifndef MYR_SLOT_H
#define MYR_SLOT_H

#include <stdalign.h>

#include "firmware/atomics.h"

enum { MYR_SLOT_BYTES = 112 /* size of the payload */ };

struct myr_slot {
    alignas(MYR_LINE) myr_word round;            /* the payload's round; written last */
    myr_word info;                               /* a value that the writer passes to the readers */
    myr_word part;                               /* for rings, see myr_ring_part() */
    alignas(16) uint8_t payload[MYR_SLOT_BYTES]; /* aligned as by malloc */
};

_Static_assert(MYR_LINE == sizeof(struct myr_slot), "a slot is a line");

/* The last round that a process has passed. */
struct myr_passed {
    alignas(MYR_LINE) myr_word round;
};

#endif
