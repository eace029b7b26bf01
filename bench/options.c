/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of nicbarr_bench: see options.h.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

const char *const mode_names[MODES] = {"barrier", "ibarrier", "persistent"};

static const char usage[] =
    "Usage: mpirun ... nicbarr_bench [OPTION]... [barrier|ibarrier|persistent]\n"
    "Measures MPI_Barrier (default), MPI_Ibarrier with its overlap, or a persistent barrier\n"
    "on two duplicates of MPI_COMM_WORLD in turns: A and B differ in their info key\n"
    "ompi_comm_coll_preference, which names the collective components to use.\n"
    "\n"
    "  -a PREFERENCE          coll preference of A, such as nicbarr,tuned,basic,libnbc\n"
    "                         (default: none, A is what the job gives)\n"
    "  -b PREFERENCE          coll preference of B (default: ^nicbarr); '' is none\n"
    "  -c, --chunks N         samples of A and of B (default 300)\n"
    "  -i, --iterations N     operations in a chunk (default: what fits 0.2 ms)\n"
    "  -x, --warmup N         operations before the first chunk (default 1000)\n"
    "  -f, --full             minimum and maximum over the ranks, too\n"
    "  -z, --tail-lat         50th, 90th and 99th percentile of single operations, too\n"
    "  -t, --num_test_calls N MPI_Test calls while computing (ibarrier; default 0)\n"
    "      --raw              the raw limit of the same processes in shared memory, too\n"
    "      --json FILE        write the figures to FILE as well\n"
    "  -h, --help             this text\n";

enum { LONG_RAW = 256, LONG_JSON };

static const struct option long_options[] = {
    {"chunks", required_argument, NULL, 'c'}, {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'}, {"full", no_argument, NULL, 'f'},
    {"tail-lat", no_argument, NULL, 'z'},     {"num_test_calls", required_argument, NULL, 't'},
    {"raw", no_argument, NULL, LONG_RAW},     {"json", required_argument, NULL, LONG_JSON},
    {"help", no_argument, NULL, 'h'},         {0},
};

static bool mode(const char *text, enum mode *value)
{
    for (int m = 0; m < MODES; m++)
        if (!strcmp(text, mode_names[m])) {
            *value = (enum mode)m;
            return true;
        }
    return false;
}

static enum options_verdict bad(bool speak, const char *text, const char *expected)
{
    if (speak)
        fprintf(stderr, "nicbarr_bench: '%s' is not %s (try --help)\n", text, expected);
    return OPTIONS_BAD;
}

enum options_verdict options_parse(int argc, char **argv, bool speak, struct options *options)
{
    *options = (struct options){.warmup = 1000, .chunks = 300, .preference = {NULL, "^nicbarr"}};
    opterr = speak;
    int key;
    while ((key = getopt_long(argc, argv, "a:b:c:i:x:fzt:h", long_options, NULL)) != -1) {
        switch (key) {
        case 'a':
        case 'b':
            options->preference[key - 'a'] = *optarg ? optarg : NULL;
            break;
        case 'c':
            if (!number_parse(optarg, 1, 100000, &options->chunks))
                return bad(speak, optarg, "a number of chunks from 1 to 100000");
            break;
        case 'i':
            if (!number_parse(optarg, 1, 1000000000, &options->iterations))
                return bad(speak, optarg, "a number of iterations from 1 to 1000000000");
            break;
        case 'x':
            if (!number_parse(optarg, 0, 1000000000, &options->warmup))
                return bad(speak, optarg, "a number of warm-up iterations up to 1000000000");
            break;
        case 't':
            if (!number_parse(optarg, 0, 1000000, &options->tests))
                return bad(speak, optarg, "a number of test calls up to 1000000");
            break;
        case 'f':
            options->full = true;
            break;
        case 'z':
            options->tails = true;
            break;
        case LONG_RAW:
            options->raw = true;
            break;
        case LONG_JSON:
            options->json = optarg;
            break;
        case 'h':
            if (speak)
                fputs(usage, stdout);
            return OPTIONS_HELPED;
        default:
            return OPTIONS_BAD; /* getopt_long told */
        }
    }
    if (optind < argc && !mode(argv[optind++], &options->mode))
        return bad(speak, argv[optind - 1], "barrier, ibarrier or persistent");
    if (optind < argc)
        return bad(speak, argv[optind], "expected after the mode");
    return OPTIONS_RUN;
}
