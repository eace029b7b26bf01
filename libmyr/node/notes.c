/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes: 64-bit words that the job's processes share, by key; see segment.h.
 *
 * They are a hash table with open addressing. The first table is in the segment's header. When a
 * table is three quarters full, its content moves to one of twice the size, in a block. If no such
 * block is available, the last quarter is used as well.
 *
 * Invariants: notes are never removed, so a search ends at the first free entry. A process may be
 * killed at any point, so a table is complete before `notes` refers to it, and a value is written
 * before its key. */
#include "libmyr/node/segment_inside.h"

#include <string.h>

static struct myr_notes *table_of(const struct myr_segment *segment)
{
    return (struct myr_notes *)((uint8_t *)segment->sram + segment->sram->notes);
}

/* Returns the note with `key`, or the entry for it; NULL if the table is full. */
static struct myr_note *find_note(struct myr_notes *table, uint64_t key)
{
    const uint32_t mask = table->capacity - 1;
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    for (uint32_t looked = 0; looked <= mask; ++looked, i = (i + 1) & mask) {
        if (0 == table->note[i].key || key == table->note[i].key) {
            return &table->note[i];
        }
    }
    return NULL;
}

static void put_note(struct myr_notes *table, struct myr_note *place, uint64_t key, uint64_t value)
{
    const bool fresh = 0 == place->key;
    place->value = value;
    /* A compiler barrier is sufficient, because readers take the lock. */
    atomic_signal_fence(memory_order_seq_cst);
    place->key = key;
    table->used += fresh;
}

/* Moves to a table of twice the size. If there is no memory for it, the old one remains in use. */
static void grow(struct myr_segment *segment)
{
    struct myr_sram *sram = segment->sram;
    const struct myr_notes *from = table_of(segment);
    const uint32_t capacity = 2 * from->capacity, had = sram->notes;
    const size_t bytes = sizeof(*from) + capacity * sizeof(from->note[0]);
    const uint32_t block_class = myr_block_class(bytes);
    const uint32_t offset =
        sram->full || block_class == MYR_BLOCK_CLASSES ? 0 : myr_take_block(segment, block_class);
    if (0 == offset) {
        return;
    }
    struct myr_notes *to = (struct myr_notes *)myr_block_at(segment, offset);
    memset(to, 0, bytes);
    to->capacity = capacity;
    to->block_class = block_class;
    for (uint32_t i = 0; i < from->capacity; ++i) {
        if (0 != from->note[i].key) {
            put_note(to, find_note(to, from->note[i].key), from->note[i].key, from->note[i].value);
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    sram->notes = offset;
    if (from != (const struct myr_notes *)sram->first_notes) {
        myr_give_block(segment, had, from->block_class);
    }
}

/* Returns the entry for `key`, in a table with space for it, or NULL if there is none. Called with
 * the lock held. */
static struct myr_note *make_room(struct myr_segment *segment, uint64_t key)
{
    struct myr_notes *table = table_of(segment);
    struct myr_note *place = find_note(table, key);
    if ((NULL == place || 0 == place->key) && table->used >= table->capacity / 4 * 3) {
        grow(segment);
        place = find_note(table_of(segment), key);
    }
    return place;
}

void myr_notes_begin(struct myr_segment *segment)
{
    segment->sram->notes = offsetof(struct myr_sram, first_notes);
    table_of(segment)->capacity = MYR_NOTES;
}

bool myr_note_set(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    myr_segment_lock(segment);
    struct myr_note *place = make_room(segment, key);
    if (NULL != place) {
        put_note(table_of(segment), place, key, value);
    }
    myr_segment_unlock(segment);
    return NULL != place;
}

bool myr_note_add(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    myr_segment_lock(segment);
    struct myr_note *place = make_room(segment, key);
    const bool first = NULL == place || 0 == place->key;
    if (NULL != place && first) {
        put_note(table_of(segment), place, key, value);
    }
    myr_segment_unlock(segment);
    return first;
}

uint64_t myr_note_get(struct myr_segment *segment, uint64_t key)
{
    myr_segment_lock(segment);
    const struct myr_note *place = find_note(table_of(segment), key);
    /* A free entry may have the value of a process that was killed before it wrote the key. */
    const uint64_t value = NULL == place || 0 == place->key ? 0 : place->value;
    myr_segment_unlock(segment);
    return value;
}
