/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation of a known length; see work.h.
 */
#include "work.h"

#include <time.h>

#include "stats.h"

void work_do(unsigned long steps)
{
    unsigned long value = steps;
    for (; steps; steps--) {
        value = value * 6364136223846793005ul + 1442695040888963407ul;
        __asm__ volatile("" : "+r"(value)); /* so that the compiler keeps the loop */
    }
}

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

double work_rate(void)
{
    enum { ROUNDS = 21, STEPS = 100000 };
    double rates[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double start = processor_time();
        work_do(STEPS);
        rates[round] = STEPS / (processor_time() - start);
    }
    return stats_quartiles(rates, ROUNDS).median;
}
