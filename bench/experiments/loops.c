/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of work and barriers; see loops.h.
 */
#include "loops.h"

#include <math.h>

#include "bench/chunk.h"
#include "bench/work.h"

/* ---- random numbers ---- */

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Draws a number from a uniform distribution in [-1, 1). */
static double draw_deviation(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-52 - 1;
}

/* ---- operations ---- */

static void work_step(struct loop *loop, size_t step)
{
    double work = loop->works[step] * loop->rate;
    if (loop->variation > 0) {
        work *= 1 + loop->variation * draw_deviation(&loop->random);
    }
    work_do((unsigned long)work);
}

static void operate(struct loop *loop)
{
    MPI_Request request;
    for (size_t step = 0; step < loop->steps; step++) {
        switch (loop->kind) {
        case LOOP_BARRIER:
            work_step(loop, step);
            MPI_Barrier(loop->comm);
            break;
        case LOOP_IBARRIER:
            MPI_Ibarrier(loop->comm, &request);
            work_step(loop, step);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case LOOP_ALONE:
            work_step(loop, step);
            break;
        }
    }
}

static void run_loop(void *self, unsigned iterations, double figures[FIGURES])
{
    struct loop *loop = self;
    for (unsigned i = chunk_approach(iterations); i > 0; i--) {
        operate(loop);
    }
    double start = chunk_clock();
    for (unsigned i = iterations; i > 0; i--) {
        operate(loop);
    }
    figures[FIGURE_LATENCY] = (chunk_clock() - start) / iterations;
}

/* ---- measurement ---- */

/* The approximate length of a chunk in microseconds, and the limits of its number of operations,
 * without and with shared cores. If processes share cores, the last process to arrive at a barrier
 * continues with its next work before the others have left the barrier. At both ends of a chunk a
 * process may therefore be one operation ahead or behind, and only with many operations per chunk
 * is this error small. */
static const struct {
    double length, fewest, most;
} chunks[] = {[false] = {1000, 4, 1000}, [true] = {10000, 25, 1000}};

/* Returns the time of an operation in microseconds, the same on all ranks. It is exact only if a
 * chunk has several operations. */
static double probe(struct loop *loop, MPI_Comm team, bool shared)
{
    enum { PROBES = 3, OPERATIONS = 2 };
    double fastest = INFINITY;
    for (int i = 0; i < PROBES; i++) {
        double figures[FIGURES];
        run_loop(loop, OPERATIONS, figures);
        MPI_Allreduce(MPI_IN_PLACE, &figures[FIGURE_LATENCY], 1, MPI_DOUBLE, MPI_MAX, team);
        fastest = fmin(fastest, figures[FIGURE_LATENCY]);
        if (fastest * chunks[shared].fewest > chunks[shared].length) {
            break;
        }
    }
    return fastest;
}

/* Returns the number of operations in a chunk, which is the same for all loops. It is no larger
 * than necessary to make the time for synchronising the ranks negligible, so that there are many
 * chunks. */
static unsigned fitting_iterations(struct loop *loops, size_t count, MPI_Comm team, bool shared)
{
    double slowest = 0;
    for (size_t i = 0; i < count; i++) {
        slowest = fmax(slowest, probe(&loops[i], team, shared));
    }
    return (unsigned)fmin(fmax(chunks[shared].length / slowest, chunks[shared].fewest),
                          chunks[shared].most);
}

void loops_compare(const struct settings *settings, struct loop *loops, size_t count, MPI_Comm team,
                   double seconds, struct figures *figures)
{
    struct contestant contestants[CONTESTANTS_MOST];
    MPI_Barrier(team); /* all processes calibrate at the same time, because they will also work at
                          the same time */
    const double rate = work_rate();
    for (size_t i = 0; i < count; i++) {
        loops[i].rate = rate;
    }
    const unsigned iterations =
        fitting_iterations(loops, count, team, settings_oversubscribed(settings));
    for (size_t i = 0; i < count; i++) {
        loops[i].random = (uint64_t)settings->seed << 32 | (uint32_t)settings->job.rank;
        contestants[i] = (struct contestant){
            .name = "loop", .self = &loops[i], .run = run_loop, .iterations = iterations};
    }
    measure_interleaved(contestants, count, team, seconds, figures);
}

void loops_compare_sides(const struct settings *settings, const struct sides *sides,
                         struct loop program, double seconds, struct figures *figures)
{
    struct loop loops[SIDES];
    for (int i = A; i < SIDES; i++) {
        loops[i] = program;
        loops[i].comm = sides->barriers[i].operation.comm;
    }
    loops_compare(settings, loops, SIDES, sides->team, seconds, figures);
}
