/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that calls return the statuses that MPI prescribes (MPI 4.0, 3.2.5): calls with a single
 * status set all fields except MPI_ERROR, which they never change. This holds for probes, receives
 * and completions, whether they are successful, truncated or cancelled.
 *
 * Every process sends its right neighbour, which may be itself, one message per call, with the
 * call's number as tag, and makes the calls for the messages of its left neighbour.
 */
#include "common.h"

#include <stdlib.h>

static long shortest = 3;
static long longest = 100000;

static const struct test_option options[] = {
    {"--shortest", OPTION_LONG, &shortest, "ints of the short messages (3)"},
    {"--longest", OPTION_LONG, &longest, "ints of the long messages (100000)"},
};

enum { KEPT = 4711 /* not an error class */ };

static int left, right;
static int *buffer; /* of the longest message's size */

/* ---- receiving calls: each receives the message with this tag ---- */

typedef void (*call_fn)(int tag, int count, MPI_Status *status);

static void by_recv(int tag, int count, MPI_Status *status)
{
    MPI_Recv(buffer, count, MPI_INT, left, tag, MPI_COMM_WORLD, status);
}

static void by_probe(int tag, int count, MPI_Status *status)
{
    MPI_Probe(left, tag, MPI_COMM_WORLD, status);
    by_recv(tag, count, MPI_STATUS_IGNORE);
}

static void by_iprobe(int tag, int count, MPI_Status *status)
{
    int found;
    do {
        MPI_Iprobe(left, tag, MPI_COMM_WORLD, &found, status);
    } while (!found);
    by_recv(tag, count, MPI_STATUS_IGNORE);
}

static void by_mprobe(int tag, int count, MPI_Status *status)
{
    MPI_Message message;
    MPI_Mprobe(left, tag, MPI_COMM_WORLD, &message, status);
    MPI_Mrecv(buffer, count, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void by_improbe(int tag, int count, MPI_Status *status)
{
    MPI_Message message;
    MPI_Request request;
    int found;
    do {
        MPI_Improbe(left, tag, MPI_COMM_WORLD, &found, &message, status);
    } while (!found);
    MPI_Imrecv(buffer, count, MPI_INT, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_mrecv(int tag, int count, MPI_Status *status)
{
    MPI_Message message;
    MPI_Mprobe(left, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(buffer, count, MPI_INT, &message, status);
}

static void by_imrecv(int tag, int count, MPI_Status *status)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Mprobe(left, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(buffer, count, MPI_INT, &message, &request);
    MPI_Wait(&request, status);
}

static MPI_Request start_receive(int tag, int count)
{
    MPI_Request request;
    MPI_Irecv(buffer, count, MPI_INT, left, tag, MPI_COMM_WORLD, &request);
    return request;
}

static void by_wait(int tag, int count, MPI_Status *status)
{
    MPI_Request request = start_receive(tag, count);
    MPI_Wait(&request, status);
}

static void by_test(int tag, int count, MPI_Status *status)
{
    MPI_Request request = start_receive(tag, count);
    int done;
    do {
        MPI_Test(&request, &done, status);
    } while (!done);
}

static void by_waitany(int tag, int count, MPI_Status *status)
{
    MPI_Request request = start_receive(tag, count);
    int index;
    MPI_Waitany(1, &request, &index, status);
}

static void by_testany(int tag, int count, MPI_Status *status)
{
    MPI_Request request = start_receive(tag, count);
    int index, done;
    do {
        MPI_Testany(1, &request, &index, &done, status);
    } while (!done);
}

static void by_get_status(int tag, int count, MPI_Status *status)
{
    MPI_Request request = start_receive(tag, count);
    int done;
    do {
        MPI_Request_get_status(request, &done, status);
    } while (!done);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void by_start(int tag, int count, MPI_Status *status)
{
    MPI_Request request;
    MPI_Recv_init(buffer, count, MPI_INT, left, tag, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, status);
    MPI_Request_free(&request);
}

static const struct {
    const char *name;
    call_fn call;
} calls[] = {
    {"MPI_Recv", by_recv},
    {"MPI_Probe", by_probe},
    {"MPI_Iprobe", by_iprobe},
    {"MPI_Mprobe", by_mprobe},
    {"MPI_Improbe", by_improbe},
    {"MPI_Mrecv", by_mrecv},
    {"MPI_Imrecv and MPI_Wait", by_imrecv},
    {"MPI_Irecv and MPI_Wait", by_wait},
    {"MPI_Irecv and MPI_Test", by_test},
    {"MPI_Irecv and MPI_Waitany", by_waitany},
    {"MPI_Irecv and MPI_Testany", by_testany},
    {"MPI_Irecv and MPI_Request_get_status", by_get_status},
    {"MPI_Recv_init, MPI_Start and MPI_Wait", by_start},
};
enum { CALLS = (int)TEST_COUNT(calls) };

/* ---- checks ---- */

static MPI_Status poisoned(void)
{
    return (MPI_Status){.MPI_ERROR = KEPT, .MPI_SOURCE = KEPT, .MPI_TAG = KEPT};
}

static void check_kept(const MPI_Status *status, const char *call)
{
    TEST_CHECK(KEPT == status->MPI_ERROR, call, "has written %d into MPI_ERROR", status->MPI_ERROR);
}

/* Test all calls, for messages of this length. */
static void play(int count)
{
    MPI_Request sends[CALLS];
    int *content = calloc((size_t)count, sizeof(*content));
    for (int tag = 0; tag < CALLS; tag++)
        MPI_Isend(content, count, MPI_INT, right, tag, MPI_COMM_WORLD, &sends[tag]);
    for (int tag = 0; tag < CALLS; tag++) {
        const char *name = calls[tag].name;
        MPI_Status status = poisoned();
        int got, cancelled;
        calls[tag].call(tag, count, &status);
        check_kept(&status, name);
        MPI_Get_count(&status, MPI_INT, &got);
        MPI_Test_cancelled(&status, &cancelled);
        TEST_CHECK(left == status.MPI_SOURCE && tag == status.MPI_TAG && count == got, name,
                   "source %d, tag %d, %d ints; not %d, %d, %d", status.MPI_SOURCE, status.MPI_TAG,
                   got, left, tag, count);
        TEST_CHECK(!cancelled, name, "says cancelled");
    }
    MPI_Waitall(CALLS, sends, MPI_STATUSES_IGNORE);
    free(content);
}

/* Receive a message that is too long: the call returns the error, and the status does not
 * contain it. */
static void truncate_one(int count)
{
    MPI_Status status = poisoned();
    MPI_Request request;
    int *content = calloc((size_t)count, sizeof(*content)), class;
    MPI_Isend(content, count, MPI_INT, right, 0, MPI_COMM_WORLD, &request);
    MPI_Error_class(MPI_Recv(buffer, count - 1, MPI_INT, left, 0, MPI_COMM_WORLD, &status), &class);
    TEST_CHECK(MPI_ERR_TRUNCATE == class, "too long", "the error's class is %d", class);
    check_kept(&status, "too long");
    status = poisoned();
    MPI_Wait(&request, &status);
    check_kept(&status, "MPI_Isend and MPI_Wait");
    free(content);
}

static void cancel_one(void)
{
    MPI_Status status = poisoned();
    MPI_Request request = start_receive(CALLS, 1);
    int cancelled;
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    check_kept(&status, "MPI_Cancel");
    MPI_Test_cancelled(&status, &cancelled);
    TEST_CHECK(cancelled, "MPI_Cancel", "the receive is not cancelled");
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "statuses", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    left = (test.rank + test.size - 1) % test.size;
    right = (test.rank + 1) % test.size;
    buffer = malloc((size_t)longest * sizeof(*buffer));
    play((int)shortest);
    play((int)longest);
    truncate_one((int)shortest);
    cancel_one();
    free(buffer);
    return test_end("");
}
