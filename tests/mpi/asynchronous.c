/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that MPI_Ibarrier and MPI_Iallreduce progress while a process makes no MPI call, because
 * otherwise a program gets no overlap of communication and computation.
 *
 * Rank 0 starts an operation. The other ranks detect this through a file, start it as well, and
 * wait until it is complete. Each of them then creates another file, and only after that rank 0
 * calls MPI again. In a schedule with several steps the others need messages of rank 0's node that
 * it can send only after it has received theirs. If nothing else sends these, the watchdog ends the
 * program.
 */
#include "common.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *dir = ".";
static long rounds = 5, reduces;

static const struct test_option options[] = {
    {"--directory", OPTION_TEXT, &dir, "of the files through which the processes agree"},
    {"--rounds", OPTION_LONG, &rounds, "how often (5)"},
    {"--allreduce", OPTION_FLAG, &reduces, "MPI_Iallreduce instead of MPI_Ibarrier"},
};

static void name_file(char *path, size_t bytes, long round, int rank)
{
    snprintf(path, bytes, "%s/round.%ld.%d", dir, round, rank);
}

static void create_file(long round)
{
    char path[500];
    name_file(path, sizeof(path), round, test.rank);
    FILE *file = fopen(path, "w");
    TEST_CHECK(file && fclose(file) == 0, "files", "cannot write %s", path);
}

/* Wait for the file without an MPI call. */
static void wait_for(long round, int rank)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char path[500];
    name_file(path, sizeof(path), round, rank);
    while (access(path, F_OK) != 0)
        nanosleep(&pause, NULL);
}

static void one_round(long round)
{
    const int mine = test.rank + 1;
    MPI_Request request;
    int sum = 0;
    if (test.rank > 0)
        wait_for(round, 0);
    if (reduces)
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    else
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (test.rank == 0) {
        create_file(round);
        for (int r = 1; r < test.size; r++)
            wait_for(round, r);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    TEST_CHECK(!reduces || sum == test.size * (test.size + 1) / 2, "allreduce", "the sum is %d",
               sum);
    if (test.rank > 0)
        create_file(round);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "asynchronous", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    for (long i = 0; i < 50; i++) { /* so that everything is set up */
        int one = 1, sum;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    for (long round = 0; round < rounds; round++)
        one_round(round);
    return test_end("");
}
