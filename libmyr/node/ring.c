/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of a ring on one node; see ring.h. */
#include "libmyr/node/ring.h"

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

void myr_ring_leave(struct myr_ring *ring, struct myr_segment *segment)
{
    const bool last = ring->size == atomic_fetch_add(&ring->lines->apart.left, 1) + 1;
    const uint32_t at = myr_load_acquire(&ring->lines->apart.chunks);
    if (last && at > MYR_NO_MEMORY) {
        myr_segment_free(segment, myr_segment_base(segment) + at);
    }
    myr_record_leave(segment, ring->record);
}

/* Faults in the pages of the chunks before they are used. Otherwise the first rounds would take
 * several times as long, which would distort measurements. Other processes may already be writing
 * to the chunks; the values read are ignored. */
__attribute__((no_sanitize("thread"))) static void touch_chunks(const uint8_t *chunks)
{
    enum { PAGE = 4096 };
    for (size_t at = 0; at < (size_t)MYR_RING_WINDOW * MYR_RING_CHUNK; at += PAGE) {
        (void)*(const volatile uint8_t *)(chunks + at);
    }
}

bool myr_ring_get_chunks(struct myr_ring *ring, struct myr_segment *segment)
{
    myr_word *word = &ring->lines->apart.chunks;
    if (0 == myr_load_acquire(word)) {
        myr_segment_alloc_once(segment, word, (size_t)MYR_RING_WINDOW * MYR_RING_CHUNK);
    }
    const uint32_t at = myr_load_acquire(word);
    if (MYR_NO_MEMORY != at && NULL == ring->chunks) {
        ring->chunks = myr_segment_base(segment) + at;
        touch_chunks(ring->chunks);
    }
    return NULL != ring->chunks;
}

size_t myr_ring_taken(const struct myr_ring *ring)
{
    const size_t record = sizeof(struct myr_record) + myr_record_bytes(ring->record);
    return record +
           (NULL == ring->chunks ? 0 : MYR_LINE + (size_t)MYR_RING_WINDOW * MYR_RING_CHUNK);
}

/* Lowers `all_passed` to the progress of that process, if this is less. */
static void update_passed(struct myr_ring *ring, uint32_t rank)
{
    const uint32_t passed = myr_load_acquire(&ring->lines->passed[rank].round);
    if (!myr_epoch_reached(passed, ring->all_passed)) {
        ring->all_passed = passed;
    }
}

/* Waits until each reader has passed the required round, and records how far it has advanced.
 * Usually the readers are then well beyond this round, so that the writer need not check them again
 * for many rounds. */
void myr_ring_await_room(struct myr_ring *ring)
{
    const uint32_t needed = ring->passed + 1 - MYR_RING_WINDOW;
    ring->all_passed = ring->passed;
    for (uint32_t r = 0; r < ring->size; ++r) {
        myr_wait(&ring->watch, &ring->lines->passed[r].round, needed);
        update_passed(ring, r);
    }
}

bool myr_ring_update(struct myr_ring *ring)
{
    ring->all_passed = ring->passed;
    for (uint32_t r = 0; r < ring->size; ++r) {
        update_passed(ring, r);
    }
    return ring->passed - ring->all_passed < MYR_RING_WINDOW;
}
