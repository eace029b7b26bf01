/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of nicbarr_bench.
 *
 * Called by nicbarr_bench once on every rank, with the same arguments, so that all ranks get the
 * same result. Only one rank prints.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "operations.h"

#define OPTIONS_SIZES 32

struct options {
    enum operation operation;
    enum operation beside;       /* another operation, measured like A; OPERATION_NONE: none */
    bool sized;                  /* at least one of both operations has messages */
    size_t sizes[OPTIONS_SIZES]; /* bytes per message; a single 0 unless `sized` */
    unsigned sizes_count;
    unsigned iterations; /* per chunk; 0: as many as fit */
    unsigned warmup;     /* operations on each communicator before its first chunk */
    unsigned chunks;
    unsigned tests;            /* MPI_Test calls during computation (non-blocking operations) */
    const char *preference[2]; /* of the communicators A and B; NULL: the job's default */
    bool unchecked;            /* results are not checked */
    bool root_stays;           /* if not set, the root advances from operation to operation */
    unsigned root;
    bool full;
    bool tails;
    bool raw;
    const char *json; /* file name, or NULL */
};

enum options_verdict {
    OPTIONS_RUN,
    OPTIONS_HELPED, /* help or the version was requested, and has been printed */
    OPTIONS_BAD,    /* an error message has been printed */
};

enum options_verdict options_parse(int argc, char **argv, bool prints, struct options *options);

#endif
