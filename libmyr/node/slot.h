/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record with a payload: what collectives on one node carry their data in (exchange.h, ring.h).
 *
 * Payload and epoch lie side by side. A payload of up to 48 bytes shares the epoch's cache line, so
 * whoever sees the epoch has the data with the same move of a line. (Hoefler's array again, with
 * data in it; Zhang's thesis has the payload in the barrier's own packet.)
 *
 * Both kinds of users number their rounds from 1 on. The numbers wrap around like epochs. A slot is
 * used again after a window of rounds. By then all processes must have passed the round before,
 * that is, they will not read it any more. Each process says how far it has passed in a word of its
 * own.
 */
#ifndef MYR_SLOT_H
#define MYR_SLOT_H

#include <stdalign.h>

#include "firmware/atomics.h"

enum { MYR_SLOT_BYTES = 112 /* of payload */ };

struct myr_slot {
    alignas(MYR_LINE) myr_word round;            /* the round whose payload this is; written last */
    myr_word note;                               /* what the writer says besides */
    myr_word part;                               /* the same, of a ring: see myr_ring_part() */
    alignas(16) uint8_t payload[MYR_SLOT_BYTES]; /* as malloc aligns */
};

_Static_assert(MYR_LINE == sizeof(struct myr_slot), "a slot is a line");

/* How far one process has passed. */
struct myr_passed {
    alignas(MYR_LINE) myr_word round;
};

#endif
