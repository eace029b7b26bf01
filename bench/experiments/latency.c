/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * latency: MPI_Barrier by the number of processes (Buntinas, section 4.2, figures 4 and 5).
 *
 * Called by nicbarr_experiments. It measures every number of processes, and not only powers of two,
 * because some algorithms are slower for other numbers.
 */
#include "experiments.h"

#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"processes", 0}, {"a_us", 3},   {"a_q1", 3},      {"a_q3", 3},      {"b_us", 3}, {"b_q1", 3},
    {"b_q3", 3},      {"factor", 3}, {"factor_q1", 3}, {"factor_q3", 3}, {NULL, 0},
};

static void measure_team(const struct settings *settings, MPI_Comm team, double seconds,
                         struct figures *figures)
{
    struct contestant contestants[SIDES];
    struct sides sides;
    sides_open(&sides, settings, team);
    for (int i = A; i < SIDES; i++) {
        contestants[i] = mpi_side_contestant(&sides.barriers[i], mpi_side_names[i], false);
        contest_prepare(&contestants[i], team, 0, 0);
    }
    measure_interleaved(contestants, SIDES, team, seconds, figures);
    sides_close(&sides);
}

bool latency_run(const struct settings *settings)
{
    struct table table;
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    const int most = settings->job.size;
    for (int size = 2; size <= most; size++) {
        MPI_Comm team = team_open(settings, size);
        if (team == MPI_COMM_NULL) {
            continue;
        }
        struct figures figures;
        measure_team(settings, team, settings->budget / (most - 1), &figures);
        team_close(&team);
        struct row row = {0};
        row_add(&row, size);
        row_add_quartiles(&row, figures.time[A]);
        row_add_quartiles(&row, figures.time[B]);
        row_add_quartiles(&row, figures.ratio);
        table_add(&table, &row);
    }
    return table_close(&table);
}
