/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_bench: MPI barriers in the manner of the OSU micro-benchmarks, two of them in turns.
 *
 * A person's and the demo's program. It answers two questions for this machine, now. How much
 * faster is one choice of Open MPI's collective components than another? How far is it from what
 * the machine can do? Everything that is compared takes turns within one job (contest.h): on a
 * machine that changes its speed, only ratios of such neighbours mean something.
 *
 * Who does what: options.c the command line, job.c the placement, mpi_barrier.c and raw_job.c the
 * contestants, report.c the figures.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "contest.h"
#include "job.h"
#include "mpi_barrier.h"
#include "options.h"
#include "raw_job.h"
#include "report.h"
#include "tell.h"

/* Rank 0: shows the results. False when a file could not be written. */
static bool report_results(const struct options *options, const struct job *job,
                           const struct contestant *contestants, size_t count, FILE *json)
{
    struct report report;
    report_make(&report, options, job, contestants, count);
    report_print(&report);
    bool written = !json || report_write_json(&report, json);
    if (!written)
        tell(job->rank, "%s could not be written whole", options->json);
    report_free(&report);
    return written;
}

static int measure(const struct options *options, const struct job *job, FILE *json)
{
    struct contestant contestants[2 + RAW_PATTERNS];
    struct mpi_barrier barriers[2];
    struct raw_job raw;
    size_t count = 0;

    bool with_raw = options->raw && job->one_node;
    if (options->raw && !job->one_node)
        tell(job->rank, "warning: --raw needs all processes on one node; it is left out");
    mpi_barrier_warn_of_missing(options->preference, job->rank);

    for (int i = 0; i < 2; i++) {
        mpi_barrier_open(&barriers[i], MPI_COMM_WORLD, options->mode, options->preference[i],
                         options->tests);
        contestants[count++] =
            mpi_barrier_contestant(&barriers[i], mpi_barrier_names[i], options->tails);
    }
    if (with_raw) {
        raw_job_open(&raw, job);
        count += raw_job_contestants(&raw, contestants + count);
    }

    /* -i is about MPI operations; raw ones are of another order of magnitude. */
    for (size_t i = 0; i < count; i++)
        contest_prepare(&contestants[i], MPI_COMM_WORLD, options->warmup,
                        i < 2 ? options->iterations : 0);
    contest_play(contestants, count, MPI_COMM_WORLD, options->chunks);
    bool well = job->rank != 0 || report_results(options, job, contestants, count, json);

    contest_free(contestants, count);
    if (with_raw)
        raw_job_close(&raw);
    for (int i = 0; i < 2; i++)
        mpi_barrier_close(&barriers[i]);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(const struct options *options, int rank)
{
    if (!mpi_barrier_supports(options->mode)) {
        tell(rank, "this MPI library has no persistent barrier");
        return EXIT_FAILURE;
    }
    FILE *json;
    if (!tell_into(options->json, rank, &json))
        return EXIT_FAILURE;

    struct job job;
    int status = EXIT_SUCCESS;
    job_open(&job);
    if (job.size > 1)
        status = measure(options, &job, json);
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
        status = run(&options, rank);
        break;
    case OPTIONS_HELPED:
        break;
    case OPTIONS_BAD:
        status = EXIT_FAILURE;
        break;
    }
    MPI_Finalize();
    return status;
}
