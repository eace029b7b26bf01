/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of results, which is printed for reading and written as CSV.
 *
 * The experiments call these functions on every rank; only rank 0 prints. A row is printed as soon
 * as it has been measured. The columns have the same names in the printed table and in the CSV
 * file, which other programs read. */
#ifndef BENCH_EXPERIMENTS_TABLE_H
#define BENCH_EXPERIMENTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "coll_nicbarr/choice/statistics.h"
#include "settings.h"

struct column {
    const char *name;
    int digits; /* decimals; TABLE_TEXT: the row's label, which must be the first column */
};

enum { TABLE_TEXT = -1, TABLE_COLUMNS = 16 };

struct table {
    const struct settings *settings;
    const struct column *columns; /* terminated by a NULL name */
    const char *csv_name;
    FILE *csv; /* NULL: no file, or not rank 0 */
};

/* A row that is being filled. */
struct row {
    const char *label;
    double values[TABLE_COLUMNS];
    size_t count;
};

/* Prints, on rank 0, what is measured and on which job. */
void table_introduce(const struct settings *settings);

/* Opens the file `csv_name` (may be NULL) on rank 0, and writes its header with the settings.
 * Collective over MPI_COMM_WORLD. If the file cannot be written, prints a message and returns false
 * on all ranks. */
bool table_open(struct table *table, const struct settings *settings, const char *csv_name,
                const struct column *columns);
bool table_close(struct table *table);

/* Returns the value to print with `digits` decimals, which is never "-0.000". */
double table_rounded(double value, int digits);

void row_add(struct row *row, double value);
void row_add_quartiles(struct row *row, struct nicbarr_quartiles quartiles);
void table_add(const struct table *table, const struct row *row);

#endif
