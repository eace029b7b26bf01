/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * granularity: a loop of work and a barrier (Buntinas, section 4.3, figures 6 and 7).
 *
 * Called by nicbarr_experiments. It measures the time of the loop as a function of the amount of
 * work. From this curve it determines how much work a program needs to reach a given efficiency,
 * which is work / (work + barrier). If processes share cores, it is the time in which all processes
 * complete their work without barriers, divided by the time of the loop.
 */
#include "experiments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alloc.h"
#include "fits.h"
#include "loops.h"
#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"work_us", 2}, {"a_us", 3}, {"a_q1", 3}, {"a_q3", 3},
    {"b_us", 3},    {"b_q1", 3}, {"b_q3", 3}, {NULL, 0},
};
static const struct column efficiency_columns[] = {
    {"efficiency", 2},
    {"a_work_us", 2},
    {"b_work_us", 2},
    {NULL, 0},
};

static const double least_work = 1.5, most_work = 129.75; /* the paper's range */
static const double efficiencies[] = {0.25, 0.50, 0.75, 0.90};

enum {
    POINTS = 15,    /* number of points within the paper's range */
    EXTENSIONS = 5, /* number of points beyond it, each with twice the work, for the efficiencies */
    MOST_POINTS = 1 + POINTS + EXTENSIONS,
    EFFICIENCIES = sizeof(efficiencies) / sizeof(efficiencies[0]),
};

struct curves {
    double work[MOST_POINTS], total[SIDES][MOST_POINTS];
    size_t count;
};

static double needed(const struct settings *settings, const struct curves *curves, int side,
                     double efficiency)
{
    return fits_work_needed(curves->work, curves->total[side], curves->count, settings->stretch,
                            efficiency);
}

static bool reach(const struct settings *settings, const struct curves *curves, double efficiency)
{
    return !isnan(needed(settings, curves, A, efficiency)) &&
           !isnan(needed(settings, curves, B, efficiency));
}

/* Measures the loop. The first point, without work, is only used for the efficiencies. */
static void measure_granularity(const struct settings *settings, const struct sides *sides,
                                double work, struct curves *curves, const struct table *table)
{
    const struct loop program = {.kind = LOOP_BARRIER, .works = &work, .steps = 1};
    struct figures figures;
    loops_compare_sides(settings, sides, program, settings->budget / (1 + POINTS), &figures);
    for (int i = A; i < SIDES; i++) {
        curves->total[i][curves->count] = figures.time[i].median;
    }
    curves->work[curves->count++] = work;
    if (work > 0) {
        struct row row = {0};
        row_add(&row, work);
        row_add_quartiles(&row, figures.time[A]);
        row_add_quartiles(&row, figures.time[B]);
        table_add(table, &row);
    }
}

static void measure_curves(const struct settings *settings, struct curves *curves,
                           const struct table *table)
{
    struct sides sides;
    sides_open(&sides, settings, MPI_COMM_WORLD);
    measure_granularity(settings, &sides, 0, curves, table);
    for (int i = 0; i < POINTS; i++) {
        double work = least_work * pow(most_work / least_work, (double)i / (POINTS - 1));
        measure_granularity(settings, &sides, work, curves, table);
    }
    while (curves->count < MOST_POINTS &&
           !reach(settings, curves, efficiencies[EFFICIENCIES - 1])) {
        measure_granularity(settings, &sides, 2 * curves->work[curves->count - 1], curves, table);
    }
    sides_close(&sides);
}

/* Returns "directory/efficiency.csv" for "directory/granularity.csv", and NULL for NULL. */
static char *name_beside(const char *csv)
{
    static const char name[] = "efficiency.csv";
    if (!csv) {
        return NULL;
    }
    const char *slash = strrchr(csv, '/');
    const size_t dir = slash ? (size_t)(slash - csv) + 1 : 0;
    char *beside = bench_alloc(dir + sizeof(name), 1);
    memcpy(beside, csv, dir);
    memcpy(beside + dir, name, sizeof(name));
    return beside;
}

static void add_efficiencies(const struct settings *settings, const struct curves *curves,
                             const struct table *table)
{
    for (int i = 0; i < EFFICIENCIES; i++) {
        struct row row = {0};
        row_add(&row, efficiencies[i]);
        row_add(&row, needed(settings, curves, A, efficiencies[i]));
        row_add(&row, needed(settings, curves, B, efficiencies[i]));
        table_add(table, &row);
    }
}

bool granularity_run(const struct settings *settings)
{
    struct table table;
    struct curves curves = {.count = 0};
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    measure_curves(settings, &curves, &table);
    bool well = table_close(&table);

    char *beside = name_beside(settings->csv);
    if (table_open(&table, settings, beside, efficiency_columns)) {
        add_efficiencies(settings, &curves, &table);
        well = table_close(&table) && well;
    } else {
        well = false;
    }
    free(beside);
    return well;
}
