/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtt: the 1:P P:1 ping-pong (Hoefler, section 2.1, figures 1 and 2) with MPI's messages.
 *
 * Called by nicbarr_experiments. Rank 0 sends one byte to each of P peers, which all reply
 * immediately with one byte. Each round trip is timed separately. The minimum shows the cost of the
 * network, and the median what a program can expect. As in the paper, the model is fitted to the
 * minima. */
#include "experiments.h"

#include <mpi.h>
#include <stdlib.h>

#include "bench/alloc.h"
#include "bench/chunk.h"
#include "bench/stats.h"
#include "fits.h"
#include "sides.h"
#include "table.h"

static const struct column columns[] = {
    {"peers", 0},  {"rtt_min_us", 3}, {"rtt_us", 3}, {"rtt_q1", 3},
    {"rtt_q3", 3}, {"model_us", 3},   {NULL, 0},
};

enum { FEWEST = 100, MOST = 100000, WARMUP = 50, TAG = 1 };
enum ball { AGAIN, LAST };

/* The results by number of peers, on rank 0. */
struct curve {
    double *peers, *least;
    struct nicbarr_quartiles *times;
    size_t count;
};

/* ---- the ping-pong ---- */

static void answer_pings(MPI_Comm team)
{
    char ball;
    MPI_Recv(&ball, 1, MPI_CHAR, 0, TAG, team, MPI_STATUS_IGNORE);
    while (ball == AGAIN) {
        MPI_Send(&ball, 1, MPI_CHAR, 0, TAG, team);
        MPI_Recv(&ball, 1, MPI_CHAR, 0, TAG, team, MPI_STATUS_IGNORE);
    }
}

static void throw_all(MPI_Comm team, int peers, char ball)
{
    for (int peer = 1; peer <= peers; peer++) {
        MPI_Send(&ball, 1, MPI_CHAR, peer, TAG, team);
    }
}

static double round_trip(MPI_Comm team, int peers, char *balls, MPI_Request *requests)
{
    for (int peer = 1; peer <= peers; peer++) {
        MPI_Irecv(&balls[peer - 1], 1, MPI_CHAR, peer, TAG, team, &requests[peer - 1]);
    }
    double start = chunk_clock();
    throw_all(team, peers, AGAIN);
    MPI_Waitall(peers, requests, MPI_STATUSES_IGNORE);
    return chunk_clock() - start;
}

/* Times as many round trips as fit into `seconds`, and returns their number. Called on rank 0. */
static size_t time_round_trips(MPI_Comm team, int peers, double seconds, double *samples)
{
    char *balls = bench_alloc((size_t)peers, sizeof(*balls));
    MPI_Request *requests = bench_alloc((size_t)peers, sizeof(MPI_Request));
    for (int i = 0; i < WARMUP; i++) {
        round_trip(team, peers, balls, requests);
    }
    const double end = chunk_clock() + seconds * 1e6;
    size_t n = 0;
    while (n < FEWEST || (n < MOST && chunk_clock() < end)) {
        samples[n++] = round_trip(team, peers, balls, requests);
    }
    throw_all(team, peers, LAST);
    free(requests);
    free(balls);
    return n;
}

/* ---- figures ---- */

static void add_point(struct curve *curve, int peers, const double *samples, size_t n)
{
    static const double lowest = 0;
    const size_t i = curve->count++;
    curve->peers[i] = peers;
    curve->times[i] = stats_quartiles(samples, n);
    stats_quantiles(samples, n, &lowest, 1, &curve->least[i]);
}

static void measure_curve(const struct settings *settings, struct curve *curve)
{
    const int most = settings->job.size - 1;
    double *samples = bench_alloc(MOST, sizeof(*samples));
    for (int peers = 1; peers <= most; peers++) {
        MPI_Comm team = team_open(settings, peers + 1);
        if (team == MPI_COMM_NULL) {
            continue;
        }
        if (settings->job.rank == 0) {
            add_point(curve, peers, samples,
                      time_round_trips(team, peers, settings->budget / most, samples));
        } else {
            answer_pings(team);
        }
        team_close(&team);
    }
    free(samples);
}

static void report_curve(const struct curve *curve, const struct table *table)
{
    const struct fits_lop lop = fits_lop(curve->peers, curve->least, curve->count);
    for (size_t i = 0; i < curve->count; i++) {
        struct row row = {0};
        row_add(&row, curve->peers[i]);
        row_add(&row, curve->least[i]);
        row_add_quartiles(&row, curve->times[i]);
        row_add(&row, fits_lop_rtt(&lop, curve->peers[i]));
        table_add(table, &row);
    }
    printf("\n# model: RTT(P) = %.3f + P (%.3f %+.3f (1 - exp(-%.3f (P - 1))))\n",
           table_rounded(lop.startup, 3), table_rounded(lop.message, 3),
           table_rounded(lop.saturation, 3), lop.rate);
}

bool rtt_run(const struct settings *settings)
{
    struct table table;
    if (!table_open(&table, settings, settings->csv, columns)) {
        return false;
    }
    const size_t most = (size_t)settings->job.size;
    struct curve curve = {.peers = bench_alloc(most, sizeof(double)),
                          .least = bench_alloc(most, sizeof(double)),
                          .times = bench_alloc(most, sizeof(*curve.times))};
    measure_curve(settings, &curve);
    if (settings->job.rank == 0) {
        report_curve(&curve, &table);
    }
    free(curve.times);
    free(curve.least);
    free(curve.peers);
    return table_close(&table);
}
