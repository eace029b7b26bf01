/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of an experiment: the command line, the job, and how fast its processes work.
 *
 * nicbarr_experiments fills them in once on every rank; all experiments read them.
 */
#ifndef BENCH_EXPERIMENTS_SETTINGS_H
#define BENCH_EXPERIMENTS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/job.h"

struct settings;

struct experiment {
    const char *name, *what;
    /* Collective over MPI_COMM_WORLD. False if it failed, after a message. */
    bool (*run)(const struct settings *settings);
};

struct settings {
    const struct experiment *experiment;
    const char *preference[2]; /* of the communicators A and B; NULL: the job's default */
    const char *csv;           /* file name, or NULL */
    const char *algorithm;     /* that both sides of `overhead` play */
    unsigned seed;
    double budget; /* seconds of measuring, approximately */
    struct job job;
    double stretch; /* time of work when all processes do it, over processor time; 1 where each
                       process has a processor */
};

enum settings_verdict {
    SETTINGS_RUN,
    SETTINGS_HELPED, /* help or the version was asked for, and was printed */
    SETTINGS_BAD,    /* after a message */
};

/* Parse the command line, before MPI_Init. `prints`: this process prints help and messages. */
enum settings_verdict settings_parse(int argc, char **argv, bool prints,
                                     const struct experiment *experiments, size_t count,
                                     struct settings *settings);

/* After MPI_Init, collective over MPI_COMM_WORLD: determine the job and the stretch. */
void settings_open(struct settings *settings);
void settings_close(struct settings *settings);

bool settings_oversubscribed(const struct settings *settings);

#endif
