/* SPDX-License-Identifier: BSD-3-Clause */
/* The event queue; see events.h. */
#include "firmware/sim/events.h"

#include <stdlib.h>

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->order < b->order;
}

static bool grow_heap(struct sim_events *events)
{
    if (events->count < events->room) {
        return true;
    }
    const uint32_t room = 0 == events->room ? 1024 : 2 * events->room;
    struct sim_event *heap = realloc(events->heap, room * sizeof(*heap));
    if (NULL == heap) {
        return false;
    }
    events->heap = heap;
    events->room = room;
    return true;
}

bool sim_events_put(struct sim_events *events, uint64_t at_ps, uint32_t kind, uint32_t node,
                    void *what)
{
    if (!grow_heap(events)) {
        return false;
    }
    const struct sim_event event = {at_ps, events->next_order++, kind, node, what};
    uint32_t index = events->count++;
    while (index > 0 && is_before(&event, &events->heap[(index - 1) / 2])) {
        events->heap[index] = events->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    events->heap[index] = event;
    return true;
}

bool sim_events_take(struct sim_events *events, struct sim_event *event)
{
    if (0 == events->count) {
        return false;
    }
    *event = events->heap[0];
    const struct sim_event last = events->heap[--events->count];
    uint32_t index = 0;
    for (uint32_t child = 1; child < events->count; child = 2 * index + 1) {
        if (child + 1 < events->count &&
            is_before(&events->heap[child + 1], &events->heap[child])) {
            ++child;
        }
        if (!is_before(&events->heap[child], &last)) {
            break;
        }
        events->heap[index] = events->heap[child];
        index = child;
    }
    events->heap[index] = last;
    return true;
}

void sim_events_free(struct sim_events *events)
{
    free(events->heap);
    *events = (struct sim_events){0};
}
