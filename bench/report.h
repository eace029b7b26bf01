/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nicbarr_bench found, as text for people and as JSON for programs.
 *
 * Called by nicbarr_bench on rank 0: the figures of each size when its contest is over, and both
 * forms in the end. Both show the same figures: they are computed once, in report_add.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "contest.h"
#include "job.h"
#include "options.h"
#include "stats.h"

/* The contestants in their order: A, B, what is beside them if something is, the raw patterns. */
enum { REPORT_A, REPORT_B, REPORT_BESIDE, REPORT_SIDES };

/* One contestant's; times in microseconds. */
struct report_row {
    const char *name;
    bool probe;   /* no barrier */
    bool checked; /* its results were looked at ... */
    bool right;   /* ... and were what they should be */
    bool overlaps;
    unsigned iterations; /* in a chunk */
    double average, least, most;
    double tails[CONTEST_TAILS];
    struct nicbarr_quartiles figures[FIGURES];
    struct nicbarr_quartiles overlap; /* percent */
};

/* One size's. */
struct report_point {
    size_t bytes;
    struct report_row *rows;
    size_t count;
    struct nicbarr_quartiles b_over_a; /* above 1: A is faster */
    struct nicbarr_quartiles a_over_beside;
    size_t best_raw;                     /* index of the fastest raw barrier; 0: none was played */
    struct nicbarr_quartiles a_over_raw; /* how far A is from the raw limit */
};

struct report {
    const struct options *options;
    const struct job *job;
    struct report_point points[OPTIONS_SIZES];
    size_t count;
};

void report_open(struct report *report, const struct options *options, const struct job *job);
void report_close(struct report *report);

/* right: whether the results of each MPI contestant were; not looked at with --no-validation. */
void report_add(struct report *report, size_t bytes, const struct contestant *contestants,
                size_t count, const bool right[REPORT_SIDES]);

/* Whether no wrong result was seen. */
bool report_right(const struct report *report);

void report_print(const struct report *report);

/* False: the file could not be written whole. */
bool report_write_json(const struct report *report, FILE *file);

#endif
