/* SPDX-License-Identifier: BSD-3-Clause */
/* Private header of parts.c and parts_pair.c. */
#ifndef BENCH_PARTS_INSIDE_H
#define BENCH_PARTS_INSIDE_H

#include "bench/parts.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/segment.h"

/* A segment with one record, for this process alone or for a pair. */
struct parts_memory {
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct myr_record *record;
};

/* Creates the segment. On failure prints a message and returns false. */
bool parts_memory_open(struct parts_memory *memory, enum parts_way way, size_t bytes);
void parts_memory_close(struct parts_memory *memory);

#endif
