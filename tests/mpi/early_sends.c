/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests programs in which every process sends short messages to all others before it receives any.
 * MPI does not guarantee that they end, because a standard send may wait for its receive, but many
 * programs depend on it. If a send waits, all do, and the watchdog ends the program.
 *
 * The messages are received in the reverse order.
 */
#include "common.h"

#include <stdlib.h>
#include <string.h>

static long messages = 100;
static long bytes = 4000;

static const struct test_option options[] = {
    {"--messages", OPTION_LONG, &messages, "number of messages to each process (100)"},
    {"--bytes", OPTION_LONG, &bytes, "size of each (4000)"},
};

static unsigned char byte_of(int from, long message)
{
    return (unsigned char)(31 * from + message);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "early_sends", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    unsigned char *buffer = malloc((size_t)bytes + 1);
    TEST_CHECK(NULL != buffer, "memory", "out of memory");
    test_phase("sends");
    for (int to = 0; to < test.size; to++)
        for (long message = 0; message < messages && to != test.rank; message++) {
            memset(buffer, byte_of(test.rank, message), (size_t)bytes);
            MPI_Send(buffer, (int)bytes, MPI_BYTE, to, (int)message, MPI_COMM_WORLD);
        }
    test_phase("receives");
    for (int from = 0; from < test.size; from++)
        for (long message = messages - 1; message >= 0 && from != test.rank; message--) {
            MPI_Recv(buffer, (int)bytes, MPI_BYTE, from, (int)message, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            for (long at = 0; at < bytes; at++)
                TEST_CHECK(buffer[at] == byte_of(from, message), "contents",
                           "message %ld of rank %d: byte %ld is %u", message, from, at, buffer[at]);
        }
    free(buffer);
    return test_end("");
}
