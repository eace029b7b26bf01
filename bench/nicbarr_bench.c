/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_bench: MPI collectives in the manner of the OSU micro-benchmarks, two sides in turns.
 *
 * A user's and the demo's program. It answers two questions for this machine, now. How much
 * faster is one choice of Open MPI's collective components than another? How far is it from what
 * the machine can do? Everything that is compared takes turns within one job (contest.h): on a
 * machine that changes its speed, only ratios of such neighbours mean something.
 *
 * Files: options.c the command line, job.c the placement, mpi_side.c and raw_job.c the contestants,
 * mpi_operation.c what they play, report.c the figures.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "contest.h"
#include "job.h"
#include "mpi_side.h"
#include "options.h"
#include "raw_job.h"
#include "report.h"
#include "tell.h"

struct game {
    const struct options *options;
    const struct job *job;
    struct mpi_side sides[REPORT_SIDES]; /* A, B, and what is beside them */
    size_t sides_count;
    struct raw_job raw;
    bool with_raw;
};

static void game_open(struct game *game, const struct options *options, const struct job *job)
{
    *game = (struct game){.options = options, .job = job};
    game->with_raw = options->raw && job->one_node;
    if (options->raw && !job->one_node)
        tell(job->rank, "warning: --raw needs all processes on one node; it is left out");
    mpi_side_warn_of_missing(options->preference, job->rank);

    for (int i = REPORT_A; i <= REPORT_B; i++)
        mpi_side_open(&game->sides[game->sides_count++], MPI_COMM_WORLD, options->operation,
                      options->preference[i], options->tests);
    if (options->beside != OPERATION_NONE)
        mpi_side_open(&game->sides[game->sides_count++], MPI_COMM_WORLD, options->beside,
                      options->preference[REPORT_A], options->tests);
    for (size_t i = 0; i < game->sides_count && options->root_stays; i++)
        mpi_operation_keep_root(&game->sides[i].operation, options->root);
    if (game->with_raw)
        raw_job_open(&game->raw, job);
}

static void game_close(struct game *game)
{
    if (game->with_raw)
        raw_job_close(&game->raw);
    for (size_t i = 0; i < game->sides_count; i++)
        mpi_side_close(&game->sides[i]);
}

/* On rank 0: whether all ranks got what they should. */
static bool check_results(const struct game *game, struct mpi_side *side, const char *name,
                          size_t bytes)
{
    int right = mpi_operation_check(&side->operation);
    MPI_Reduce(game->job->rank == 0 ? MPI_IN_PLACE : &right, &right, 1, MPI_INT, MPI_MIN, 0,
               MPI_COMM_WORLD);
    if (!right) {
        if (game->options->sized)
            tell(game->job->rank, "%s gives wrong results with messages of %zu bytes", name, bytes);
        else
            tell(game->job->rank, "%s gives wrong results", name);
    }
    return right;
}

/* One size: measures, then checks. */
static void measure_size(struct game *game, size_t bytes, struct report *report)
{
    const struct options *options = game->options;
    struct contestant contestants[REPORT_SIDES + RAW_PATTERNS];
    bool right[REPORT_SIDES];
    size_t count = 0;
    for (; count < game->sides_count; count++) {
        const char *name =
            count <= REPORT_B ? mpi_side_names[count] : operations[options->beside].name;
        mpi_operation_resize(&game->sides[count].operation, bytes);
        contestants[count] = mpi_side_contestant(&game->sides[count], name, options->tails);
    }
    if (game->with_raw)
        count += raw_job_contestants(&game->raw, contestants + count);

    /* -i is about MPI operations; raw ones are of another order of magnitude. */
    for (size_t i = 0; i < count; i++)
        contest_prepare(&contestants[i], MPI_COMM_WORLD, options->warmup,
                        i < game->sides_count ? options->iterations : 0);
    /* What is not blocking cannot be set up across hosts, but by the next that is. */
    for (size_t i = 0; i < game->sides_count; i++)
        MPI_Barrier(game->sides[i].operation.comm);
    contest_play(contestants, count, MPI_COMM_WORLD, options->chunks);
    for (size_t i = 0; i < game->sides_count; i++)
        right[i] =
            options->unchecked || check_results(game, &game->sides[i], contestants[i].name, bytes);
    if (game->job->rank == 0)
        report_add(report, bytes, contestants, count, right);
    contest_free(contestants, count);
}

/* Rank 0: shows the results. False when some were wrong, or a file could not be written. */
static bool show_report(const struct report *report, FILE *json)
{
    report_print(report);
    if (json && !report_write_json(report, json)) {
        tell(0, "%s could not be written whole", report->options->json);
        return false;
    }
    return report_right(report);
}

static int measure_sizes(const struct options *options, const struct job *job, FILE *json)
{
    struct game game;
    struct report report;
    game_open(&game, options, job);
    report_open(&report, options, job);
    for (unsigned i = 0; i < options->sizes_count; i++)
        measure_size(&game, options->sizes[i], &report);
    bool well = job->rank != 0 || show_report(&report, json);
    report_close(&report);
    game_close(&game);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool supported(const struct options *options)
{
    return mpi_operation_supported(options->operation) &&
           (options->beside == OPERATION_NONE || mpi_operation_supported(options->beside));
}

static int run_benchmark(const struct options *options, int rank)
{
    if (!supported(options)) {
        tell(rank, "this MPI library has no persistent collectives");
        return EXIT_FAILURE;
    }
    FILE *json;
    if (!tell_into(options->json, rank, &json))
        return EXIT_FAILURE;

    struct job job;
    int status = EXIT_SUCCESS;
    job_open(&job);
    if (job.size > 1)
        status = measure_sizes(options, &job, json);
    else
        tell(rank, "one process: nothing to measure");
    job_close(&job);
    if (json)
        fclose(json);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    int rank, status = EXIT_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    switch (options_parse(argc, argv, rank == 0, &options)) {
    case OPTIONS_RUN:
        status = run_benchmark(&options, rank);
        break;
    case OPTIONS_HELPED:
        break;
    case OPTIONS_BAD:
        status = EX_USAGE;
        break;
    }
    MPI_Finalize();
    return status;
}
