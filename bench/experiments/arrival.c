/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arrival: processes that reach the barrier at different times (Buntinas, section 4.4, figures 8
 * and 9).
 *
 * Called by nicbarr_experiments. The table also shows the difference, which is the time of B minus
 * the time of A in chunks whose processes draw the same arrival times. */
#include "experiments.h"

#include "loops.h"
#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"work_us", 0},       {"variation_percent", 0},
    {"a_us", 3},          {"a_q1", 3},
    {"a_q3", 3},          {"b_us", 3},
    {"b_q1", 3},          {"b_q3", 3},
    {"difference_us", 3}, {"difference_q1", 3},
    {"difference_q3", 3}, {NULL, 0},
};

static const double works[] = {64, 128, 256, 512, 1024, 2048, 4096};
static const double percents[] = {0, 5, 10, 15, 20};

enum {
    WORKS = sizeof(works) / sizeof(works[0]),
    PERCENTS = sizeof(percents) / sizeof(percents[0]),
};

static void measure_arrival(const struct settings *settings, const struct sides *sides, double work,
                            double percent, const struct table *table)
{
    const struct loop program = {
        .kind = LOOP_BARRIER, .works = &work, .steps = 1, .variation = percent / 100};
    struct figures figures;
    loops_compare_sides(settings, sides, program, settings->budget / (WORKS * PERCENTS), &figures);
    struct row row = {0};
    row_add(&row, work);
    row_add(&row, percent);
    row_add_quartiles(&row, figures.time[A]);
    row_add_quartiles(&row, figures.time[B]);
    row_add_quartiles(&row, figures.difference);
    table_add(table, &row);
}

bool arrival_run(const struct settings *settings)
{
    struct table table;
    struct sides sides;
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    sides_open(&sides, settings, MPI_COMM_WORLD);
    for (int w = 0; w < WORKS; w++) {
        for (int p = 0; p < PERCENTS; p++) {
            measure_arrival(settings, &sides, works[w], percents[p], &table);
        }
    }
    sides_close(&sides);
    return table_close(&table);
}
