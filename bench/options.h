/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of nicbarr_bench.
 *
 * Called by nicbarr_bench once on every rank, with the same arguments, so that all ranks come to
 * the same result; only the rank that speaks prints anything.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "operations.h"

#define OPTIONS_SIZES 32

struct options {
    enum operation operation;
    enum operation beside;       /* measured on A, too; OPERATION_NONE: none */
    bool sized;                  /* one of both carries messages */
    size_t sizes[OPTIONS_SIZES]; /* of the messages, bytes; a single 0 unless sized */
    unsigned sizes_count;
    unsigned iterations; /* operations in a chunk; 0: what fits a chunk */
    unsigned warmup;     /* operations on each communicator before its first chunk */
    unsigned chunks;
    unsigned tests;            /* MPI_Test calls while computing (non-blocking operations) */
    const char *preference[2]; /* of the communicators A and B; NULL: as the job gives them */
    bool unchecked;            /* results are not looked at */
    bool root_stays;           /* else it goes round, where there is one */
    unsigned root;
    bool full;
    bool tails;
    bool raw;
    const char *json; /* file name or NULL */
};

enum options_verdict {
    OPTIONS_RUN,
    OPTIONS_HELPED, /* help or the version was asked for and printed */
    OPTIONS_BAD,    /* told in one line */
};

enum options_verdict options_parse(int argc, char **argv, bool speak, struct options *options);

#endif
