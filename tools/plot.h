/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plot of a report's measured entries, by gnuplot.
 *
 * Called by report.c. plot_script says what is drawn; it needs no gnuplot. plot_draw runs gnuplot
 * on it. The file's name never reaches gnuplot or a shell: gnuplot reads and writes descriptors.
 * The picture is put into the file when it is complete.
 */
#ifndef TOOLS_PLOT_H
#define TOOLS_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/report_file.h"

enum { PLOT_PANELS = 8 /* entries that a plot shows at most: the first measured ones */ };

enum plot_kind { PLOT_SVG, PLOT_PNG, PLOT_PDF };

/* The kind by a file name's ending: .svg, .png, .pdf, in either case; false if it is another. */
bool plot_kind_of(const char *path, enum plot_kind *kind);

/* Write the gnuplot script that draws the report to its standard output. At least one entry has
 * been measured. */
void plot_script(const struct report *report, enum plot_kind kind, FILE *out);

/* Draw into the file at `path`. False: `why` (to be freed) says in one line what is wrong, and the
 * file is untouched unless writing to it failed. */
bool plot_draw(const struct report *report, enum plot_kind kind, const char *path, char **why);

#endif
