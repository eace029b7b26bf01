/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test for the order of operations that do not commute; see order.h.
 */
#include "order.h"

#include <stdint.h>
#include <stdlib.h>

#include "bench/alloc.h"

/* Composes two elements. An element represents the map x -> ax + b on 16-bit numbers, with a in its
 * upper half and b in its lower half. The composition of maps is associative and exact, but not
 * commutative. */
static uint32_t compose(uint32_t first, uint32_t then)
{
    const uint32_t a = (first >> 16) * (then >> 16);
    const uint32_t b = (first >> 16) * (then & 0xffff) + (first & 0xffff);
    return a << 16 | (b & 0xffff);
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    const uint32_t *first = in;
    uint32_t *then = inout;
    for (int i = 0; i < *count; i++)
        then[i] = compose(first[i], then[i]);
}

/* Returns the contribution of a rank. The factor a is odd and hence invertible, so the result
 * depends on all contributions. */
static uint32_t contribution(int rank, int element)
{
    const uint32_t a = 3 + 2 * (uint32_t)(5 * rank + element), b = (uint32_t)(31 * rank + element);
    return a << 16 | (b & 0xffff);
}

static bool right(const uint32_t *result, int count, int size)
{
    for (int i = 0; i < count; i++) {
        uint32_t expected = contribution(0, i);
        for (int rank = 1; rank < size; rank++)
            expected = compose(expected, contribution(rank, i));
        if (result[i] != expected)
            return false;
    }
    return true;
}

static bool kept(MPI_Comm comm, enum operation operation, MPI_Op op, int count)
{
    int rank, size;
    bool well = true;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    uint32_t *send = bench_alloc((size_t)count, sizeof(*send));
    uint32_t *receive = bench_alloc((size_t)count, sizeof(*receive));
    for (int i = 0; i < count; i++)
        send[i] = contribution(rank, i);
    if (operation == OPERATION_ALLREDUCE) {
        MPI_Allreduce(send, receive, count, MPI_UINT32_T, op, comm);
        well = right(receive, count, size);
    }
    for (int root = 0; operation == OPERATION_REDUCE && root < size; root++) {
        MPI_Reduce(send, receive, count, MPI_UINT32_T, op, root, comm);
        well &= rank != root || right(receive, count, size);
    }
    free(send);
    free(receive);
    return well;
}

bool order_is_kept(MPI_Comm comm, enum operation operation, int segment)
{
    int size;
    MPI_Op op;
    MPI_Comm_size(comm, &size);
    MPI_Op_create(compose_all, 0, &op);
    const int in_segment = segment / (int)sizeof(uint32_t);
    const int counts[] = {1, size, 4 * size + 3, (in_segment + 1) * 2 * size};
    bool well = true;
    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
        well &= kept(comm, operation, op, counts[c]);
    MPI_Op_free(&op);
    return well;
}
