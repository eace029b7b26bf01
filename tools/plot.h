/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plots of a report's measured entries, drawn by gnuplot.
 *
 * Called by report.c. plot_script() writes the script, and does not need gnuplot; plot_draw() runs
 * gnuplot on it. gnuplot reads and writes descriptors, so that the file's name is passed neither to
 * gnuplot nor to a shell. The file is written when the plot is complete.
 */
#ifndef TOOLS_PLOT_H
#define TOOLS_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/report_file.h"

enum { PLOT_PANELS = 8 /* maximum number of entries in a plot: the first measured ones */ };

enum plot_kind { PLOT_SVG, PLOT_PNG, PLOT_PDF };

/* Determines the kind by a file name's suffix, .svg, .png or .pdf, in upper or lower case. Returns
 * false if it has another suffix. */
bool plot_kind_of(const char *path, enum plot_kind *kind);

/* Writes a gnuplot script that draws the report to gnuplot's standard output. At least one entry
 * must have been measured. */
void plot_script(const struct report *report, enum plot_kind kind, FILE *out);

/* Draws into the file at `path`. On failure returns false, with a one-line message in `why` (to be
 * freed). The file is then unchanged unless writing to it failed. */
bool plot_draw(const struct report *report, enum plot_kind kind, const char *path, char **why);

#endif
