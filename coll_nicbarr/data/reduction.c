/* SPDX-License-Identifier: BSD-3-Clause */
/* See reduction.h. */
#include "coll_nicbarr/data/reduction.h"

#include <string.h>

static uint32_t next_chunk(const struct nicbarr_reduction *reduction, uint32_t left)
{
    return left < reduction->chunk ? left : reduction->chunk;
}

void nicbarr_reduction_init(struct nicbarr_reduction *reduction, const void *from, void *to,
                            nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op, bool reads)
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
        .reads = reads,
    };
}

/* Returns the elements of a rank from byte `offset` on in the round that is read. */
static void *part_of(const struct nicbarr_reduction *reduction, const struct myr_exchange *x,
                     uint32_t rank, size_t offset)
{
    const bool own = NULL != reduction->own && rank == x->rank;
    return (uint8_t *)(own ? reduction->own : myr_exchange_payload(x, rank)) + offset;
}

static void consume_one(struct nicbarr_consumer *consumer,
                        const struct nicbarr_reduction *reduction, const struct myr_exchange *x,
                        size_t bytes)
{
    memcpy(consumer->to, part_of(reduction, x, consumer->rank, 0), bytes);
    consumer->to += bytes;
}

struct nicbarr_consumer nicbarr_consumer_of(uint32_t rank, uint8_t *to)
{
    return (struct nicbarr_consumer){consume_one, rank, to, 0};
}

static void consume_all(struct nicbarr_consumer *consumer,
                        const struct nicbarr_reduction *reduction, const struct myr_exchange *x,
                        size_t bytes)
{
    uint8_t *to = consumer->to;
    for (uint32_t rank = 0; rank < x->size; ++rank) {
        const void *from = part_of(reduction, x, rank, 0);
        if (from != to) {
            memcpy(to, from, bytes);
        }
        to += consumer->block;
    }
    consumer->to += bytes;
}

struct nicbarr_consumer nicbarr_consumer_of_all(uint8_t *to, size_t block)
{
    return (struct nicbarr_consumer){consume_all, NICBARR_EVERYBODY, to, block};
}

void nicbarr_reduction_init_consumer(struct nicbarr_reduction *reduction, const void *from,
                                     size_t bytes, struct nicbarr_consumer *consumer, bool reads)
{
    *reduction = (struct nicbarr_reduction){
        .from = from,
        .consumer = consumer,
        .extent = 1,
        .unwritten = (uint32_t)bytes,
        .unread = (uint32_t)bytes,
        .reads = reads,
    };
}

/* Write as many chunks as there is space for. The source of a chunk is read before its result is
 * stored, so source and destination may be the same buffer. */
static void write_chunks(struct myr_exchange *x, struct nicbarr_reduction *reduction)
{
    while (0 != reduction->unwritten && myr_exchange_room(x)) {
        const uint32_t count = next_chunk(reduction, reduction->unwritten);
        if (NULL == reduction->own) {
            memcpy(myr_exchange_next(x), reduction->from, count * reduction->extent);
        }
        myr_exchange_write(x);
        reduction->from += count * reduction->extent;
        reduction->unwritten -= count;
    }
}

/* The elements that are combined at a time: `count` elements of each part, from byte `offset` on.
 */
struct piece {
    const struct nicbarr_reducer *reducer;
    const struct nicbarr_reduction *reduction;
    size_t offset;
    uint32_t count;
};

static void *value_of(const struct piece *piece, uint32_t first, uint32_t end);

/* Combine the parts of the ranks from `first` to `end` - 1, at least two, and store the value at
 * `to`, or, if that is NULL, in the reducer's memory. The left half of these ranks is the largest
 * power of two that leaves some for the right half. The parts remain unchanged. Returns the address
 * of the value.
 *
 * No value is combined in place, because Open MPI's op/avx saturates sums of 8-bit and 16-bit
 * integers in place, but only in those elements that fill a vector register. */
static void *combine_ranks(const struct piece *piece, uint32_t first, uint32_t end, void *to)
{
    const struct nicbarr_reducer *reducer = piece->reducer;
    const struct nicbarr_reduction *reduction = piece->reduction;
    uint32_t half = 1;
    while (2 * half < end - first) {
        half *= 2;
    }
    const uint32_t middle = first + half; /* unique to this value */
    void *target = NULL != to ? to : reducer->parts + (size_t)middle * reducer->piece;
    ompi_3buff_op_reduce(reduction->op, value_of(piece, first, middle),
                         value_of(piece, middle, end), target, (int)piece->count, reduction->type);
    return target;
}

static inline void *value_of(const struct piece *piece, uint32_t first, uint32_t end)
{
    return end - first > 1
               ? combine_ranks(piece, first, end, NULL)
               : part_of(piece->reduction, &piece->reducer->exchange, first, piece->offset);
}

uint8_t *nicbarr_reduction_combine(const struct nicbarr_reducer *reducer,
                                   const struct nicbarr_reduction *reduction, uint32_t first,
                                   uint32_t count, uint8_t *to)
{
    /* Avoid the division for short vectors. */
    const uint32_t most = count * reduction->extent <= reducer->piece
                              ? count
                              : reducer->piece / (uint32_t)reduction->extent;
    for (uint32_t done = 0; done < count;) {
        const uint32_t next = count - done < most ? count - done : most;
        const struct piece piece = {reducer, reduction, (first + done) * reduction->extent, next};
        (void)combine_ranks(&piece, 0, reducer->exchange.size, to);
        to += next * reduction->extent;
        done += next;
    }
    return to;
}

static bool has_consumer(const struct nicbarr_reduction *reduction)
{
    return __builtin_expect(NULL != reduction->consumer, 0);
}

static bool reads_one_rank(const struct nicbarr_reduction *reduction)
{
    return has_consumer(reduction) && NICBARR_EVERYBODY != reduction->consumer->rank;
}

/* Returns whether the parts that this process reads in the next round have arrived. */
static bool have_parts_arrived(struct myr_exchange *x, const struct nicbarr_reduction *reduction)
{
    return reads_one_rank(reduction) ? myr_exchange_has(x, reduction->consumer->rank)
                                     : myr_exchange_ready(x);
}

static void await_parts(struct myr_exchange *x, const struct nicbarr_reduction *reduction)
{
    if (reads_one_rank(reduction)) {
        myr_exchange_await_one(x, reduction->consumer->rank);
    } else {
        myr_exchange_await(x);
    }
}

/* Read a round whose parts have arrived. */
static void read_round(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    const uint32_t count = next_chunk(reduction, reduction->unread);
    const size_t bytes = count * reduction->extent;
    if (has_consumer(reduction)) {
        reduction->consumer->consume(reduction->consumer, reduction, &reducer->exchange, bytes);
    } else {
        reduction->to = nicbarr_reduction_combine(reducer, reduction, 0, count, reduction->to);
    }
    if (NULL != reduction->own) {
        reduction->own += bytes;
    }
    myr_exchange_pass(&reducer->exchange);
    reduction->unread -= count;
}

/* Complete a round without reading it, because only other processes need its result. */
static void skip_round(struct myr_exchange *x, struct nicbarr_reduction *reduction)
{
    reduction->unread -= next_chunk(reduction, reduction->unread);
    myr_exchange_pass(x);
}

/* Complete the next round, unless that requires waiting. Returns whether it was completed. */
static bool complete_round(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    struct myr_exchange *x = &reducer->exchange;
    if (!myr_epoch_reached(x->passed + 1, reduction->first) || x->passed == x->written) {
        return false;
    }
    if (!reduction->reads) {
        skip_round(x, reduction);
        return true;
    }
    if (!have_parts_arrived(x, reduction)) {
        return false;
    }
    read_round(reducer, reduction);
    return true;
}

void nicbarr_reduction_write(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    if (myr_epoch_reached(reducer->exchange.written + 1, reduction->first)) {
        write_chunks(&reducer->exchange, reduction);
    }
}

bool nicbarr_reduction_progress(struct nicbarr_reducer *reducer,
                                struct nicbarr_reduction *reduction)
{
    nicbarr_reduction_write(reducer, reduction);
    while (0 != reduction->unread && complete_round(reducer, reduction)) {
        write_chunks(&reducer->exchange, reduction);
    }
    return 0 == reduction->unread;
}

void nicbarr_reduction_finish(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    struct myr_exchange *x = &reducer->exchange;
    while (0 != reduction->unread && !x->watch.abandoned) {
        write_chunks(x, reduction);
        if (x->written == x->passed) {
            myr_exchange_await_room(x);
        } else if (reduction->reads) {
            await_parts(x, reduction);
            if (!x->watch.abandoned) {
                read_round(reducer, reduction);
            }
        } else {
            skip_round(x, reduction);
        }
    }
}
