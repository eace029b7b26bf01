/* SPDX-License-Identifier: BSD-3-Clause */
/* See slots_common.h. */
#include "tests/unit/slots_common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static const struct myr_patience ways[] = {{0, -1, 1000}, {0, 0, 1000}, {-1, 500, 1000}};

static void no_progress(void) {}

void slots_run(crew_fn member, int way, uint32_t size, uint32_t rounds, uint32_t start,
               size_t bytes)
{
    static uint64_t runs;
    const struct myr_key key = {1, 2, 3, 4};
    struct slots_test test = {
        .patience = way < 3 ? &ways[way] : NULL,
        .size = size,
        .rounds = rounds,
        .start = start,
        .seed = crew_seed() + 1000 * ++runs,
        .ledger = crew_memory(sizeof(*test.ledger)),
    };
    crew_folder_make(test.folder, sizeof(test.folder));
    assert_int_equal(myr_segment_join(test.folder, 2 << 20, &test.segment, NULL), MYR_OK);
    test.record = myr_record_join(test.segment, &key, 1, bytes, 0, NULL);
    assert_non_null(test.record);
    for (uint32_t r = 0; r < size; ++r) {
        test.ledger->of[r].round = start;
    }
    /* The memory says that all rounds so far are over. */
    struct myr_slot *lines = (struct myr_slot *)test.record->slots;
    for (size_t l = 0; l < bytes / sizeof(*lines); ++l) {
        lines[l].round = lines[l].note = start;
    }
    if (!crew_run(size, member, &test)) {
        fail_msg("%u members, way %d, from round %u", size, way, start + 1);
    }
    myr_record_leave(test.segment, test.record);
    myr_segment_leave(test.segment);
    crew_memory_free(test.ledger, sizeof(*test.ledger));
    crew_folder_remove(test.folder);
}

void slots_waiter(const struct slots_test *test, uint32_t rank, struct myr_waiter *waiter)
{
    const struct myr_patience *patience = NULL != test->patience ? test->patience : &ways[rank % 3];
    myr_waiter_init(waiter, test->segment, no_progress, patience);
}

static uint8_t byte_of(uint32_t rank, uint32_t round, uint32_t at)
{
    return (uint8_t)(round * 31 + rank * 7 + at);
}

void slots_fill(void *payload, uint32_t rank, uint32_t round)
{
    for (uint32_t at = 0; at < MYR_SLOT_BYTES; ++at) {
        ((uint8_t *)payload)[at] = byte_of(rank, round, at);
    }
}

void slots_check(const void *payload, uint32_t rank, uint32_t round, uint32_t reader)
{
    for (uint32_t at = 0; at < MYR_SLOT_BYTES; ++at) {
        const uint8_t seen = ((const uint8_t *)payload)[at];
        CREW_CHECK(seen == byte_of(rank, round, at),
                   "rank %u reads %u at %u of what rank %u wrote in round %u", reader, seen, at,
                   rank, round);
    }
}

void slots_note(const struct slots_test *test, uint32_t rank, uint32_t round)
{
    myr_publish(&test->ledger->of[rank].round, round);
}

void slots_check_free(const struct slots_test *test, uint32_t rank, uint32_t round, uint32_t window)
{
    for (uint32_t r = 0; r < test->size; ++r) {
        const uint32_t passed = myr_observe(&test->ledger->of[r].round);
        CREW_CHECK(myr_epoch_reached(passed, round - window),
                   "rank %u writes round %u, but rank %u has passed %u only", rank, round, r,
                   passed);
    }
}
