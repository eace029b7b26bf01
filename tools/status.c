/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nicbarr status`: shows the NICs of this node's processes, their counters, and which groups wait
 * for what (waiting.h). It also shows the kernel NIC, if there is one. This file parses the
 * options. snapshot.c reads the state, and status_text.c, status_json.c and status_metrics.c print
 * it.
 */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/status_forms.h"

enum { JOB = 256 };

static const struct argp_option options[] = {
    {"all", 'a', NULL, 0, "Also groups that have waited for less than a second", 0},
    {"counters", 'c', NULL, 0, "Also counters that are zero", 0},
    {"job", JOB, "NAME", 0,
     "Only the NICs of the processes of this job (its name as shown in the line `processes'), "
     "without the kernel NIC",
     0},
    {"json", 'j', NULL, 0, "Print JSON, on one line", 0},
    {"prometheus", 'p', NULL, 0,
     "Print all values in Prometheus' text format, for the node exporter's textfile collector", 0},
    {"watch", 'w', "SECONDS", 0, "Repeat every SECONDS until interrupted", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
    "Shows which processes of this machine use nicbarr, their NICs, and the NICs' counters "
    "(without those that are zero, see --counters): for your own processes, or as root for all "
    "users'. Also the kernel NIC, if myrd --kernel runs."
    "\v"
    "A line `waiting' with the name of a communicator lists the processes of this node that have "
    "been in a collective of it for more than a second, the call and its caller (for addr2line), "
    "and the members that are not in it. Different calls on one communicator are an error in the "
    "program. Other lines `waiting' show a group (the NICs' part of a communicator) whose barrier "
    "does not proceed: for how long it has waited, and for which nodes. `last response' is the "
    "time since a node's NIC last answered that its host has not arrived yet. Such a node is "
    "alive, and its processes are late. A node without a recent response may be down or "
    "unreachable. If the group waits for processes of this node, they are listed after a second. "
    "JSON has all waiting groups, however short the wait. Collectives executed by Open MPI's own "
    "functions are not shown.";

static error_t parse_status_option(int key, char *argument, struct argp_state *state)
{
    struct status_settings *settings = state->input;
    char *end;
    switch (key) {
    case 'a':
        settings->all = true;
        return 0;
    case 'c':
        settings->counters = true;
        return 0;
    case JOB:
        settings->job = argument;
        return 0;
    case 'j':
        settings->form = STATUS_JSON;
        return 0;
    case 'p':
        settings->form = STATUS_PROMETHEUS;
        return 0;
    case 'w':
        settings->watch = strtod(argument, &end);
        if ('\0' != *end || end == argument ||
            !(settings->watch >= 0.01 && settings->watch <= 1e6)) {
            argp_error(state, "--watch is a number of seconds, 0.01 to 1000000, not '%s'",
                       argument);
        }
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unknown argument '%s'", argument);
        return 0;
    case ARGP_KEY_END:
        if (STATUS_PROMETHEUS == settings->form && 0 != settings->watch) {
            argp_error(state,
                       "--prometheus prints one snapshot, so --watch cannot be used with it");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void show_status(const struct status_settings *settings)
{
    struct segments segments;
    static struct kernel_snapshot kernel; /* too large for the stack */
    segments_find(&segments, "/proc");
    if (NULL != settings->job) {
        segments_keep_job(&segments, settings->job);
        kernel.status = MYR_ERR_NOT_THERE;
    } else {
        snapshot_take_kernel(&kernel);
    }
    if (STATUS_JSON == settings->form) {
        status_print_json(&segments, &kernel);
    } else if (STATUS_PROMETHEUS == settings->form) {
        status_print_metrics(&segments, &kernel);
    } else {
        if (0 != settings->watch && isatty(STDOUT_FILENO)) {
            fputs("\033[H\033[2J", stdout); /* clear the screen */
        }
        status_print_text(&segments, &kernel, settings);
    }
    segments_free(&segments);
}

int status_command(int argc, char **argv)
{
    const struct argp argp = {options, parse_status_option, NULL, doc, NULL, NULL, NULL};
    struct status_settings settings = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    show_status(&settings);
    const double whole = (double)(time_t)settings.watch;
    const struct timespec pause = {(time_t)settings.watch,
                                   (long)((settings.watch - whole) * 1000000000)};
    while (0 != settings.watch && 0 == fflush(stdout) && !ferror(stdout)) {
        nanosleep(&pause, NULL);
        show_status(&settings);
    }
    return EXIT_SUCCESS;
}
