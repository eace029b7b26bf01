/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of nicbarr_bench, as text for reading and as JSON for programs.
 *
 * Called by nicbarr_bench on rank 0. report_add() is called for each size when its contest has
 * ended, and the other functions are called at the end. Both forms show the same values, which
 * report_add() computes once. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "contest.h"
#include "job.h"
#include "options.h"
#include "stats.h"

/* The order of contestants: A, B, the operation of --beside if there is one, the raw patterns. */
enum { REPORT_A, REPORT_B, REPORT_BESIDE, REPORT_SIDES };

/* The measurements of one contestant; times in microseconds. */
struct report_row {
    const char *name;
    bool probe;   /* not a barrier */
    bool checked; /* its results were checked */
    bool right;   /* its results were correct */
    bool overlaps;
    unsigned iterations; /* per chunk */
    double average, least, most;
    double tails[CONTEST_TAILS];
    struct nicbarr_quartiles figures[FIGURES];
    struct nicbarr_quartiles overlap; /* percent */
};

/* The measurements of one size. */
struct report_point {
    size_t bytes;
    struct report_row *rows;
    size_t count;
    struct nicbarr_quartiles b_over_a; /* greater than 1: A is faster */
    struct nicbarr_quartiles a_over_beside;
    size_t best_raw;                     /* index of the fastest raw barrier; 0: none */
    struct nicbarr_quartiles a_over_raw; /* ratio of A's time to the raw limit */
};

struct report {
    const struct options *options;
    const struct job *job;
    struct report_point points[OPTIONS_SIZES];
    size_t count;
};

void report_open(struct report *report, const struct options *options, const struct job *job);
void report_close(struct report *report);

/* Adds the results of one size. `right` contains whether the results of each MPI contestant were
 * correct. It is ignored with --no-validation. */
void report_add(struct report *report, size_t bytes, const struct contestant *contestants,
                size_t count, const bool right[REPORT_SIDES]);

/* Returns false if a wrong result was found. */
bool report_right(const struct report *report);

void report_print(const struct report *report);

/* Returns false if the file could not be written completely. */
bool report_write_json(const struct report *report, FILE *file);

#endif
