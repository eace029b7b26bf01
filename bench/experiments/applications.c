/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * applications: three synthetic applications (Buntinas, section 4.5, figure 10).
 *
 * Called by nicbarr_experiments. An application is a sequence of steps of work, with a barrier
 * after each. In each step, the work of each process differs by up to 10 % from the mean.
 * Efficiency is the time of the work alone divided by the time of the application.
 */
#include "experiments.h"

#include "loops.h"
#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"application", TABLE_TEXT},
    {"compute_us", 0},
    {"a_us", 2},
    {"a_q1", 2},
    {"a_q3", 2},
    {"b_us", 2},
    {"b_q1", 2},
    {"b_q3", 2},
    {"factor", 3},
    {"factor_q1", 3},
    {"factor_q3", 3},
    {"a_efficiency", 3},
    {"b_efficiency", 3},
    {NULL, 0},
};

enum { MOST_STEPS = 20 };

static const struct application {
    const char *name;
    size_t steps;
    double works[MOST_STEPS]; /* mean work of each step in microseconds */
} applications[] = {
    {"communication-intensive", 8, {10, 20, 30, 40, 50, 60, 70, 80}},
    {"mixed", 20, {10,  20,  30,  40,  50,  60,  70,  80,  90,  100,
                   110, 120, 130, 140, 150, 160, 170, 180, 190, 200}},
    {"computation-intensive", 10, {100, 500, 1000, 2000, 3000, 500, 500, 250, 600, 1000}},
};

enum { APPLICATIONS = sizeof(applications) / sizeof(applications[0]) };

static double compute_time(const struct application *application)
{
    double sum = 0;
    for (size_t step = 0; step < application->steps; step++) {
        sum += application->works[step];
    }
    return sum;
}

static void measure_application(const struct settings *settings, const struct sides *sides,
                                const struct application *application, const struct table *table)
{
    const struct loop program = {.kind = LOOP_BARRIER,
                                 .works = application->works,
                                 .steps = application->steps,
                                 .variation = 0.1};
    const double compute = compute_time(application);
    struct figures figures;
    loops_compare_sides(settings, sides, program, settings->budget / APPLICATIONS, &figures);
    struct row row = {.label = application->name};
    row_add(&row, compute);
    row_add_quartiles(&row, figures.time[A]);
    row_add_quartiles(&row, figures.time[B]);
    row_add_quartiles(&row, figures.ratio);
    for (int i = A; i < SIDES; i++) {
        row_add(&row, compute * settings->stretch / figures.time[i].median);
    }
    table_add(table, &row);
}

bool applications_run(const struct settings *settings)
{
    struct table table;
    struct sides sides;
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    sides_open(&sides, settings, MPI_COMM_WORLD);
    for (int i = 0; i < APPLICATIONS; i++) {
        measure_application(settings, &sides, &applications[i], &table);
    }
    sides_close(&sides);
    return table_close(&table);
}
