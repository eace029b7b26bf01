/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a process that waits in a barrier progresses the messages of other processes, because
 * otherwise programs deadlock.
 *
 * One process is late. It enters the barrier only after it has communicated with the waiting ones,
 * by rendezvous messages in both directions and by one-sided access to their windows, which needs
 * progress in the waiting processes. If a barrier waits without calling Open MPI's progress engine,
 * this is a deadlock, which the watchdog ends. Sometimes the late process delays its communication
 * until the others have gone to sleep.
 *
 * The program also checks the contents, since progress within a barrier must not lose or repeat
 * anything.
 *
 * --bandwidth reports how fast large messages arrive at processes that wait in a barrier, compared
 * with processes that wait in MPI_Waitall. It checks nothing.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#endif
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static long rounds = 6;
static long max_bytes;
static long bandwidth;
static long two_sided;

static const struct test_option options[] = {
    {"--rounds", OPTION_LONG, &rounds, "how often all kinds of communication are tried (6)"},
    {"--max-bytes", OPTION_LONG, &max_bytes,
     "largest message (8 MiB for up to 4 processes, else 1 MiB)"},
    {"--bandwidth", OPTION_FLAG, &bandwidth, "only report the bandwidth into waiting processes"},
    {"--two-sided", OPTION_FLAG, &two_sided, "no windows (Open MPI 4.1.4 has none over tcp only)"},
};

enum { TAG = 11, MESSAGES = 3, MIN_BYTES = 64 * 1024 };

/* The parameters of one test, on which all members of the barrier's communicator agree. */
struct scene {
    struct ledger *ledger; /* the ledger of the barrier */
    int late;              /* rank in WORLD */
    int bytes;             /* size of each message */
    unsigned char mark;    /* the byte with which the late process fills its data; the others have
                              bytes of their own */
};

static struct arena arena;
/* Buffers of MESSAGES messages each; `received` is also the window. */
static unsigned char *sent, *received;
static MPI_Win window;

static unsigned char mark_of(const struct scene *scene, int rank)
{
    return (unsigned char)(scene->mark + 7 * rank);
}

static void check_filled(const struct scene *scene, int from, const char *what)
{
    unsigned char expected = mark_of(scene, from);
    for (int m = 0; m < MESSAGES; m++) {
        const unsigned char *message = received + (size_t)m * (size_t)scene->bytes;
        /* Check that all bytes equal the first one, by comparing the message with itself,
         * shifted by one byte. */
        TEST_CHECK(message[0] == expected &&
                       !memcmp(message, message + 1, (size_t)scene->bytes - 1),
                   scene->ledger->name,
                   "%s from rank %d, message %d of %d bytes: wrong content, expected all %u, "
                   "found %u first",
                   what, from, m, scene->bytes, expected, message[0]);
    }
}

/* ---- actions of the late process while the others wait, and their preparation and checks ---- */

/* Call `act` for all other members of the barrier's communicator. */
static void for_each_other(const struct scene *scene, void (*act)(const struct scene *, int peer))
{
    for (int i = 0; i < scene->ledger->n_members; i++)
        if (scene->ledger->members[i] != scene->late)
            act(scene, scene->ledger->members[i]);
}

static unsigned char *message_of(unsigned char *buffer, const struct scene *scene, int m)
{
    return buffer + (size_t)m * (size_t)scene->bytes;
}

static void send_plain(const struct scene *scene, int peer)
{
    for (int m = 0; m < MESSAGES; m++)
        MPI_Send(message_of(sent, scene, m), scene->bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

static void send_synchronous(const struct scene *scene, int peer)
{
    for (int m = 0; m < MESSAGES; m++)
        MPI_Ssend(message_of(sent, scene, m), scene->bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

static void send_nonblocking(const struct scene *scene, int peer)
{
    MPI_Request requests[MESSAGES];
    for (int m = 0; m < MESSAGES; m++)
        MPI_Isend(message_of(sent, scene, m), scene->bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                  &requests[m]);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void receive_here(const struct scene *scene, int peer)
{
    for (int m = 0; m < MESSAGES; m++)
        MPI_Recv(message_of(received, scene, m), scene->bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check_filled(scene, peer, "message");
}

static void put_there(const struct scene *scene, int peer)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, window);
    MPI_Put(sent, MESSAGES * scene->bytes, MPI_BYTE, peer, 0, MESSAGES * scene->bytes, MPI_BYTE,
            window);
    MPI_Win_unlock(peer, window);
}

static void get_from(const struct scene *scene, int peer)
{
    memset(received, 0, (size_t)scene->bytes * MESSAGES);
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
    MPI_Get(received, MESSAGES * scene->bytes, MPI_BYTE, peer, 0, MESSAGES * scene->bytes, MPI_BYTE,
            window);
    MPI_Win_unlock(peer, window);
    check_filled(scene, peer, "MPI_Get");
}

static void accumulate_there(const struct scene *scene, int peer)
{
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
    MPI_Accumulate(sent, MESSAGES * scene->bytes, MPI_BYTE, peer, 0, MESSAGES * scene->bytes,
                   MPI_BYTE, MPI_BXOR, window);
    MPI_Win_flush(peer, window);
    MPI_Win_unlock(peer, window);
}

static void post_receives(const struct scene *scene, MPI_Request requests[MESSAGES])
{
    for (int m = 0; m < MESSAGES; m++)
        MPI_Irecv(message_of(received, scene, m), scene->bytes, MPI_BYTE, scene->late, TAG,
                  MPI_COMM_WORLD, &requests[m]);
}

static void post_sends(const struct scene *scene, MPI_Request requests[MESSAGES])
{
    for (int m = 0; m < MESSAGES; m++)
        MPI_Isend(message_of(sent, scene, m), scene->bytes, MPI_BYTE, scene->late, TAG,
                  MPI_COMM_WORLD, &requests[m]);
}

/* Fill the own window, in an access epoch, with the own byte if `filled` is set, and otherwise
 * with zeros. */
static void prepare_window(const struct scene *scene, bool filled)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test.rank, 0, window);
    memset(received, filled ? mark_of(scene, test.rank) : 0, (size_t)scene->bytes * MESSAGES);
    MPI_Win_unlock(test.rank, window);
}

static const struct kind {
    const char *name;
    void (*late)(const struct scene *scene, int peer);
    /* Posts the requests of the waiting processes before the barrier; NULL for one-sided kinds. */
    void (*post)(const struct scene *scene, MPI_Request requests[MESSAGES]);
    bool lands;  /* afterwards the waiting processes must have the late one's data */
    bool filled; /* one-sided: the window initially has data instead of zeros */
} kinds[] = {
    {"MPI_Send to a waiting process", send_plain, post_receives, true, false},
    {"MPI_Ssend to a waiting process", send_synchronous, post_receives, true, false},
    {"MPI_Isend to a waiting process", send_nonblocking, post_receives, true, false},
    {"MPI_Recv from a waiting process", receive_here, post_sends, false, false},
    {"MPI_Put to a waiting process", put_there, NULL, true, false},
    {"MPI_Get from a waiting process", get_from, NULL, false, true},
    {"MPI_Accumulate to a waiting process", accumulate_there, NULL, true, false},
};

/* ---- one test ---- */

enum barrier { BLOCKING, NONBLOCKING, PERSISTENT, BARRIERS };
static const char *const barrier_names[] = {"MPI_Barrier", "MPI_Ibarrier + MPI_Wait",
                                            "MPI_Start + MPI_Wait"};

/* One persistent barrier for each communicator, each with a ledger. */
static struct {
    struct ledger ledger;
    MPI_Request request;
    bool exists;
} persistent[USUAL_COMMUNICATORS];

static void do_barrier(struct ledger *usual, int comm, enum barrier how)
{
    if (how == PERSISTENT && persistent[comm].exists) {
        uint32_t k = ledger_enter(&persistent[comm].ledger);
        MPI_Start(&persistent[comm].request);
        MPI_Wait(&persistent[comm].request, MPI_STATUS_IGNORE);
        ledger_left(&persistent[comm].ledger, k, barrier_names[how]);
    } else if (how == BLOCKING) {
        checked_barrier(&usual[comm]);
    } else {
        checked_ibarrier(&usual[comm]);
    }
}

static void play(const struct kind *kind, const struct scene *scene, struct ledger *usual, int comm,
                 enum barrier how, long pause_ms)
{
    MPI_Request requests[MESSAGES];
    test_phase(kind->name);
    memset(sent, mark_of(scene, test.rank), (size_t)scene->bytes * MESSAGES);
    if (!kind->post)
        prepare_window(scene, kind->filled);
    /* Windows must be ready before the late process continues, and the other processes should be
     * waiting when it sends messages. A barrier of another kind ensures both. */
    do_barrier(usual, comm, (how + 1) % BARRIERS);

    if (test.rank == scene->late) {
        struct timespec pause = {0, pause_ms * 1000000};
        nanosleep(&pause, NULL);
        for_each_other(scene, kind->late);
    } else if (kind->post) {
        kind->post(scene, requests);
    }
    do_barrier(usual, comm, how);

    if (test.rank != scene->late) {
        if (kind->post)
            MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        else
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test.rank, 0, window);
        if (kind->lands)
            check_filled(scene, scene->late, kind->name);
        if (!kind->post)
            MPI_Win_unlock(test.rank, window);
    }
}

static void play_all(struct ledger *usual)
{
    static const long pauses_ms[] = {0, 1, 20};
    struct rng plan = rng_make(STREAM_PLAN);
    for (int c = 0; c < USUAL_COMMUNICATORS; c++) {
        ledger_open(&persistent[c].ledger, &arena, (unsigned)(USUAL_COMMUNICATORS + c),
                    usual[c].comm, "persistent on %s", usual[c].name);
        persistent[c].exists =
            persistent_barrier_init(&persistent[c].ledger, &persistent[c].request);
    }
    for (long round = 0; round < rounds; round++) {
        for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
            int comm = (int)rng_below(&plan, USUAL_COMMUNICATORS);
            enum barrier how = rng_below(&plan, BARRIERS);
            unsigned late = rng_below(&plan, 1u << 16);
            long pause_ms = pauses_ms[rng_below(&plan, TEST_COUNT(pauses_ms))];
            int bytes = MIN_BYTES;
            for (unsigned doublings = rng_below(&plan, 8); doublings > 0; doublings--)
                bytes = 2 * bytes <= max_bytes ? 2 * bytes : bytes;
            struct scene scene = {&usual[comm],
                                  usual[comm].members[late % (unsigned)usual[comm].n_members],
                                  bytes, (unsigned char)rng_next(&plan)};
            if (kinds[k].post || !two_sided)
                play(&kinds[k], &scene, usual, comm, how, pause_ms);
        }
    }
    for (int c = 0; c < USUAL_COMMUNICATORS; c++) {
        if (persistent[c].exists)
            MPI_Request_free(&persistent[c].request);
        ledger_close(&persistent[c].ledger);
    }
}

/* ---- the report ---- */

/* Returns the bandwidth in MB/s of `n` messages from the last process to process 0, which waits
 * for them in the barrier or, for comparison, in MPI_Waitall. All others wait in the barrier in
 * both cases. */
static double measure(struct ledger *world, int bytes, int n, bool in_barrier)
{
    int sender = test.size - 1;
    double seconds = 0;
    MPI_Request *requests = malloc(sizeof(*requests) * (size_t)n);
    for (int m = 0; test.rank == 0 && m < n; m++)
        MPI_Irecv(received, bytes, MPI_BYTE, sender, TAG, MPI_COMM_WORLD, &requests[m]);
    checked_barrier(world);
    if (test.rank == sender) {
        double start = test_seconds();
        for (int m = 0; m < n; m++)
            MPI_Send(sent, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        seconds = test_seconds() - start;
    }
    if (test.rank == 0 && !in_barrier)
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    checked_barrier(world);
    if (test.rank == 0 && in_barrier)
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    free(requests);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, sender, MPI_COMM_WORLD);
    return bytes * 1e-6 * n / seconds;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The measurements are interleaved, because the machine's speed changes within seconds, and
 * their medians are reported. */
static void report_bandwidth(struct ledger *world)
{
    enum { TRIES = 15, BYTES_A_TRY = 64 << 20 };
    test_phase("bandwidth");
    test_report("# bytes   into MPI_Barrier   into MPI_Waitall   (MB/s, medians of %d)   ratio\n",
                TRIES);
    for (int bytes = MIN_BYTES; bytes <= max_bytes; bytes *= 4) {
        double mb[2][TRIES];
        for (int t = 0; t < 2 * TRIES; t++)
            mb[t % 2][t / 2] = measure(world, bytes, BYTES_A_TRY / bytes, t % 2 == 0);
        qsort(mb[0], TRIES, sizeof(double), ascending);
        qsort(mb[1], TRIES, sizeof(double), ascending);
        test_report("%7d %16.0f %18.0f %32.2f\n", bytes, mb[0][TRIES / 2], mb[1][TRIES / 2],
                    mb[0][TRIES / 2] / mb[1][TRIES / 2]);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "progress", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (test.size < 2)
        test_skip("needs two processes");
    if (max_bytes <= 0)
        max_bytes = test.size <= 4 ? 8 << 20 : 1 << 20;
    if (max_bytes < MIN_BYTES)
        max_bytes = MIN_BYTES;

    arena_open(&arena, MPI_COMM_WORLD, 2 * USUAL_COMMUNICATORS);
    struct ledger usual[USUAL_COMMUNICATORS];
    usual_open(&arena, usual);
    sent = calloc(MESSAGES, (size_t)max_bytes);
    received = calloc(MESSAGES, (size_t)max_bytes);
    if (!two_sided)
        MPI_Win_create(received, (MPI_Aint)max_bytes * MESSAGES, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                       &window);
    if (bandwidth)
        report_bandwidth(&usual[0]);
    else
        play_all(usual);
    test_phase("MPI_Win_free");
    if (!two_sided)
        MPI_Win_free(&window);
    free(sent);
    free(received);
    usual_close(usual);
    arena_close(&arena);
    return test_end("");
}
