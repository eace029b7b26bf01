/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring on one node, off its path; see ring.h. */
#include "libmyr/ring.h"

size_t myr_ring_bytes(uint32_t size)
{
    return sizeof(struct myr_ring_lines) + size * sizeof(struct myr_passed);
}

void myr_ring_init(struct myr_ring *ring, struct myr_record *record, struct myr_waiter *waiter,
                   uint32_t size, uint32_t rank)
{
    *ring = (struct myr_ring){
        .lines = (struct myr_ring_lines *)record->slots,
        .size = size,
        .rank = rank,
        .record = record,
    };
    myr_watch_init(&ring->watch, waiter, &record->sleepers);
}

/* The others go on meanwhile, so they are usually found to have passed much further than is needed.
 * Then all of them are looked at only once in many rounds. */
void myr_ring_await_room(struct myr_ring *ring)
{
    const uint32_t needed = ring->passed + 1 - MYR_RING_WINDOW;
    ring->all_passed = ring->passed;
    for (uint32_t r = 0; r < ring->size; ++r) {
        myr_word *word = &ring->lines->passed[r].round;
        myr_wait(&ring->watch, word, needed);
        const uint32_t passed = myr_observe(word);
        if (!myr_epoch_reached(passed, ring->all_passed)) {
            ring->all_passed = passed;
        }
    }
}
