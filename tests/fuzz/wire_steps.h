/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines steps that messages_fuzz.c passes to the fake wire (tests/unit/wire_fake.h).
 */
#ifndef TESTS_FUZZ_WIRE_STEPS_H
#define TESTS_FUZZ_WIRE_STEPS_H

#include "tests/unit/wire_fake.h"

#define MICROSECOND UINT64_C(1000)
#define MILLISECOND UINT64_C(1000000)

/* Process up to `count` events, as long as there are any. */
static inline void wire_step_events(struct wire *wire, uint32_t count)
{
    while (count > 0 && wire_next(wire)) {
        --count;
    }
}

/* Advance the clock by 1 us to 131 ms. */
static inline void wire_step_time(struct wire *wire, uint8_t argument)
{
    wire_pass(wire, MICROSECOND << argument % 18);
}

/* Set the faults of the wire, and the longest additional delay of a packet. */
static inline void wire_step_faults(struct wire *wire, uint8_t argument, uint64_t detour_most_ns)
{
    wire->faults = (struct wire_faults){
        .loss = (argument & 3) * 100,
        .duplication = (argument >> 2 & 3) * 100,
        .reordering = (argument >> 4 & 3) * 100,
        .damage = (argument >> 6) * 50,
        .delay_least_ns = 1000,
        .delay_most_ns = 3000,
        .detour_most_ns = detour_most_ns,
    };
}

#endif
