/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the properties of schedules that their execution needs: lengths and arrival slots; see
 * schedule.h. */
#include "libmyr/schedule.h"

#include <stdlib.h>

struct myr_lengths myr_schedule_lengths(const struct myr_schedule *schedule)
{
    struct myr_lengths lengths = {.steps = schedule->nsteps};
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        lengths.sends += schedule->steps[s].sends;
        lengths.waits += schedule->steps[s].waits;
    }
    return lengths;
}

/* A message that is sent: its destination, and its index in the list of peers. */
struct sent {
    uint32_t peer, index;
};

/* Orders by destination, and per destination in the order of sending. */
static int compare_sent(const void *one, const void *other)
{
    const struct sent *a = one, *b = other;
    return a->peer != b->peer ? (a->peer > b->peer) - (a->peer < b->peer)
                              : (a->index > b->index) - (a->index < b->index);
}

/* Stores in `sent` the messages that the schedule sends, and in `slots` the numbers of those that
 * it waits for. Returns the number of messages in `sent`. */
static uint32_t list_sent(const struct myr_schedule *schedule, struct sent *sent, uint32_t *slots)
{
    uint32_t index = 0, sends = 0, waits = 0;
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        for (uint32_t i = 0; i < schedule->steps[s].sends; ++i, ++index) {
            sent[sends++] = (struct sent){schedule->peers[index], index};
        }
        for (uint32_t i = 0; i < schedule->steps[s].waits; ++i, ++index) {
            slots[index] = waits++;
        }
    }
    return sends;
}

/* Finds the slots of the `count` messages that `rank` sends to one peer, in the schedule of this
 * peer. */
static bool find_at_peer(const struct sent *sent, uint32_t count, uint32_t rank,
                         myr_schedule_fn schedule_of, const void *context, uint32_t *slots)
{
    struct myr_schedule schedule;
    if (!schedule_of(context, sent->peer, &schedule)) {
        return false;
    }
    const uint32_t *peer = schedule.peers;
    uint32_t waits = 0, found = 0;
    for (uint32_t s = 0; s < schedule.nsteps; ++s) {
        peer += schedule.steps[s].sends;
        for (uint32_t i = 0; i < schedule.steps[s].waits; ++i, ++waits) {
            if (rank == *peer++ && found < count) {
                slots[sent[found++].index] = waits;
            }
        }
    }
    free(schedule.steps);
    return found == count;
}

uint32_t *myr_schedule_slots(const struct myr_schedule *schedule, uint32_t rank,
                             myr_schedule_fn schedule_of, const void *context)
{
    uint32_t *slots = malloc(schedule->npeers * sizeof(*slots) + 1);
    struct sent *sent = malloc(schedule->npeers * sizeof(*sent) + 1);
    bool found = NULL != slots && NULL != sent;
    if (found) {
        const uint32_t sends = list_sent(schedule, sent, slots);
        qsort(sent, sends, sizeof(*sent), compare_sent);
        for (uint32_t first = 0, end; found && first < sends; first = end) {
            for (end = first + 1; end < sends && sent[end].peer == sent[first].peer; ++end) {
            }
            found = find_at_peer(&sent[first], end - first, rank, schedule_of, context, slots);
        }
    }
    free(sent);
    if (!found) {
        free(slots);
        return NULL;
    }
    return slots;
}
