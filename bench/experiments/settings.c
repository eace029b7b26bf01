/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of an experiment; see settings.h.
 */
#include "settings.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/chunk.h"
#include "bench/number.h"
#include "bench/work.h"
#include "coll_nicbarr/schedule.h"

/* ---- the command line ---- */

static const char usage_head[] =
    "Usage: mpirun ... nicbarr_experiments EXPERIMENT [OPTION]...\n"
    "The experiments of the papers on NIC-based barriers. Two sides, A and B, are\n"
    "measured alternately in one job. They differ in the info key\n"
    "ompi_comm_coll_preference, the list of collective components to use. Results are\n"
    "in microseconds: medians and quartiles of many short chunks.\n"
    "\n";

static const char usage_options[] =
    "\n"
    "  -a PREFERENCE          coll preference of A (default: none, A uses what the\n"
    "                         job selects)\n"
    "  -b PREFERENCE          coll preference of B (default: ^nicbarr); '' is none\n"
    "      --csv FILE         also write the table to FILE (granularity: and the\n"
    "                         efficiencies to efficiency.csv in the same directory)\n"
    "      --seed N           of the random numbers (default: from the clock; it is\n"
    "                         printed)\n"
    "      --budget SECONDS   approximate measuring time (default 10)\n"
    "      --algorithm NAME   algorithm of both sides of overhead: pairwise\n"
    "                         (default), tree:4, dissemination:2, ...\n"
    "  -h, --help             this text\n"
    "      --version          the version\n";

enum { LONG_CSV = 256, LONG_SEED, LONG_BUDGET, LONG_ALGORITHM, LONG_VERSION };

static const struct option long_options[] = {
    {"csv", required_argument, NULL, LONG_CSV},
    {"seed", required_argument, NULL, LONG_SEED},
    {"budget", required_argument, NULL, LONG_BUDGET},
    {"algorithm", required_argument, NULL, LONG_ALGORITHM},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, LONG_VERSION},
    {0},
};

static bool seconds_parse(const char *text, double *value)
{
    char *end;
    errno = 0;
    double parsed = strtod(text, &end);
    if (errno || *end || *text < '0' || *text > '9' || !(parsed >= 0.01 && parsed <= 86400)) {
        return false;
    }
    *value = parsed;
    return true;
}

/* Returns whether an algorithm is a schedule of messages. Schedules can be executed both in shared
 * memory and by NICs. */
static bool is_schedule(const char *name)
{
    struct nicbarr_choice choice;
    return nicbarr_choice_parse(name, &choice) && choice.nic == 0 &&
           nicbarr_algorithm_messages(choice.algorithm);
}

static const struct experiment *find_experiment(const struct experiment *experiments, size_t count,
                                                const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(name, experiments[i].name)) {
            return &experiments[i];
        }
    }
    return NULL;
}

static enum settings_verdict bad(bool prints, const char *text, const char *expected)
{
    if (prints) {
        fprintf(stderr, "nicbarr_experiments: '%s' is not %s (try --help)\n", text, expected);
    }
    return SETTINGS_BAD;
}

static enum settings_verdict help(bool prints, const struct experiment *experiments, size_t count)
{
    if (prints) {
        fputs(usage_head, stdout);
        for (size_t i = 0; i < count; i++) {
            printf("  %-22s %s\n", experiments[i].name, experiments[i].what);
        }
        fputs(usage_options, stdout);
    }
    return SETTINGS_HELPED;
}

enum settings_verdict settings_parse(int argc, char **argv, bool prints,
                                     const struct experiment *experiments, size_t count,
                                     struct settings *settings)
{
    *settings = (struct settings){.preference = {NULL, "^nicbarr"},
                                  .algorithm = "pairwise",
                                  .seed = (unsigned)time(NULL) % 100000,
                                  .budget = 10};
    opterr = prints;
    int key;
    while ((key = getopt_long(argc, argv, "a:b:h", long_options, NULL)) != -1) {
        switch (key) {
        case 'a':
        case 'b':
            settings->preference[key - 'a'] = *optarg ? optarg : NULL;
            break;
        case LONG_CSV:
            settings->csv = optarg;
            break;
        case LONG_SEED:
            if (!number_parse(optarg, 0, 4294967295, &settings->seed)) {
                return bad(prints, optarg, "a seed from 0 to 4294967295");
            }
            break;
        case LONG_BUDGET:
            if (!seconds_parse(optarg, &settings->budget)) {
                return bad(prints, optarg, "a number of seconds from 0.01 to 86400");
            }
            break;
        case LONG_ALGORITHM:
            if (!is_schedule(optarg)) {
                return bad(prints, optarg, "an algorithm made of messages, such as tree:4");
            }
            settings->algorithm = optarg;
            break;
        case 'h':
            return help(prints, experiments, count);
        case LONG_VERSION:
            if (prints) {
                puts("nicbarr_experiments " NICBARR_VERSION);
            }
            return SETTINGS_HELPED;
        default:
            return SETTINGS_BAD; /* getopt_long has printed the error */
        }
    }
    if (optind == argc) {
        if (prints) {
            fprintf(stderr, "nicbarr_experiments: which experiment? (try --help)\n");
        }
        return SETTINGS_BAD;
    }
    settings->experiment = find_experiment(experiments, count, argv[optind]);
    if (!settings->experiment) {
        return bad(prints, argv[optind], "an experiment");
    }
    if (++optind < argc) {
        return bad(prints, argv[optind], "expected after the experiment");
    }
    return SETTINGS_RUN;
}

/* ---- the job ---- */

/* Measures the stretch, which is the time that work takes if all processes compute concurrently,
 * divided by its time on an otherwise idle core. It cannot be derived from the number of cores,
 * because several nodes may share them (nethosts). A round begins when the first rank starts. The
 * result is the minimum of several rounds, because processes of other jobs may delay a round. */
static double measure_stretch(void)
{
    enum { ROUNDS = 10 };
    static const double work = 2000;
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned long steps = (unsigned long)(work * work_rate());
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = chunk_clock();
        work_do(steps);
        MPI_Barrier(MPI_COMM_WORLD);
        double stretch = (chunk_clock() - start) / work;
        MPI_Allreduce(MPI_IN_PLACE, &stretch, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        least = fmin(least, stretch);
    }
    return least;
}

void settings_open(struct settings *settings)
{
    static const double noise = 1.25;
    job_open(&settings->job);
    MPI_Bcast(&settings->seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    double stretch = measure_stretch();
    settings->stretch = stretch < noise ? 1 : stretch;
}

void settings_close(struct settings *settings)
{
    job_close(&settings->job);
}

bool settings_oversubscribed(const struct settings *settings)
{
    return settings->stretch > 1 || (settings->job.one_node && settings->job.placement.crowded);
}
