/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a program that survives failures (mpirun --with-ft ulfm, since Open MPI 5.0) gets an
 * error from each collective that a dead process leaves incomplete. Processes call random
 * collectives on a communicator. At a random call one of them kills itself, immediately or a moment
 * later at any point, or it revokes the communicator. All others must get an error of that class,
 * and continue with a communicator of the survivors, until two are left.
 *
 * A collective that succeeds must have the correct result, and no process may leave a barrier
 * before all have entered it, whatever happens to others meanwhile.
 *
 * With --unaided a process stops the launcher before it kills itself, so that the first of the
 * others gets its error without the launcher. With --times each survivor prints for each failure
 * the time until it got the error.
 */
#include "common.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#if OMPI_MAJOR_VERSION > 4
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI
enum { MOST_WORDS = 8192, OUTSTANDING = 3, GENERATIONS = 64, LATEST_US = 3000 };

static long calls = 300;
static bool times, unaided;

static const struct test_option options[] = {
    {"--calls", OPTION_LONG, &calls, "the call at which a process fails is below this (300)"},
    {"--unaided", OPTION_FLAG, &unaided, "failures are not detected by the launcher"},
    {"--times", OPTION_FLAG, &times, "print how long errors took"},
};

/* A communicator and its members. */
static struct generation {
    MPI_Comm comm;
    int rank, size;
    struct ledger ledger;
} now;

/* The end of a communicator: the rank that fails, at which call, and how. */
struct ending {
    int rank;
    long at;
    bool revoked, later; /* the communicator is only revoked; a moment after the call has begun */
};

/* One call, the same on all members. */
enum kind {
    BARRIER,
    ALLREDUCE,
    REDUCE,
    BCAST,
    ALLGATHER,
    GATHER,
    SCATTER,
    IBARRIER,
    IALLREDUCE,
    IBCAST,
    IALLGATHER,
    KINDS
};
struct call {
    enum kind kind;
    int root, words;
    bool in_place;
    uint64_t salt;
};

/* An outstanding non-blocking call. */
struct flight {
    MPI_Request request;
    struct call call;
    uint32_t entered;
    uint64_t *from, *to;
};

/* The time at which it ended (microseconds, modulo 2^32), visible to all processes. */
static _Atomic uint32_t *ended_us;

static uint32_t now_us(void)
{
    return (uint32_t)(uint64_t)(test_seconds() * 1e6);
}

static void die(int signal)
{
    (void)signal;
    if (unaided)
        kill(getppid(), SIGSTOP);
    *ended_us = now_us();
    kill(getpid(), SIGKILL);
}

/* Returns a word that a rank contributes. */
static uint64_t word(const struct call *call, int rank, int i)
{
    return call->salt * 2654435761u + (uint64_t)rank * 40503u + (uint64_t)i;
}

static uint64_t sum(const struct call *call, int i)
{
    uint64_t all = 0;
    for (int r = 0; r < now.size; r++)
        all += word(call, r, i);
    return all;
}

/* ---- one collective ---- */

static void fill(const struct call *call, uint64_t *from, uint64_t *to)
{
    const int blocks = call->kind == SCATTER ? now.size : 1;
    memset(to, 0xff, (size_t)call->words * (size_t)now.size * sizeof(*to));
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < call->words; i++)
            from[b * call->words + i] = word(call, blocks > 1 ? b : now.rank, i);
    if (call->in_place || call->kind == BCAST || call->kind == IBCAST)
        memcpy(to, from, (size_t)call->words * sizeof(*to));
}

static int begin(const struct call *call, uint64_t *from, uint64_t *to, MPI_Request *request)
{
    const int n = call->words, root = call->root;
    const void *own = call->in_place ? MPI_IN_PLACE : from;
    switch (call->kind) {
    case BARRIER:
        return MPI_Barrier(now.comm);
    case ALLREDUCE:
        return MPI_Allreduce(own, to, n, MPI_UINT64_T, MPI_SUM, now.comm);
    case REDUCE:
        return MPI_Reduce(from, to, n, MPI_UINT64_T, MPI_SUM, root, now.comm);
    case BCAST:
        return MPI_Bcast(to, n, MPI_UINT64_T, root, now.comm);
    case ALLGATHER:
        return MPI_Allgather(from, n, MPI_UINT64_T, to, n, MPI_UINT64_T, now.comm);
    case GATHER:
        return MPI_Gather(from, n, MPI_UINT64_T, to, n, MPI_UINT64_T, root, now.comm);
    case SCATTER:
        return MPI_Scatter(from, n, MPI_UINT64_T, to, n, MPI_UINT64_T, root, now.comm);
    case IBARRIER:
        return MPI_Ibarrier(now.comm, request);
    case IALLREDUCE:
        return MPI_Iallreduce(own, to, n, MPI_UINT64_T, MPI_SUM, now.comm, request);
    case IBCAST:
        return MPI_Ibcast(to, n, MPI_UINT64_T, root, now.comm, request);
    case IALLGATHER:
        return MPI_Iallgather(from, n, MPI_UINT64_T, to, n, MPI_UINT64_T, now.comm, request);
    case KINDS:
        break;
    }
    return MPI_ERR_OTHER;
}

/* Returns the expected result at index `i`. */
static uint64_t expected(const struct call *call, int i)
{
    switch (call->kind) {
    case ALLREDUCE:
    case IALLREDUCE:
    case REDUCE:
        return sum(call, i);
    case BCAST:
    case IBCAST:
        return word(call, call->root, i);
    case SCATTER:
        return word(call, now.rank, i);
    default:
        return word(call, i / call->words, i % call->words);
    }
}

/* Check a successful call. */
static void check(const struct call *call, const uint64_t *to, uint32_t entered)
{
    const bool rooted = call->kind == REDUCE || call->kind == GATHER;
    const bool all = call->kind == ALLGATHER || call->kind == GATHER || call->kind == IALLGATHER;
    if (call->kind == BARRIER || call->kind == IBARRIER) {
        ledger_left(&now.ledger, entered, "barrier");
        return;
    }
    for (int i = 0; i < call->words * (all ? now.size : 1) && (!rooted || call->root == now.rank);
         i++)
        TEST_CHECK(to[i] == expected(call, i), now.ledger.name,
                   "collective %d (%d words, root %d): word %d is wrong", call->kind, call->words,
                   call->root, i);
}

/* ---- a communicator's life ---- */

static struct call draw_call(struct rng *plan)
{
    static const int most[] = {1, 16, 512, MOST_WORDS};
    struct call call = {.kind = rng_below(plan, KINDS),
                        .root = (int)rng_below(plan, (unsigned)now.size)};
    call.words = 1 + (int)rng_below(plan, (unsigned)most[rng_below(plan, TEST_COUNT(most))]);
    call.in_place = (call.kind == ALLREDUCE || call.kind == IALLREDUCE) && rng_below(plan, 2);
    call.salt = rng_next(plan);
    return call;
}

static struct ending draw_ending(struct rng *plan)
{
    return (struct ending){(int)rng_below(plan, (unsigned)now.size),
                           rng_below(plan, (unsigned)calls), rng_below(plan, 4) == 0,
                           rng_below(plan, 2)};
}

/* End the communicator now, in this process. */
static void end_it(const struct ending *ending, struct rng *mine)
{
    if (ending->revoked) {
        *ended_us = now_us();
        MPIX_Comm_revoke(now.comm);
    } else if (ending->later) {
        const struct itimerval timer = {.it_value.tv_usec = 1 + rng_below(mine, LATEST_US)};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &timer, NULL);
    } else {
        die(SIGALRM);
    }
}

static int finish(struct flight *flight, bool wait)
{
    if (flight->request == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    int over = 0;
    const int rc = wait ? MPI_Wait(&flight->request, MPI_STATUS_IGNORE)
                        : MPI_Test(&flight->request, &over, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && (wait || over))
        check(&flight->call, flight->to, flight->entered);
    return rc;
}

static struct flight flights[OUTSTANDING + 1]; /* the last one is for blocking calls */

/* Execute random calls until one of them fails; returns its error. */
static int play(const struct ending *ending, struct rng *plan, struct rng *mine, bool *non_blocking)
{
    int rc = MPI_SUCCESS;
    for (long i = 0; rc == MPI_SUCCESS; i++) {
        const struct call call = draw_call(plan);
        *non_blocking = call.kind >= IBARRIER;
        struct flight *flight = &flights[call.kind >= IBARRIER ? i % OUTSTANDING : OUTSTANDING];
        if (i == ending->at && ending->rank == now.rank)
            end_it(ending, mine);
        delay_random(mine);
        rc = finish(flight, true);
        if (rc != MPI_SUCCESS)
            break;
        flight->call = call;
        fill(&call, flight->from, flight->to);
        if (call.kind == BARRIER || call.kind == IBARRIER)
            flight->entered = ledger_enter(&now.ledger);
        rc = begin(&call, flight->from, flight->to, &flight->request);
        if (rc == MPI_SUCCESS && call.kind < IBARRIER)
            check(&call, flight->to, flight->entered);
        for (int f = 0; rc == MPI_SUCCESS && f < OUTSTANDING; f++)
            rc = finish(&flights[f], false);
    }
    return rc;
}

/* Returns whether MPI knows which process has failed. (5.0.7 may let collectives fail before
 * that.) */
static bool is_failure_known(void)
{
    MPI_Group failed;
    int count, flag;
    MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPIX_Comm_get_failed(now.comm, &failed);
    MPI_Group_size(failed, &count);
    MPI_Group_free(&failed);
    return count > 0;
}

/* Check that all outstanding requests end as well, with success or with an error of the same
 * kind. (Open MPI's own non-blocking collectives sometimes return MPI_ERR_OTHER.) */
static void check_errors(int rc, bool non_blocking, const struct ending *ending)
{
    int class;
    for (int f = -1; f < OUTSTANDING; f++) {
        if (f >= 0) {
            rc = finish(&flights[f], true);
            non_blocking = true;
        }
        if (rc != MPI_SUCCESS) {
            MPI_Error_class(rc, &class);
            TEST_CHECK(class == MPIX_ERR_REVOKED ||
                           (class == MPIX_ERR_PROC_FAILED && !ending->revoked) ||
                           (class == MPI_ERR_OTHER && non_blocking),
                       now.ledger.name, "the error is of class %d", class);
            while (class == MPIX_ERR_PROC_FAILED && !is_failure_known())
                ;
        }
    }
    TEST_CHECK(MPI_Barrier(now.comm) != MPI_SUCCESS, now.ledger.name, "another barrier succeeds");
}

static void use_comm(struct arena *arena, MPI_Comm comm, unsigned number)
{
    now.comm = comm;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &now.rank);
    MPI_Comm_size(comm, &now.size);
    ledger_open(&now.ledger, arena, number, comm, "generation %u", number);
}

/* Continue with the survivors. */
static void shrink(struct arena *arena, const struct ending *ending, bool revoke, unsigned number)
{
    MPI_Comm comm = now.comm, left;
    const int size = now.size;
    int flag = 1;
    if (revoke)
        MPIX_Comm_revoke(comm);
    TEST_CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS, now.ledger.name, "shrink fails");
    ledger_close(&now.ledger);
    use_comm(arena, left, number);
    TEST_CHECK(now.size == size - !ending->revoked, now.ledger.name, "it has %d members", now.size);
    TEST_CHECK(MPIX_Comm_agree(left, &flag) == MPI_SUCCESS && flag == 1, now.ledger.name,
               "agree fails");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "survivors", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    MPI_Comm comm;
    struct arena arena;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    arena_open(&arena, MPI_COMM_WORLD, 2 * GENERATIONS + 1);
    struct rng plan = rng_make(STREAM_PLAN);
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    for (int f = 0; f <= OUTSTANDING; f++) {
        flights[f] = (struct flight){.request = MPI_REQUEST_NULL};
        flights[f].from = calloc((size_t)MOST_WORDS * (size_t)test.size, sizeof(uint64_t));
        flights[f].to = calloc((size_t)MOST_WORDS * (size_t)test.size, sizeof(uint64_t));
    }
    use_comm(&arena, comm, 0);
    unsigned number = 0;
    while (now.size > 2 && number + 1 < GENERATIONS) {
        const struct ending ending = draw_ending(&plan);
        const bool revoke = rng_below(&plan, 2);
        bool non_blocking = false;
        struct rng rest = plan;
        plan.state = rng_next(&plan);
        test_phase(now.ledger.name);
        ended_us = &arena.cells[(GENERATIONS + number) * arena.stride];
        const int rc = play(&ending, &rest, &mine, &non_blocking);
        if (unaided)
            kill(getppid(), SIGCONT);
        if (times)
            printf("%s %.2f ms\n", ending.revoked ? "revoked" : "failed",
                   (now_us() - *ended_us) * 1e-3);
        check_errors(rc, non_blocking, &ending);
        shrink(&arena, &ending, revoke, ++number);
    }
    MPI_Comm_free(&now.comm);
    printf("survived %u generations\n", number);
    fflush(stdout);
    /* If a process ends here, a process that is still in the last shrink must treat it as
     * failed. */
    _Atomic uint32_t *through = &arena.cells[2 * GENERATIONS * arena.stride];
    atomic_fetch_add(through, 1);
    while (*through < (uint32_t)now.size)
        sched_yield();
    _exit(0); /* MPI_Finalize of 5.0.7 sometimes hangs when processes have failed */
}
#else
int main(void)
{
    fprintf(stderr, "this Open MPI has no fault tolerance\n");
    return TEST_SKIPPED;
}
#endif
