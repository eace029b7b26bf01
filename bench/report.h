/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nicbarr_bench found, as text for people and as JSON for programs.
 *
 * Called by nicbarr_bench on rank 0 when the contest is over. Both forms show the same figures:
 * they are computed once, in report_make.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "contest.h"
#include "job.h"
#include "options.h"
#include "stats.h"

struct report {
    const struct options *options;
    const struct job *job;
    const struct contestant *contestants; /* A, B, then the raw patterns */
    size_t count;
    struct nicbarr_quartiles *latencies;  /* of each contestant, microseconds */
    struct nicbarr_quartiles overlaps[2]; /* of A and B, percent (ibarrier) */
    struct nicbarr_quartiles b_over_a;    /* above 1: A is faster */
    size_t best_raw;                      /* index of the fastest raw barrier; 0: none was played */
    struct nicbarr_quartiles a_over_raw;  /* how far A is from the raw limit */
};

void report_make(struct report *report, const struct options *options, const struct job *job,
                 const struct contestant *contestants, size_t count);
void report_free(struct report *report);

void report_print(const struct report *report);

/* False: the file could not be written whole. */
bool report_write_json(const struct report *report, FILE *file);

#endif
