/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, this library makes the program believe that ranks 0 and 1 are bound to
 * the same processor, and the other ranks to 63 further ones. Thus ranks 0 and 1 are oversubscribed
 * and the others are not, on a machine with any number of processors. tuning.sh runs jobs with it.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const int first = NULL != rank && atoi(rank) > 1 ? 1 : 0;
    (void)process;
    memset(set, 0, bytes);
    for (int p = first; p < (0 == first ? 1 : 64); ++p) {
        CPU_SET(p, set);
    }
    return 0;
}
