/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes a program (program.h) under MPI and checks every result, to test that nicbarr returns
 * correct results to any legal program.
 *
 *   player --program FILE [--board FILE] [--until FILE] [--line N --parents NUMBERS]
 *
 * It is started by mpirun (for machine/playing.py and tests/component/drawn_common.sh), and by the
 * step `spawn`. The board (places.h) shows the progress of each process. A wrong result ends the
 * job by MPI_Abort, with the step and the expected bytes. With --until the player repeats the
 * program with other data until that file exists; the program must not spawn processes.
 *
 * Requests have numbered places as well. A place holds the requests of one step, which may be many
 * calls, with their buffers.
 *
 * Threads execute the steps between `fork` and `join`: each executes the steps of the communicators
 * whose number is its own, modulo the number of threads.
 *
 * The player calls no MPI functions except those of the program, MPI_Init, MPI_Finalize and local
 * ones. Therefore the program's first collective is the job's first.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include "collective.h"
#include "exchange.h"
#include "messages.h"
#include "window.h"
#include "../mpi/common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD = 20 };

/* The requests that a step has started or created. */
static struct held {
    const struct step *step;
    int n;
    bool persistent, active;
    struct call *calls;        /* NULL if it is not a collective */
    struct messages *messages; /* NULL if it is not a step `messages` */
    MPI_Request *requests;
    MPI_Comm idup;
    unsigned char *sent, *received; /* of point-to-point messages */
    int from;
} held[HELD];

static struct program program;

/* ---- delays ---- */

static volatile unsigned spun;

/* Delay a call. slow=R: rank R of each MPI_COMM_WORLD is late by us microseconds in each call;
 * slow=-2: another rank in each. spin=1: it computes meanwhile. */
static void delay(const struct step *step, int iteration)
{
    long slow = step_number(step, "slow", -1), us = step_number(step, "us", 0);
    if (slow == -2)
        slow = (long)(data_hash(step->id, (uint64_t)iteration, 31) % (uint64_t)test.size);
    if (slow != test.rank % SPAWNED || us == 0)
        return;
    if (!step_number(step, "spin", 0)) {
        usleep((unsigned)us);
        return;
    }
    for (double end = test_seconds() + 1e-6 * (double)us; test_seconds() < end;)
        spun++;
}

/* ---- requests ---- */

static struct held *held_of(long number)
{
    if (number < 0 || number >= HELD)
        test_fail("program", "unknown request %ld", number);
    return &held[number];
}

static void hold(struct held *slot, const struct step *step, int n)
{
    *slot = (struct held){.step = step, .n = n, .active = true, .idup = MPI_COMM_NULL};
    slot->requests = calloc((size_t)n, sizeof(MPI_Request));
    if (!slot->requests)
        test_fail("requests", "out of memory");
    for (int i = 0; i < n; i++)
        slot->requests[i] = MPI_REQUEST_NULL;
}

static void release(struct held *slot)
{
    for (int i = 0; slot->calls && i < slot->n; i++)
        call_close(&slot->calls[i]);
    free(slot->calls);
    free(slot->requests);
    free(slot->sent);
    free(slot->received);
    *slot = (struct held){0};
}

static unsigned char message_byte(const struct step *step, int from, long i)
{
    return (unsigned char)data_hash(step->id, (uint64_t)from, (uint64_t)i);
}

static void check_message(const struct held *slot)
{
    long n = step_number(slot->step, "n", 8);
    for (long i = 0; i < n; i++) {
        unsigned char right = message_byte(slot->step, slot->from, i);
        TEST_CHECK(slot->received[i] == right, "message", "line %d, byte %ld is %02x, not %02x",
                   slot->step->line, i, slot->received[i], right);
    }
}

/* Complete the requests. by=any, by=some: in the order of completion; otherwise in an order that
 * depends on the process. */
static void wait_for(struct held *slot, const struct step *step)
{
    uint64_t lot = data_hash(step->id, (uint64_t)test.rank, 41);
    int n = 0, some[STEP_ITERATIONS];
    if (step_is(step, "by", "any")) {
        for (int i = 0; i < slot->n; i++)
            MPI_Waitany(slot->n, slot->requests, some, MPI_STATUS_IGNORE);
        return;
    }
    if (step_is(step, "by", "some")) {
        for (int i = 0; i < slot->n && n != MPI_UNDEFINED; i += n)
            MPI_Waitsome(slot->n, slot->requests, &n, some, MPI_STATUSES_IGNORE);
        return;
    }
    if (lot % 3 == 0) {
        MPI_Waitall(slot->n, slot->requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int i = 0; i < slot->n; i++) {
        int at = lot % 3 == 1 ? i : slot->n - 1 - i;
        MPI_Wait(&slot->requests[at], MPI_STATUS_IGNORE);
    }
}

static void complete(struct held *slot, const struct step *step)
{
    if (!slot->active)
        return;
    wait_for(slot, step);
    slot->active = false;
    if (slot->messages)
        messages_finish(slot->messages);
    for (int i = 0; slot->calls && i < slot->n; i++)
        TEST_CHECK((slot->requests[i] != MPI_REQUEST_NULL) == slot->persistent, "request",
                   "line %d, call %d: it is %s after completion", slot->step->line, i,
                   slot->persistent ? "gone" : "still there");
    if (strcmp(slot->step->kind, "idup") == 0)
        place_set(place_of(slot->step, "d"), slot->idup);
    if (slot->received)
        check_message(slot);
    for (int i = 0; slot->calls && i < slot->n; i++)
        call_check(&slot->calls[i]);
    if (!slot->persistent)
        release(slot);
}

static void complete_all(const struct step *step)
{
    int order[HELD];
    struct rng rng = {data_hash(step->id, (uint64_t)test.rank, 51)};
    rng_permutation(&rng, order, HELD);
    for (int i = 0; i < HELD; i++) /* in the same order on all processes, as some of these receives
                                      are yet to be posted */
        if (held[i].messages)
            complete(&held[i], step);
    for (int i = 0; i < HELD; i++)
        complete(&held[order[i]], step);
}

static void test_some(struct held *slot, long times)
{
    int flag = 0;
    for (long i = 0; i < times && slot->active && !flag; i++)
        MPI_Testall(slot->n, slot->requests, &flag, MPI_STATUSES_IGNORE);
}

/* ---- steps ---- */

static void play_blocking(const struct step *step, int thread)
{
    long times = step_number(step, "times", 1);
    for (int k = 0; k < times; k++) {
        struct call call;
        call_open(&call, step, k, thread);
        delay(step, k);
        call_blocking(&call);
        call_check(&call);
        call_close(&call);
    }
}

/* led=1: the others start only after one process has notified them that it has started. */
static void follow(const struct step *step, const struct place *place, bool started)
{
    int leader = (int)(step->id % (unsigned)place->size), tag = 1000 + (int)(step->id % 1000);
    if (place->rank != leader && !started)
        MPI_Recv(NULL, 0, MPI_BYTE, leader, tag, place->comm, MPI_STATUS_IGNORE);
    for (int rank = 0; place->rank == leader && started && rank < place->size; rank++)
        if (rank != leader)
            MPI_Send(NULL, 0, MPI_BYTE, rank, tag, place->comm);
}

/* MPI 4.0, 3.7.3 and 3.7.6: an inactive request has an empty status. */
static void check_inactive(const struct step *step, MPI_Request *request)
{
    MPI_Status status;
    int flag = 1, count = -1;
    if (step->id % 2)
        MPI_Wait(request, &status);
    else
        MPI_Request_get_status(*request, &flag, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    TEST_CHECK(flag && count == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE &&
                   status.MPI_TAG == MPI_ANY_TAG,
               "request", "line %d: inactive, but it has flag %d, count %d, source %d, tag %d",
               step->line, flag, count, status.MPI_SOURCE, status.MPI_TAG);
}

/* Start a request. locked=1: the program meanwhile holds the lock that its operations take, long
 * enough that other threads wait for it. */
static void start(struct held *slot, int k)
{
    bool locked = step_number(slot->step, "locked", 0);
    if (slot->persistent) {
        call_persistent(&slot->calls[k], &slot->requests[k]);
        check_inactive(slot->step, &slot->requests[k]);
        return;
    }
    if (locked) {
        layouts_lock();
        usleep(program.threads ? 200 : 0);
    }
    call_nonblocking(&slot->calls[k], &slot->requests[k]);
    if (locked)
        layouts_unlock();
}

/* Returns whether the types are freed early. kept=1: a persistent request of nicbarr outlives
 * its types, operation and communicator. (Requests of a single process are Open MPI's own.) */
static bool frees_types(const struct step *step, const struct place *place)
{
    return step_number(step, "freed", 0) || (step_number(step, "kept", 0) && place->size > 1);
}

static void play_started(const struct step *step, int thread)
{
    const struct place *place = place_of(step, "c");
    bool led = step_number(step, "led", 0);
    struct held *slot = held_of(step_number(step, "r", 0));
    int times = (int)step_number(step, "times", 1);
    hold(slot, step, times);
    slot->persistent = step_is(step, "how", "p");
    slot->active = !slot->persistent;
    slot->calls = calloc((size_t)times, sizeof(struct call));
    if (!slot->calls)
        test_fail("requests", "out of memory");
    for (int k = 0; k < times; k++) {
        call_open(&slot->calls[k], step, k, thread);
        delay(step, k);
        if (led && k == 0)
            follow(step, place, false);
        start(slot, k);
        if (led && k == 0)
            follow(step, place, true);
        if (frees_types(step, place))
            call_free_types(&slot->calls[k]);
    }
}

static void play_collective(const struct step *step, int thread)
{
    const struct place *place = place_of(step, "c");
    if (place->comm == MPI_COMM_NULL)
        return;
    if (step_is(step, "how", "b"))
        play_blocking(step, thread);
    else
        play_started(step, thread);
}

/* Start the persistent requests in an order that depends on the process, or all at once. */
static void play_start(const struct step *step, int thread)
{
    struct held *slot = held_of(step_number(step, "r", 0));
    if (!slot->calls)
        return;
    int order[STEP_ITERATIONS];
    struct rng rng = {data_hash(step->id, (uint64_t)test.rank, 61)};
    rng_permutation(&rng, order, slot->n);
    for (int i = 0; i < slot->n; i++)
        call_refill(&slot->calls[i], step);
    board_enter(thread, board_position(step, 0));
    for (int i = 0; i < slot->n; i++)
        slot->calls[i].position = board_position(step, 0);
    for (int i = 0; i < slot->n && !step_number(step, "all", 0); i++) {
        delay(step, i);
        MPI_Start(&slot->requests[order[i]]);
    }
    if (step_number(step, "all", 0))
        MPI_Startall(slot->n, slot->requests);
    slot->active = true;
}

static void play_free_requests(const struct step *step)
{
    struct held *slot = held_of(step_number(step, "r", 0));
    for (int i = 0; i < slot->n; i++)
        MPI_Request_free(&slot->requests[i]);
    release(slot);
}

/* Each process sends to the rank that is `by` higher. */
static void play_shift(const struct step *step)
{
    const struct place *place = place_of(step, "c");
    if (place->comm == MPI_COMM_NULL)
        return;
    struct held *slot = held_of(step_number(step, "r", 0));
    long n = step_number(step, "n", 8);
    int by = (int)step_number(step, "by", 1) % place->size, tag = (int)(step->id % 1000);
    int to = (place->rank + by) % place->size,
        from = (place->rank + place->size - by) % place->size;
    hold(slot, step, 2);
    slot->from = place->members[from];
    slot->sent = malloc((size_t)n + 1);
    slot->received = calloc((size_t)n + 1, 1);
    if (!slot->sent || !slot->received)
        test_fail("message", "out of memory");
    for (long i = 0; i < n; i++)
        slot->sent[i] = message_byte(step, test.rank, i);
    delay(step, 0);
    MPI_Irecv(slot->received, (int)n, MPI_BYTE, from, tag, place->comm, &slot->requests[0]);
    MPI_Isend(slot->sent, (int)n, MPI_BYTE, to, tag, place->comm, &slot->requests[1]);
}

static void play_messages(const struct step *step, int thread)
{
    if (place_of(step, "c")->comm == MPI_COMM_NULL)
        return;
    delay(step, 0);
    struct messages *messages = messages_start(step, thread);
    if (step_is(step, "how", "i")) {
        struct held *slot = held_of(step_number(step, "r", 0));
        hold(slot, step, 0);
        slot->messages = messages;
        return;
    }
    delay(step, 1);
    messages_finish(messages);
}

static void play_window(const struct step *step)
{
    long times = step_number(step, "times", 1);
    if (place_of(step, "c")->comm == MPI_COMM_NULL)
        return;
    struct window *window = window_open(step);
    for (int k = 0; k < times; k++) {
        delay(step, k);
        window_epoch(window, k);
    }
    window_close(window);
}

static void play_exchange(const struct step *step)
{
    long times = step_number(step, "times", 1);
    if (place_of(step, "c")->comm == MPI_COMM_NULL)
        return;
    for (int k = 0; k < times; k++) {
        delay(step, k);
        exchange_play(step, k);
    }
}

static void play_idup(const struct step *step)
{
    struct held *slot = held_of(step_number(step, "r", 0));
    hold(slot, step, 1);
    delay(step, 0);
    places_idup(step, &slot->idup, &slot->requests[0]);
}

static void play_step(const struct step *step, int thread)
{
    board_enter(thread, board_position(step, 0));
    const char *kind = step->kind;
    if (strcmp(kind, "coll") == 0)
        play_collective(step, thread);
    else if (strcmp(kind, "start") == 0)
        play_start(step, thread);
    else if (strcmp(kind, "rfree") == 0)
        play_free_requests(step);
    else if (strcmp(kind, "wait") == 0)
        complete(held_of(step_number(step, "r", 0)), step);
    else if (strcmp(kind, "waitall") == 0)
        complete_all(step);
    else if (strcmp(kind, "test") == 0)
        test_some(held_of(step_number(step, "r", 0)), step_number(step, "times", 1));
    else if (strcmp(kind, "shift") == 0)
        play_shift(step);
    else if (strcmp(kind, "messages") == 0)
        play_messages(step, thread);
    else if (strcmp(kind, "window") == 0)
        play_window(step);
    else if (strcmp(kind, "exchange") == 0)
        play_exchange(step);
    else if (strcmp(kind, "blind") == 0)
        forbid_reading();
    else if (strcmp(kind, "idup") == 0)
        play_idup(step);
    else if (strcmp(kind, "pause") == 0)
        delay(step, 0);
    else if (!places_play(step))
        test_fail("program", "step %u: unknown kind %s", step->id, kind);
}

/* ---- threads ---- */

struct share {
    pthread_t thread;
    int number, threads, from, to;
};

/* Returns the communicator whose thread executes a step. */
static long communicator(const struct step *step)
{
    return step_number(step, "c", 0);
}

static void *play_share(void *argument)
{
    const struct share *share = argument;
    for (int i = share->from; i < share->to; i++)
        if (communicator(&program.steps[i]) % share->threads == share->number)
            play_step(&program.steps[i], share->number);
    return NULL;
}

/* Execute the steps up to `join`. Returns the index of the step after it. */
static int play_forked(int fork)
{
    int threads = (int)step_number(&program.steps[fork], "threads", 2), join = fork + 1;
    while (join < program.n_steps && strcmp(program.steps[join].kind, "join") != 0)
        join++;
    struct share shares[BOARD_THREADS];
    for (int t = 0; t < threads; t++) {
        shares[t] = (struct share){.number = t, .threads = threads, .from = fork + 1, .to = join};
        if (pthread_create(&shares[t].thread, NULL, play_share, &shares[t]) != 0)
            test_fail("threads", "cannot be created");
    }
    for (int t = 0; t < threads; t++)
        pthread_join(shares[t].thread, NULL);
    return join + 1;
}

/* ---- the whole program ---- */

static void begin(int argc, char **argv, const struct origin *origin, const struct step *spawning)
{
    MPI_Init_thread(&argc, &argv, program.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &test.provided);
    test.name = "player";
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    if (program.threads && test.provided < MPI_THREAD_MULTIPLE)
        test_skip("this MPI has no MPI_THREAD_MULTIPLE");
    if (test.size > SPAWNED)
        test_skip("too many processes");
    places_open(origin, spawning);
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_report("player: np %d\n", test.size);
    collectives_open();
}

static void play(int first)
{
    static const struct step last = {.kind = "waitall"};
    for (int i = first; i < program.n_steps;) {
        if (strcmp(program.steps[i].kind, "fork") == 0) {
            i = play_forked(i);
            continue;
        }
        if (strcmp(program.steps[i].kind, "join") != 0)
            play_step(&program.steps[i], 0);
        i++;
    }
    complete_all(&last);
    for (int i = 0; i < HELD; i++) {
        for (int k = 0; held[i].persistent && k < held[i].n; k++)
            MPI_Request_free(&held[i].requests[k]);
        release(&held[i]);
    }
    places_clear(program.n_steps);
}

/* Returns whether the program is to be repeated. The message is for a script that disturbs the
 * job. */
static bool plays_again(const char *until)
{
    if (!until)
        return false;
    int more = access(until, F_OK) != 0;
    if (test.seed++ == 0)
        test_report("player: under way\n");
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

int main(int argc, char **argv)
{
    struct origin origin = {.player = argv[0]};
    const char *until = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--program") == 0)
            origin.program = argv[i + 1];
        else if (strcmp(argv[i], "--board") == 0)
            origin.board = argv[i + 1];
        else if (strcmp(argv[i], "--until") == 0)
            until = argv[i + 1];
        else if (strcmp(argv[i], "--line") == 0)
            origin.line = argv[i + 1];
        else if (strcmp(argv[i], "--parents") == 0)
            origin.parents = argv[i + 1];
    }
    if (!origin.program) {
        fprintf(stderr, "usage: player --program FILE [--board FILE] [--until FILE]\n");
        return 64;
    }
    program_read(&program, origin.program);
    int spawned_by = origin.line ? atoi(origin.line) : 0;
    begin(argc, argv, &origin, spawned_by ? &program.steps[spawned_by - 1] : NULL);
    do
        play(spawned_by);
    while (plays_again(until));
    test_report("ok player np=%d steps=%d\n", test.size, program.n_steps);
    places_close();
    collectives_close();
    program_free(&program);
    MPI_Finalize();
    return 0;
}
