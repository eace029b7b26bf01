/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a long message is transferred while its sender and its receiver make no MPI call,
 * because otherwise a program gets no overlap of communication and computation.
 *
 * Rank 0 posts a receive, and creates a file. Rank 1 then starts to send. From then on neither
 * calls MPI: rank 0 reads its buffer until the whole message has arrived, and creates another file,
 * for which rank 1 waits. If nothing else transfers the message, the watchdog ends the program.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *dir = ".";
static long rounds = 5;
static long bytes = 1 << 20;

static const struct test_option options[] = {
    {"--directory", OPTION_TEXT, &dir, "of the files through which the processes agree"},
    {"--rounds", OPTION_LONG, &rounds, "how often (5)"},
    {"--bytes", OPTION_LONG, &bytes, "of the message (1 MiB)"},
};

static void name_file(char *path, size_t room, long round, const char *what)
{
    snprintf(path, room, "%s/%s.%ld", dir, what, round);
}

static void create_file(long round, const char *what)
{
    char path[500];
    name_file(path, sizeof(path), round, what);
    FILE *file = fopen(path, "w");
    TEST_CHECK(file && fclose(file) == 0, "files", "cannot write %s", path);
}

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    nanosleep(&pause, NULL);
}

static void wait_for(long round, const char *what)
{
    char path[500];
    name_file(path, sizeof(path), round, what);
    while (access(path, F_OK) != 0)
        rest();
}

/* Returns a byte of the message, which is never 0, the initial value of the buffer. */
static unsigned char byte_of(long round, long at)
{
    return (unsigned char)(1 + (round * 31 + at * 7) % 255);
}

static void receive(long round, unsigned char *buffer)
{
    MPI_Request request;
    volatile unsigned char *arriving = buffer;
    memset(buffer, 0, (size_t)bytes);
    MPI_Irecv(buffer, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    create_file(round, "posted");
    for (long at = 0; at < bytes; at++) {
        while (arriving[at] != byte_of(round, at))
            rest();
    }
    create_file(round, "received");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void send(long round, unsigned char *buffer)
{
    MPI_Request request;
    for (long at = 0; at < bytes; at++)
        buffer[at] = byte_of(round, at);
    wait_for(round, "posted");
    MPI_Isend(buffer, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    wait_for(round, "received");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "moving", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    unsigned char *buffer = malloc((size_t)bytes);
    int one = test.rank;
    MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD); /* so that both are connected */
    MPI_Sendrecv_replace(&one, 1, MPI_INT, test.rank ^ 1, 1, test.rank ^ 1, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    test_phase("waiting for a message that is not transferred");
    for (long round = 0; round < rounds; round++) {
        if (test.rank == 0)
            receive(round, buffer);
        else
            send(round, buffer);
    }
    test_phase("");
    free(buffer);
    return test_end("");
}
