/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit inside an MPI job: the patterns of raw.h, played by the ranks themselves.
 *
 * Called by nicbarr_bench (--raw) when all ranks share a node. The ranks keep the processors that
 * mpirun gave them, so an MPI barrier and the raw ones meet the same conditions. The team's memory
 * is an MPI shared-memory window. Opening and closing are collective over MPI_COMM_WORLD.
 */
#ifndef BENCH_RAW_JOB_H
#define BENCH_RAW_JOB_H

#include <mpi.h>

#include "contest.h"
#include "job.h"
#include "raw.h"

struct raw_job {
    MPI_Win window;
    struct raw_team team;
    struct raw_player {
        struct raw_team *team;
        unsigned pattern;
    } players[RAW_PATTERNS];
};

void raw_job_open(struct raw_job *raw, const struct job *job);
void raw_job_close(struct raw_job *raw);

/* One contestant for each pattern that suits the job, named as the pattern; returns how many. The
 * raw job must stay open and must not be moved as long as they play. */
size_t raw_job_contestants(struct raw_job *raw, struct contestant contestants[RAW_PATTERNS]);

#endif
