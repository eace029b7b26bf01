/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * startup: a job with a given number of calls of one collective. bench/startup.sh measures its
 * total duration.
 *
 *     startup barrier|allreduce|bcast|all CALLS [COMMUNICATORS]
 *
 * With `all`, each call consists of one call of every collective that nicbarr serves, with 8 bytes
 * and with 1024. With COMMUNICATORS, the calls are made on each of that many duplicates of
 * MPI_COMM_WORLD.
 *
 * After MPI_Finalize each process prints a line. The line contains the duration in microseconds of
 * MPI_Init, of creating the duplicates, of the first calls on them, of the other calls, and of
 * MPI_Finalize. These are followed by the CPU time of the process and its memory in kilobytes
 * before MPI_Finalize, in which shared pages are divided by the number of processes that share them
 * (Pss of proc(5)). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_COMMUNICATORS = 1000, MOST_PROCESSES = 1024, LARGE = 128 /* numbers */ };
enum collective { BARRIER, ALLREDUCE, BCAST, ALL, COLLECTIVES };

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the microseconds since `start`, and sets `start` to now. */
static double lap(double *start)
{
    const double now = seconds(CLOCK_MONOTONIC), us = 1e6 * (now - *start);
    *start = now;
    return us;
}

static unsigned long memory_in_use(void)
{
    char line[200];
    unsigned long kilobytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    while (NULL != file && NULL != fgets(line, sizeof(line), file) &&
           1 != sscanf(line, "Pss: %lu", &kilobytes)) {
    }
    if (NULL != file) {
        fclose(file);
    }
    return kilobytes;
}

/* Calls each collective once, with `count` numbers per process. */
static void call_all(double *from, double *to, int count, MPI_Comm comm)
{
    MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Reduce(from, to, count, MPI_DOUBLE, MPI_SUM, 0, comm);
    MPI_Bcast(from, count, MPI_DOUBLE, 0, comm);
    MPI_Allgather(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, comm);
    MPI_Gather(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, 0, comm);
    MPI_Scatter(to, count, MPI_DOUBLE, from, count, MPI_DOUBLE, 0, comm);
}

static void run_collective(enum collective collective, MPI_Comm comm)
{
    static double from[LARGE], to[LARGE * MOST_PROCESSES];
    switch (collective) {
    case ALLREDUCE:
        MPI_Allreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case BCAST:
        MPI_Bcast(from, 1, MPI_DOUBLE, 0, comm);
        break;
    case BARRIER:
        MPI_Barrier(comm);
        break;
    case ALL:
        MPI_Barrier(comm);
        call_all(from, to, 1, comm);
        call_all(from, to, LARGE, comm);
        break;
    case COLLECTIVES:
        break;
    }
}

static enum collective collective_of(const char *name)
{
    static const char *const names[COLLECTIVES] = {"barrier", "allreduce", "bcast", "all"};
    int c = 0;
    while (c < COLLECTIVES && 0 != strcmp(names[c], name)) {
        ++c;
    }
    return (enum collective)c;
}

int main(int argc, char **argv)
{
    static MPI_Comm comms[MOST_COMMUNICATORS] = {MPI_COMM_WORLD};
    double us[5] = {0}, at = seconds(CLOCK_MONOTONIC);
    const unsigned long calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const int communicators = argc > 3 ? atoi(argv[3]) : 0;
    const int used = communicators > 0 ? communicators : 1;
    const enum collective collective = argc > 2 ? collective_of(argv[1]) : COLLECTIVES;
    if (COLLECTIVES == collective || communicators < 0 || communicators > MOST_COMMUNICATORS) {
        fprintf(stderr, "usage: startup barrier|allreduce|bcast|all CALLS [COMMUNICATORS]\n");
        return 64;
    }

    MPI_Init(&argc, &argv);
    us[0] = lap(&at);
    for (int c = 0; c < communicators; ++c) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    }
    us[1] = lap(&at);
    for (unsigned long i = 0; i < calls; ++i) {
        for (int c = 0; c < used; ++c) {
            run_collective(collective, comms[c]);
        }
        us[0 == i ? 2 : 3] += lap(&at);
    }
    const unsigned long kilobytes = memory_in_use();
    (void)lap(&at);
    MPI_Finalize();
    us[4] = lap(&at);
    printf("startup %.0f %.0f %.0f %.0f %.0f %.0f %lu\n", us[0], us[1], us[2], us[3], us[4],
           1e6 * seconds(CLOCK_PROCESS_CPUTIME_ID), kilobytes);
    return 0;
}
