/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of an experiment: the command line, the job, and the speed of its processes.
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
    /* Collective over MPI_COMM_WORLD. On failure prints a message and returns false. */
    bool (*run)(const struct settings *settings);
};

struct settings {
    const struct experiment *experiment;
    const char *preference[2]; /* of the communicators A and B; NULL: the job's default */
    const char *csv;           /* file name, or NULL */
    const char *algorithm;     /* the algorithm of both sides of `overhead` */
    unsigned seed;
    double budget; /* approximate duration of the measurements in seconds */
    struct job job;
    double stretch; /* time of work when all processes compute, relative to its CPU time; 1 if no
                       processes share a core */
};

enum settings_verdict {
    SETTINGS_RUN,
    SETTINGS_HELPED, /* help or the version was requested, and has been printed */
    SETTINGS_BAD,    /* an error message has been printed */
};

/* Parses the command line, before MPI_Init. `prints`: this process prints help and messages. */
enum settings_verdict settings_parse(int argc, char **argv, bool prints,
                                     const struct experiment *experiments, size_t count,
                                     struct settings *settings);

/* Determines the job and the stretch, after MPI_Init. Collective over MPI_COMM_WORLD. */
void settings_open(struct settings *settings);
void settings_close(struct settings *settings);

bool settings_oversubscribed(const struct settings *settings);

#endif
