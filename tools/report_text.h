/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A report in words and tables for people, and as CSV for programs.
 *
 * Called by report.c with what report_file.c has read. Plain ASCII but for names, at most 96
 * columns wide but for long names; errors of `out` are the caller's to ask for.
 */
#ifndef TOOLS_REPORT_TEXT_H
#define TOOLS_REPORT_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "tools/report_file.h"

void report_print(const struct report *report, FILE *out);

/* One line for each measured candidate, after one that names the columns. */
void report_print_csv(const struct report *report, FILE *out);

/* Decimals with which figures of about `smallest` microseconds have three digits that count. */
int report_decimals(double smallest);

/* "8 processes on 2 processors, oversubscribed, not bound". */
void report_shape(const struct report_entry *entry, char *text, size_t bytes);

#endif
