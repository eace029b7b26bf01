/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_experiments: repeats the evaluations of the papers that nicbarr follows, with MPI.
 *
 * It is a program for users. It measures MPI_Barrier as Buntinas, Panda and Sadayappan evaluated
 * NIC-based barriers under MPI (section 4), MPI_Bcast as Zhang did, and messages as Hoefler
 * measured them for the n-way dissemination barrier (section 2). Where the papers compare NIC-based
 * with host-based barriers, this program compares A with B alternately within one job (contest.h),
 * as nicbarr_bench does. Where they state means of 10,000 operations, it prints medians and
 * quartiles of chunks.
 *
 * settings.c parses the command line and describes the job; table.c writes text and CSV. sides.c
 * and loops.c implement the contestants, library.c runs libmyr without MPI, and fits.c fits models
 * to measured curves. Each experiment has a file of its name.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "bench/output.h"
#include "bench/mpi_side.h"
#include "experiments.h"
#include "table.h"

static const struct experiment experiments[] = {
    {"latency", "MPI_Barrier of 2, 3, ... processes", latency_run},
    {"overhead", "overhead of MPI over libmyr's barrier", overhead_run},
    {"granularity", "a loop of work and a barrier, by the amount of work", granularity_run},
    {"arrival", "a loop of work and a barrier, by how the work varies", arrival_run},
    {"applications", "three synthetic applications", applications_run},
    {"bcast", "MPI_Bcast with a reply, by the size of the message", bcast_run},
    {"rtt", "1:P P:1 ping-pong of messages, compared with a model", rtt_run},
    {"fuzzy", "work between MPI_Ibarrier and MPI_Wait", fuzzy_run},
};

enum { EXPERIMENTS = sizeof(experiments) / sizeof(experiments[0]) };

/* Returns whether this is the first process. Before MPI_Init the rank is only known from the
 * environment that Open MPI's launchers set. */
static bool is_first(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return !rank || !strcmp(rank, "0");
}

/* Makes both sides of `overhead` run the same algorithm. Components read these variables in
 * MPI_Init. */
static void settle_algorithm(const struct settings *settings)
{
    setenv("OMPI_MCA_coll_nicbarr_algorithm", settings->algorithm, 1);
    setenv("OMPI_MCA_coll_nicbarr_nic", "soft", 1);
}

static int run_experiment(struct settings *settings)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        output_message(rank, "one process: nothing to measure");
        return EXIT_FAILURE;
    }
    mpi_side_warn_of_missing(settings->preference, rank);
    settings_open(settings);
    table_introduce(settings);
    const bool well = settings->experiment->run(settings);
    settings_close(settings);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct settings settings;
    switch (settings_parse(argc, argv, is_first(), experiments, EXPERIMENTS, &settings)) {
    case SETTINGS_HELPED:
        return EXIT_SUCCESS;
    case SETTINGS_BAD:
        return EX_USAGE;
    case SETTINGS_RUN:
        break;
    }
    if (settings.experiment->run == overhead_run) {
        settle_algorithm(&settings);
    }
    MPI_Init(&argc, &argv);
    const int status = run_experiment(&settings);
    MPI_Finalize();
    return status;
}
