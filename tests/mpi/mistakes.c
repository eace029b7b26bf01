/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that coll_nicbarr_check returns an error to a wrong program, which otherwise hangs. The
 * program makes one mistake at a time, for which all ranks must get an error, and after which calls
 * must succeed again. Before that, it calls each collective correctly in several ways, which must
 * not cause an error.
 *
 *   mistakes [--kind KIND]     only this mistake; otherwise all of them
 */
#include "common.h"

static long kind = -1;

static const struct test_option options[] = {
    {"--kind", OPTION_LONG, &kind, "the mistake's number"},
};

enum { RANKS_MOST = 16, VALUES = 4 };

static int from[RANKS_MOST * VALUES], to[RANKS_MOST * VALUES], counts[RANKS_MOST],
    displs[RANKS_MOST], bytes[RANKS_MOST];

static void add(void *left, void *right, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

/* Call every collective, with each root, in place, and with different types of equal size. */
static void call_all(int root)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    const bool am_root = test.rank == root;
    MPI_Datatype pair, copied, types[RANKS_MOST];
    MPI_Op own;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_dup(MPI_INT, &copied);
    MPI_Op_create(add, 1, &own);
    for (int r = 0; r < test.size; r++)
        types[r] = MPI_INT;
    MPI_Barrier(comm);
    MPI_Bcast(from, am_root ? 2 : 1, am_root ? MPI_INT : pair, root, comm);
    MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, to, 1, MPI_INT, MPI_MAX, comm);
    MPI_Allreduce(from, to, 1, am_root ? MPI_INT : copied, own, comm);
    MPI_Reduce(am_root ? MPI_IN_PLACE : from, to, 2, MPI_INT, MPI_SUM, root, comm);
    MPI_Scan(from, to, 1, MPI_INT, MPI_SUM, comm);
    MPI_Exscan(from, to, 1, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter_block(from, to, 1, MPI_INT, MPI_SUM, comm);
    MPI_Allgather(test.rank % 2 ? (void *)from : MPI_IN_PLACE, 2, MPI_INT, to, 1, pair, comm);
    MPI_Allgatherv(from, 1, MPI_INT, to, counts, displs, MPI_INT, comm);
    MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm);
    MPI_Alltoallv(from, counts, displs, MPI_INT, to, counts, displs, MPI_INT, comm);
    MPI_Alltoallw(from, counts, bytes, types, to, counts, bytes, types, comm);
    MPI_Gather(am_root ? MPI_IN_PLACE : from, 2, MPI_INT, to, 1, am_root ? pair : MPI_BYTE, root,
               comm);
    MPI_Gatherv(from, 1, MPI_INT, to, counts, displs, MPI_INT, root, comm);
    MPI_Scatter(from, am_root ? 1 : 7, am_root ? pair : MPI_BYTE, am_root ? MPI_IN_PLACE : to, 2,
                MPI_INT, root, comm);
    MPI_Scatterv(from, counts, displs, MPI_INT, to, 1, MPI_INT, root, comm);
    MPI_Comm copy;
    MPI_Comm_split(comm, test.rank % 2, -test.rank, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Op_free(&own);
    MPI_Type_free(&copied);
    MPI_Type_free(&pair);
}

enum mistake {
    OTHER_CALL,
    OTHER_ROOT,
    OTHER_OPERATION,
    OTHER_TYPE,
    OTHER_BYTES,
    NOT_SERVED,
    KINDS
};

/* Make a call on the last rank that differs from those of the other ranks. */
static int call_wrongly(enum mistake mistake)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    const bool odd = test.rank == test.size - 1;
    float real = 1, sum;
    switch (mistake) {
    case OTHER_CALL:
        return odd ? MPI_Barrier(comm) : MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, comm);
    case OTHER_ROOT:
        return MPI_Bcast(from, 1, MPI_INT, odd ? 1 : 0, comm);
    case OTHER_OPERATION:
        return MPI_Allreduce(from, to, 1, MPI_INT, odd ? MPI_PROD : MPI_SUM, comm);
    case OTHER_TYPE:
        return odd ? MPI_Allreduce(&real, &sum, 1, MPI_FLOAT, MPI_SUM, comm)
                   : MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, comm);
    case OTHER_BYTES:
        return MPI_Gather(from, odd ? 2 : 1, MPI_INT, to, 1, MPI_INT, 0, comm);
    case NOT_SERVED:
        return odd ? MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm)
                   : MPI_Scan(from, to, 1, MPI_INT, MPI_SUM, comm);
    case KINDS:
        break;
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "mistakes", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (test.size > RANKS_MOST)
        test_fail("start", "at most %d processes", RANKS_MOST);
    for (int r = 0; r < test.size; r++) {
        counts[r] = 1;
        displs[r] = r;
        bytes[r] = r * (int)sizeof(int);
    }
    for (int root = 0; root < test.size; root++)
        call_all(root);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int k = 0; k < KINDS; k++)
        if (kind < 0 || kind == k) {
            TEST_CHECK(call_wrongly((enum mistake)k) != MPI_SUCCESS, "a mistake",
                       "of kind %d has no error", k);
            MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
    test_end("");
    return 0;
}
