/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of exchanges and rings share: a record for a crew, payloads that tell who wrote
 * them and when, and a ledger of how far each member has passed.
 */
#ifndef TESTS_UNIT_SLOTS_COMMON_H
#define TESTS_UNIT_SLOTS_COMMON_H

#include "libmyr/node/segment.h"
#include "libmyr/node/slot.h"
#include "libmyr/node/waiter.h"
#include "tests/unit/crew.h"

enum { SLOTS_MOST = 8 /* members */ };

/* What a test has its crew do. The parent makes it; members inherit it. */
struct slots_test {
    char folder[200];
    struct myr_segment *segment;
    struct myr_record *record;
    const struct myr_patience *patience; /* NULL: each member its own */
    uint32_t size, rounds;
    uint32_t start; /* the number of the round before the first */
    uint64_t seed;
    /* Written by a member before it passes a round; read by who uses its slot again. */
    struct slots_ledger {
        struct myr_passed of[SLOTS_MOST];
    } * ledger;
};

/* Members wait by yielding, asleep, by default, or each in its own way (0 to 3). `bytes`: of the
 * record. */
void slots_run(crew_fn member, int way, uint32_t size, uint32_t rounds, uint32_t start,
               size_t bytes);

/* How this member waits. */
void slots_waiter(const struct slots_test *test, uint32_t rank, struct myr_waiter *waiter);

void slots_fill(void *payload, uint32_t rank, uint32_t round);
void slots_check(const void *payload, uint32_t rank, uint32_t round, uint32_t reader);

/* `rank` has done with what `round` was read from. Nobody may use a slot again before all have. */
void slots_note(const struct slots_test *test, uint32_t rank, uint32_t round);
void slots_check_free(const struct slots_test *test, uint32_t rank, uint32_t round,
                      uint32_t window);

#endif
