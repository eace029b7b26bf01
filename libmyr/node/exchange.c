/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of an exchange on one node; see exchange.h.
 *
 * Each process publishes its progress, that is, the last round that it has passed, in two places.
 * One is a word for this purpose (struct myr_passed), which is always exact. The other is the info
 * word of each slot that it writes, which contains its progress at that time. A process that has
 * just read a round has the info words in its cache, and they suffice as long as the processes are
 * in step. The exact words are read only if a process lags behind. */
#include "libmyr/node/exchange.h"

static const struct geometry {
    uint32_t window, slot;
} geometries[MYR_SLOTS_KINDS] = {
    [MYR_SLOTS_LINE] = {MYR_EXCHANGE_WINDOW, MYR_LINE},
    [MYR_SLOTS_WIDE] = {7, 36 * MYR_LINE},
    [MYR_SLOTS_LARGE] = {3, 170 * MYR_LINE},
};

static uint32_t part_bytes(const struct geometry *geometry)
{
    return (uint32_t)sizeof(struct myr_passed) + geometry->window * geometry->slot;
}

size_t myr_exchange_bytes(uint32_t size, enum myr_slots slots)
{
    return (size_t)size * part_bytes(&geometries[slots]);
}

void myr_exchange_init(struct myr_exchange *x, struct myr_record *record, struct myr_waiter *waiter,
                       uint32_t size, uint32_t rank, enum myr_slots slots)
{
    const struct geometry *geometry = &geometries[slots];
    const uint32_t stride = part_bytes(geometry);
    *x = (struct myr_exchange){
        .lines = (uint8_t *)record->slots,
        .own = (uint8_t *)record->slots + (size_t)rank * stride,
        .window = geometry->window,
        .slot = geometry->slot,
        .stride = stride,
        .write_at = sizeof(struct myr_passed),
        .read_at = sizeof(struct myr_passed),
        .size = size,
        .rank = rank,
        .record = record,
    };
    myr_watch_init(&x->watch, waiter, &record->sleepers);
}

/* Selects one of the two places where a process publishes its progress. */
typedef const myr_word *(*progress_fn)(const struct myr_exchange *x, uint32_t rank);

/* Returns the info word in the slot of `rank` for the last round that this process has passed. */
static const myr_word *progress_in_slot(const struct myr_exchange *x, uint32_t rank)
{
    const uint32_t first = sizeof(struct myr_passed);
    const uint32_t at = (first == x->read_at ? x->stride : x->read_at) - x->slot;
    return &myr_exchange_slot(x, rank, at)->info;
}

static const myr_word *exact_progress(const struct myr_exchange *x, uint32_t rank)
{
    return myr_exchange_passed(x, rank);
}

/* Returns the rank of the process that has passed the fewest rounds, and sets *passed to the last
 * round that this process has passed. */
static uint32_t find_slowest(const struct myr_exchange *x, progress_fn word, uint32_t *passed)
{
    uint32_t last = x->rank;
    *passed = x->passed;
    for (uint32_t r = 0; r < x->size; ++r) {
        const uint32_t its = myr_load_acquire(word(x, r));
        if (!myr_epoch_reached(its, *passed)) {
            last = r;
            *passed = its;
        }
    }
    return last;
}

/* Returns the round that all processes must have passed before the next one can be written. */
static uint32_t needed_round(const struct myr_exchange *x)
{
    return x->written + 1 - x->window;
}

bool myr_exchange_update(struct myr_exchange *x)
{
    (void)find_slowest(x, progress_in_slot, &x->all_passed);
    if (!myr_epoch_reached(x->all_passed, needed_round(x))) {
        (void)find_slowest(x, exact_progress, &x->all_passed);
    }
    return myr_epoch_reached(x->all_passed, needed_round(x));
}

void myr_exchange_await_room(struct myr_exchange *x)
{
    while (!myr_exchange_room(x) && !x->watch.abandoned) {
        uint32_t passed;
        const uint32_t last = find_slowest(x, exact_progress, &passed);
        myr_wait(&x->watch, myr_exchange_passed(x, last), needed_round(x));
    }
}
