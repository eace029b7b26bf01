/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests messages to a process that makes no MPI calls for some time after they were sent.
 *
 *   late_receiver         rank 0 spawns processes. They send messages to it and to each other and
 *                         call MPI_Finalize, or MPI_Comm_disconnect before that. Rank 0 receives
 *                         the messages late, and may run a command at the end (--then).
 *   late_receiver --file F   the ranks from 1 on make no MPI calls until the file F exists, except
 *                         the last rank. Rank 0 sends messages to all, receives the last rank's
 *                         answers, and then creates the file. (3 or more processes)
 *   late_receiver --file F --window   the same with MPI_Put
 *   late_receiver --file F --met      the same after rank 0 has received messages of another job
 *   late_receiver --file F --unasked  the same, but rank 0 sends nothing to the last rank
 *   late_receiver --file F --probe    the same, but each message makes progress before the next one
 *   late_receiver --file F --acknowledge  rank 0 spawns a process and sends synchronous messages to
 *                         it, which are all unexpected. Then it makes no calls until the process
 *                         has received them, created the file F and called MPI_Comm_disconnect.
 *   late_receiver --file F --before   rank 0 sends messages to rank 1, which makes no calls. Then
 * it spawns a process, creates the file F and calls MPI_Comm_disconnect. The spawned process does
 * so only after rank 1 has received the messages. (2 processes)
 *
 * Every message has other contents, which are checked. The time for which the receiver stays away
 * (--late) only determines how likely a defect is found.
 */
#include "common.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long messages = 400;
static long bytes = 1000;
static long spawned = 2;
static long rounds = 2;
static long late_ms = 500;
static long disconnect;
static long window;
static long met;
static long unasked;
static long probe;
static long acknowledge;
static long before;
static const char *hosts = "";
static const char *file = "";
static const char *then = "";

static const struct test_option options[] = {
    {"--messages", OPTION_LONG, &messages, "number of messages of each sender (400)"},
    {"--bytes", OPTION_LONG, &bytes, "size of each (1000)"},
    {"--spawned", OPTION_LONG, &spawned, "processes that are spawned in each round (2)"},
    {"--rounds", OPTION_LONG, &rounds, "rounds (2)"},
    {"--late", OPTION_LONG, &late_ms, "time until the receiver receives, in milliseconds (500)"},
    {"--disconnect", OPTION_FLAG, &disconnect, "spawned processes call MPI_Comm_disconnect"},
    {"--unasked", OPTION_FLAG, &unasked, "rank 0 sends nothing to the last rank"},
    {"--probe", OPTION_FLAG, &probe, "call MPI_Iprobe after each message"},
    {"--acknowledge", OPTION_FLAG, &acknowledge,
     "synchronous sends to a process that disconnects as soon as it has received them"},
    {"--before", OPTION_FLAG, &before, "messages that are sent before a process is spawned"},
    {"--hosts", OPTION_TEXT, &hosts, "where they are spawned: the info key \"host\""},
    {"--file", OPTION_TEXT, &file, "the file for which processes wait"},
    {"--then", OPTION_TEXT, &then,
     "the command that rank 0 runs after all rounds; it must succeed"},
    {"--window", OPTION_FLAG, &window, "one-sided communication instead of messages"},
    {"--met", OPTION_FLAG, &met, "rank 0 first receives messages of spawned processes"},
};

static unsigned char content(int from, long message, long at)
{
    return (unsigned char)(37 * from + 11 * message + at + at / 251);
}

static void fill(unsigned char *buffer, int from, long message)
{
    for (long at = 0; at < bytes; at++)
        buffer[at] = content(from, message, at);
}

static void check_content(const unsigned char *buffer, int from, long message)
{
    for (long at = 0; at < bytes; at++)
        TEST_CHECK(buffer[at] == content(from, message, at), "contents",
                   "message %ld of rank %d: byte %ld is %u and not %u", message, from, at,
                   buffer[at], content(from, message, at));
}

static void receive_all(unsigned char *buffer, int from, MPI_Comm comm)
{
    for (long message = 0; message < messages; message++) {
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, from, (int)message, comm, MPI_STATUS_IGNORE);
        check_content(buffer, from, message);
    }
}

static void make_progress(void)
{
    int there;
    MPI_Iprobe(MPI_ANY_SOURCE, (int)messages, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

/* Starts to send all messages, each from a buffer of its own. */
static void start_sends(unsigned char *buffers, int from, int to, MPI_Comm comm,
                        MPI_Request *requests)
{
    for (long message = 0; message < messages; message++) {
        fill(buffers + message * bytes, from, message);
        MPI_Isend(buffers + message * bytes, (int)bytes, MPI_BYTE, to, (int)message, comm,
                  &requests[message]);
        if (probe)
            make_progress();
    }
}

/* ---- senders that end ---- */

static void send_and_end(MPI_Comm parents)
{
    const int next = (test.rank + 1) % test.size,
              previous = (test.rank + test.size - 1) % test.size;
    unsigned char *buffer = malloc((size_t)bytes), *buffers = malloc((size_t)(messages * bytes));
    MPI_Request *requests = malloc((size_t)messages * sizeof(*requests));
    start_sends(buffers, test.rank, next, MPI_COMM_WORLD, requests);
    test_phase("sends to the parent");
    for (long message = 0; message < messages; message++) {
        fill(buffer, test.rank, message);
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 0, (int)message, parents);
    }
    test_phase("receives from the previous process");
    receive_all(buffer, previous, MPI_COMM_WORLD);
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(buffers);
    free(buffer);
    test_phase("disconnects");
    if (disconnect)
        MPI_Comm_disconnect(&parents);
    test_phase("MPI_Finalize");
    MPI_Finalize();
}

static MPI_Comm spawn(const char *program, long processes)
{
    char number[2][24];
    snprintf(number[0], sizeof(number[0]), "%ld", messages);
    snprintf(number[1], sizeof(number[1]), "%ld", bytes);
    const char *arguments[9] = {"--messages", number[0], "--bytes", number[1]};
    int count = 4;
    if (disconnect)
        arguments[count++] = "--disconnect";
    if (acknowledge || before) {
        arguments[count++] = acknowledge ? "--acknowledge" : "--before";
        arguments[count++] = "--file";
        arguments[count++] = file;
    }
    return test_spawn(program, arguments, (int)processes, hosts, MPI_COMM_SELF);
}

static void receive_from_children(const char *program)
{
    unsigned char *buffer = malloc((size_t)bytes);
    for (long round = 0; round < rounds; round++) {
        test_phase("spawns");
        MPI_Comm children = spawn(program, spawned);
        usleep((useconds_t)late_ms * 1000);
        test_phase("receives");
        for (int child = 0; child < spawned; child++)
            receive_all(buffer, child, children);
        test_phase("disconnects");
        if (disconnect)
            MPI_Comm_disconnect(&children);
        else
            MPI_Comm_free(&children);
    }
    free(buffer);
    test_phase("runs the command");
    TEST_CHECK(!*then || system(then) == 0, "command", "%s fails", then);
}

/* ---- a receiver that makes no calls ---- */

/* Returns the path of the file by which a rank reports that it makes no more calls. */
static const char *file_of(int rank)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s.%d", file, rank);
    return path;
}

static void create_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    TEST_CHECK(fd >= 0, "file", "%s cannot be created", path);
    close(fd);
}

/* Waits until all receivers but the last one make no more calls. */
static void await_absence(void)
{
    test_phase("waits until the others make no calls");
    for (int rank = 1; rank < test.size - 1; rank++)
        while (access(file_of(rank), F_OK) != 0)
            make_progress();
}

static void stay_away(void)
{
    test_phase("waits for the file");
    create_file(file_of(test.rank));
    while (access(file, F_OK) != 0)
        usleep(1000);
    unlink(file_of(test.rank));
}

static void send_to_all(unsigned char *buffer)
{
    const int last = test.size - 1, receivers = unasked ? last - 1 : last;
    unsigned char *buffers = malloc((size_t)(receivers * messages * bytes));
    MPI_Request *requests = malloc((size_t)(receivers * messages) * sizeof(*requests));
    await_absence();
    test_phase("sends to all");
    for (int to = 1; to <= receivers; to++)
        start_sends(buffers + (to - 1) * messages * bytes, 0, to, MPI_COMM_WORLD,
                    requests + (to - 1) * messages);
    test_phase("receives from the last rank");
    receive_all(buffer, last, MPI_COMM_WORLD);
    create_file(file);
    test_phase("completes its sends");
    MPI_Waitall((int)(receivers * messages), requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(buffers);
}

static void answer(unsigned char *buffer)
{
    unsigned char *buffers = malloc((size_t)(messages * bytes));
    MPI_Request *requests = malloc((size_t)messages * sizeof(*requests));
    test_phase("receives from rank 0");
    if (!unasked)
        receive_all(buffer, 0, MPI_COMM_WORLD);
    test_phase("answers");
    start_sends(buffers, test.rank, 0, MPI_COMM_WORLD, requests);
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(buffers);
}

static void exchange(void)
{
    unsigned char *buffer = malloc((size_t)bytes);
    if (test.rank == 0) {
        send_to_all(buffer);
    } else if (test.rank == test.size - 1) {
        answer(buffer);
    } else {
        stay_away();
        receive_all(buffer, 0, MPI_COMM_WORLD);
    }
    free(buffer);
}

/* ---- acknowledgements of a process that disconnects ---- */

static void send_synchronously(const char *program)
{
    unsigned char *buffers = malloc((size_t)(messages * bytes));
    MPI_Request *requests = malloc((size_t)messages * sizeof(*requests));
    MPI_Comm receiver = spawn(program, 1);
    test_phase("sends synchronously");
    for (long message = 0; message < messages; message++) {
        fill(buffers + message * bytes, 0, message);
        MPI_Issend(buffers + message * bytes, (int)bytes, MPI_BYTE, 0, (int)message, receiver,
                   &requests[message]);
    }
    MPI_Ssend(NULL, 0, MPI_BYTE, 0, (int)messages, receiver); /* is received first */
    test_phase("waits for the file");
    while (access(file, F_OK) != 0)
        usleep(1000);
    test_phase("completes its sends");
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_disconnect(&receiver);
    free(requests);
    free(buffers);
}

static void receive_and_disconnect(MPI_Comm parent)
{
    unsigned char *buffer = malloc((size_t)bytes);
    test_phase("receives the last message first");
    MPI_Recv(NULL, 0, MPI_BYTE, 0, (int)messages, parent, MPI_STATUS_IGNORE);
    test_phase("receives the others");
    receive_all(buffer, 0, parent);
    free(buffer);
    create_file(file);
    test_phase("disconnects");
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
}

/* ---- messages before a process is spawned ---- */

static void await_file(const char *path)
{
    while (access(path, F_OK) != 0)
        usleep(1000);
}

static void send_and_spawn(const char *program)
{
    unsigned char *buffer = malloc((size_t)bytes);
    await_file(file_of(1));
    test_phase("sends to rank 1");
    for (long message = 0; message < messages; message++) {
        fill(buffer, 0, message);
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 1, (int)message, MPI_COMM_WORLD);
    }
    free(buffer);
    test_phase("spawns");
    MPI_Comm other = spawn(program, 1);
    unlink(file_of(1));
    create_file(file);
    test_phase("disconnects");
    MPI_Comm_disconnect(&other);
}

static void receive_late(void)
{
    unsigned char *buffer = malloc((size_t)bytes);
    create_file(file_of(1));
    test_phase("waits for the file");
    await_file(file);
    test_phase("receives");
    receive_all(buffer, 0, MPI_COMM_WORLD);
    free(buffer);
    create_file(file_of(1));
}

static void disconnect_late(MPI_Comm parent)
{
    test_phase("waits until rank 1 has received the messages");
    await_file(file);
    await_file(file_of(1));
    unlink(file_of(1));
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
}

/* ---- one-sided communication ---- */

/* In the first operation on a process, Open MPI asks that process for addresses, and waits. */
static void put_first(MPI_Win memory)
{
    const char zero = 0;
    MPI_Win_lock_all(0, memory);
    for (int to = 0; test.rank == 0 && to < test.size; to++)
        MPI_Put(&zero, 1, MPI_BYTE, to, 0, 1, MPI_BYTE, memory);
    MPI_Win_unlock_all(memory);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Locks each process separately: after MPI_Win_lock_all, Open MPI flushes all processes at once. */
static void put_to_all(unsigned char *buffers, MPI_Win memory)
{
    for (long message = 0; message < messages; message++)
        fill(buffers + message * bytes, 0, message);
    await_absence();
    test_phase("puts to all");
    for (int to = 1; to < test.size; to++) {
        MPI_Win_lock(MPI_LOCK_SHARED, to, MPI_MODE_NOCHECK, memory);
        for (long message = 0; message < messages; message++)
            MPI_Put(buffers + message * bytes, (int)bytes, MPI_BYTE, to, message * bytes,
                    (int)bytes, MPI_BYTE, memory);
    }
    test_phase("completes its puts to the last rank");
    MPI_Win_unlock(test.size - 1, memory);
    create_file(file);
    test_phase("completes its other puts");
    for (int to = 1; to < test.size - 1; to++)
        MPI_Win_unlock(to, memory);
}

static void exchange_in_window(void)
{
    const size_t all = (size_t)(messages * bytes);
    unsigned char *own, *buffers = malloc(all);
    MPI_Win memory;
    MPI_Win_allocate((MPI_Aint)all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &memory);
    put_first(memory);
    if (test.rank == 0) {
        put_to_all(buffers, memory);
    } else if (test.rank != test.size - 1) {
        stay_away();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, test.rank, 0, memory);
    for (long message = 0; test.rank != 0 && message < messages; message++)
        check_content(own + message * bytes, 0, message);
    MPI_Win_unlock(test.rank, memory);
    MPI_Win_free(&memory);
    free(buffers);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    test_begin(argc, argv, "late_receiver", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        if (before)
            disconnect_late(parents);
        else if (acknowledge)
            receive_and_disconnect(parents);
        else
            send_and_end(parents);
        return 0;
    }
    TEST_CHECK(!*file || acknowledge || before || test.size >= 3, "start",
               "--file takes 3 processes");
    if (test.rank == 0 && (!*file || met))
        receive_from_children(argv[0]);
    if (before && test.rank == 0)
        send_and_spawn(argv[0]);
    else if (before)
        receive_late();
    else if (acknowledge)
        send_synchronously(argv[0]);
    else if (*file && window)
        exchange_in_window();
    else if (*file)
        exchange();
    return test_end("");
}
