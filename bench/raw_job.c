/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit within an MPI job; see raw_job.h.
 */
#include "raw_job.h"

#include <string.h>

/* Returns the first address of the window that is aligned to RAW_LINE. All processes map windows at
 * page boundaries, so the result is the same cache line in each of them. */
static void *first_line(void *window)
{
    return (void *)(((uintptr_t)window + RAW_LINE - 1) / RAW_LINE * RAW_LINE);
}

void raw_job_open(struct raw_job *raw, const struct job *job)
{
    size_t bytes = raw_bytes((unsigned)job->size);
    void *mine, *shared;
    MPI_Aint segment;
    int unit;
    MPI_Win_allocate_shared(job->rank == 0 ? (MPI_Aint)(bytes + RAW_LINE) : 0, 1, MPI_INFO_NULL,
                            MPI_COMM_WORLD, &mine, &raw->window);
    MPI_Win_shared_query(raw->window, 0, &segment, &unit, &shared);
    shared = first_line(shared);
    if (job->rank == 0)
        memset(shared, 0, bytes);
    MPI_Barrier(MPI_COMM_WORLD); /* the memory must be zeroed before the first operation */
    raw_join(&raw->team, shared, job->masks, (unsigned)job->rank, (unsigned)job->size);
}

void raw_job_close(struct raw_job *raw)
{
    MPI_Win_free(&raw->window);
}

static void run_pattern(void *self, unsigned iterations, double figures[FIGURES])
{
    const struct raw_player *player = self;
    figures[FIGURE_LATENCY] = raw_run(player->team, player->pattern, iterations) / iterations;
}

size_t raw_job_contestants(struct raw_job *raw, struct contestant contestants[RAW_PATTERNS])
{
    size_t count = 0;
    for (unsigned p = 0; p < RAW_PATTERNS; p++) {
        if (!raw_suits(&raw->team, p))
            continue;
        raw->players[p] = (struct raw_player){.team = &raw->team, .pattern = p};
        contestants[count++] = (struct contestant){.name = raw_patterns[p].name,
                                                   .probe = !raw_patterns[p].barrier,
                                                   .self = &raw->players[p],
                                                   .run = run_pattern};
    }
    return count;
}
