/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contests; see contest.h.
 */
#include "contest.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>

#include "alloc.h"
#include "chunk.h"
#include "stats.h"

const double contest_tails[CONTEST_TAILS] = {0.5, 0.9, 0.99};

/* The number of operations that are timed one by one after each chunk, for the tails. Within chunks
 * only the total is timed, because reading the clock takes as long as a fast barrier. */
static const unsigned singles_per_chunk = 20;

static double slowest_rank(double mine, MPI_Comm comm)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, comm);
    return mine;
}

void contest_prepare(struct contestant *contestant, MPI_Comm comm, unsigned warmup,
                     unsigned iterations)
{
    double figures[FIGURES] = {0};
    if (warmup)
        contestant->run(contestant->self, warmup, figures);
    contestant->iterations = iterations;
    if (iterations)
        return;
    struct chunk_search search = chunk_search();
    do {
        contestant->run(contestant->self, search.iterations, figures);
    } while (
        !chunk_found(&search, slowest_rank(figures[FIGURE_LATENCY], comm) * search.iterations));
    contestant->iterations = search.iterations;
}

unsigned contest_rounds(struct contestant *contestants, size_t count, MPI_Comm comm, double seconds)
{
    static const double fewest = 3, most = 100000;
    double figures[FIGURES];
    double start = chunk_clock();
    for (size_t i = 0; i < count; i++) {
        contestants[i].run(contestants[i].self, contestants[i].iterations, figures);
    }
    double round = slowest_rank(chunk_clock() - start, comm);
    return (unsigned)fmin(fmax(seconds * 1e6 / round, fewest), most);
}

static void allocate(struct contestant *contestant, unsigned chunks)
{
    for (int f = 0; f < FIGURES; f++)
        contestant->samples[f] = bench_alloc(chunks, sizeof(double));
    if (contestant->once)
        contestant->singles = bench_alloc((size_t)chunks * singles_per_chunk, sizeof(double));
}

static void play_chunk(struct contestant *contestant, unsigned chunk)
{
    double figures[FIGURES] = {0};
    contestant->run(contestant->self, contestant->iterations, figures);
    for (int f = 0; f < FIGURES; f++)
        contestant->samples[f][chunk] = figures[f];
    if (!contestant->once)
        return;
    double *singles = contestant->singles + (size_t)chunk * singles_per_chunk;
    for (unsigned i = 0; i < singles_per_chunk; i++) {
        double start = chunk_clock();
        contestant->once(contestant->self);
        singles[i] = chunk_clock() - start;
    }
}

/* Reduces values over all ranks. Rank 0 gets the result in `values`; other ranks keep their own
 * values. */
static void reduce(double *values, unsigned count, MPI_Op op, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values, values, (int)count, MPI_DOUBLE, op, 0, comm);
}

static void gather_samples(struct contestant *contestant, unsigned chunks, MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    double typical = stats_quartiles(contestant->samples[FIGURE_LATENCY], chunks).median;
    contestant->average = contestant->least = contestant->most = typical;
    reduce(&contestant->average, 1, MPI_SUM, comm);
    reduce(&contestant->least, 1, MPI_MIN, comm);
    reduce(&contestant->most, 1, MPI_MAX, comm);
    contestant->average /= size;

    for (int f = 0; f < FIGURES; f++)
        reduce(contestant->samples[f], chunks, MPI_MAX, comm);
    if (contestant->singles) {
        unsigned singles = chunks * singles_per_chunk;
        reduce(contestant->singles, singles, MPI_SUM, comm);
        stats_quantiles(contestant->singles, singles, contest_tails, CONTEST_TAILS,
                        contestant->tails);
        for (int t = 0; t < CONTEST_TAILS; t++)
            contestant->tails[t] /= size;
    }
}

void contest_play(struct contestant *contestants, size_t count, MPI_Comm comm, unsigned chunks)
{
    for (size_t i = 0; i < count; i++)
        allocate(&contestants[i], chunks);
    for (unsigned chunk = 0; chunk < chunks; chunk++)
        for (size_t i = 0; i < count; i++)
            play_chunk(&contestants[i], chunk);
    for (size_t i = 0; i < count; i++)
        gather_samples(&contestants[i], chunks, comm);
}

struct nicbarr_quartiles contest_overlap(const struct contestant *contestant, unsigned chunks)
{
    double *percent = bench_alloc(chunks, sizeof(*percent));
    for (unsigned c = 0; c < chunks; c++) {
        double exposed =
            contestant->samples[FIGURE_OVERALL][c] - contestant->samples[FIGURE_COMPUTE][c];
        percent[c] = fmax(0, 100 * (1 - exposed / contestant->samples[FIGURE_LATENCY][c]));
    }
    struct nicbarr_quartiles quartiles = stats_quartiles(percent, chunks);
    free(percent);
    return quartiles;
}

void contest_free(struct contestant *contestants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int f = 0; f < FIGURES; f++)
            free(contestants[i].samples[f]);
        free(contestants[i].singles);
    }
}
