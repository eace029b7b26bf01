/* SPDX-License-Identifier: BSD-3-Clause */
/* A reduction under way; see reduction.h. */
#include "coll_nicbarr/reduction.h"

#include <string.h>

static uint32_t next_chunk(const struct nicbarr_reduction *reduction, uint32_t left)
{
    return left < reduction->chunk ? left : reduction->chunk;
}

void nicbarr_reduction_begin(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction,
                             const void *from, void *to, int count, ompi_datatype_t *type,
                             ompi_op_t *op, bool reads)
{
    ptrdiff_t lower, extent;
    (void)ompi_datatype_get_extent(type, &lower, &extent);
    *reduction = (struct nicbarr_reduction){
        .from = MPI_IN_PLACE == from ? to : from,
        .to = to,
        .op = op,
        .type = type,
        .extent = (size_t)extent,
        .unwritten = (uint32_t)count,
        .unread = (uint32_t)count,
        .chunk = MYR_SLOT_BYTES / (uint32_t)extent,
        .reads = reads,
        .first = reducer->begun + 1,
    };
    reducer->begun += ((uint32_t)count + reduction->chunk - 1) / reduction->chunk;
}

/* Write what there is room for. A chunk is read from memory before its result is put there, so they
 * may be the same. */
static void write_on(struct myr_exchange *x, struct nicbarr_reduction *reduction)
{
    while (0 != reduction->unwritten && myr_exchange_room(x)) {
        const uint32_t count = next_chunk(reduction, reduction->unwritten);
        memcpy(myr_exchange_next(x), reduction->from, count * reduction->extent);
        myr_exchange_write(x);
        reduction->from += count * reduction->extent;
        reduction->unwritten -= count;
    }
}

/* Combine all ranks' parts. A block of ranks has its value where its last rank's part was. */
static const uint8_t *combine(const struct nicbarr_reducer *reducer,
                              const struct nicbarr_reduction *reduction, uint32_t count)
{
    const uint32_t size = reducer->exchange.size;
    for (uint32_t r = 0; r < size; ++r) {
        memcpy(reducer->parts[r], myr_exchange_payload(&reducer->exchange, r),
               count * reduction->extent);
    }
    for (uint32_t block = 1; block < size; block *= 2) {
        for (uint32_t last = block - 1; last + 1 < size; last += 2 * block) {
            const uint32_t other = last + block < size ? last + block : size - 1;
            ompi_op_reduce(reduction->op, reducer->parts[last], reducer->parts[other], (int)count,
                           reduction->type);
        }
    }
    return reducer->parts[size - 1];
}

/* Take the round that has just become ready. */
static void read_one(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    const uint32_t count = next_chunk(reduction, reduction->unread);
    memcpy(reduction->to, combine(reducer, reduction, count), count * reduction->extent);
    myr_exchange_pass(&reducer->exchange);
    reduction->to += count * reduction->extent;
    reduction->unread -= count;
}

/* Pass what was written: the root reads it. */
static void leave_to_root(struct myr_exchange *x, struct nicbarr_reduction *reduction)
{
    while (x->passed != x->written) {
        reduction->unread -= next_chunk(reduction, reduction->unread);
        myr_exchange_pass(x);
    }
}

bool nicbarr_reduction_go_on(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    struct myr_exchange *x = &reducer->exchange;
    if (myr_epoch_reached(x->written + 1, reduction->first)) {
        write_on(x, reduction);
    }
    while (0 != reduction->unread && myr_epoch_reached(x->passed + 1, reduction->first) &&
           myr_exchange_ready(x)) {
        read_one(reducer, reduction);
        write_on(x, reduction);
    }
    return 0 == reduction->unread;
}

void nicbarr_reduction_finish(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    struct myr_exchange *x = &reducer->exchange;
    while (0 != reduction->unread) {
        write_on(x, reduction);
        if (x->written == x->passed) {
            myr_exchange_await_room(x);
        } else if (reduction->reads) {
            myr_exchange_await(x);
            read_one(reducer, reduction);
        } else {
            leave_to_root(x, reduction);
        }
    }
}
