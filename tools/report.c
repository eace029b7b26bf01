/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nicbarr report FILE`: shows what a job's communicators use, and why. Called by nicbarr.c.
 *
 * report_file.c reads the file, report_text.c prints the table and CSV, and plot.c draws.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/plot.h"
#include "tools/report_file.h"
#include "tools/report_text.h"
#include "tools/text.h"

enum {
    LONGEST_PATH = 200, /* maximum number of characters in messages */
    MOST_PLOTS = 3      /* one of each kind */
};

struct settings {
    const char *file;
    const char *plots[MOST_PLOTS];
    enum plot_kind kinds[MOST_PLOTS];
    int count; /* number of plots */
    bool csv;
};

static const struct argp_option options[] = {
    {"plot", 'p', "OUT", 0,
     "Also draw a plot: OUT.svg, OUT.png or OUT.pdf (needs gnuplot); up to three times", 0},
    {"csv", 'c', NULL, 0, "Print the candidates as CSV instead, times in microseconds", 0},
    {0},
};

static const char doc[] =
    "Prints which barrier and other collectives each communicator of a job uses and why: what was "
    "measured, what was chosen, and how it compares with Open MPI's own functions."
    "\v"
    "A job writes FILE when it is started with\n"
    "  mpirun --mca coll_nicbarr_report FILE ...\n"
    "The exit status is 1 if FILE cannot be read or is not a report.";

static error_t parse_report_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case 'p':
        if (MOST_PLOTS == settings->count) {
            argp_error(state, "no more than %d plots: '%s' is one too many", MOST_PLOTS, argument);
        }
        settings->plots[settings->count] = argument;
        if (!plot_kind_of(argument, &settings->kinds[settings->count++])) {
            argp_error(state, "the plot's name must end in .svg, .png or .pdf: '%s'", argument);
        }
        return 0;
    case 'c':
        settings->csv = true;
        return 0;
    case ARGP_KEY_ARG:
        if (NULL != settings->file) {
            argp_error(state, "one file at a time: '%s' is one too many", argument);
        }
        settings->file = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "FILE is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Prints one line on standard error, whatever characters the names contain. Returns the exit
 * status. */
static int print_failure(const char *path, const char *why, const char *advice)
{
    char *name = text_printable(path, LONGEST_PATH);
    fprintf(stderr, "nicbarr report: %s: %s%s\n", name, why, advice);
    free(name);
    return EXIT_FAILURE;
}

static bool read_report(const char *path, struct report *report)
{
    static const char advice[] = " (mpirun --mca coll_nicbarr_report FILE writes a new one)";
    char *why = NULL;
    FILE *file = fopen(path, "re");
    if (NULL == file) {
        print_failure(path, strerror(errno), ENOENT == errno ? advice : "");
        return false;
    }
    const bool good = report_read(file, report, &why);
    fclose(file);
    if (!good) {
        print_failure(path, why, advice);
        free(why);
    }
    return good;
}

static int draw(const struct report *report, const char *path, enum plot_kind kind, bool quiet)
{
    char *why = NULL;
    if (!plot_draw(report, kind, path, &why)) {
        print_failure(path, why, "");
        free(why);
        return EXIT_FAILURE;
    }
    if (!quiet) {
        char *name = text_printable(path, LONGEST_PATH);
        printf("\nPlot: %s\n", name);
        free(name);
    }
    return EXIT_SUCCESS;
}

static int draw_all(const struct report *report, const struct settings *settings)
{
    int status = EXIT_SUCCESS;
    if (settings->count > 0 && 0 == report_measured(report)) {
        return print_failure(settings->file, "nothing to plot: no barrier of this job was measured",
                             " (with --mca coll_nicbarr_cache none it measures them again)");
    }
    for (int p = 0; p < settings->count && EXIT_SUCCESS == status; ++p) {
        status = draw(report, settings->plots[p], settings->kinds[p], settings->csv);
    }
    return status;
}

int report_command(int argc, char **argv)
{
    const struct argp argp = {options, parse_report_option, "FILE", doc, NULL, NULL, NULL};
    struct settings settings = {0};
    struct report report;
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    if (!read_report(settings.file, &report)) {
        return EXIT_FAILURE;
    }
    if (settings.csv) {
        report_print_csv(&report, stdout);
    } else {
        report_print(&report, stdout);
    }
    const int status = draw_all(&report, &settings);
    report_free(&report);
    return status;
}
