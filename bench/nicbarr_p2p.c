/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_p2p: measures messages between two processes in the manner of osu_latency and osu_bw.
 *
 * It is a program for users, which p2p.sh calls as well. Two BTLs cannot alternate within one job.
 * Therefore this program measures the BTL of its job, and p2p.sh alternates short jobs. Ranks 0 and
 * 1 measure; other ranks do nothing.
 *
 * - Latency is half a round trip.
 * - Bandwidth is measured with windows of messages, to each of which the receiver replies with an
 *   empty message.
 * - Overlap is the part of the duration of a message that is hidden behind a computation of the
 *   same length. The sender, the receiver or both compute between the call that starts the message
 *   and the call that waits for it. It is derived from the time of the ranks that compute. A rank
 *   that does not compute either waits in MPI and progresses the message, or sleeps and leaves its
 *   core to a process that computes.
 *
 * Results are medians and quartiles of chunks. */
#include <argp.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "argp_number.h"
#include "chunk.h"
#include "stats.h"
#include "work.h"

enum {
    MOST_WINDOW = 1024,
    MESSAGE = 1, /* tags; unmatched receives have UNMATCHED and above */
    ANSWER = 2,
    UNMATCHED = 3,
    SENDER = 1, /* bits that select the ranks that compute */
    RECEIVER = 2,
};

struct settings {
    unsigned latency_bytes, bandwidth_bytes;
    unsigned window;
    unsigned chunks;
    unsigned overlap_bytes; /* 0: not measured */
    bool rests;             /* a rank that does not compute sleeps */
    unsigned posted;        /* unmatched receives that stay posted during the measurement */
    int source;             /* source of receives: the other rank, or MPI_ANY_SOURCE */
};

/* ---- options ---- */

/* libc finds this variable by its name, so -fvisibility=hidden must not hide it. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "nicbarr_p2p " NICBARR_VERSION;

static const struct argp_option argp_options[] = {
    {"latency", 'l', "BYTES", 0, "Size of the ping-pong messages (default 8)", 0},
    {"bandwidth", 'b', "BYTES", 0, "Size of the messages of a window (default 1048576)", 0},
    {"window", 'w', "N", 0, "Messages in a window (default 16)", 0},
    {"overlap", 'o', "BYTES", 0,
     "Measure the share of a message's time that overlaps with computation of the receiver, of the "
     "sender, and of both",
     0},
    {"rest", 'r', NULL, 0,
     "With --overlap: the rank that does not compute sleeps instead of waiting in MPI, which "
     "leaves its CPU to a progress thread",
     0},
    {"posted", 'p', "N", 0, "Number of receives that each process has posted and that never match",
     0},
    {"any-source", 'a', NULL, 0, "Receive from any source", 0},
    {"chunks", 'c', "N", 0, "Samples of each measurement (default 300)", 0},
    {0},
};

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case 'l':
        settings->latency_bytes = parse_argp_number(state, argument, 0, 1 << 30);
        return 0;
    case 'b':
        settings->bandwidth_bytes = parse_argp_number(state, argument, 1, 1 << 30);
        return 0;
    case 'w':
        settings->window = parse_argp_number(state, argument, 1, MOST_WINDOW);
        return 0;
    case 'c':
        settings->chunks = parse_argp_number(state, argument, 1, 100000);
        return 0;
    case 'o':
        settings->overlap_bytes = parse_argp_number(state, argument, 1, 1 << 30);
        return 0;
    case 'r':
        settings->rests = true;
        return 0;
    case 'p':
        settings->posted = parse_argp_number(state, argument, 0, 1 << 20);
        return 0;
    case 'a':
        settings->source = MPI_ANY_SOURCE;
        return 0;
    case ARGP_KEY_ARG:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {argp_options,
                                 take_option,
                                 NULL,
                                 "Measures messages from rank 0 to rank 1: latency (microseconds), "
                                 "bandwidth (MB/s), and overlap "
                                 "(percent). Run it by mpirun, with two processes.",
                                 NULL,
                                 NULL,
                                 NULL};

/* ---- measuring ---- */

/* Returns the source argument of a rank's receives. */
static int source_for(const struct settings *settings, int rank)
{
    return MPI_ANY_SOURCE == settings->source ? MPI_ANY_SOURCE : 1 - rank;
}

static void pong(const struct settings *settings, int rank, char *buffer, int bytes, unsigned times)
{
    const int peer = 1 - rank, source = source_for(settings, rank);
    for (unsigned i = 0; i < times; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, source, MESSAGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
    }
}

/* Returns the time of that many round trips in microseconds, the same on both ranks. */
static double pong_time(const struct settings *settings, int rank, char *buffer, unsigned times)
{
    const int bytes = (int)settings->latency_bytes;
    pong(settings, rank, buffer, bytes, chunk_approach(times));
    const double start = chunk_clock();
    pong(settings, rank, buffer, bytes, times);
    double elapsed = chunk_clock() - start;
    if (rank == 0)
        MPI_Send(&elapsed, 1, MPI_DOUBLE, 1, ANSWER, MPI_COMM_WORLD);
    else
        MPI_Recv(&elapsed, 1, MPI_DOUBLE, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return elapsed;
}

static void measure_latency(const struct settings *settings, int rank, double *samples)
{
    char *buffer = bench_alloc(settings->latency_bytes, 1);
    struct chunk_search search = chunk_search();
    while (!chunk_found(&search, pong_time(settings, rank, buffer, search.iterations)))
        ;
    for (unsigned c = 0; c < settings->chunks; c++)
        samples[c] =
            pong_time(settings, rank, buffer, search.iterations) / (2.0 * search.iterations);
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
            MPI_Irecv(buffer, bytes, MPI_BYTE, source_for(settings, rank), MESSAGE, MPI_COMM_WORLD,
                      &requests[i]);
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

/* ---- overlap ---- */

/* Makes both ranks begin at the same time, up to the latency of a message. */
static void begin_together(int rank)
{
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
    }
}

/* Returns the longer time of both ranks. `mine` is 0 on a rank whose time is ignored. */
static double longer(int rank, double mine)
{
    double other;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, 1 - rank, ANSWER, &other, 1, MPI_DOUBLE, 1 - rank, ANSWER,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return mine > other ? mine : other;
}

static void rest(double us)
{
    const struct timespec time = {.tv_sec = (time_t)(us * 1e-6),
                                  .tv_nsec = (long)(us * 1e3) % 1000000000};
    nanosleep(&time, NULL);
}

/* Returns the time of a message. While it is in flight, this rank computes for `steps`, sleeps for
 * `rest_us`, or neither. */
static double message_time(const struct settings *settings, int rank, char *buffer,
                           unsigned long steps, double rest_us, bool counts)
{
    MPI_Request request;
    const int bytes = (int)settings->overlap_bytes;
    begin_together(rank);
    const double start = chunk_clock();
    if (rank == 0)
        MPI_Isend(buffer, bytes, MPI_BYTE, 1, MESSAGE, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(buffer, bytes, MPI_BYTE, source_for(settings, rank), MESSAGE, MPI_COMM_WORLD,
                  &request);
    work_do(steps);
    if (rest_us > 0)
        rest(rest_us);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return longer(rank, counts ? chunk_clock() - start : 0);
}

static double work_time(int rank, unsigned long steps)
{
    begin_together(rank);
    const double start = chunk_clock();
    work_do(steps);
    return longer(rank, chunk_clock() - start);
}

/* Measures overlap. The computation takes as long as the message that was measured just before. A
 * rank that sleeps does so for longer than that. */
static void measure_overlap(const struct settings *settings, int rank, int computes, double rate,
                            double *samples)
{
    char *buffer = bench_alloc(settings->overlap_bytes, 1);
    memset(buffer, rank, settings->overlap_bytes);
    const bool busy = 0 != (computes & (rank == 0 ? SENDER : RECEIVER));
    (void)message_time(settings, rank, buffer, 0, 0, true);
    for (unsigned c = 0; c < settings->chunks; c++) {
        const double alone = message_time(settings, rank, buffer, 0, 0, true);
        const unsigned long steps = busy ? (unsigned long)(alone * rate) : 0;
        const double work = work_time(rank, steps);
        const double rest_us = settings->rests && !busy ? 1.5 * alone : 0;
        const double both = message_time(settings, rank, buffer, steps, rest_us, busy);
        const double hidden = 100 * (1 - (both - work) / alone);
        samples[c] = hidden < 0 ? 0 : hidden > 100 ? 100 : hidden;
    }
    free(buffer);
}

/* ---- unmatched receives ---- */

static MPI_Request *post_unmatched(const struct settings *settings, int rank)
{
    MPI_Request *requests = bench_alloc(settings->posted, sizeof(*requests));
    for (unsigned i = 0; i < settings->posted; i++)
        MPI_Irecv(NULL, 0, MPI_BYTE, 1 - rank, UNMATCHED + (int)i, MPI_COMM_WORLD, &requests[i]);
    return requests;
}

static void cancel(const struct settings *settings, MPI_Request *requests)
{
    for (unsigned i = 0; i < settings->posted; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    free(requests);
}

/* ---- report ---- */

static void print_p2p_row(const char *what, unsigned bytes, const char *unit, const double *samples,
                          unsigned chunks)
{
    const struct nicbarr_quartiles quartiles = stats_quartiles(samples, chunks);
    printf("%-12s%10u%8s%12.3f%12.3f%12.3f\n", what, bytes, unit, quartiles.q1, quartiles.median,
           quartiles.q3);
}

static void report_head(const struct settings *settings)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    printf("# nicbarr_p2p, %s, %u chunks of each, windows of %u messages\n", library,
           settings->chunks, settings->window);
    printf("# %-10s%10s%8s%12s%12s%12s\n", "", "bytes", "", "q1", "median", "q3");
}

/* ---- all of it ---- */

static void measure_messages(const struct settings *settings, int rank)
{
    static const struct {
        const char *name;
        int computes;
    } overlaps[] = {
        {"hidden-recv", RECEIVER}, {"hidden-send", SENDER}, {"hidden-both", SENDER | RECEIVER}};
    double *samples = bench_alloc(settings->chunks, sizeof(*samples));
    MPI_Request *unmatched = post_unmatched(settings, rank);
    if (rank == 0)
        report_head(settings);
    measure_latency(settings, rank, samples);
    if (rank == 0)
        print_p2p_row("latency", settings->latency_bytes, "us", samples, settings->chunks);
    measure_bandwidth(settings, rank, samples);
    if (rank == 0)
        print_p2p_row("bandwidth", settings->bandwidth_bytes, "MB/s", samples, settings->chunks);
    if (0 != settings->overlap_bytes) {
        const double rate = work_rate();
        for (size_t i = 0; i < sizeof(overlaps) / sizeof(overlaps[0]); i++) {
            measure_overlap(settings, rank, overlaps[i].computes, rate, samples);
            if (rank == 0)
                print_p2p_row(overlaps[i].name, settings->overlap_bytes, "%", samples,
                              settings->chunks);
        }
    }
    cancel(settings, unmatched);
    free(samples);
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
    if (rank < 2)
        measure_messages(&settings, rank);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
