/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: several threads of each process in collective calls at once, on different
 * communicators.
 *
 * Thread i of every process belongs together with thread i of all the others. They follow a plan of
 * their own, on communicators of their own, with a ledger for each communicator. The threads of one
 * process share MPI's progress engine and the component's pools. That is what is tested, also while
 * communicators are made from separate parents and freed, and while messages pass.
 *
 * Invariant: no two threads of a process use one communicator for collectives at the same time (MPI
 * forbids it), nor one ledger slot.
 */
#include "common.h"

#include <pthread.h>
#include <stdio.h>

static long n_threads;
static long steps;
static long no_dups;

static const struct test_option options[] = {
    {"--threads", OPTION_LONG, &n_threads, "threads of each process (4, from 5 processes on 2)"},
    {"--steps", OPTION_LONG, &steps, "steps of each thread (400, from 5 processes on 150)"},
    {"--no-dups", OPTION_FLAG, &no_dups, "make no communicators while the threads run"},
};

enum { MAX_THREADS = 16, OUTSTANDING = 4 };

static struct arena arena;

struct team {
    pthread_t thread;
    int number;
    MPI_Comm parent;     /* only for making communicators from, and for messages */
    struct ledger whole; /* on a duplicate of WORLD; for team 0 on WORLD itself */
    struct ledger part;  /* on a half of it, another one for each team */
    unsigned next_slot;  /* the team's own range */
};

static void open_team(struct team *team, int number)
{
    MPI_Comm comm;
    unsigned slots_each = (unsigned)steps + 2;
    team->number = number;
    team->next_slot = (unsigned)number * slots_each;
    MPI_Comm_dup(MPI_COMM_WORLD, &team->parent);
    if (number == 0)
        comm = MPI_COMM_WORLD;
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    ledger_open(&team->whole, &arena, team->next_slot++, comm, "team %d on %s", number,
                number ? "a dup of WORLD" : "WORLD");
    MPI_Comm_split(MPI_COMM_WORLD, (test.rank >> number % 4) & 1, number % 2 ? -test.rank : 0,
                   &comm);
    ledger_open(&team->part, &arena, team->next_slot++, comm, "team %d on a part", number);
}

static void close_team(struct team *team)
{
    if (team->number != 0)
        MPI_Comm_free(&team->whole.comm);
    MPI_Comm_free(&team->part.comm);
    MPI_Comm_free(&team->parent);
    ledger_close(&team->whole);
    ledger_close(&team->part);
}

static void several_at_once(struct ledger *ledger)
{
    MPI_Request requests[OUTSTANDING];
    uint32_t k = 0;
    for (int i = 0; i < OUTSTANDING; i++)
        k = start_ibarrier(ledger, &requests[i]);
    MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    ledger_left(ledger, k, "MPI_Ibarrier + MPI_Waitall");
}

static void make_use_free(struct team *team, bool split)
{
    struct ledger ledger;
    MPI_Comm comm;
    if (split)
        MPI_Comm_split(team->parent, test.rank % 2, 0, &comm);
    else
        MPI_Comm_dup(team->parent, &comm);
    ledger_open(&ledger, &arena, team->next_slot++, comm, "team %d on a short-lived %s",
                team->number, split ? "half" : "dup");
    checked_barrier(&ledger);
    checked_ibarrier(&ledger);
    MPI_Comm_free(&comm);
    ledger_close(&ledger);
}

/* A message once around, on the team's own communicator. */
static void ring(const struct team *team, int step)
{
    int to = (test.rank + 1) % test.size, from = (test.rank + test.size - 1) % test.size;
    int mine = step * 100 + test.rank, got = -1, expected = step * 100 + from;
    MPI_Sendrecv(&mine, 1, MPI_INT, to, team->number, &got, 1, MPI_INT, from, team->number,
                 team->parent, MPI_STATUS_IGNORE);
    TEST_CHECK(got == expected, team->whole.name, "message around the ring: expected %d, found %d",
               expected, got);
}

static void *team_main(void *argument)
{
    struct team *team = argument;
    struct rng plan = rng_make(STREAM_PLAN + (uint64_t)team->number);
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)(team->number + MAX_THREADS * test.rank));
    for (int step = 0; step < steps; step++) {
        unsigned kind = rng_below(&plan, 20);
        delay_random(&mine);
        if (kind < 8)
            checked_barrier(&team->whole);
        else if (kind < 12)
            checked_barrier(&team->part);
        else if (kind < 14)
            several_at_once(&team->whole);
        else if (kind < 16)
            several_at_once(&team->part);
        else if (kind < 18 || no_dups)
            ring(team, step);
        else
            make_use_free(team, kind == 18);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "threads", options, TEST_COUNT(options), MPI_THREAD_MULTIPLE);
    if (test.provided < MPI_THREAD_MULTIPLE)
        test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
    if (n_threads <= 0)
        n_threads = test.size <= 4 ? 4 : 2;
    if (n_threads > MAX_THREADS)
        n_threads = MAX_THREADS;
    if (steps <= 0)
        steps = test.size <= 4 ? 400 : 150;

    static struct team teams[MAX_THREADS];
    arena_open(&arena, MPI_COMM_WORLD, (unsigned)(n_threads * (steps + 2)));
    for (int i = 0; i < n_threads; i++)
        open_team(&teams[i], i);
    test_phase("threads at work");
    for (int i = 0; i < n_threads; i++)
        if (pthread_create(&teams[i].thread, NULL, team_main, &teams[i]) != 0)
            test_fail("threads", "cannot make a thread");
    for (int i = 0; i < n_threads; i++)
        pthread_join(teams[i].thread, NULL);
    test_phase("end");
    for (int i = 0; i < n_threads; i++)
        close_team(&teams[i]);
    arena_close(&arena);

    char note[40];
    snprintf(note, sizeof(note), "threads=%ld", n_threads);
    return test_end(note);
}
