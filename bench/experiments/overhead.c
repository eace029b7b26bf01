/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overhead: the time that MPI adds to a barrier (Buntinas, section 4.1, figure 3).
 *
 * Called by nicbarr_experiments. The library's barrier and MPI_Barrier of side A alternate among
 * the same processes. Both run the same algorithm (--algorithm), in shared memory on one node and
 * by the soft NICs on several.
 */
#include "experiments.h"

#include <stdio.h>

#include "bench/chunk.h"
#include "library.h"
#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"processes", 0},   {"library_us", 3},  {"library_q1", 3}, {"library_q3", 3},
    {"mpi_us", 3},      {"mpi_q1", 3},      {"mpi_q3", 3},     {"overhead_us", 3},
    {"overhead_q1", 3}, {"overhead_q3", 3}, {NULL, 0},
};

enum { LIBRARY, MPI, CONTESTANTS };

struct player {
    struct library_group group;
    MPI_Comm meeting; /* the same processes, served by the components of Open MPI */
};

/* While one side is measured, the other side makes no progress, so a process that still had to
 * complete an operation of the other side would wait forever. Therefore all processes synchronise
 * before and after each chunk. */
static void run_library(void *self, unsigned iterations, double figures[FIGURES])
{
    struct player *player = self;
    library_meet(player->group.library, player->meeting);
    for (unsigned i = chunk_approach(iterations); i > 0; i--) {
        library_barrier(&player->group);
    }
    double start = chunk_clock();
    for (unsigned i = iterations; i > 0; i--) {
        library_barrier(&player->group);
    }
    figures[FIGURE_LATENCY] = (chunk_clock() - start) / iterations;
    library_meet(player->group.library, player->meeting);
}

static void measure_overhead(const struct settings *settings, struct library *library,
                             MPI_Comm team, double seconds, struct figures *figures)
{
    enum { WARMUP = 200 };
    struct nicbarr_choice choice;
    (void)nicbarr_choice_parse(settings->algorithm, &choice); /* settings_parse() has checked it */
    struct mpi_side barrier, meeting;
    mpi_side_open(&barrier, team, OPERATION_BARRIER, settings->preference[A], 0);
    mpi_side_open(&meeting, team, OPERATION_BARRIER, "^nicbarr", 0);
    struct player player = {.meeting = meeting.operation.comm};
    library_join(&player.group, library, team, choice);

    struct contestant contestants[CONTESTANTS] = {
        [LIBRARY] = {.name = "library", .self = &player, .run = run_library},
        [MPI] = mpi_side_contestant(&barrier, "MPI", false),
    };
    for (int i = 0; i < CONTESTANTS; i++) {
        contest_prepare(&contestants[i], team, WARMUP, 0);
    }
    measure_interleaved(contestants, CONTESTANTS, team, seconds, figures);
    library_meet(library, meeting.operation.comm);
    library_leave(&player.group);
    mpi_side_close(&meeting);
    mpi_side_close(&barrier);
}

bool overhead_run(const struct settings *settings)
{
    struct table table;
    struct library library;
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    library_open(&library, settings);
    const int most = settings->job.size;
    for (int size = 2; size <= most; size++) {
        MPI_Comm team = team_open(settings, size);
        if (team == MPI_COMM_NULL) {
            continue;
        }
        struct figures figures;
        measure_overhead(settings, &library, team, settings->budget / (most - 1), &figures);
        team_close(&team);
        struct row row = {0};
        row_add(&row, size);
        row_add_quartiles(&row, figures.time[LIBRARY]);
        row_add_quartiles(&row, figures.time[MPI]);
        row_add_quartiles(&row, figures.difference);
        table_add(&table, &row);
    }
    library_close(&library);
    return table_close(&table);
}
