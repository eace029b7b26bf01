/*
 * nicbarr_bench: MPI barriers in the manner of the OSU micro-benchmarks, two of them in turns.
 *
 * A person's and the demo's program: it answers how much faster one choice of Open MPI's collective
 * components is than another on this machine, now, and how far it is from what the machine can do.
 * Everything that is compared takes turns within one job (contest.h); only ratios of such
 * neighbours mean something on a machine that changes its speed.
 *
 * Who does what: options.c the command line, job.c the placement, mpi_barrier.c and raw_job.c the
 * contestants, report.c the figures.
 */
#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"
#include "job.h"
#include "mpi_barrier.h"
#include "options.h"
#include "raw_job.h"
#include "report.h"

static const char *const communicator_names[2] = {"A", "B"};

/* All ranks find the same things to tell; one tells them. */
static void __attribute__((format(printf, 2, 3))) tell(int rank, const char *format, ...)
{
    if (rank != 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "nicbarr_bench: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

/* Opens the JSON file on rank 0 before anything is measured: a wrong name shall not cost a
 * measurement. The same answer on all ranks; *file is NULL on the others. */
static bool open_json(const char *name, int rank, FILE **file)
{
    int opened = 1;
    *file = NULL;
    if (!name)
        return true;
    if (rank == 0) {
        *file = fopen(name, "w");
        opened = *file != NULL;
        if (!opened)
            tell(rank, "cannot write %s: %s", name, strerror(errno));
    }
    MPI_Bcast(&opened, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return opened;
}

static void warn_of_missing_components(const struct options *options, int rank)
{
    char name[128];
    for (int i = 0; i < 2; i++)
        if (!mpi_barrier_components_loaded(options->preference[i], name, sizeof(name)))
            tell(rank, "warning: this job has no coll component '%s', which %s's preference names",
                 name, communicator_names[i]);
}

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
    warn_of_missing_components(options, job->rank);

    for (int i = 0; i < 2; i++) {
        mpi_barrier_open(&barriers[i], options->mode, options->preference[i], options->tests);
        contestants[count++] =
            mpi_barrier_contestant(&barriers[i], communicator_names[i], options->tails);
    }
    if (with_raw) {
        raw_job_open(&raw, job);
        count += raw_job_contestants(&raw, contestants + count);
    }

    /* -i is about MPI operations; raw ones are of another order of magnitude. */
    for (size_t i = 0; i < count; i++)
        contest_prepare(&contestants[i], options->warmup, i < 2 ? options->iterations : 0);
    contest_play(contestants, count, options->chunks);
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
    if (!open_json(options->json, rank, &json))
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
