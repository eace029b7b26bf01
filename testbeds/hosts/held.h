/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that the switch holds back until they are due.
 *
 * A heap by the time at which they are due; equal times go in the order in which they came.
 */
#ifndef NETHOSTS_HELD_H
#define NETHOSTS_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "testbeds/hosts/frame.h"

enum { HELD_MOST = 1 << 14 /* packets; what is beyond is lost, as in any switch */ };

struct held_entry {
    uint64_t due_ns, number;
    uint32_t to; /* port */
    struct frame *frame;
};

struct held {
    uint64_t numbers; /* how many there have been */
    uint32_t count;
    struct held_entry entry[HELD_MOST];
};

/* Hold a copy of the frame. False if there is no room for it. */
bool held_put(struct held *held, uint64_t due_ns, uint32_t to, const struct frame *frame);

/* Take the first one that is due at `now_ns`; the frame is the caller's, to be freed. False if none
 * is. */
bool held_take(struct held *held, uint64_t now_ns, struct held_entry *entry);

/* When the first one is due; 0: there are none. */
uint64_t held_first_ns(const struct held *held);

#endif
