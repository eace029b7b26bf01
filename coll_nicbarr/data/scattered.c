/* SPDX-License-Identifier: BSD-3-Clause */
/* See scattered.h. */
#include "coll_nicbarr/data/scattered.h"

#include <string.h>

/* The division of a vector into chunks. Sizes are numbers of elements. */
struct chunks {
    uint32_t total;   /* size of the vector */
    uint32_t each;    /* size of each chunk except the last one, which may be smaller */
    uint32_t count;   /* number of chunks */
    size_t result_at; /* offset of the share of a result in a payload, bytes */
};

/* Choose chunks so that a payload has space for a chunk and the largest share of one. */
static struct chunks divide_vector(const struct myr_exchange *x,
                                   const struct nicbarr_reduction *reduction)
{
    const uint32_t width = myr_exchange_width(x) / (uint32_t)reduction->extent;
    const uint32_t total = reduction->unread;
    const uint32_t each = (width - 1) * x->size / (x->size + 1);
    return (struct chunks){total, each, (total + each - 1) / each, each * reduction->extent};
}

static uint32_t elements_of_chunk(const struct chunks *chunks, uint32_t number)
{
    return number + 1 < chunks->count ? chunks->each : chunks->total - number * chunks->each;
}

/* Returns the first element of a rank's share of `count` elements; rank == size: their end. */
static uint32_t first_of_share(const struct myr_exchange *x, uint32_t count, uint32_t rank)
{
    return count * rank / x->size;
}

/* Fill the payload of the next round with chunk number `sent` of this process's vector, followed by
 * this process's share of the result of chunk number `combined`, whose round is currently being
 * read. At the beginning and at the end of a vector, one of the two chunks does not exist and is
 * left out; its number is then beyond the last chunk or, modulo 2^32, before the first one. */
static void write_round(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction,
                        const struct chunks *chunks, uint32_t sent, uint32_t combined)
{
    struct myr_exchange *x = &reducer->exchange;
    uint8_t *payload = myr_exchange_next(x);
    if (sent < chunks->count) {
        const size_t bytes = elements_of_chunk(chunks, sent) * reduction->extent;
        memcpy(payload, reduction->from, bytes);
        reduction->from += bytes;
    }
    if (combined < chunks->count) {
        const uint32_t count = elements_of_chunk(chunks, combined);
        const uint32_t first = first_of_share(x, count, x->rank);
        (void)nicbarr_reduction_combine(reducer, reduction, first,
                                        first_of_share(x, count, x->rank + 1) - first,
                                        payload + chunks->result_at);
    }
    myr_exchange_write(x);
}

/* Copy the result of a chunk from the payloads of the round that is read. */
static void copy_result(const struct myr_exchange *x, struct nicbarr_reduction *reduction,
                        const struct chunks *chunks, uint32_t number)
{
    const uint32_t count = elements_of_chunk(chunks, number);
    uint32_t first = 0;
    for (uint32_t rank = 0; rank < x->size; ++rank) {
        const uint32_t end = first_of_share(x, count, rank + 1);
        const size_t bytes = (end - first) * reduction->extent;
        memcpy(reduction->to, (const uint8_t *)myr_exchange_payload(x, rank) + chunks->result_at,
               bytes);
        reduction->to += bytes;
        first = end;
    }
}

void nicbarr_scattered_finish(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction)
{
    struct myr_exchange *x = &reducer->exchange;
    const struct chunks chunks = divide_vector(x, reduction);
    const uint32_t lag = (x->window - 1) / 2, rounds = chunks.count + lag;
    for (uint32_t step = 0; step < rounds + lag; ++step) {
        const uint32_t read = step - lag; /* the round that is read in this step, if step >= lag */
        if (step >= lag) {
            myr_exchange_await(x);
        }
        if (step < rounds) {
            myr_exchange_await_room(x);
        }
        if (x->watch.abandoned) {
            return;
        }
        if (step < rounds) {
            write_round(reducer, reduction, &chunks, step, read);
        }
        if (step >= 2 * lag) {
            copy_result(x, reduction, &chunks, read - lag);
        }
        if (step >= lag) {
            myr_exchange_pass(x);
        }
    }
}
