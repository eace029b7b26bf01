/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of results, shown to people and written as CSV.
 *
 * Called by the experiments on every rank; rank 0 has it. Rows are shown as soon as they are
 * measured. The columns' names are those of the CSV file, which other programs read.
 */
#ifndef BENCH_EXPERIMENTS_TABLE_H
#define BENCH_EXPERIMENTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "coll_nicbarr/choice/statistics.h"
#include "settings.h"

struct column {
    const char *name;
    int digits; /* after the point; TABLE_TEXT: the row's label, first of all columns */
};

enum { TABLE_TEXT = -1, TABLE_COLUMNS = 16 };

struct table {
    const struct settings *settings;
    const struct column *columns; /* ends with a NULL name */
    const char *csv_name;
    FILE *csv; /* NULL: none, or not rank 0 */
};

/* A row while it is put together. */
struct row {
    const char *label;
    double values[TABLE_COLUMNS];
    size_t count;
};

/* Rank 0: shows what is measured where. */
void table_introduce(const struct settings *settings);

/* Opens `csv_name` (NULL: none) on rank 0, and begins with what the settings are.
 * Collective over MPI_COMM_WORLD; false for all if the file cannot be written, which was told. */
bool table_open(struct table *table, const struct settings *settings, const char *csv_name,
                const struct column *columns);
bool table_close(struct table *table);

/* What a value of so many digits after the point is to be printed from: never "-0.000". */
double table_rounded(double value, int digits);

void row_add(struct row *row, double value);
void row_add_quartiles(struct row *row, struct nicbarr_quartiles quartiles); /* median, q1, q3 */
void table_add(const struct table *table, const struct row *row);

#endif
