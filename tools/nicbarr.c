/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr: the command-line tool for users. Determines the subcommand and calls its function; see
 * commands.h. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"

/* libc finds this variable by its name, so -fvisibility=hidden must not hide it. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "nicbarr " NICBARR_VERSION;

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    char *title; /* argv[0] of the subcommand */
} commands[] = {
    {"doctor", doctor_command, (char *)"nicbarr doctor"},
    {"evaluate", evaluate_command, (char *)"nicbarr evaluate"},
    {"report", report_command, (char *)"nicbarr report"},
    {"status", status_command, (char *)"nicbarr status"},
    {"trace", trace_command, (char *)"nicbarr trace"},
    {"tune", tune_command, (char *)"nicbarr tune"},
};

static const char doc[] =
    "Commands for nicbarr, a faster MPI_Barrier for Open MPI."
    "\v"
    "Commands:\n"
    "  doctor           checks nicbarr on this machine, or between hosts: what\n"
    "                   works, what does not, and what to do about it\n"
    "  evaluate         compares NIC-based barriers with those of Open MPI on this\n"
    "                   machine, as the papers did, and writes a page with plots\n"
    "  report FILE      shows which barrier a job's communicators use, and why, as\n"
    "                   a table, a plot or CSV, from the report of the job\n"
    "  status           shows the NICs of this machine's processes, their counters,\n"
    "                   and for which processes a hanging job waits\n"
    "  trace INTERFACE  shows where the time of a barrier goes on this host, from\n"
    "                   the system call to the release\n"
    "  tune             measures which algorithms are best on this machine, or\n"
    "                   these hosts, and writes a tuning cache for later jobs\n"
    "\n"
    "See `nicbarr COMMAND --help' for each command.";

struct invocation {
    int first; /* index of the subcommand's name in argv */
    size_t command;
};

static error_t parse_command(int key, char *argument, struct argp_state *state)
{
    struct invocation *invocation = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); ++c) {
            if (0 == strcmp(argument, commands[c].name)) {
                invocation->first = state->next - 1;
                invocation->command = c;
                state->next = state->argc; /* the subcommand parses the remaining arguments */
                return 0;
            }
        }
        argp_error(state, "there is no command '%s'", argument);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "COMMAND is missing (such as: nicbarr report FILE)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .parser = parse_command, .args_doc = "COMMAND [ARGUMENT...]", .doc = doc};
    struct invocation invocation = {0, 0};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &invocation);
    argv[invocation.first] = commands[invocation.command].title;
    int status = commands[invocation.command].run(argc - invocation.first, argv + invocation.first);
    if (0 != fflush(stdout) || ferror(stdout)) { /* fail if the output could not be written, for
                                                    example to a full disk */
        perror("nicbarr: standard output");
        status = EXIT_FAILURE;
    }
    return status;
}
