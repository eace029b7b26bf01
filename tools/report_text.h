/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints a report as text with tables for reading, and as CSV for programs.
 *
 * Called by report.c after report_file.c has read the report. The output is plain ASCII, and at
 * most 96 columns wide, except for names. The caller checks `out` for errors.
 */
#ifndef TOOLS_REPORT_TEXT_H
#define TOOLS_REPORT_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "tools/report_file.h"

void report_print(const struct report *report, FILE *out);

/* Prints a line with the names of the columns, and a line for each measured candidate. */
void report_print_csv(const struct report *report, FILE *out);

/* Returns the number of decimals with which values of about `smallest` microseconds have three
 * significant digits. */
int report_decimals(double smallest);

/* Writes the shape of a communicator, such as "8 processes on 2 CPUs, oversubscribed, not
 * bound". */
void report_shape(const struct report_entry *entry, char *text, size_t bytes);

#endif
