/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a job ends properly however short it is: it calls collectives of all kinds on
 * communicators that are created and freed, and then MPI_Finalize.
 *
 * The subject is the end of the job. Processes start, use the component's features, and exit at
 * once, while other jobs load the machine (tests/component/short_jobs.sh). Results are checked, so
 * that a job that did nothing cannot pass.
 *
 * - --allreduces N calls MPI_Allreduce N times on MPI_COMM_WORLD first, so that the algorithm is
 *   chosen during these calls.
 * - --bcasts N does the same with MPI_Bcast, whose root is rank 0, except for one call.
 * - --leave does not free communicators, windows of messages and persistent requests, because some
 *   programs leave that to MPI_Finalize.
 * - --directory D changes the working directory after MPI_Init.
 * - --tools opens MPI's tools interface before MPI_Init and closes it before MPI_Finalize;
 *   --tools-twice opens and closes it once more before that, so that Open MPI loads its components
 *   twice. (It cannot be closed after MPI_Finalize, because Open MPI 4.1.4 crashes there, also with
 *   its own components only.)
 */
#include "common.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long rounds = 4;
static long allreduces;
static long bcasts;
static long leave;
static long tools;
static long tools_twice;
static long crash;
static const char *directory = "";

static const struct test_option options[] = {
    {"--rounds", OPTION_LONG, &rounds, "how often communicators are created and used (4)"},
    {"--allreduces", OPTION_LONG, &allreduces, "calls of MPI_Allreduce at the start (0)"},
    {"--bcasts", OPTION_LONG, &bcasts, "calls of MPI_Bcast at the start (0)"},
    {"--leave", OPTION_FLAG, &leave, "leave communicators and requests to MPI_Finalize"},
    {"--tools", OPTION_FLAG, &tools, "have the tools interface open from before MPI_Init"},
    {"--tools-twice", OPTION_FLAG, &tools_twice, "open and close it once before that"},
    {"--directory", OPTION_TEXT, &directory, "change to this directory after MPI_Init"},
    {"--crash", OPTION_FLAG, &crash, "die of a segmentation fault at the end, to see it found"},
};

enum { COUNT = 100, BARRIERS = 30, LEFT = 4 };

/* A reduction operation that is not commutative: it joins two pairs into one of the outer ends.
 * A pair is {first rank, last rank}. */
static void join_ends(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const int *left = in;
    int *right = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        right[2 * i] = left[2 * i];
}

static void reductions(MPI_Comm comm, MPI_Op ends, MPI_Datatype pair)
{
    int rank, size, mine[2 * COUNT], all[2 * COUNT], sum;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 2 * COUNT; i++)
        mine[i] = rank;
    MPI_Reduce(mine, all, COUNT, pair, ends, 0, comm);
    MPI_Bcast(all, COUNT, pair, 0, comm);
    for (int i = 0; i < COUNT; i++)
        TEST_CHECK(all[2 * i] == 0 && all[2 * i + 1] == size - 1, "reduce", "%d to %d, not 0 to %d",
                   all[2 * i], all[2 * i + 1], size - 1);
    MPI_Scan(mine, all, COUNT, pair, ends, comm);
    TEST_CHECK(all[0] == 0 && all[1] == rank, "scan", "%d to %d, not 0 to %d", all[0], all[1],
               rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    TEST_CHECK(sum == size * (size - 1) / 2, "allreduce", "the sum is %d", sum);
}

static void reduce_often(void)
{
    for (long i = 0; i < allreduces; i++) {
        int mine = (int)i * (test.rank + 1), sum = 0;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        TEST_CHECK(sum == (int)i * test.size * (test.size + 1) / 2, "allreduce",
                   "sum number %ld is %d", i, sum);
    }
}

static void broadcast_often(void)
{
    enum { OTHER_ROOT = 2 /* in this call */ };
    for (long i = 0; i < bcasts; i++) {
        int root = OTHER_ROOT == i ? test.size - 1 : 0;
        long number = test.rank == root ? i : -1;
        MPI_Bcast(&number, 1, MPI_LONG, root, MPI_COMM_WORLD);
        TEST_CHECK(number == i, "bcast", "number %ld is %ld", i, number);
    }
}

static void barriers(MPI_Comm comm)
{
    MPI_Request pending[2];
    for (int i = 0; i < BARRIERS; i++)
        MPI_Barrier(comm);
    MPI_Ibarrier(comm, &pending[0]);
    MPI_Ibarrier(comm, &pending[1]);
    MPI_Waitall(2, pending, MPI_STATUSES_IGNORE);
}

/* The last communicators are not freed, each with a request. */
static void use(MPI_Op ends, MPI_Datatype pair)
{
    MPI_Comm kept[LEFT];
    for (int i = 0; i < LEFT; i++)
        kept[i] = MPI_COMM_NULL;
    for (long r = 0; r < rounds; r++) {
        MPI_Comm *comm = &kept[r % LEFT];
        if (*comm != MPI_COMM_NULL)
            MPI_Comm_free(comm);
        MPI_Comm_split(MPI_COMM_WORLD, r % 2 ? test.rank % 2 : 0, r % 4 < 2 ? test.rank : 0, comm);
        reductions(*comm, ends, pair);
        barriers(*comm);
    }
    for (int i = 0; i < LEFT; i++) {
        if (kept[i] == MPI_COMM_NULL)
            continue;
        MPI_Request persistent;
        struct ledger unused = {.comm = kept[i]};
        const bool has = persistent_barrier_init(&unused, &persistent);
        if (has) {
            MPI_Start(&persistent);
            MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        }
        if (leave)
            continue;
        if (has)
            MPI_Request_free(&persistent);
        MPI_Comm_free(&kept[i]);
    }
}

/* Returns whether an option is given, because options are read only in MPI_Init. */
static bool given(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc; i++)
        if (0 == strcmp(argv[i], option))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    int provided;
    if (given(argc, argv, "--tools-twice")) {
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        MPI_T_finalize();
    }
    if (given(argc, argv, "--tools"))
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    test_begin(argc, argv, "short_job", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    TEST_CHECK(!*directory || chdir(directory) == 0, "start", "cannot change to %s", directory);
    MPI_Op ends;
    MPI_Datatype pair;
    MPI_Op_create(join_ends, 0, &ends);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    reduce_often();
    broadcast_often();
    reductions(MPI_COMM_WORLD, ends, pair);
    barriers(MPI_COMM_WORLD);
    use(ends, pair);
    if (!leave) {
        MPI_Op_free(&ends);
        MPI_Type_free(&pair);
    }
    if (tools)
        MPI_T_finalize();
    test_end("");
    if (crash && test.rank == 0)
        raise(SIGSEGV);
    return 0;
}
