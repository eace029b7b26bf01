/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two sides of a comparison; see sides.h.
 */
#include "sides.h"

#include <time.h>

#include "bench/stats.h"

/* ---- teams ---- */

enum { TAG_JOIN = 77 };

/* Sleeps until a message arrives. Waiting in Open MPI would poll and occupy a core. */
static void sleep_until_called(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    int called = 0;
    while (!called) {
        nanosleep(&nap, NULL);
        MPI_Iprobe(0, TAG_JOIN, MPI_COMM_WORLD, &called, MPI_STATUS_IGNORE);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_JOIN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

MPI_Comm team_open(const struct settings *settings, int size)
{
    const int rank = settings->job.rank;
    MPI_Group world, members;
    MPI_Comm team;
    if (rank >= size) {
        return MPI_COMM_NULL;
    }
    /* A process is woken once, when the team is opened in which it is the newest member. */
    const int newest = size - 1;
    if (rank == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, newest, TAG_JOIN, MPI_COMM_WORLD);
    } else if (rank == newest) {
        sleep_until_called();
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, (int[1][3]){{0, newest, 1}}, &members);
    MPI_Comm_create_group(MPI_COMM_WORLD, members, size, &team);
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    return team;
}

void team_close(MPI_Comm *team)
{
    MPI_Comm_free(team);
}

/* ---- sides ---- */

void sides_open(struct sides *sides, const struct settings *settings, MPI_Comm team)
{
    enum { WARMUP = 200 }; /* nicbarr completes its tuning within these barriers */
    sides->team = team;
    for (int i = A; i < SIDES; i++) {
        mpi_side_open(&sides->barriers[i], team, OPERATION_BARRIER, settings->preference[i], 0);
        for (int barrier = 0; barrier < WARMUP; barrier++) {
            MPI_Barrier(sides->barriers[i].operation.comm);
        }
    }
}

void sides_close(struct sides *sides)
{
    for (int i = A; i < SIDES; i++) {
        mpi_side_close(&sides->barriers[i]);
    }
}

/* ---- measurement ---- */

void measure_interleaved(struct contestant *contestants, size_t count, MPI_Comm team,
                         double seconds, struct figures *figures)
{
    const unsigned chunks = contest_rounds(contestants, count, team, seconds);
    contest_play(contestants, count, team, chunks);
    *figures = (struct figures){0};
    for (size_t i = 0; i < count; i++) {
        figures->time[i] = stats_quartiles(contestants[i].samples[FIGURE_LATENCY], chunks);
    }
    const double *first = contestants[0].samples[FIGURE_LATENCY];
    const double *second = contestants[1].samples[FIGURE_LATENCY];
    figures->ratio = stats_ratio(second, first, chunks);
    figures->difference = stats_difference(second, first, chunks);
    contest_free(contestants, count);
    MPI_Bcast(figures, sizeof(*figures), MPI_BYTE, 0, team);
}
