/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that programs in which the root broadcasts or scatters another number of bytes than a rank
 * expects get the same result with nicbarr as with Open MPI alone. If the root sends more bytes,
 * the rank gets the error MPI_ERR_TRUNCATE; if it sends fewer, the rank gets those, and the rest of
 * its buffer is unchanged. Open MPI's own functions behave in this way between two processes. The
 * calls that follow must be correct again.
 *
 * A program that frees the request of an outstanding collective gets the error MPI_ERR_REQUEST, and
 * the request completes nevertheless.
 */
#include "common.h"

#include <string.h>

static long hosts;

static const struct test_option options[] = {
    {"--hosts", OPTION_FLAG, &hosts, "the sizes for several hosts"},
};

enum { AFTERWARDS = 100, MOST = 40000, STEPS_MOST = 16256, PROCESSES = 8 };

static unsigned char buffer[MOST], gaps[2 * MOST], all[MOST + PROCESSES];

static void fill(unsigned char *bytes, int count, int seed)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (unsigned char)(seed + i);
}

enum kind { BCAST, SCATTER, IBCAST, ISCATTER, KINDS };

static int call_and_wait(enum kind kind, int sent, void *to, int count, MPI_Datatype type)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Comm comm = MPI_COMM_WORLD;
    int rc = kind == BCAST     ? MPI_Bcast(to, count, type, 0, comm)
             : kind == SCATTER ? MPI_Scatter(all, sent, MPI_BYTE, to, count, type, 0, comm)
             : kind == IBCAST
                 ? MPI_Ibcast(to, count, type, 0, comm, &request)
                 : MPI_Iscatter(all, sent, MPI_BYTE, to, count, type, 0, comm, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

/* Rank 0 sends `sent` bytes, to all ranks or to each one. The last rank expects another number,
 * with or without gaps between the elements. */
static void call(enum kind kind, int sent, int expected, bool with_gaps, int number)
{
    const bool scatters = kind == SCATTER || kind == ISCATTER;
    const bool odd = test.rank == test.size - 1;
    const int first = scatters ? number + test.rank * sent : number;
    const int stride = odd && with_gaps ? 2 : 1, count = odd ? expected : sent;
    unsigned char *at = stride == 1 ? buffer : gaps;
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_BYTE, 0, stride, &type);
    MPI_Type_commit(&type);
    memset(at, 0xee, (size_t)(MOST * stride));
    if (test.rank == 0)
        fill(scatters ? all : buffer, scatters ? sent * test.size : sent, number);
    int class = MPI_SUCCESS;
    int rc = call_and_wait(kind, sent, at, count, type);
    MPI_Type_free(&type);
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    TEST_CHECK(class == (count < sent ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "the error",
               "%d bytes sent, %d expected: class %d", sent, count, class);
    for (int i = 0; class == MPI_SUCCESS && i < MOST; i++) {
        const unsigned char right = i < sent ? (unsigned char)(first + i) : 0xee;
        TEST_CHECK(at[i * stride] == right, "the bytes", "%d sent, %d expected: %d at %d", sent,
                   count, at[i * stride], i);
    }
}

/* Few and many bytes use different algorithms, with limits of their own. Across hosts both
 * numbers must be of one size class. */
static const int on_one_host[][2] = {{100, 60},      {60, 100},      {500, 250},     {250, 500},
                                     {500, 500},     {20000, 200},   {200, 20000},   {113, 112},
                                     {112, 113},     {1112, 100},    {100, 1112},    {32512, 20000},
                                     {20000, 32512}, {16257, 16256}, {16256, 16257}, {40000, 40000},
                                     {16000, 100},   {100, 16000},   {4096, 1500},   {1500, 4096}};
static const int across[][2] = {{100, 60},    {60, 100},    {500, 300},   {300, 500},
                                {500, 500},   {1153, 2000}, {2000, 1153}, {1208, 1209},
                                {1209, 1208}, {2400, 3624}, {3624, 2400}, {2416, 2415},
                                {2415, 2416}, {2416, 2417}, {2417, 2416}, {4096, 4096}};

/* Returns the size of each rank's part. */
static int part_of(int bytes)
{
    return (bytes + test.size - 1) / test.size;
}

static void play(const int pairs[][2], size_t count)
{
    const int few = STEPS_MOST - test.size; /* parts are rounded up */
    int number = 0;
    for (int with_gaps = 0; with_gaps < 2; with_gaps++)
        for (size_t p = 0; p < count; p++) {
            call(BCAST, pairs[p][0], pairs[p][1], with_gaps, ++number);
            call(SCATTER, part_of(pairs[p][0]), part_of(pairs[p][1]), with_gaps, ++number);
            if (!hosts && pairs[p][0] <= few && pairs[p][1] <= few) {
                call(IBCAST, pairs[p][0], pairs[p][1], with_gaps, ++number);
                call(ISCATTER, part_of(pairs[p][0]), part_of(pairs[p][1]), with_gaps, ++number);
            }
            for (int i = 0; i < AFTERWARDS; i++)
                call(i % KINDS, 80 / test.size, 80 / test.size, with_gaps, ++number);
        }
}

/* Start a broadcast from the last rank, whose request rank 0 tries to free before the broadcast can
 * complete. Does nothing if `persistent` and this MPI has no persistent collectives. */
static void free_early(bool persistent)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int root = test.size - 1;
    MPI_Request request = MPI_REQUEST_NULL;
    long value = test.rank == root ? 42 : 0;
#ifdef PERSISTENT
    if (persistent)
        PERSISTENT(Bcast_init)(&value, 1, MPI_LONG, root, comm, MPI_INFO_NULL, &request);
#else
    if (persistent)
        return;
#endif
    if (test.rank == root)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
    if (persistent)
        MPI_Start(&request);
    else
        MPI_Ibcast(&value, 1, MPI_LONG, root, comm, &request);
    if (test.rank == 0) {
        int class;
        MPI_Error_class(MPI_Request_free(&request), &class);
        TEST_CHECK(class == MPI_ERR_REQUEST, "a request", "freed early: class %d", class);
        MPI_Send(NULL, 0, MPI_BYTE, root, 1, comm);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    TEST_CHECK(value == 42, "a request", "it has broadcast %ld", value);
    if (persistent)
        MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "mismatched", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (test.size > PROCESSES)
        test_fail("start", "at most %d processes", PROCESSES);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (hosts)
        play(across, TEST_COUNT(across));
    else
        play(on_one_host, TEST_COUNT(on_one_host));
    for (int persistent = 0; persistent < 2 && test.size > 1; persistent++)
        free_early(persistent);
    return test_end("");
}
