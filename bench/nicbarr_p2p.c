/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_p2p: messages between two processes in the manner of osu_latency and osu_bw.
 *
 * A person's and p2p.sh's program. Two BTLs cannot take turns within one job, so this one measures
 * the job's own, and p2p.sh has short jobs take turns. Ranks 0 and 1 measure; others look on.
 *
 * Latency is half a round trip. Bandwidth is that of windows of messages, each answered by an empty
 * one when all have come. Medians and quartiles over chunks, as everywhere here.
 */
#include <argp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "argp_number.h"
#include "chunk.h"
#include "stats.h"

enum { MOST_WINDOW = 1024, MESSAGE = 1, ANSWER = 2 };

struct settings {
    unsigned latency_bytes, bandwidth_bytes;
    unsigned window;
    unsigned chunks;
};

/* ---- options ---- */

/* libc looks for it by name, which -fvisibility=hidden would hide. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "nicbarr_p2p " NICBARR_VERSION;

static const struct argp_option argp_options[] = {
    {"latency", 'l', "BYTES", 0, "Size of the messages that go to and fro (default 8)", 0},
    {"bandwidth", 'b', "BYTES", 0, "Size of the messages of a window (default 1048576)", 0},
    {"window", 'w', "N", 0, "Messages in a window (default 16)", 0},
    {"chunks", 'c', "N", 0, "Samples of each (default 300)", 0},
    {0},
};

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case 'l':
        settings->latency_bytes = number(state, argument, 0, 1 << 30);
        return 0;
    case 'b':
        settings->bandwidth_bytes = number(state, argument, 1, 1 << 30);
        return 0;
    case 'w':
        settings->window = number(state, argument, 1, MOST_WINDOW);
        return 0;
    case 'c':
        settings->chunks = number(state, argument, 1, 100000);
        return 0;
    case ARGP_KEY_ARG:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    argp_options,
    take_option,
    NULL,
    "Measure messages from rank 0 to rank 1: latency (microseconds) and bandwidth (MB/s).",
    NULL,
    NULL,
    NULL};

/* ---- measuring ---- */

static void pong(int rank, char *buffer, int bytes, unsigned times)
{
    const int peer = 1 - rank;
    for (unsigned i = 0; i < times; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
    }
}

/* Microseconds of so many round trips, the same on both ranks. */
static double pong_time(int rank, char *buffer, int bytes, unsigned times)
{
    pong(rank, buffer, bytes, chunk_approach(times));
    const double start = chunk_clock();
    pong(rank, buffer, bytes, times);
    double elapsed = chunk_clock() - start;
    if (rank == 0)
        MPI_Send(&elapsed, 1, MPI_DOUBLE, 1, ANSWER, MPI_COMM_WORLD);
    else
        MPI_Recv(&elapsed, 1, MPI_DOUBLE, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return elapsed;
}

static void measure_latency(const struct settings *settings, int rank, double *samples)
{
    const int bytes = (int)settings->latency_bytes;
    char *buffer = bench_alloc((size_t)bytes, 1);
    struct chunk_search search = chunk_search();
    while (!chunk_found(&search, pong_time(rank, buffer, bytes, search.iterations)))
        ;
    for (unsigned c = 0; c < settings->chunks; c++)
        samples[c] = pong_time(rank, buffer, bytes, search.iterations) / (2.0 * search.iterations);
    free(buffer);
}

static void window(const struct settings *settings, int rank, char *buffers)
{
    MPI_Request requests[MOST_WINDOW];
    const int bytes = (int)settings->bandwidth_bytes, count = (int)settings->window;
    for (int i = 0; i < count; i++) {
        char *buffer = buffers + (size_t)i * settings->bandwidth_bytes;
        if (rank == 0)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, MESSAGE, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
}

static void measure_bandwidth(const struct settings *settings, int rank, double *samples)
{
    const double bytes = (double)settings->window * settings->bandwidth_bytes;
    char *buffers = bench_alloc(settings->window, settings->bandwidth_bytes);
    memset(buffers, rank, (size_t)settings->window * settings->bandwidth_bytes);
    for (unsigned c = 0; c < settings->chunks / 10 + 1; c++)
        window(settings, rank, buffers);
    for (unsigned c = 0; c < settings->chunks; c++) {
        const double start = chunk_clock();
        window(settings, rank, buffers);
        samples[c] = bytes / (chunk_clock() - start);
    }
    free(buffers);
}

/* ---- report ---- */

static void print(const char *what, unsigned bytes, const char *unit, const double *samples,
                  unsigned chunks)
{
    const struct nicbarr_quartiles quartiles = stats_quartiles(samples, chunks);
    printf("%-12s%10u%8s%12.3f%12.3f%12.3f\n", what, bytes, unit, quartiles.q1, quartiles.median,
           quartiles.q3);
}

static void report(const struct settings *settings, const double *latency, const double *bandwidth)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    printf("# nicbarr_p2p, %s, %u chunks of each, windows of %u messages\n", library,
           settings->chunks, settings->window);
    printf("# %-10s%10s%8s%12s%12s%12s\n", "", "bytes", "", "q1", "median", "q3");
    print("latency", settings->latency_bytes, "us", latency, settings->chunks);
    print("bandwidth", settings->bandwidth_bytes, "MB/s", bandwidth, settings->chunks);
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .latency_bytes = 8, .bandwidth_bytes = 1 << 20, .window = 16, .chunks = 300};
    int rank, size;
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "nicbarr_p2p: one process: nothing to measure\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (rank < 2) {
        double *latency = bench_alloc(settings.chunks, sizeof(*latency));
        double *bandwidth = bench_alloc(settings.chunks, sizeof(*bandwidth));
        measure_latency(&settings, rank, latency);
        measure_bandwidth(&settings, rank, bandwidth);
        if (rank == 0)
            report(&settings, latency, bandwidth);
        free(latency);
        free(bandwidth);
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
