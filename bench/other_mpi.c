/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the latency of collectives in the MPI library for which it is compiled. other_mpi.sh
 * starts it alternately with two MPI libraries.
 *
 *     other_mpi OPERATION[:BYTES]...     (barrier, allreduce, reduce, bcast, allgather, gather,
 * scatter)
 *
 * Prints a line "OPERATION BYTES MICROSECONDS" for each operation. The time is that of a call on
 * the slowest rank, as the median of CHUNKS chunks of CALLS calls. As in nicbarr_bench, each call
 * has the next rank as its root.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 40, CALLS = 100, CALLS_LARGE = 20, LARGE = 16384 };

static int rank, size;
static char *from, *to;

static void call(const char *operation, int bytes, int root)
{
    const int words = bytes / (int)sizeof(double);
    if (strcmp(operation, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(operation, "allreduce") == 0)
        MPI_Allreduce(from, to, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(operation, "reduce") == 0)
        MPI_Reduce(from, to, words, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    else if (strcmp(operation, "bcast") == 0)
        MPI_Bcast(to, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
    else if (strcmp(operation, "allgather") == 0)
        MPI_Allgather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, MPI_COMM_WORLD);
    else if (strcmp(operation, "gather") == 0)
        MPI_Gather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
    else if (strcmp(operation, "scatter") == 0)
        MPI_Scatter(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *operation, int bytes)
{
    const int calls = bytes < LARGE ? CALLS : CALLS_LARGE;
    double times[CHUNKS] = {0};
    for (int chunk = -1; chunk < CHUNKS; chunk++) { /* the first chunk is a warm-up */
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        for (int i = 0; i < calls; i++)
            call(operation, bytes, i % size);
        double took = (MPI_Wtime() - start) / calls * 1e6, slowest;
        MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (chunk >= 0)
            times[chunk] = slowest;
    }
    qsort(times, CHUNKS, sizeof(times[0]), compare);
    if (rank == 0)
        printf("%s %d %.3f\n", operation, bytes, times[CHUNKS / 2]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc; i++) {
        char *colon = strchr(argv[i], ':');
        const int bytes = colon == NULL ? 0 : atoi(colon + 1);
        if (colon != NULL)
            *colon = '\0';
        from = calloc((size_t)size, (size_t)bytes + 1);
        to = calloc((size_t)size, (size_t)bytes + 1);
        measure(argv[i], bytes);
        free(from);
        free(to);
    }
    MPI_Finalize();
    return 0;
}
