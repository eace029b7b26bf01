/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that the job's processes leave for each other; see segment.h. */
#include "libmyr/node/segment_inside.h"

/* Where the note with `key` is, else where one can be put; MYR_NOTES when there is no room. Locked.
 */
static uint32_t find_note(const struct myr_sram *sram, uint64_t key)
{
    uint32_t i = 0;
    while (i < MYR_NOTES && 0 != sram->note[i].key && key != sram->note[i].key) {
        ++i;
    }
    return i;
}

static void set_note(struct myr_sram *sram, uint32_t place, uint64_t key, uint64_t value)
{
    if (place < MYR_NOTES) {
        sram->note[place].key = key;
        sram->note[place].value = value;
    }
}

void myr_note_set(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    myr_segment_lock(segment);
    set_note(segment->sram, find_note(segment->sram, key), key, value);
    myr_segment_unlock(segment);
}

bool myr_note_add(struct myr_segment *segment, uint64_t key, uint64_t value)
{
    myr_segment_lock(segment);
    const uint32_t place = find_note(segment->sram, key);
    const bool first = place < MYR_NOTES && 0 == segment->sram->note[place].key;
    if (first) {
        set_note(segment->sram, place, key, value);
    }
    myr_segment_unlock(segment);
    return first;
}

uint64_t myr_note_get(struct myr_segment *segment, uint64_t key)
{
    myr_segment_lock(segment);
    const uint32_t place = find_note(segment->sram, key);
    const uint64_t value = place < MYR_NOTES ? segment->sram->note[place].value : 0;
    myr_segment_unlock(segment);
    return value;
}
