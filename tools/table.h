/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables in plain text, whose columns are as wide as their widest cells.
 *
 * Called by report_text.c and status_text.c. Cells are arbitrary strings, and are copied. Rows are
 * filled from left to right, and may end early.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table_column {
    const char *heading; /* "" for none */
    const char *unit;    /* below the heading; "" for none */
    bool right;          /* for numbers: align to the right */
};

struct table {
    const struct table_column *columns; /* must outlive the table */
    size_t width;                       /* number of columns */
    size_t count, capacity;             /* number and capacity of cells, row by row */
    char **cells;
};

void table_begin(struct table *table, const struct table_column *columns, size_t width);

/* Adds a cell to the current row, or to the next one if the current one is full. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills the current row with empty cells. */
void table_end_row(struct table *table);

/* Prints headings, units if there are any, and rows. Each line begins with `indent` blanks, and
 * none has trailing blanks. */
void table_print(const struct table *table, FILE *out, size_t indent);

void table_end(struct table *table);

#endif
