/* SPDX-License-Identifier: BSD-3-Clause */
/* The segment's records, in a hash table; see segment.h.
 *
 * Invariants: each record is in exactly one bucket of the hash table. Once the segment is full, no
 * process creates a record any more, so that all members of a group get the same result. */
#include "libmyr/node/segment_inside.h"

#include <string.h>

uint32_t myr_record_bucket(const struct myr_key *key)
{
    uint64_t h = key->scope;
    h = (h ^ key->id) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32) ^ key->members) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32) ^ key->sequence) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 40) % MYR_BUCKETS;
}

struct myr_record *myr_record_join(struct myr_segment *segment, const struct myr_key *key,
                                   uint32_t members, size_t bytes, uint64_t creator_value,
                                   struct myr_error *error)
{
    struct myr_sram *sram = segment->sram;
    const uint64_t wanted[4] = {key->scope, key->id, key->members, key->sequence};
    const uint32_t bucket = myr_record_bucket(key);
    const char *trouble = NULL;
    struct myr_record *record = NULL;

    myr_segment_lock(segment);
    for (uint32_t o = sram->bucket[bucket]; 0 != o; o = myr_block_at(segment, o)->next) {
        if (0 == memcmp(myr_block_at(segment, o)->key, wanted, sizeof(wanted))) {
            record = myr_block_at(segment, o);
            break;
        }
    }
    if (NULL == record && !sram->full) {
        const uint32_t block_class =
            bytes < sram->limit ? myr_block_class(sizeof(*record) + bytes) : MYR_BLOCK_CLASSES;
        const uint32_t offset =
            block_class < MYR_BLOCK_CLASSES ? myr_take_block(segment, block_class) : 0;
        if (0 != offset) {
            record = myr_block_at(segment, offset);
            memset(record, 0, myr_block_bytes(block_class));
            memcpy(record->key, wanted, sizeof(wanted));
            record->block_class = block_class;
            record->members = members;
            record->creator_value = creator_value;
            record->next = sram->bucket[bucket];
            sram->bucket[bucket] = offset;
        } else {
            sram->full = 1;
        }
    }
    if (NULL == record) {
        trouble = "the node's shared memory is used up";
    }
    myr_segment_unlock(segment);
    if (NULL != trouble) {
        (void)myr_fail(error, MYR_ERR_FULL, 0, "%s", trouble);
    }
    return record;
}

void myr_record_leave(struct myr_segment *segment, struct myr_record *record)
{
    struct myr_sram *sram = segment->sram;
    myr_segment_lock(segment);
    if (++record->left == record->members) {
        const struct myr_key key = {record->key[0], record->key[1], record->key[2], record->key[3]};
        uint32_t *link = &sram->bucket[myr_record_bucket(&key)];
        const uint32_t offset = myr_block_offset(segment, record);
        while (0 != *link && offset != *link) {
            link = &myr_block_at(segment, *link)->next;
        }
        if (offset == *link) {
            *link = record->next;
            myr_give_block(segment, offset, record->block_class);
        }
    }
    myr_segment_unlock(segment);
}

size_t myr_record_bytes(const struct myr_record *record)
{
    return myr_block_bytes(record->block_class) - sizeof(*record);
}

void myr_records_each(struct myr_segment *segment, myr_record_fn each, void *context)
{
    myr_segment_lock(segment);
    for (uint32_t b = 0; b < MYR_BUCKETS; ++b) {
        for (uint32_t o = segment->sram->bucket[b]; 0 != o; o = myr_block_at(segment, o)->next) {
            each(myr_block_at(segment, o), context);
        }
    }
    myr_segment_unlock(segment);
}
