/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that mpirun ends the job and leaves nothing of it behind if a process dies. This program is
 * the job, which run_killed.sh observes from outside.
 *
 * All processes call barriers on several communicators, or reductions and broadcasts, or put into
 * each other's windows, for ever. A timer ends one of them (by SIGKILL to itself, or MPI_Abort) at
 * any point: in a barrier, between two, while it creates or frees a communicator, or while it sets
 * up shared memory. The conditions afterwards (mpirun exits with a non-zero status, nothing is left
 * of the job) cannot be checked from inside.
 *
 * --pretend makes the script's own checks fail: "nobody-dies" (the job ends successfully),
 * "leftover" (a file whose name contains nicbarr remains in /dev/shm), "orphan" (a process
 * remains).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setitimer */
#endif
#include "common.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { LARGE = 8000 /* size of a broadcast that is sent in chunks */ };

static const char *mode = "barrier";
static const char *pretend = "";
static const char *tag = "";
static long victim = -1;
static long after_us = -1;

static const struct test_option options[] = {
    {"--mode", OPTION_TEXT, &mode,
     "barrier, ibarrier, dup, data, windows (each with SIGKILL) or abort"},
    {"--victim", OPTION_LONG, &victim, "the rank that dies (default: by the seed)"},
    {"--after-us", OPTION_LONG, &after_us,
     "when it dies (default: within 5 or 300 ms, by the seed)"},
    {"--pretend", OPTION_TEXT, &pretend, "nobody-dies, leftover or orphan: makes the script fail"},
    {"--tag", OPTION_TEXT, &tag, "ignored; the script recognises the processes by it"},
};

static volatile sig_atomic_t abort_now;

static void die(int signal_number)
{
    (void)signal_number;
    if (strcmp(mode, "abort") == 0)
        abort_now = 1; /* MPI_Abort must not be called in a handler */
    else
        kill(getpid(), SIGKILL);
}

/* Start the timer that ends the victim, which therefore has no watchdog any more. */
static void arm(struct rng *plan)
{
    long rank = victim >= 0 ? victim : (long)rng_below(plan, (unsigned)test.size);
    /* Half of the timers expire while communicators are created and used for the first time. */
    unsigned range = rng_below(plan, 2) ? 5000 : 300000;
    long when = after_us >= 0 ? after_us : (long)rng_below(plan, range);
    if (test.rank != rank || strcmp(pretend, "nobody-dies") == 0)
        return;
    struct itimerval timer = {{0, 0}, {when / 1000000, when % 1000000 + 1}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void misbehave(void)
{
    if (test.rank != 0)
        return;
    if (strcmp(pretend, "leftover") == 0)
        close(open("/dev/shm/nicbarr-pretended-leftover", O_CREAT | O_RDWR, 0600));
    if (strcmp(pretend, "orphan") == 0 && fork() == 0) {
        /* Leave the session for a while, out of reach of mpirun, which ends its children and
         * their process groups. */
        setsid();
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
        signal(SIGALRM, SIG_DFL);
        alarm(60);
        for (;;)
            pause();
    }
}

static void make_use_free(struct ledger *on_dup, struct ledger *on_half)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &on_dup->comm);
    MPI_Comm_split(on_dup->comm, test.rank < test.size / 2, 0, &on_half->comm);
    checked_barrier(on_half);
    checked_barrier(on_dup);
    MPI_Comm_free(&on_half->comm);
    MPI_Comm_free(&on_dup->comm);
}

/* Called instead of a barrier. One broadcast in four is large. */
static void carry_data(const struct ledger *ledger, long number)
{
    static long data[LARGE];
    int rank, size;
    double one = 1, sum = 0;
    MPI_Request request;
    MPI_Comm_rank(ledger->comm, &rank);
    MPI_Comm_size(ledger->comm, &size);
    const int count = number % 4 == 0 ? LARGE : 1;
    for (int i = 0; i < count; i++)
        data[i] = rank == number % size ? number + i : -1;
    MPI_Bcast(data, count, MPI_LONG, (int)(number % size), ledger->comm);
    for (int i = 0; i < count; i++)
        TEST_CHECK(data[i] == number + i, ledger->name, "expected %ld at %d, found %ld", number + i,
                   i, data[i]);
    if (number % 3 == 0) {
        MPI_Iallreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, ledger->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, ledger->comm);
    }
    TEST_CHECK(sum == size, ledger->name, "expected %d, found %g", size, sum);
}

/* Called instead of a barrier. Each process has a part of every window, and there is a shared
 * counter. */
static void use_windows(long number)
{
    static MPI_Win window;
    static long *memory, given[LARGE];
    const int other = (int)(number % test.size);
    const long one = 1;
    if (number == 0) {
        memory = calloc((size_t)test.size * LARGE + 1, sizeof(long));
        MPI_Win_create(memory, ((MPI_Aint)test.size * LARGE + 1) * (MPI_Aint)sizeof(long),
                       sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    }
    MPI_Win_lock(number % 3 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, other, 0, window);
    MPI_Put(given, LARGE, MPI_LONG, other, 1 + (MPI_Aint)test.rank * LARGE, LARGE, MPI_LONG,
            window);
    MPI_Accumulate(&one, 1, MPI_LONG, other, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_unlock(other, window);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "killed", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    struct rng plan = rng_make(STREAM_PLAN);
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    struct arena arena;
    struct ledger usual[USUAL_COMMUNICATORS], on_dup, on_half;
    arena_open(&arena, MPI_COMM_WORLD, USUAL_COMMUNICATORS + 2);
    misbehave();
    arm(&plan);
    usual_open(&arena, usual);
    /* Ledgers with the members of the short-lived communicators, used for one after the other. */
    ledger_open(&on_dup, &arena, USUAL_COMMUNICATORS, usual[2].comm, "short-lived dup");
    ledger_open(&on_half, &arena, USUAL_COMMUNICATORS + 1, usual[4].comm, "short-lived half");

    bool nobody_dies = strcmp(pretend, "nobody-dies") == 0;
    bool often_make = strcmp(mode, "dup") == 0, nonblocking = strcmp(mode, "ibarrier") == 0;
    bool data = strcmp(mode, "data") == 0, windows = strcmp(mode, "windows") == 0;
    test_phase("waiting for a process to die");
    for (long i = 0; !nobody_dies || i < 1000; i++) {
        if (abort_now)
            MPI_Abort(MPI_COMM_WORLD, 7);
        struct ledger *ledger = &usual[rng_below(&plan, USUAL_COMMUNICATORS)];
        delay_random(&mine);
        if (windows)
            use_windows(i);
        else if (rng_below(&plan, 50) < (often_make ? 48 : 1))
            make_use_free(&on_dup, &on_half);
        else if (data)
            carry_data(ledger, i);
        else if (nonblocking || rng_below(&plan, 8) == 0)
            checked_ibarrier(ledger);
        else
            checked_barrier(ledger);
    }
    return test_end("(nobody died)");
}
