/* SPDX-License-Identifier: BSD-3-Clause */
/* A key-value table of 64-bit words that the processes of the job share; see segment.h.
 *
 * The key-value table of a segment is a hash table with open addressing. The first table is in the
 * header of the segment. When a table is three quarters full, its content is moved to a table of
 * twice the size in an allocated block. If memory for the new table is lacking, the last quarter of
 * the old one is used as well.
 *
 * Invariants: entries are never removed, so a search ends at the first free entry. Since a process
 * may be killed at any point, `kv_table` refers to a table only when it is complete, and a value is
 * written before its key. */
#include "libmyr/node/segment_inside.h"

#include <string.h>

static struct myr_kv_table *table_of(const struct myr_segment *segment)
{
    return (struct myr_kv_table *)((uint8_t *)segment->sram + segment->sram->kv_table);
}

/* Returns the entry with `key`, or a free one for it; NULL if the table is full. */
static struct myr_kv_entry *lookup_entry(struct myr_kv_table *table, uint64_t key)
{
    const uint32_t mask = table->capacity - 1;
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    for (uint32_t probes = 0; probes <= mask; ++probes, i = (i + 1) & mask) {
        if (0 == table->entry[i].key || key == table->entry[i].key) {
            return &table->entry[i];
        }
    }
    return NULL;
}

static void put_entry(struct myr_kv_table *table, struct myr_kv_entry *entry, uint64_t key,
                      uint64_t value)
{
    const bool fresh = 0 == entry->key;
    entry->value = value;
    /* A compiler barrier is sufficient, because readers take the lock. */
    atomic_signal_fence(memory_order_seq_cst);
    entry->key = key;
    table->used += fresh;
}

/* Moves to a table of twice the size. If there is no memory for it, the old one remains in use. */
static void grow_table(struct myr_segment *segment)
{
    struct myr_sram *sram = segment->sram;
    const struct myr_kv_table *from = table_of(segment);
    const uint32_t capacity = 2 * from->capacity, had = sram->kv_table;
    const size_t bytes = sizeof(*from) + capacity * sizeof(from->entry[0]);
    const uint32_t block_class = myr_block_class(bytes);
    const uint32_t offset =
        sram->full || block_class == MYR_BLOCK_CLASSES ? 0 : myr_take_block(segment, block_class);
    if (0 == offset) {
        return;
    }
    struct myr_kv_table *to = (struct myr_kv_table *)myr_block_at(segment, offset);
    memset(to, 0, bytes);
    to->capacity = capacity;
    to->block_class = block_class;
    for (uint32_t i = 0; i < from->capacity; ++i) {
        if (0 != from->entry[i].key) {
            put_entry(to, lookup_entry(to, from->entry[i].key), from->entry[i].key,
                      from->entry[i].value);
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    sram->kv_table = offset;
    if (from != (const struct myr_kv_table *)sram->first_kv_table) {
        myr_give_block(segment, had, from->block_class);
    }
}

/* Returns the entry for `key`, in a table with space for it, or NULL if there is none. Called with
 * the lock held. */
static struct myr_kv_entry *make_space(struct myr_segment *segment, uint64_t key)
{
    struct myr_kv_table *table = table_of(segment);
    struct myr_kv_entry *entry = lookup_entry(table, key);
    if ((NULL == entry || 0 == entry->key) && table->used >= table->capacity / 4 * 3) {
        grow_table(segment);
        entry = lookup_entry(table_of(segment), key);
    }
    return entry;
}

void myr_kv_begin(struct myr_segment *segment)
{
    segment->sram->kv_table = offsetof(struct myr_sram, first_kv_table);
    table_of(segment)->capacity = MYR_KV_CAPACITY;
}

bool myr_kv_set(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    myr_segment_lock(segment);
    struct myr_kv_entry *entry = make_space(segment, key);
    if (NULL != entry) {
        put_entry(table_of(segment), entry, key, value);
    }
    myr_segment_unlock(segment);
    return NULL != entry;
}

bool myr_kv_add(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    myr_segment_lock(segment);
    struct myr_kv_entry *entry = make_space(segment, key);
    const bool first = NULL == entry || 0 == entry->key;
    if (NULL != entry && first) {
        put_entry(table_of(segment), entry, key, value);
    }
    myr_segment_unlock(segment);
    return first;
}

uint64_t myr_kv_get(struct myr_segment *segment, uint64_t key)
{
    myr_segment_lock(segment);
    const struct myr_kv_entry *entry = lookup_entry(table_of(segment), key);
    /* A free entry may contain a value from a process that was killed before it wrote the key. */
    const uint64_t value = NULL == entry || 0 == entry->key ? 0 : entry->value;
    myr_segment_unlock(segment);
    return value;
}
