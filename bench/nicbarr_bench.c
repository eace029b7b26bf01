/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_bench: measures two choices of MPI's collectives alternately, in the manner of the OSU
 * micro-benchmarks.
 *
 * It is a program for users, which demo.sh calls as well. For the current machine and load, it
 * determines how much faster one choice of Open MPI's collective components is than another, and
 * how far it is from the limit of the machine. Everything that is compared alternates within one
 * job (contest.h), because a machine's speed changes, so that only ratios of consecutive samples
 * are meaningful.
 *
 * Files: options.c parses the command line, job.c determines the placement, mpi_side.c and
 * raw_job.c implement the contestants, mpi_operation.c implements the operations, and report.c
 * prints the results.
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
#include "output.h"

struct bench {
    const struct options *options;
    const struct job *job;
    struct mpi_side sides[REPORT_SIDES]; /* A, B, and the operation of --beside */
    size_t sides_count;
    struct raw_job raw;
    bool with_raw;
};

static void bench_open(struct bench *bench, const struct options *options, const struct job *job)
{
    *bench = (struct bench){.options = options, .job = job};
    bench->with_raw = options->raw && job->one_node;
    if (options->raw && !job->one_node)
        output_message(job->rank,
                       "warning: --raw is ignored, as it needs all processes on one node");
    mpi_side_warn_of_missing(options->preference, job->rank);

    for (int i = REPORT_A; i <= REPORT_B; i++)
        mpi_side_open(&bench->sides[bench->sides_count++], MPI_COMM_WORLD, options->operation,
                      options->preference[i], options->tests);
    if (options->beside != OPERATION_NONE)
        mpi_side_open(&bench->sides[bench->sides_count++], MPI_COMM_WORLD, options->beside,
                      options->preference[REPORT_A], options->tests);
    for (size_t i = 0; i < bench->sides_count && options->root_stays; i++)
        mpi_operation_keep_root(&bench->sides[i].operation, options->root);
    if (bench->with_raw)
        raw_job_open(&bench->raw, job);
}

static void bench_close(struct bench *bench)
{
    if (bench->with_raw)
        raw_job_close(&bench->raw);
    for (size_t i = 0; i < bench->sides_count; i++)
        mpi_side_close(&bench->sides[i]);
}

/* Returns, on rank 0, whether all ranks received correct results. */
static bool check_results(const struct bench *bench, struct mpi_side *side, const char *name,
                          size_t bytes)
{
    int right = mpi_operation_check(&side->operation);
    MPI_Reduce(bench->job->rank == 0 ? MPI_IN_PLACE : &right, &right, 1, MPI_INT, MPI_MIN, 0,
               MPI_COMM_WORLD);
    if (!right) {
        if (bench->options->sized)
            output_message(bench->job->rank, "%s gives wrong results with messages of %zu bytes",
                           name, bytes);
        else
            output_message(bench->job->rank, "%s gives wrong results", name);
    }
    return right;
}

/* Measures one size, then checks the results. */
static void measure_size(struct bench *bench, size_t bytes, struct report *report)
{
    const struct options *options = bench->options;
    struct contestant contestants[REPORT_SIDES + RAW_PATTERNS];
    bool right[REPORT_SIDES];
    size_t count = 0;
    for (; count < bench->sides_count; count++) {
        const char *name =
            count <= REPORT_B ? mpi_side_names[count] : operations[options->beside].name;
        mpi_operation_resize(&bench->sides[count].operation, bytes);
        contestants[count] = mpi_side_contestant(&bench->sides[count], name, options->tails);
    }
    if (bench->with_raw)
        count += raw_job_contestants(&bench->raw, contestants + count);

    /* -i only applies to MPI operations, because raw barriers are shorter by an order of
     * magnitude. */
    for (size_t i = 0; i < count; i++)
        contest_prepare(&contestants[i], MPI_COMM_WORLD, options->warmup,
                        i < bench->sides_count ? options->iterations : 0);
    /* Only blocking operations set up nicbarr across hosts, so one precedes the measurement. */
    for (size_t i = 0; i < bench->sides_count; i++)
        MPI_Barrier(bench->sides[i].operation.comm);
    contest_play(contestants, count, MPI_COMM_WORLD, options->chunks);
    for (size_t i = 0; i < bench->sides_count; i++)
        right[i] = options->unchecked ||
                   check_results(bench, &bench->sides[i], contestants[i].name, bytes);
    if (bench->job->rank == 0)
        report_add(report, bytes, contestants, count, right);
    contest_free(contestants, count);
}

/* Prints the results on rank 0. Returns false if some were wrong, or if a file could not be
 * written. */
static bool show_report(const struct report *report, FILE *json)
{
    report_print(report);
    if (json && !report_write_json(report, json)) {
        output_message(0, "%s could not be written completely", report->options->json);
        return false;
    }
    return report_right(report);
}

static int measure_sizes(const struct options *options, const struct job *job, FILE *json)
{
    struct bench bench;
    struct report report;
    bench_open(&bench, options, job);
    report_open(&report, options, job);
    for (unsigned i = 0; i < options->sizes_count; i++)
        measure_size(&bench, options->sizes[i], &report);
    bool well = job->rank != 0 || show_report(&report, json);
    report_close(&report);
    bench_close(&bench);
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
        output_message(rank, "this MPI library has no persistent collectives");
        return EXIT_FAILURE;
    }
    FILE *json;
    if (!output_open(options->json, rank, &json))
        return EXIT_FAILURE;

    struct job job;
    int status = EXIT_SUCCESS;
    job_open(&job);
    if (job.size > 1)
        status = measure_sizes(options, &job, json);
    else
        output_message(rank, "one process: nothing to measure");
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
