/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two sides of a comparison, A and B, among a team of processes.
 *
 * Called by the experiments. A team consists of the first processes of the job, and an experiment
 * uses teams of increasing size. Processes that do not belong to a team yet sleep, so that they do
 * not disturb the measurement. */
#ifndef BENCH_EXPERIMENTS_SIDES_H
#define BENCH_EXPERIMENTS_SIDES_H

#include <mpi.h>
#include <stddef.h>

#include "bench/contest.h"
#include "bench/mpi_side.h"
#include "settings.h"

enum { A, B, SIDES };

/* Opens the team of the first `size` processes. All processes of the job call this with 2, 3, 4,
 * ... A process outside the team gets MPI_COMM_NULL. It sleeps in the call for the team whose
 * newest member it becomes. */
MPI_Comm team_open(const struct settings *settings, int size);
void team_close(MPI_Comm *team);

struct sides {
    MPI_Comm team;
    struct mpi_side barriers[SIDES];
};

/* Opens communicators of both sides, and has their barriers tuned. Collective over the team. */
void sides_open(struct sides *sides, const struct settings *settings, MPI_Comm team);
void sides_close(struct sides *sides);

enum { CONTESTANTS_MOST = 6 };

struct figures {
    struct nicbarr_quartiles time[CONTESTANTS_MOST]; /* time of each contestant's operation */
    struct nicbarr_quartiles ratio;                  /* second over first, of consecutive chunks */
    struct nicbarr_quartiles difference;             /* second minus first, of consecutive chunks */
};

/* Measures prepared contestants alternately for `seconds`. The results are the same on all ranks of
 * the team. */
void measure_interleaved(struct contestant *contestants, size_t count, MPI_Comm team,
                         double seconds, struct figures *figures);

#endif
