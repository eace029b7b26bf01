/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_tuned: measures each algorithm of Open MPI's component coll/tuned, with the processes of
 * its job.
 *
 * `nicbarr tune --write-tuned-rules` starts it, and converts the lines that it prints to a rules
 * file. bench/report/tuned_rules.awk describes these lines. Each algorithm of a collective is
 * forced for a separate communicator (algorithms.h), and all of them are measured alternately
 * (contest.h). The default decision of coll/tuned is measured twice, because the difference between
 * both measurements shows the noise of the machine. A collective with a root is first measured with
 * alternating roots, and then with a fixed root. Algorithms that fail, compute wrong results, or
 * change the order of operations that do not commute are excluded. */
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "algorithms.h"
#include "bench/alloc.h"
#include "bench/chunk.h"
#include "bench/contest.h"
#include "bench/job.h"
#include "bench/mpi_side.h"
#include "bench/number.h"
#include "bench/stats.h"
#include "bench/output.h"
#include "order.h"

/* coll/tuned first, then the components that it needs, but none that would replace its
 * functions. */
static const char preference[] = "tuned,basic,libnbc,self,inter";

enum {
    STEP = 4, /* factor between sizes */
    FEW = 5,  /* rounds that suffice to detect algorithms that are far slower */
    ENOUGH = 11
};
static const double far_behind = 1 / 1.5; /* a lower gain excludes an algorithm */

struct settings {
    unsigned least, most; /* bytes per message, in tuned's definition */
    unsigned budget;      /* milliseconds per size */
};

struct player {
    struct algorithm algorithm;
    struct mpi_side side;
    bool excluded;
    bool played;                   /* measured at this size */
    double us;                     /* rank 0: the median time at this size */
    struct nicbarr_quartiles gain; /* rank 0: the time of the default decision divided by the time
                                      of this algorithm, by round */
};

/* A collective with its algorithms. All are compared with players[0], the default decision of
 * coll/tuned. */
struct match {
    const struct settings *settings;
    const struct job *job;
    enum operation operation;
    struct player *players;
    size_t count;
    const char *root; /* "-" (no root), "each" or "0" */
};

static bool failed; /* set by the error handler */

static void record_failure(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    failed = true;
}

static bool on_all_ranks(bool here)
{
    int all = here;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* ---- sizes ---- */

/* Returns the number of blocks in a message as coll/tuned defines it: the blocks of all processes.
 * (mpi_operation.h only counts the block of one process.) */
static size_t blocks(const struct match *match)
{
    return match->operation == OPERATION_ALLGATHER ? (size_t)match->job->size : 1;
}

static size_t first_size(const struct match *match)
{
    const size_t least = match->settings->least / blocks(match);
    if (!operations[match->operation].unit)
        return 0;
    return least ? least : 1;
}

/* ---- players ---- */

static void exclude(const struct match *match, struct player *player, const char *why)
{
    const struct algorithm *algorithm = &player->algorithm;
    player->excluded = true;
    if (match->job->rank == 0)
        printf("tuned-left-out: %s %d %d %s %d %s\n", operations[match->operation].name,
               match->job->size, algorithm->number, algorithm->name, algorithm->segment, why);
}

static void player_open(const struct match *match, struct player *player, MPI_Comm parent)
{
    struct mpi_operation *operation = &player->side.operation;
    algorithm_force(operations[match->operation].name, &player->algorithm);
    mpi_side_open(&player->side, parent, match->operation, preference, 0);
    mpi_operation_resize(operation, first_size(match));
    failed = false;
    mpi_operation_play(operation);
    if (!on_all_ranks(!failed)) /* an algorithm may fail, such as two_proc with three processes */
        exclude(match, player, "it does not support so many processes");
    else if (!on_all_ranks(
                 order_is_kept(operation->comm, match->operation, player->algorithm.segment)))
        exclude(match, player, "it reorders operations that do not commute");
}

static void match_open(struct match *match, MPI_Comm parent)
{
    struct algorithm *list;
    const char *collective = operations[match->operation].name;
    const size_t count = algorithms_of(collective, &list);
    match->players = bench_alloc(count + 1, sizeof(*match->players));
    match->count = count ? count + 1 : 0;
    for (size_t p = 0; p < match->count; p++) {
        match->players[p].algorithm = list[p ? p - 1 : 0];
        player_open(match, &match->players[p], parent);
    }
    if (count)
        algorithm_force(collective, &list[0]);
    free(list);
}

static void match_close(struct match *match)
{
    for (size_t p = 0; p < match->count; p++)
        mpi_side_close(&match->players[p].side);
    free(match->players);
}

/* ---- one size ---- */

/* Returns the number of operations in a chunk, which is the same for all algorithms: as many as the
 * default decision of coll/tuned performs in the length of a chunk, but at least one. */
static unsigned fitting(struct contestant *own)
{
    enum { PROBES = 5, MANY = 10000 };
    static const double chunk_length = 200; /* microseconds */
    double figures[FIGURES], fastest = INFINITY;
    unsigned iterations = 1;
    for (; iterations * fastest < chunk_length / 4 || isinf(fastest); iterations *= STEP) {
        for (int probe = 0; probe < PROBES; probe++) {
            own->run(own->self, iterations, figures);
            MPI_Allreduce(MPI_IN_PLACE, &figures[FIGURE_LATENCY], 1, MPI_DOUBLE, MPI_MAX,
                          MPI_COMM_WORLD);
            fastest = fmin(fastest, figures[FIGURE_LATENCY]);
        }
    }
    return (unsigned)fmin(fmax(chunk_length / fastest, 1), MANY);
}

/* Runs that many rounds. Rank 0 stores the results. */
static void play(struct player **playing, struct contestant *contestants, size_t count,
                 unsigned rounds, int rank)
{
    contest_play(contestants, count, MPI_COMM_WORLD, rounds);
    for (size_t i = 0; i < count && rank == 0; i++) {
        const double *own = contestants[0].samples[FIGURE_LATENCY];
        const double *its = contestants[i].samples[FIGURE_LATENCY];
        playing[i]->us = stats_quartiles(its, rounds).median;
        playing[i]->gain = stats_ratio(own, its, rounds);
    }
    contest_free(contestants, count);
}

/* Drops algorithms that are far slower than the default decision of coll/tuned. Returns the number
 * of those that remain. */
static size_t drop(struct player **playing, struct contestant *contestants, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        int stays = playing[i]->algorithm.number == 0 || playing[i]->gain.median >= far_behind;
        MPI_Bcast(&stays, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (stays) {
            playing[kept] = playing[i];
            contestants[kept++] = contestants[i];
        }
    }
    return kept;
}

static void contest(const struct match *match, struct player **playing, size_t count)
{
    struct contestant *contestants = bench_alloc(count, sizeof(*contestants));
    for (size_t i = 0; i < count; i++)
        contestants[i] = mpi_side_contestant(&playing[i]->side, playing[i]->algorithm.name, false);
    const unsigned iterations = fitting(&contestants[0]);
    for (size_t i = 0; i < count; i++)
        contestants[i].iterations = iterations;
    play(playing, contestants, count, FEW, match->job->rank);
    count = drop(playing, contestants, count);
    const unsigned rounds =
        contest_rounds(contestants, count, MPI_COMM_WORLD, match->settings->budget * 1e-3);
    play(playing, contestants, count, rounds > ENOUGH ? rounds : ENOUGH, match->job->rank);
    free(contestants);
}

/* Prints a line for each algorithm that was measured. */
static void print_size(const struct match *match, size_t bytes)
{
    for (size_t p = 1; p < match->count && match->job->rank == 0; p++) {
        const struct player *player = &match->players[p];
        if (player->played && !player->excluded)
            printf("tuned: %s %d %d %s %zu %d %s %d %d %.4g %.4g %.4g %.4g\n",
                   operations[match->operation].name, match->job->nodes, match->job->size,
                   match->root, bytes, player->algorithm.number, player->algorithm.name,
                   player->algorithm.segment, ALGORITHM_FANOUT, player->us, player->gain.q1,
                   player->gain.median, player->gain.q3);
    }
    fflush(stdout);
}

/* Measures one size. `block` is the number of bytes per message, or per process's block. */
static void measure_size(const struct match *match, size_t block)
{
    struct player **playing = bench_alloc(match->count, sizeof(*playing));
    const size_t bytes = block * blocks(match);
    size_t count = 0;
    for (size_t p = 0; p < match->count; p++) {
        struct player *player = &match->players[p];
        player->played = !player->excluded && 2 * (size_t)player->algorithm.segment <= bytes;
        if (player->played) {
            mpi_operation_resize(&player->side.operation, block);
            playing[count++] = player;
        }
    }
    contest(match, playing, count);
    for (size_t p = 0; p < match->count; p++) {
        struct player *player = &match->players[p];
        if (player->played && !on_all_ranks(mpi_operation_check(&player->side.operation)))
            exclude(match, player, "it gives wrong results");
    }
    print_size(match, bytes);
    free(playing);
}

/* ---- all of it ---- */

static void measure_sizes(struct match *match, const char *root)
{
    size_t block = first_size(match);
    match->root = root;
    do {
        measure_size(match, block);
        block *= STEP;
    } while (block && block * blocks(match) <= match->settings->most);
}

static void measure(const struct settings *settings, const struct job *job,
                    enum operation operation, MPI_Comm parent)
{
    struct match match = {.settings = settings, .job = job, .operation = operation};
    const bool rooted = operation == OPERATION_BCAST || operation == OPERATION_REDUCE;
    match_open(&match, parent);
    measure_sizes(&match, rooted ? "each" : "-");
    if (rooted) {
        for (size_t p = 0; p < match.count; p++)
            mpi_operation_keep_root(&match.players[p].side.operation, 0);
        measure_sizes(&match, "0");
    }
    match_close(&match);
}

/* Parses the options; the operands after them are collectives. */
static bool parse(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"sizes", required_argument, NULL, 's'}, {"budget", required_argument, NULL, 'b'}, {0}};
    static const unsigned most = 1u << 28;
    int key;
    opterr = 0;
    while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        char *colon = key == 's' ? strchr(optarg, ':') : NULL;
        if (colon)
            *colon = '\0';
        if (!(key == 'b' && number_parse(optarg, 1, 60000, &settings->budget)) &&
            !(colon && number_parse(optarg, 4, most, &settings->least) &&
              settings->least % 4 == 0 &&
              number_parse(colon + 1, settings->least, most, &settings->most)))
            return false;
    }
    for (int o = optind; o < argc; o++) {
        enum operation operation;
        if (!operation_find(argv[o], &operation) ||
            (operation != OPERATION_BARRIER && operation != OPERATION_ALLREDUCE &&
             operation != OPERATION_BCAST && operation != OPERATION_REDUCE &&
             operation != OPERATION_ALLGATHER))
            return false;
    }
    return optind < argc;
}

static int run(int argc, char **argv, const struct job *job)
{
    struct settings settings = {4, 1 << 20, 300};
    MPI_Errhandler handler;
    MPI_Comm parent;
    if (!parse(argc, argv, &settings)) {
        output_message(job->rank,
                       "nicbarr_tuned [--sizes MIN:MAX] [--budget MS] COLLECTIVE..., of barrier, "
                       "allreduce, bcast, reduce, allgather");
        return EX_USAGE;
    }
    if (!algorithms_open() || job->size < 2) {
        output_message(job->rank,
                       "this needs Open MPI with coll/tuned, and at least two processes");
        return EXIT_FAILURE;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_create_errhandler(record_failure, &handler);
    MPI_Comm_set_errhandler(parent, handler); /* inherited by its duplicates */
    for (int o = optind; o < argc; o++) {
        enum operation operation = OPERATION_NONE;
        operation_find(argv[o], &operation);
        measure(&settings, job, operation, parent);
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&parent);
    algorithms_close();
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct job job;
    /* Allow algorithms to be forced, and ignore the user's rules. */
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
    setenv("OMPI_MCA_coll_tuned_dynamic_rules_filename", "", 1);
    MPI_Init(&argc, &argv);
    job_open(&job);
    int status = run(argc, argv, &job);
    job_close(&job);
    MPI_Finalize();
    return status;
}
