/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an experiment is asked to do and where it runs: the command line, the job, the speed of
 * work.
 *
 * Made by nicbarr_experiments once on every rank; read by all experiments.
 */
#ifndef BENCH_EXPERIMENTS_SETTINGS_H
#define BENCH_EXPERIMENTS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/job.h"

struct settings;

struct experiment {
    const char *name, *what;
    /* Collective over MPI_COMM_WORLD. False: it could not be done, which was told. */
    bool (*run)(const struct settings *settings);
};

struct settings {
    const struct experiment *experiment;
    const char *preference[2]; /* of the communicators A and B; NULL: as the job gives them */
    const char *csv;           /* file name or NULL */
    const char *algorithm;     /* what both sides of `overhead` play */
    unsigned seed;
    double budget; /* seconds of measuring, about */
    struct job job;
    double stretch; /* time that work takes, as all processes do it, over processor time; 1 where
                       each has a processor */
};

enum settings_verdict {
    SETTINGS_RUN,
    SETTINGS_HELPED, /* help or the version was asked for and printed */
    SETTINGS_BAD,    /* told in one line */
};

/* Before MPI_Init: fills in what the command line says of the `count` experiments. `speak`: this
 * process is the one that prints. */
enum settings_verdict settings_parse(int argc, char **argv, bool speak,
                                     const struct experiment *experiments, size_t count,
                                     struct settings *settings);

/* After MPI_Init, collective over MPI_COMM_WORLD: the job and the stretch. */
void settings_open(struct settings *settings);
void settings_close(struct settings *settings);

bool settings_oversubscribed(const struct settings *settings);

#endif
