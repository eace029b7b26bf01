/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's operations as contestants; see mpi_side.h.
 */
#include "mpi_side.h"

#include <stdio.h>
#include <string.h>

#include "chunk.h"
#include "output.h"
#include "work.h"

void mpi_side_open(struct mpi_side *side, MPI_Comm parent, enum operation kind,
                   const char *preference, unsigned tests)
{
    *side = (struct mpi_side){.overlaps = operations[kind].nonblocking, .tests = tests};
    mpi_operation_open(&side->operation, kind, parent, preference);
    if (side->overlaps) {
        side->work_rate = work_rate();
        MPI_Barrier(side->operation.comm); /* only blocking calls set up nicbarr across hosts */
    }
}

void mpi_side_close(struct mpi_side *side)
{
    mpi_operation_close(&side->operation);
}

/* ---- operations ---- */

static void repeat_operation(struct mpi_side *side, unsigned times)
{
    while (times--)
        mpi_operation_play(&side->operation);
}

/* Performs operations with a computation of `steps` between start and wait. The computation is
 * divided into slices, with a call of MPI_Test between them. */
static void repeat_overlapped(struct mpi_side *side, unsigned times, unsigned long steps)
{
    struct mpi_operation *operation = &side->operation;
    unsigned long slice = steps / (side->tests + 1);
    while (times--) {
        int done;
        operation->start(operation);
        work_do(steps - slice * side->tests);
        for (unsigned test = 0; test < side->tests; test++) {
            MPI_Test(&operation->request, &done, MPI_STATUS_IGNORE);
            work_do(slice);
        }
        MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
    }
}

static void once(void *self)
{
    repeat_operation(self, 1);
}

/* ---- chunks ---- */

/* Synchronises the ranks at the beginning of a chunk. Not every operation does so itself: with a
 * fixed root, processes that only send can run ahead of the others. Without synchronisation, work
 * that is outstanding at the end of a chunk would be measured as part of the next chunk. */
static double begin_chunk(const struct mpi_side *side)
{
    MPI_Barrier(side->operation.comm);
    return chunk_clock();
}

/* Measures overlap as osu_ibarrier does. A computation that is as long as the operation alone on
 * the slowest rank is timed twice, between start and wait and without communication. Loops are
 * timed as a whole, because the time for reading the clock within them would count as
 * communication. */
static void measure_overlap(struct mpi_side *side, unsigned iterations, double figures[FIGURES])
{
    double pure = figures[FIGURE_LATENCY];
    MPI_Allreduce(MPI_IN_PLACE, &pure, 1, MPI_DOUBLE, MPI_MAX, side->operation.comm);
    unsigned long steps = (unsigned long)(pure * side->work_rate);

    repeat_overlapped(side, chunk_approach(iterations), steps);
    double start = begin_chunk(side);
    repeat_overlapped(side, iterations, steps);
    figures[FIGURE_OVERALL] = (chunk_clock() - start) / iterations;

    start = chunk_clock();
    for (unsigned i = 0; i < iterations; i++)
        work_do(steps);
    figures[FIGURE_COMPUTE] = (chunk_clock() - start) / iterations;
}

static void run_chunk(void *self, unsigned iterations, double figures[FIGURES])
{
    struct mpi_side *side = self;
    repeat_operation(side, chunk_approach(iterations));
    const double start = begin_chunk(side);
    repeat_operation(side, iterations);
    figures[FIGURE_LATENCY] = (chunk_clock() - start) / iterations;
    if (side->overlaps)
        measure_overlap(side, iterations, figures);
}

struct contestant mpi_side_contestant(struct mpi_side *side, const char *name, bool tails)
{
    return (struct contestant){
        .name = name, .self = side, .run = run_chunk, .once = tails ? once : NULL};
}

/* ---- components ---- */

/* Returns whether a component is loaded: if so, its priority is a control variable in MPI's tools
 * interface. */
static bool component_loaded(const char *name)
{
    char variable[160];
    int index;
    snprintf(variable, sizeof(variable), "coll_%s_priority", name);
    return MPI_T_cvar_get_index(variable, &index) == MPI_SUCCESS;
}

/* Returns false if a component of the preference (NULL: none) is not loaded; `name` is the first
 * such component. */
static bool components_loaded(const char *preference, char *name, size_t name_size)
{
    bool loaded = true;
    int provided;
    if (!preference)
        return true;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    const char *rest = preference + (*preference == '^');
    while (loaded && *rest) {
        size_t length = strcspn(rest, ",");
        snprintf(name, name_size, "%.*s", (int)length, rest);
        loaded = component_loaded(name);
        rest += length;
        rest += *rest == ',';
    }
    MPI_T_finalize();
    return loaded;
}

const char *const mpi_side_names[2] = {"A", "B"};

void mpi_side_warn_of_missing(const char *const preference[2], int rank)
{
    char name[128];
    for (int i = 0; i < 2; i++) {
        if (!components_loaded(preference[i], name, sizeof(name))) {
            output_message(
                rank, "warning: this job has no coll component '%s', which %s's preference names",
                name, mpi_side_names[i]);
        }
    }
}

const char *mpi_side_preference_text(const char *preference)
{
    return preference ? preference : "none, as the job gives";
}
