/* SPDX-License-Identifier: BSD-3-Clause */
/* A slot: a word with a payload, which carries the data of collectives on one node (exchange.h,
 * ring.h).
 *
 * Payload and epoch are adjacent. A payload of up to 48 bytes shares the epoch's cache line, so a
 * reader that finds the epoch gets the data with the same cache line transfer. (This is Hoefler's
 * array with data in it; Zhang's thesis has the payload in the barrier's own packet.)
 *
 * Both users number their rounds from 1, and the numbers wrap around like epochs. A slot is reused
 * after a window of rounds. By then all processes must have passed the slot's last round, that is,
 * have finished reading it. Each process publishes how far it has passed in a word of its own. */
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
