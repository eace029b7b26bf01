/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays a program (program.h) under MPI and checks every result.
 *
 *     player --program FILE [--board FILE] [--until FILE] [--line N --parents NUMBERS]
 *
 * Who calls it: machine/playing.py, and scripts (tests/component/drawn_common.sh), as the program
 * of mpirun, and the step `spawn`. The board (places.h) says how far each process is. A wrong
 * result ends the job by MPI_Abort, with the step and what was expected. --until: it plays the
 * program again, with other data, until there is that file; the program spawns nobody.
 *
 * Requests have numbered places as well. A place holds the requests of one step, which may be many
 * calls, with their buffers.
 *
 * Steps between `fork` and `join` are played by threads: each has the steps of the communicators
 * whose number it is, modulo the threads.
 *
 * The player calls nothing of MPI but what the program says, MPI_Init and MPI_Finalize, and what is
 * local. So a program's first collective is the job's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include "collective.h"
#include "../mpi/common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD = 20 };

/* What a step has started, or made to be started. */
static struct held {
    const struct step *step;
    int n;
    bool persistent, active;
    struct call *calls; /* NULL: no collective */
    MPI_Request *requests;
    MPI_Comm idup;
    unsigned char *sent, *received; /* of point-to-point messages */
    int from;
} held[HELD];

static struct program program;

/* ---- delays ---- */

static volatile unsigned spun;

/* slow=R: rank R of each MPI_COMM_WORLD is late by us microseconds in each call; slow=-2: another
 * rank in each. spin=1: it computes meanwhile. */
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
        test_fail("program", "there is no request %ld", number);
    return &held[number];
}

static void hold(struct held *held_, const struct step *step, int n)
{
    *held_ = (struct held){.step = step, .n = n, .active = true, .idup = MPI_COMM_NULL};
    held_->requests = calloc((size_t)n, sizeof(MPI_Request));
    if (!held_->requests)
        test_fail("requests", "no memory");
    for (int i = 0; i < n; i++)
        held_->requests[i] = MPI_REQUEST_NULL;
}

static void release(struct held *held_)
{
    for (int i = 0; held_->calls && i < held_->n; i++)
        call_close(&held_->calls[i]);
    free(held_->calls);
    free(held_->requests);
    free(held_->sent);
    free(held_->received);
    *held_ = (struct held){0};
}

static unsigned char message_byte(const struct step *step, int from, long i)
{
    return (unsigned char)data_hash(step->id, (uint64_t)from, (uint64_t)i);
}

static void check_message(const struct held *held_)
{
    long n = step_number(held_->step, "n", 8);
    for (long i = 0; i < n; i++) {
        unsigned char right = message_byte(held_->step, held_->from, i);
        TEST_CHECK(held_->received[i] == right, "message", "line %d, byte %ld is %02x, not %02x",
                   held_->step->line, i, held_->received[i], right);
    }
}

/* by=any, by=some: as they come. Else in an order of its own. */
static void wait_for(struct held *held_, const struct step *step)
{
    uint64_t lot = data_hash(step->id, (uint64_t)test.rank, 41);
    int n = 0, some[STEP_ITERATIONS];
    if (step_is(step, "by", "any")) {
        for (int i = 0; i < held_->n; i++)
            MPI_Waitany(held_->n, held_->requests, some, MPI_STATUS_IGNORE);
        return;
    }
    if (step_is(step, "by", "some")) {
        for (int i = 0; i < held_->n && n != MPI_UNDEFINED; i += n)
            MPI_Waitsome(held_->n, held_->requests, &n, some, MPI_STATUSES_IGNORE);
        return;
    }
    if (lot % 3 == 0) {
        MPI_Waitall(held_->n, held_->requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int i = 0; i < held_->n; i++) {
        int at = lot % 3 == 1 ? i : held_->n - 1 - i;
        MPI_Wait(&held_->requests[at], MPI_STATUS_IGNORE);
    }
}

static void complete(struct held *held_, const struct step *step)
{
    if (!held_->active)
        return;
    wait_for(held_, step);
    held_->active = false;
    for (int i = 0; held_->calls && i < held_->n; i++)
        TEST_CHECK((held_->requests[i] != MPI_REQUEST_NULL) == held_->persistent, "request",
                   "line %d, call %d: it is %s once it is complete", held_->step->line, i,
                   held_->persistent ? "gone" : "still there");
    if (strcmp(held_->step->kind, "idup") == 0)
        place_set(place_of(held_->step, "d"), held_->idup);
    if (held_->received)
        check_message(held_);
    for (int i = 0; held_->calls && i < held_->n; i++)
        call_check(&held_->calls[i]);
    if (!held_->persistent)
        release(held_);
}

static void complete_all(const struct step *step)
{
    int order[HELD];
    struct rng rng = {data_hash(step->id, (uint64_t)test.rank, 51)};
    rng_permutation(&rng, order, HELD);
    for (int i = 0; i < HELD; i++)
        complete(&held[order[i]], step);
}

static void test_some(struct held *held_, long times)
{
    int flag = 0;
    for (long i = 0; i < times && held_->active && !flag; i++)
        MPI_Testall(held_->n, held_->requests, &flag, MPI_STATUSES_IGNORE);
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

/* led=1: nobody else starts before one has told that it has. */
static void follow(const struct step *step, const struct place *place, bool started)
{
    int leader = (int)(step->id % (unsigned)place->size), tag = 1000 + (int)(step->id % 1000);
    if (place->rank != leader && !started)
        MPI_Recv(NULL, 0, MPI_BYTE, leader, tag, place->comm, MPI_STATUS_IGNORE);
    for (int rank = 0; place->rank == leader && started && rank < place->size; rank++)
        if (rank != leader)
            MPI_Send(NULL, 0, MPI_BYTE, rank, tag, place->comm);
}

/* MPI 4.0, 3.7.3 and 3.7.6: whatever asks for it gets an empty status. */
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
               "request", "line %d: not active, it gives flag %d, count %d, source %d, tag %d",
               step->line, flag, count, status.MPI_SOURCE, status.MPI_TAG);
}

/* locked=1: the program holds the lock that its operations take, long enough for other threads' to
 * meet it. */
static void start(struct held *held_, int k)
{
    bool locked = step_number(held_->step, "locked", 0);
    if (held_->persistent) {
        call_persistent(&held_->calls[k], &held_->requests[k]);
        check_inactive(held_->step, &held_->requests[k]);
        return;
    }
    if (locked) {
        layouts_lock();
        usleep(program.threads ? 200 : 0);
    }
    call_nonblocking(&held_->calls[k], &held_->requests[k]);
    if (locked)
        layouts_unlock();
}

/* kept=1: a persistent request of nicbarr's outlives its types, operation and communicator. (Alone
 * it is Open MPI's own.) */
static bool frees_types(const struct step *step, const struct place *place)
{
    return step_number(step, "freed", 0) || (step_number(step, "kept", 0) && place->size > 1);
}

static void play_started(const struct step *step, int thread)
{
    const struct place *place = place_of(step, "c");
    bool led = step_number(step, "led", 0);
    struct held *held_ = held_of(step_number(step, "r", 0));
    int times = (int)step_number(step, "times", 1);
    hold(held_, step, times);
    held_->persistent = step_is(step, "how", "p");
    held_->active = !held_->persistent;
    held_->calls = calloc((size_t)times, sizeof(struct call));
    if (!held_->calls)
        test_fail("requests", "no memory");
    for (int k = 0; k < times; k++) {
        call_open(&held_->calls[k], step, k, thread);
        delay(step, k);
        if (led && k == 0)
            follow(step, place, false);
        start(held_, k);
        if (led && k == 0)
            follow(step, place, true);
        if (frees_types(step, place))
            call_free_types(&held_->calls[k]);
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

/* Each process starts the persistent requests in an order of its own, or all at once. */
static void play_start(const struct step *step, int thread)
{
    struct held *held_ = held_of(step_number(step, "r", 0));
    if (!held_->calls)
        return;
    int order[STEP_ITERATIONS];
    struct rng rng = {data_hash(step->id, (uint64_t)test.rank, 61)};
    rng_permutation(&rng, order, held_->n);
    for (int i = 0; i < held_->n; i++)
        call_refill(&held_->calls[i], step);
    board_enter(thread, board_position(step, 0));
    for (int i = 0; i < held_->n; i++)
        held_->calls[i].position = board_position(step, 0);
    for (int i = 0; i < held_->n && !step_number(step, "all", 0); i++) {
        delay(step, i);
        MPI_Start(&held_->requests[order[i]]);
    }
    if (step_number(step, "all", 0))
        MPI_Startall(held_->n, held_->requests);
    held_->active = true;
}

static void play_free_requests(const struct step *step)
{
    struct held *held_ = held_of(step_number(step, "r", 0));
    for (int i = 0; i < held_->n; i++)
        MPI_Request_free(&held_->requests[i]);
    release(held_);
}

/* Everybody sends to the rank that is `by` further. */
static void play_shift(const struct step *step)
{
    const struct place *place = place_of(step, "c");
    if (place->comm == MPI_COMM_NULL)
        return;
    struct held *held_ = held_of(step_number(step, "r", 0));
    long n = step_number(step, "n", 8);
    int by = (int)step_number(step, "by", 1) % place->size, tag = (int)(step->id % 1000);
    int to = (place->rank + by) % place->size,
        from = (place->rank + place->size - by) % place->size;
    hold(held_, step, 2);
    held_->from = place->members[from];
    held_->sent = malloc((size_t)n + 1);
    held_->received = calloc((size_t)n + 1, 1);
    if (!held_->sent || !held_->received)
        test_fail("message", "no memory");
    for (long i = 0; i < n; i++)
        held_->sent[i] = message_byte(step, test.rank, i);
    delay(step, 0);
    MPI_Irecv(held_->received, (int)n, MPI_BYTE, from, tag, place->comm, &held_->requests[0]);
    MPI_Isend(held_->sent, (int)n, MPI_BYTE, to, tag, place->comm, &held_->requests[1]);
}

/* Everybody writes into the memory of the rank that is `by` further. Between two fences a process
 * looks at its own memory, and nobody writes. */
static void play_window(const struct step *step)
{
    const struct place *place = place_of(step, "c");
    if (place->comm == MPI_COMM_NULL)
        return;
    long n = step_number(step, "n", 8), times = step_number(step, "times", 1);
    int by = (int)step_number(step, "by", 1) % place->size;
    int to = (place->rank + by) % place->size,
        from = (place->rank + place->size - by) % place->size;
    unsigned char *memory, *sent = malloc((size_t)n + 1);
    MPI_Win window;
    if (!sent)
        test_fail("window", "no memory");
    MPI_Win_allocate((MPI_Aint)n, 1, MPI_INFO_NULL, place->comm, &memory, &window);
    MPI_Win_fence(0, window);
    for (long k = 0; k < times; k++) {
        for (long i = 0; i < n; i++)
            sent[i] = message_byte(step, test.rank, i + k);
        delay(step, (int)k);
        MPI_Put(sent, (int)n, MPI_BYTE, to, 0, (int)n, MPI_BYTE, window);
        MPI_Win_fence(0, window);
        for (long i = 0; i < n; i++) {
            unsigned char right = message_byte(step, place->members[from], i + k);
            TEST_CHECK(memory[i] == right, "window", "line %d, byte %ld is %02x, not %02x",
                       step->line, i, memory[i], right);
        }
        MPI_Win_fence(0, window);
    }
    MPI_Win_free(&window);
    free(sent);
}

static void play_idup(const struct step *step)
{
    struct held *held_ = held_of(step_number(step, "r", 0));
    hold(held_, step, 1);
    delay(step, 0);
    places_idup(step, &held_->idup, &held_->requests[0]);
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
    else if (strcmp(kind, "window") == 0)
        play_window(step);
    else if (strcmp(kind, "idup") == 0)
        play_idup(step);
    else if (strcmp(kind, "pause") == 0)
        delay(step, 0);
    else if (!places_play(step))
        test_fail("program", "step %u: there is no kind %s", step->id, kind);
}

/* ---- threads ---- */

struct share {
    pthread_t thread;
    int number, threads, from, to;
};

/* The communicator whose thread plays a step. */
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

/* Returns the number of the step after `join`. */
static int play_forked(int fork)
{
    int threads = (int)step_number(&program.steps[fork], "threads", 2), join = fork + 1;
    while (join < program.n_steps && strcmp(program.steps[join].kind, "join") != 0)
        join++;
    struct share shares[BOARD_THREADS];
    for (int t = 0; t < threads; t++) {
        shares[t] = (struct share){.number = t, .threads = threads, .from = fork + 1, .to = join};
        if (pthread_create(&shares[t].thread, NULL, play_share, &shares[t]) != 0)
            test_fail("threads", "cannot be made");
    }
    for (int t = 0; t < threads; t++)
        pthread_join(shares[t].thread, NULL);
    return join + 1;
}

/* ---- the whole ---- */

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

/* Whether it is to be played again. The line is for a script that disturbs the job. */
static bool goes_on(const char *until)
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
    while (goes_on(until));
    test_report("ok player np=%d steps=%d\n", test.size, program.n_steps);
    places_close();
    collectives_close();
    program_free(&program);
    MPI_Finalize();
    return 0;
}
