/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzzy: the fuzzy barrier, whose arrival and completion are separate: MPI_Ibarrier, work,
 * MPI_Wait.
 *
 * Called by nicbarr_experiments. The experiment compares the fuzzy barrier with the same work
 * alone, and with work before a blocking barrier. Work is considered hidden up to the amount at
 * which the operation becomes noticeably longer than without work, where both times are from
 * consecutive chunks. Overlap is measured as in osu_ibarrier, with a computation that is as long as
 * the operation.
 */
#include "experiments.h"

#include <math.h>

#include "fits.h"
#include "loops.h"
#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"work_us", 3}, {"work_alone_us", 3}, {"a_us", 3}, {"a_q1", 3},        {"a_q3", 3},
    {"b_us", 3},    {"b_q1", 3},          {"b_q3", 3}, {"blocking_us", 3}, {NULL, 0},
};

static const double hardly = 1.05; /* the factor up to which work is considered hidden */

/* The loops that alternate; the two sides come first, as in all experiments. */
enum { PURE_A = SIDES, PURE_B, ALONE, BLOCKING, LOOPS };

enum {
    POINTS = 12,
    OVERLAPS = 2 /* time for measuring the overlaps, in units of a point's time */
};

/* Time as a function of the amount of work, divided by the time without work in the neighbouring
 * chunks. The first point is without work. */
struct curves {
    double work[1 + POINTS], longer[SIDES][1 + POINTS];
    double pure[SIDES]; /* time at the first point */
    size_t count;
};

static double share(const struct settings *settings)
{
    return settings->budget / (1 + POINTS + OVERLAPS);
}

static void measure_sides(const struct settings *settings, const struct sides *sides, double work,
                          struct figures *figures)
{
    static const double none = 0;
    const MPI_Comm a = sides->barriers[A].operation.comm, b = sides->barriers[B].operation.comm;
    struct loop loops[LOOPS] = {
        [A] = {.kind = LOOP_IBARRIER, .comm = a, .works = &work, .steps = 1},
        [B] = {.kind = LOOP_IBARRIER, .comm = b, .works = &work, .steps = 1},
        [PURE_A] = {.kind = LOOP_IBARRIER, .comm = a, .works = &none, .steps = 1},
        [PURE_B] = {.kind = LOOP_IBARRIER, .comm = b, .works = &none, .steps = 1},
        [ALONE] = {.kind = LOOP_ALONE, .comm = a, .works = &work, .steps = 1},
        [BLOCKING] = {.kind = LOOP_BARRIER, .comm = a, .works = &work, .steps = 1},
    };
    loops_compare(settings, loops, LOOPS, sides->team, share(settings), figures);
}

static void measure_fuzzy_barrier(const struct settings *settings, const struct sides *sides,
                                  double work, struct curves *curves, const struct table *table)
{
    struct figures figures;
    measure_sides(settings, sides, work, &figures);
    for (int i = A; i < SIDES; i++) {
        curves->longer[i][curves->count] = figures.time[i].median / figures.time[PURE_A + i].median;
    }
    curves->work[curves->count++] = work;
    struct row row = {0};
    row_add(&row, work);
    row_add(&row, figures.time[ALONE].median);
    row_add_quartiles(&row, figures.time[A]);
    row_add_quartiles(&row, figures.time[B]);
    row_add(&row, figures.time[BLOCKING].median);
    table_add(table, &row);
}

/* Measures the curves. The first measurement, without work, determines the range of interesting
 * amounts of work: from a fraction of the shorter operation to a multiple of the longer one. */
static void measure_curves(const struct settings *settings, const struct sides *sides,
                           struct curves *curves, const struct table *table)
{
    struct figures figures;
    measure_sides(settings, sides, 0, &figures);
    for (int i = A; i < SIDES; i++) {
        curves->pure[i] = figures.time[PURE_A + i].median;
        curves->longer[i][0] = 1;
    }
    curves->work[curves->count++] = 0;
    const double least = fmin(curves->pure[A], curves->pure[B]) / 8;
    const double most = fmax(curves->pure[A], curves->pure[B]) * 2;
    for (int i = 0; i < POINTS; i++) {
        double work = least * pow(most / least, (double)i / (POINTS - 1));
        measure_fuzzy_barrier(settings, sides, work, curves, table);
    }
}

/* Measures the overlaps of both sides; the results are on rank 0. */
static void measure_overlaps(const struct settings *settings, const struct curves *curves,
                             struct nicbarr_quartiles overlaps[SIDES])
{
    static const double chunk_length = 200, fewest = 20, most = 1000;
    const double slower = fmax(curves->pure[A], curves->pure[B]);
    const unsigned iterations = (unsigned)fmin(fmax(chunk_length / slower, fewest), most);
    struct mpi_side barriers[SIDES];
    struct contestant contestants[SIDES];
    for (int i = A; i < SIDES; i++) {
        mpi_side_open(&barriers[i], MPI_COMM_WORLD, OPERATION_IBARRIER, settings->preference[i], 0);
        contestants[i] = mpi_side_contestant(&barriers[i], mpi_side_names[i], false);
        contest_prepare(&contestants[i], MPI_COMM_WORLD, iterations, iterations);
    }
    const unsigned chunks =
        contest_rounds(contestants, SIDES, MPI_COMM_WORLD, OVERLAPS * share(settings));
    contest_play(contestants, SIDES, MPI_COMM_WORLD, chunks);
    for (int i = A; i < SIDES; i++) {
        overlaps[i] = contest_overlap(&contestants[i], chunks);
        mpi_side_close(&barriers[i]);
    }
    contest_free(contestants, SIDES);
}

static void report_overlaps(const struct settings *settings, const struct curves *curves)
{
    struct nicbarr_quartiles overlaps[SIDES];
    measure_overlaps(settings, curves, overlaps);
    if (settings->job.rank != 0) {
        return;
    }
    printf("\n# %-6s%14s%20s%18s%8s%8s\n", "", "without work", "work within 5 %", "overlap (%)",
           "q1", "q3");
    for (int i = A; i < SIDES; i++) {
        printf("%-8s%14.3f%20.3f%18.1f%8.1f%8.1f\n", mpi_side_names[i], curves->pure[i],
               fits_work_within(curves->work, curves->longer[i], curves->count, hardly),
               overlaps[i].median, overlaps[i].q1, overlaps[i].q3);
    }
}

bool fuzzy_run(const struct settings *settings)
{
    struct table table;
    struct sides sides;
    struct curves curves = {.count = 0};
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    sides_open(&sides, settings, MPI_COMM_WORLD);
    measure_curves(settings, &sides, &curves, &table);
    sides_close(&sides);
    report_overlaps(settings, &curves);
    return table_close(&table);
}
