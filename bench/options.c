/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of nicbarr_bench; see options.h.
 */
#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

/* A single element, a few elements, and sizes up to those of long messages. */
static const size_t default_sizes[] = {4, 8, 64, 512, 1024, 4096};
enum { DEFAULT_SIZES = sizeof(default_sizes) / sizeof(*default_sizes) };

static const char usage[] =
    "Usage: mpirun ... nicbarr_bench [OPERATION] [OPTION]...\n"
    "Measures an operation alternately on two duplicates of MPI_COMM_WORLD, A and B,\n"
    "which differ in their info key ompi_comm_coll_preference, the list of collective\n"
    "components to use.\n"
    "\n"
    "  barrier      MPI_Barrier (default)\n"
    "  ibarrier     MPI_Ibarrier and MPI_Wait, and its overlap with computation\n"
    "  persistent   a persistent barrier\n"
    "  allreduce    MPI_Allreduce: sums of MPI_FLOAT\n"
    "  iallreduce   MPI_Iallreduce and MPI_Wait, and its overlap with computation\n"
    "  reduce       MPI_Reduce: sums of MPI_FLOAT; each rank is the root in turn\n"
    "  bcast        MPI_Bcast: each rank is the root in turn\n"
    "  allgather    MPI_Allgather: a message of each process\n"
    "  gather       MPI_Gather: a message of each process; each rank is the root in\n"
    "               turn\n"
    "  scatter      MPI_Scatter: a message for each process; each rank is the root in\n"
    "               turn\n"
    "  dup          MPI_Comm_dup and MPI_Comm_free; duplicates keep the preference\n"
    "  i...         ibcast, iallgather, igather, iscatter: non-blocking forms and\n"
    "               MPI_Wait, and their overlap with computation\n"
    "  ..._init     allreduce_init, reduce_init, bcast_init, allgather_init,\n"
    "               gather_init, scatter_init: persistent forms, MPI_Start and\n"
    "               MPI_Wait; the root is rank 0\n"
    "\n"
    "  -a PREFERENCE           coll preference of A, such as\n"
    "                          nicbarr,tuned,basic,libnbc (default: none, A uses what\n"
    "                          the job selects)\n"
    "  -b PREFERENCE           coll preference of B (default: ^nicbarr); '' is none\n"
    "  -c, --chunks N          samples of A and of B (default 300), of each size\n"
    "  -i, --iterations N      operations in a chunk (default: what fits 0.2 ms)\n"
    "  -x, --warmup N          operations before the first chunk (default 1000), of\n"
    "                          each size\n"
    "  -m, --message-size [MIN:]MAX\n"
    "                          bytes: MIN (default 4), doubled up to MAX\n"
    "                          (default: 4, 8, 64, 512, 1024, 4096)\n"
    "  -f, --full              also print minimum and maximum over the ranks\n"
    "  -z, --tail-lat          also print the 50th, 90th and 99th percentile of\n"
    "                          single operations\n"
    "  -t, --num_test_calls N  MPI_Test calls while computing, where overlap is\n"
    "                          measured (default 0)\n"
    "      --beside OPERATION  also measure OPERATION, on another duplicate like A,\n"
    "                          in the same rounds\n"
    "      --root RANK         use RANK as the root of all calls\n"
    "      --no-validation     do not check results (by default they are checked\n"
    "                          after the measurement)\n"
    "      --raw               also measure the raw limit of a barrier of the same\n"
    "                          processes in shared memory\n"
    "      --json FILE         also write the measurements to FILE\n"
    "  -h, --help              this text\n"
    "      --version           the version\n";

enum { LONG_RAW = 256, LONG_JSON, LONG_BESIDE, LONG_ROOT, LONG_NO_VALIDATION, LONG_VERSION };

static const struct option long_options[] = {
    {"chunks", required_argument, NULL, 'c'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'},
    {"message-size", required_argument, NULL, 'm'},
    {"full", no_argument, NULL, 'f'},
    {"tail-lat", no_argument, NULL, 'z'},
    {"num_test_calls", required_argument, NULL, 't'},
    {"beside", required_argument, NULL, LONG_BESIDE},
    {"root", required_argument, NULL, LONG_ROOT},
    {"no-validation", no_argument, NULL, LONG_NO_VALIDATION},
    {"raw", no_argument, NULL, LONG_RAW},
    {"json", required_argument, NULL, LONG_JSON},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, LONG_VERSION},
    {0},
};

/* Parses [MIN:]MAX. The sizes are MIN, 2 MIN, 4 MIN and so on, up to MAX. */
static bool parse_sizes(const char *text, struct options *options)
{
    static const unsigned long most = 1ul << 28;
    unsigned from = (unsigned)default_sizes[0], to;
    const char *colon = strchr(text, ':');
    if (colon) {
        char least[16];
        if ((size_t)(colon - text) >= sizeof(least))
            return false;
        snprintf(least, sizeof(least), "%.*s", (int)(colon - text), text);
        if (!number_parse(least, 1, most, &from))
            return false;
    }
    if (!number_parse(colon ? colon + 1 : text, from, most, &to))
        return false;
    options->sizes_count = 0;
    for (size_t size = from; size <= to; size *= 2)
        options->sizes[options->sizes_count++] = size;
    return true;
}

/* Returns the bytes per element for both operations, or 0 if neither has messages. */
static unsigned unit(const struct options *options)
{
    const unsigned measured = operations[options->operation].unit;
    const unsigned beside =
        options->beside == OPERATION_NONE ? 0 : operations[options->beside].unit;
    return measured > beside ? measured : beside; /* one divides the other */
}

/* Determines the sizes once the operations are known. Returns false if they are not multiples of an
 * element. It suffices to check the first size, because the others are its multiples. */
static bool settle_sizes(struct options *options)
{
    const unsigned element = unit(options);
    options->sized = element != 0;
    if (element)
        return options->sizes[0] % element == 0;
    options->sizes[0] = 0;
    options->sizes_count = 1;
    return true;
}

static enum options_verdict bad(bool prints, const char *text, const char *expected)
{
    if (prints)
        fprintf(stderr, "nicbarr_bench: '%s' is not %s (try --help)\n", text, expected);
    return OPTIONS_BAD;
}

/* The options with a number as their value, and where it is stored. */
static const struct number_option {
    int key;
    unsigned least, most;
    size_t offset; /* in struct options */
    const char *expected;
} number_options[] = {
    {'c', 1, 100000, offsetof(struct options, chunks), "a number of chunks from 1 to 100000"},
    {'i', 1, 1000000000, offsetof(struct options, iterations),
     "a number of iterations from 1 to 1000000000"},
    {'x', 0, 1000000000, offsetof(struct options, warmup),
     "a number of warm-up iterations up to 1000000000"},
    {'t', 0, 1000000, offsetof(struct options, tests), "a number of test calls up to 1000000"},
    {LONG_ROOT, 0, INT_MAX, offsetof(struct options, root), "a rank"},
};

static const struct number_option *find_number(int key)
{
    for (size_t n = 0; n < sizeof(number_options) / sizeof(number_options[0]); ++n)
        if (key == number_options[n].key)
            return &number_options[n];
    return NULL;
}

static const struct options defaults = {.beside = OPERATION_NONE,
                                        .sizes_count = DEFAULT_SIZES,
                                        .warmup = 1000,
                                        .chunks = 300,
                                        .preference = {NULL, "^nicbarr"}};

static const char known[] =
    "barrier, ibarrier, persistent, allreduce, bcast, dup or another operation";

/* Parses the operand that follows the options, which is the operation. `sizes` is the argument of
 * -m. */
static enum options_verdict parse_operands(int argc, char **argv, bool prints, const char *sizes,
                                           struct options *options)
{
    if (optind < argc && !operation_find(argv[optind++], &options->operation))
        return bad(prints, argv[optind - 1], known);
    if (optind < argc)
        return bad(prints, argv[optind], "expected after the operation");
    if (!settle_sizes(options))
        return bad(prints, sizes, "a size of messages whose MIN is a multiple of 4, as floats are");
    return OPTIONS_RUN;
}

enum options_verdict options_parse(int argc, char **argv, bool prints, struct options *options)
{
    const char *sizes = NULL;
    const struct number_option *number;
    *options = defaults;
    memcpy(options->sizes, default_sizes, sizeof(default_sizes));
    opterr = prints;
    int key;
    while ((key = getopt_long(argc, argv, "a:b:c:i:x:m:fzt:h", long_options, NULL)) != -1) {
        switch (key) {
        case 'a':
        case 'b':
            options->preference[key - 'a'] = *optarg ? optarg : NULL;
            break;
        case 'm':
            sizes = optarg;
            if (!parse_sizes(optarg, options))
                return bad(prints, optarg,
                           "a size of messages, MAX or MIN:MAX, from 1 to 268435456");
            break;
        case 'f':
            options->full = true;
            break;
        case 'z':
            options->tails = true;
            break;
        case LONG_BESIDE:
            if (!operation_find(optarg, &options->beside))
                return bad(prints, optarg, known);
            break;
        case LONG_NO_VALIDATION:
            options->unchecked = true;
            break;
        case LONG_RAW:
            options->raw = true;
            break;
        case LONG_JSON:
            options->json = optarg;
            break;
        case 'h':
            if (prints)
                fputs(usage, stdout);
            return OPTIONS_HELPED;
        case LONG_VERSION:
            if (prints)
                puts("nicbarr_bench " NICBARR_VERSION);
            return OPTIONS_HELPED;
        case LONG_ROOT:
            options->root_stays = true;
            /* fallthrough */
        default:
            number = find_number(key);
            if (number == NULL)
                return OPTIONS_BAD; /* getopt_long has printed the error */
            if (!number_parse(optarg, number->least, number->most,
                              (unsigned *)((char *)options + number->offset)))
                return bad(prints, optarg, number->expected);
        }
    }
    return parse_operands(argc, argv, prints, sizes, options);
}
