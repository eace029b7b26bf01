/* SPDX-License-Identifier: BSD-3-Clause */
/* A binary heap of delayed packets; see held.h. */
#include "testbeds/hosts/held.h"

#include <stdlib.h>
#include <string.h>

static bool before(const struct held_entry *a, const struct held_entry *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void swap(struct held_entry *a, struct held_entry *b)
{
    const struct held_entry c = *a;
    *a = *b;
    *b = c;
}

static void rise(struct held *held, uint32_t index)
{
    while (index > 0) {
        const uint32_t parent = (index - 1) / 2;
        if (!before(&held->entry[index], &held->entry[parent])) {
            return;
        }
        swap(&held->entry[index], &held->entry[parent]);
        index = parent;
    }
}

bool held_put(struct held *held, uint64_t due_ns, uint32_t to, const struct frame *frame)
{
    if (HELD_MOST == held->count) {
        return false;
    }
    struct frame *copy = malloc(sizeof(*copy) + frame->count);
    if (NULL == copy) {
        return false;
    }
    memcpy(copy, frame, sizeof(*copy) + frame->count);
    held->entry[held->count] = (struct held_entry){due_ns, held->numbers++, to, copy};
    rise(held, held->count++);
    return true;
}

static void sink(struct held *held)
{
    uint32_t index = 0, child;
    while ((child = 2 * index + 1) < held->count) {
        if (child + 1 < held->count && before(&held->entry[child + 1], &held->entry[child])) {
            ++child;
        }
        if (!before(&held->entry[child], &held->entry[index])) {
            return;
        }
        swap(&held->entry[child], &held->entry[index]);
        index = child;
    }
}

bool held_take(struct held *held, uint64_t now_ns, struct held_entry *entry)
{
    if (0 == held->count || held->entry[0].due_ns > now_ns) {
        return false;
    }
    *entry = held->entry[0];
    held->entry[0] = held->entry[--held->count];
    sink(held);
    return true;
}

uint64_t held_first_ns(const struct held *held)
{
    return 0 == held->count ? 0 : held->entry[0].due_ns;
}
