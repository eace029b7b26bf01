/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit within an MPI job: the ranks themselves run the patterns of raw.h.
 *
 * Called by nicbarr_bench (--raw) when all ranks share a node. The ranks keep the affinity that
 * mpirun has set, so the barrier of MPI and the raw barriers run under the same conditions. The
 * memory of the team is an MPI shared-memory window. Opening and closing are collective over
 * MPI_COMM_WORLD. */
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

/* Creates a contestant for each pattern that is meaningful for the job, with the pattern's name.
 * Returns their number. The raw job must stay open, at the same address, as long as they are
 * used. */
size_t raw_job_contestants(struct raw_job *raw, struct contestant contestants[RAW_PATTERNS]);

#endif
