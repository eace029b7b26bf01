/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the performance variables of mtl/myr, from which users see which protocol their messages
 * used. Rank 0 sends rank 1 short, medium and long messages, half of them before they are
 * received, and both ranks check the counters. (MPI's own messages may be counted as well.
 * Therefore the test requires only that each counter has grown by at least the number of its
 * messages.)
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct test_option options[] = {{0}};

enum { TEXT = 256, MESSAGES = 10, SHORT = 100, MEDIUM = 10000, LONG = 1000000, SIZES = 3 };
static const int sizes[SIZES] = {SHORT, MEDIUM, LONG};

enum variable { EAGER, STORED, OFFERED, BYTES_SENT, UNEXPECTED, DELAYED, RUNNER_BYTES, VARIABLES };
static const char *const names[VARIABLES] = {
    [EAGER] = "mtl_myr_eager",
    [STORED] = "mtl_myr_stored",
    [OFFERED] = "mtl_myr_offered",
    [BYTES_SENT] = "mtl_myr_bytes_sent",
    [UNEXPECTED] = "mtl_myr_unexpected",
    [DELAYED] = "mtl_myr_delayed",
    [RUNNER_BYTES] = "mtl_myr_runner_bytes",
};
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[VARIABLES]; /* each counts from its start */

static bool is_named(int index, const char *wanted)
{
    char name[TEXT], text[TEXT];
    int name_bytes = TEXT, text_bytes = TEXT, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum values;
    const bool found = MPI_SUCCESS == MPI_T_pvar_get_info(index, name, &name_bytes, &verbosity,
                                                          &class, &type, &values, text, &text_bytes,
                                                          &bind, &readonly, &continuous, &atomic) &&
                       0 == strcmp(name, wanted);
    TEST_CHECK(!found || strlen(text) > 10, wanted, "it has no description");
    return found;
}

static void find_all(void)
{
    int count = 0, values;
    MPI_T_pvar_get_num(&count);
    for (int v = 0; v < VARIABLES; ++v) {
        int index = 0;
        while (index < count && !is_named(index, names[v]))
            ++index;
        TEST_CHECK(index < count, names[v], "it does not exist");
        TEST_CHECK(MPI_SUCCESS ==
                       MPI_T_pvar_handle_alloc(session, index, NULL, &handles[v], &values),
                   names[v], "no handle can be allocated");
    }
}

static unsigned long long value_of(enum variable variable)
{
    unsigned long long value = 0;
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_read(session, handles[variable], &value), names[variable],
               "it cannot be read");
    return value;
}

/* Send messages from rank 0 to rank 1, which arrive before rank 1 posts its receives (`early`),
 * or after that. Another message synchronises the ranks. */
static void exchange(int rank, char *buffer, int bytes, bool early)
{
    enum { MESSAGE = 1, GO = 2 };
    MPI_Request request[MESSAGES];
    if (early && 1 == rank)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!early && 0 == rank)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < MESSAGES; ++i) {
        if (0 == rank)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, MESSAGE, MPI_COMM_WORLD, &request[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD, &request[i]);
    }
    if (early && 0 == rank)
        MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
    if (!early && 1 == rank)
        MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
    MPI_Waitall(MESSAGES, request, MPI_STATUSES_IGNORE);
}

static void try_size(int rank, char *buffer, int bytes, enum variable sent)
{
    const unsigned long long messages = value_of(sent), all_bytes = value_of(BYTES_SENT),
                             unexpected = value_of(UNEXPECTED);
    exchange(rank, buffer, bytes, false);
    exchange(rank, buffer, bytes, true);
    if (0 == rank) {
        TEST_CHECK(value_of(sent) >= messages + 2 * MESSAGES, names[sent],
                   "%d messages of %d bytes were sent, and fewer counted", 2 * MESSAGES, bytes);
        TEST_CHECK(value_of(BYTES_SENT) >= all_bytes + 2ull * MESSAGES * (unsigned)bytes,
                   names[BYTES_SENT], "fewer were counted than were sent");
    } else {
        TEST_CHECK(value_of(UNEXPECTED) >= unexpected + MESSAGES, names[UNEXPECTED],
                   "%d messages of %d bytes were unexpected, and fewer were counted", MESSAGES,
                   bytes);
    }
}

int main(int argc, char **argv)
{
    static const enum variable sent[SIZES] = {EAGER, STORED, OFFERED};
    int provided, rank;
    char note[80];
    test_begin(argc, argv, "message_pvars", options, 0, MPI_THREAD_SINGLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    TEST_CHECK(MPI_SUCCESS == MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "init", "it fails");
    TEST_CHECK(MPI_SUCCESS == MPI_T_pvar_session_create(&session), "session", "it fails");
    find_all();
    char *buffer = calloc(1, LONG);
    TEST_CHECK(NULL != buffer, "memory", "out of memory");
    for (int s = 0; s < SIZES; ++s)
        try_size(rank, buffer, sizes[s], sent[s]);
    snprintf(note, sizeof(note), "the runner has moved %llu bytes, %llu messages were delayed",
             value_of(RUNNER_BYTES), value_of(DELAYED));
    free(buffer);
    for (int v = 0; v < VARIABLES; ++v)
        MPI_T_pvar_handle_free(session, &handles[v]);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return test_end(note);
}
