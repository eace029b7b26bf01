/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two sides, A and B, of a team of processes; and figures of what takes turns.
 *
 * Called by the experiments. A team is the first so many processes of the job. Teams grow; the
 * processes that are not in it yet sleep, so that they disturb nobody.
 */
#ifndef BENCH_EXPERIMENTS_SIDES_H
#define BENCH_EXPERIMENTS_SIDES_H

#include <mpi.h>
#include <stddef.h>

#include "bench/contest.h"
#include "bench/mpi_side.h"
#include "settings.h"

enum { A, B, SIDES };

/* The team of the first `size` processes. All of the job call this with 2, 3, 4, ...: whoever is
 * not in the team yet gets MPI_COMM_NULL, and sleeps in the call that makes it the newest member.
 */
MPI_Comm team_open(const struct settings *settings, int size);
void team_close(MPI_Comm *team);

struct sides {
    MPI_Comm team;
    struct mpi_side barriers[SIDES];
};

/* Communicators of both sides, whose barriers are tuned. Collective over the team. */
void sides_open(struct sides *sides, const struct settings *settings, MPI_Comm team);
void sides_close(struct sides *sides);

enum { TURNS_MOST = 6 };

struct figures {
    struct nicbarr_quartiles time[TURNS_MOST]; /* of each contestant's operation */
    struct nicbarr_quartiles ratio;      /* second over first, of chunks that are neighbours */
    struct nicbarr_quartiles difference; /* second minus first, likewise */
};

/* Lets prepared contestants take turns for `seconds`. The same figures on all ranks of the team. */
void turns_take(struct contestant *contestants, size_t count, MPI_Comm team, double seconds,
                struct figures *figures);

#endif
