/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicsim: simulates barriers on clusters whose NICs run the firmware. Finds the command and calls
 * its file; see commands.h.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nicsim/commands.h"

/* libc finds this variable by its name, so -fvisibility=hidden must not hide it. */
__attribute__((visibility("default"))) const char *argp_program_version = "nicsim " NICBARR_VERSION;

static const struct {
    const char *name;
    int (*run)(const struct nicsim_options *options);
} commands[] = {
    {"barrier", nicsim_barrier_command},   {"bcast", nicsim_bcast_command},
    {"table", nicsim_table_command},       {"fit", nicsim_fit_command},
    {"scale", nicsim_scale_command},       {"memory", nicsim_memory_command},
    {"evaluate", nicsim_evaluate_command}, {"broadcasts", nicsim_broadcasts_command},
    {"messages", nicsim_messages_command},
};

static const char doc[] =
    "Simulates clusters whose NICs run nicbarr's firmware: LANai cards of the papers, and others."
    "\v"
    "Commands:\n"
    "  barrier     one kind of barrier on one machine, with all counters\n"
    "  bcast       broadcasts on one machine, with all counters\n"
    "  table       the papers' measurements beside the simulator's\n"
    "  scale       latency, messages and memory against the number of nodes\n"
    "  memory      bytes of a NIC by its number of connections, and of a port\n"
    "  evaluate    the MPI paper's evaluation: tables in --csv-dir\n"
    "  broadcasts  the thesis's measurements of MPI_Bcast: tables in --csv-dir\n"
    "  messages    the thesis's measurements of messages that NICs match: likewise\n"
    "  report      all of these as a page with plots: see nicsim report --help\n"
    "  fit         fit parameters of the papers' machines, and write their files";

enum {
    DATA = 256,
    MPI,
    ON_HOSTS,
    WORK,
    VARIATION,
    WARM_UP,
    CONCLUSIONS,
    CSV_DIR,
    BYTES,
    FAN_OUT,
    CONSECUTIVE
};

static const struct argp_option options[] = {
    {"machine", 'm', "NAME", 0,
     "The machine: lanai43 (default), lanai72, npii, bluefield, ethernet or infiniband", 0},
    {"nodes", 'n', "N", 0,
     "Nodes, 2 to 65536 (default 16); for scale and memory: the largest number (default 1024)", 0},
    {"algorithm", 'a', "NAME", 0, "Barrier: pairwise (default), tree:D or dissemination:N", 0},
    {"hosts", ON_HOSTS, NULL, 0, "Hosts execute the collective instead of NICs", 0},
    {"mpi", MPI, NULL, 0, "Add the costs of MPI (default: GM alone)", 0},
    {"barriers", 'b', "N", 0, "Measure N barriers or broadcasts (default 16)", 0},
    {"warm-up", WARM_UP, "N", 0,
     "Run N warm-up barriers or broadcasts before the measured ones (default 4)", 0},
    {"bytes", BYTES, "N", 0, "Bytes of a broadcast, 1 to 1200 (default 4)", 0},
    {"fan-out", FAN_OUT, "N", 0, "NICs broadcast along the tree of dissemination:N (default 1)", 0},
    {"consecutive", CONSECUTIVE, NULL, 0,
     "Send broadcasts back to back, without waiting for a reply from the last node", 0},
    {"work", WORK, "US", 0, "Microseconds of computation before each barrier (default 0)", 0},
    {"variation", VARIATION, "PERCENT", 0,
     "Variation of the computation from node to node (default 0)", 0},
    {"loss", 'l', "PERCENT", 0, "Lost packets (default 0)", 0},
    {"seed", 's', "N", 0, "Seed of all random numbers (default 1)", 0},
    {"csv", 'c', "FILE", 0, "Also write the table to FILE", 0},
    {"conclusions", CONCLUSIONS, "FILE", 0, "For table: also write the papers' conclusions to FILE",
     0},
    {"csv-dir", CSV_DIR, "DIRECTORY", 0,
     "Directory for the tables of evaluate, broadcasts and messages (default .)", 0},
    {"data", DATA, "DIRECTORY", 0,
     "Read machines and the papers' measurements from DIRECTORY instead of the installed ones", 0},
    {0},
};

struct invocation {
    struct nicsim_options options;
    int (*run)(const struct nicsim_options *options);
    double work_us;
    double loss;
};

static double parse_figure(struct argp_state *state, const char *text, const char *what,
                           double least, double most)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || '\0' != *end || !(value >= least && value <= most)) {
        argp_error(state, "%s must be a number from %g to %g, not '%s'", what, least, most, text);
    }
    return value;
}

static void find_command(struct argp_state *state, const char *name, struct invocation *invocation)
{
    for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); ++c) {
        if (0 == strcmp(name, commands[c].name)) {
            invocation->run = commands[c].run;
            return;
        }
    }
    argp_error(state,
               0 == strcmp(name, "report") ? "put '%s' before its options"
                                           : "there is no command '%s'",
               name);
}

/* Parses the options that describe a simulation. */
static error_t parse_game_option(int key, char *argument, struct argp_state *state)
{
    struct invocation *invocation = state->input;
    struct nicsim_options *o = &invocation->options;
    struct nicsim_game *game = &o->game;
    switch (key) {
    case 'n':
        game->nodes = o->most = (uint32_t)parse_figure(state, argument, "--nodes", 2, 65536);
        break;
    case 'a':
        if (!nicbarr_choice_parse(argument, &game->choice) ||
            !nicbarr_algorithm_messages(game->choice.algorithm) || game->choice.nic != 0) {
            argp_error(state, "unknown algorithm '%s'; there are pairwise, tree:D, dissemination:N",
                       argument);
        }
        break;
    case ON_HOSTS:
        game->on_nics = false;
        break;
    case MPI:
        game->level = NICSIM_MPI;
        break;
    case 'b':
        game->barriers = (uint32_t)parse_figure(state, argument, "--barriers", 1, 1e9);
        break;
    case WARM_UP:
        game->warm_up = (uint32_t)parse_figure(state, argument, "--warm-up", 0, 1e9);
        break;
    case WORK:
        invocation->work_us = parse_figure(state, argument, "--work", 0, 1e9);
        break;
    case VARIATION:
        game->variation = parse_figure(state, argument, "--variation", 0, 100) / 100;
        break;
    case BYTES:
        o->bytes = (uint32_t)parse_figure(state, argument, "--bytes", 1, NICSIM_BLOCK_MOST);
        break;
    case FAN_OUT:
        o->fan_out = (uint32_t)parse_figure(state, argument, "--fan-out", 1, 8);
        break;
    case CONSECUTIVE:
        o->consecutive = true;
        break;
    case 'l':
        invocation->loss = parse_figure(state, argument, "--loss", 0, 90) / 100;
        break;
    case 's':
        game->seed = (uint64_t)parse_figure(state, argument, "--seed", 0, 1e15);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse_nicsim_option(int key, char *argument, struct argp_state *state)
{
    struct invocation *invocation = state->input;
    struct nicsim_options *o = &invocation->options;
    switch (key) {
    case 'm':
        o->machine = argument;
        break;
    case 'c':
        o->csv = argument;
        break;
    case CONCLUSIONS:
        o->conclusions = argument;
        break;
    case CSV_DIR:
        o->csv_dir = argument;
        break;
    case DATA:
        o->data = argument;
        break;
    case ARGP_KEY_ARG:
        if (NULL != invocation->run) {
            argp_error(state, "only one command is possible: '%s' is another one", argument);
        }
        find_command(state, argument, invocation);
        break;
    case ARGP_KEY_END:
        if (NULL == invocation->run) {
            argp_error(state, "COMMAND is missing (such as: nicsim table)");
        }
        break;
    default:
        return parse_game_option(key, argument, state);
    }
    return 0;
}

bool nicsim_csv_open(const char *path, FILE **csv)
{
    *csv = NULL == path ? NULL : fopen(path, "w");
    if (NULL != path && NULL == *csv) {
        fprintf(stderr, "nicsim: %s cannot be written\n", path);
    }
    return NULL == path || NULL != *csv;
}

bool nicsim_csv_close(FILE *csv, const char *path)
{
    const bool good = NULL == csv || 0 == ferror(csv);
    const bool closed = NULL == csv || 0 == fclose(csv);
    if (!good || !closed) {
        fprintf(stderr, "nicsim: %s could not be written\n", path);
    }
    return good && closed;
}

int main(int argc, char **argv)
{
    const struct argp argp = {options, parse_nicsim_option, "COMMAND", doc, NULL, NULL, NULL};
    struct invocation invocation = {
        .options = {.data = NICSIM_DATA,
                    .csv_dir = ".",
                    .machine = "lanai43",
                    .most = 1024,
                    .bytes = 4,
                    .fan_out = 1,
                    .game = {.choice = {.algorithm = NICBARR_PAIRWISE},
                             .nodes = 16,
                             .on_nics = true,
                             .warm_up = 4,
                             .barriers = 16,
                             .seed = 1}},
    };
    if (argc > 1 && 0 == strcmp(argv[1], "report")) { /* the script parses the remaining
                                                         arguments */
        return nicsim_report_command(invocation.options.data, argv + 1);
    }
    argp_parse(&argp, argc, argv, 0, NULL, &invocation);
    struct nicsim_game *game = &invocation.options.game;
    game->work_us = &invocation.work_us;
    game->works = invocation.work_us > 0;
    game->loss = invocation.loss;
    int status = invocation.run(&invocation.options);
    if (0 != fflush(stdout) || ferror(stdout)) { /* fail if the output could not be written, for
                                                    example to a full disk */
        perror("nicsim: standard output");
        status = EXIT_FAILURE;
    }
    return status;
}
