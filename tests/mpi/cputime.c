/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that processes that wait in a barrier for a late one do not take CPU time from those that
 * compute, when the machine is oversubscribed.
 *
 * One process sleeps (or computes, --compute) for a second while the others wait. Each of them
 * reports its user and system time (getrusage) as a fraction of the time that it waited.
 *
 * By default the program only reports. --max-fraction F makes it a check: the fraction of every
 * waiting process is at most F. CPU time is that of the process itself, so that load on the machine
 * does not increase it.
 *
 * Load decreases the CPU time, however, even that of a process that never sleeps. Therefore
 * --never-sleeps checks separately that no waiting process slept. A process that does not sleep
 * either runs or is queued for a core (schedstat), and both times are known, so that load does not
 * affect the check.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double seconds = 1;
static double max_fraction = -1;
static long compute;
static long never_sleeps;
static long nonblocking;
static long warm_up = 2000;
static long rounds = 2;
static long late;

static const struct test_option options[] = {
    {"--seconds", OPTION_DOUBLE, &seconds, "how long the late process waits before it enters (1)"},
    {"--max-fraction", OPTION_DOUBLE, &max_fraction,
     "fail if a waiting process's CPU time is a larger part of its waiting time"},
    {"--never-sleeps", OPTION_FLAG, &never_sleeps, "fail if a waiting process has slept"},
    {"--compute", OPTION_FLAG, &compute, "the late process computes instead of sleeping"},
    {"--ibarrier", OPTION_FLAG, &nonblocking, "wait in MPI_Ibarrier + MPI_Wait"},
    {"--warm-up", OPTION_LONG, &warm_up, "barriers before the measured ones (2000)"},
    {"--rounds", OPTION_LONG, &rounds, "measured barriers (2)"},
    {"--late", OPTION_LONG, &late, "rank that is late (0)"},
};

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Returns how long this thread was queued for a core (proc(5), schedstat), or a negative number
 * if the kernel does not report it. */
static double queued_seconds(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    unsigned long long ran, queued = 0;
    const int known = file && fscanf(file, "%llu %llu", &ran, &queued) == 2;
    if (file)
        fclose(file);
    return known ? 1e-9 * (double)queued : -1;
}

static void delay(void)
{
    double start = test_seconds();
    struct timespec pause = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    if (compute)
        while (test_seconds() - start < seconds)
            ;
    else
        nanosleep(&pause, NULL);
}

static void barrier(struct ledger *ledger)
{
    if (nonblocking)
        checked_ibarrier(ledger);
    else
        checked_barrier(ledger);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "cputime", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (test.size < 2)
        test_skip("needs two processes");
    struct arena arena;
    struct ledger world;
    arena_open(&arena, MPI_COMM_WORLD, 1);
    ledger_open(&world, &arena, 0, MPI_COMM_WORLD, "MPI_COMM_WORLD");

    if (never_sleeps && queued_seconds() < 0)
        test_skip("the kernel does not say how long a thread is queued (schedstat)");

    test_phase("warm-up");
    for (long i = 0; i < warm_up; i++)
        barrier(&world);
    test_phase("waiting for the late process");
    double cpu = 0, wall = 0, queued = 0;
    for (long i = 0; i < rounds; i++) {
        if (test.rank == late)
            delay();
        double queue_start = queued_seconds(), cpu_start = cpu_seconds(), start = test_seconds();
        barrier(&world);
        wall += test_seconds() - start;
        cpu += cpu_seconds() - cpu_start;
        queued += queued_seconds() - queue_start;
        barrier(&world);
    }

    double mine[2] = {cpu, wall}, *all = malloc(sizeof(mine) * (size_t)test.size);
    MPI_Gather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    test_report("# rank  CPU s  waited s  fraction\n");
    for (int rank = 0; test.rank == 0 && rank < test.size; rank++)
        if (rank != late)
            test_report("%6d %6.3f %9.3f %9.3f\n", rank, all[2 * rank], all[2 * rank + 1],
                        all[2 * rank] / all[2 * rank + 1]);
    free(all);
    if (test.rank != late && max_fraction >= 0)
        TEST_CHECK(cpu <= max_fraction * wall, "MPI_COMM_WORLD",
                   "waited %.3f s and used %.3f s of CPU time, expected at most %.3f", wall, cpu,
                   max_fraction * wall);
    /* Some of the CPU time may be the kernel's, for page faults and interrupts. */
    if (test.rank != late && never_sleeps)
        TEST_CHECK(
            cpu >= 0.9 * (wall - queued), "MPI_COMM_WORLD",
            "waited %.3f s, of that %.3f s for a processor, but used only %.3f s of CPU time", wall,
            queued, cpu);
    ledger_close(&world);
    arena_close(&arena);
    return test_end("");
}
