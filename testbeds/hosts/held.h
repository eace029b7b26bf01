/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of packets that the switch delays.
 *
 * It is a heap ordered by due time. Packets with equal times stay in their order of arrival.
 */
#ifndef NETHOSTS_HELD_H
#define NETHOSTS_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "testbeds/hosts/frame.h"

enum { HELD_MOST = 1 << 14 /* packets; any further packets are dropped, as by any switch */ };

struct held_entry {
    uint64_t due_ns, number;
    uint32_t to; /* port */
    struct frame *frame;
};

struct held {
    uint64_t numbers; /* number of packets so far, which determines the order of arrival */
    uint32_t count;
    struct held_entry entry[HELD_MOST];
};

/* Adds a copy of the frame. Returns false if there is no space. */
bool held_put(struct held *held, uint64_t due_ns, uint32_t to, const struct frame *frame);

/* Removes the first packet that is due at `now_ns`; the caller frees its frame. Returns false if
 * none is due. */
bool held_take(struct held *held, uint64_t now_ns, struct held_entry *entry);

/* Returns the due time of the first packet, or 0 if there is none. */
uint64_t held_first_ns(const struct held *held);

#endif
