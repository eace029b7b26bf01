/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole job of some calls of one collective, for bench/startup.sh:
 *
 *     startup barrier|allreduce|bcast CALLS [COMMUNICATORS]
 *
 * With COMMUNICATORS, the calls are made on each of so many duplicates of MPI_COMM_WORLD. Each
 * process prints one line when MPI is finalized: microseconds in MPI_Init, for the duplicates, in
 * the first call of each, in the other calls and in MPI_Finalize, its processor time until then,
 * and the kilobytes of memory that it had in use before MPI_Finalize, shared pages by their share
 * (Pss of proc(5)).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_COMMUNICATORS = 1000 };

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Microseconds since `start`, which becomes now. */
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

static void call(char collective, MPI_Comm comm)
{
    double one = 1, sum;
    switch (collective) {
    case 'a':
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case 'b': /* MPI_Bcast */
        MPI_Bcast(&one, 1, MPI_DOUBLE, 0, comm);
        break;
    default:
        MPI_Barrier(comm);
    }
}

int main(int argc, char **argv)
{
    static MPI_Comm comms[MOST_COMMUNICATORS] = {MPI_COMM_WORLD};
    double us[5] = {0}, at = seconds(CLOCK_MONOTONIC);
    const unsigned long calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const int communicators = argc > 3 ? atoi(argv[3]) : 0;
    const int used = communicators > 0 ? communicators : 1;
    if (argc < 3 || communicators < 0 || communicators > MOST_COMMUNICATORS) {
        fprintf(stderr, "usage: startup barrier|allreduce|bcast CALLS [COMMUNICATORS]\n");
        return 64;
    }
    const char collective = 0 == strcmp(argv[1], "bcast")       ? 'b'
                            : 0 == strcmp(argv[1], "allreduce") ? 'a'
                                                                : '.';

    MPI_Init(&argc, &argv);
    us[0] = lap(&at);
    for (int c = 0; c < communicators; ++c) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    }
    us[1] = lap(&at);
    for (unsigned long i = 0; i < calls; ++i) {
        for (int c = 0; c < used; ++c) {
            call(collective, comms[c]);
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
