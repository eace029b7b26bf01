/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table in plain text: cells are strings, columns are as wide as their widest cell.
 *
 * Called by report_text.c; knows nothing of what the cells mean. Cells are copied. The rows are
 * filled from left to right, and a row may end early.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table_column {
    const char *heading; /* "" for none */
    const char *unit;    /* below the heading; "" for none */
    bool right;          /* numbers: align to the right */
};

struct table {
    const struct table_column *columns; /* the caller's; must outlive the table */
    size_t width;                       /* columns */
    size_t count, capacity;             /* cells, row after row */
    char **cells;
};

void table_begin(struct table *table, const struct table_column *columns, size_t width);

/* The next cell of the present row, or the first of the next one if that is full. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Leave the rest of a begun row empty. */
void table_end_row(struct table *table);

/* Headings, units where there are any, rows; each line begins with `indent` blanks, and none ends
 * in blanks. */
void table_print(const struct table *table, FILE *out, size_t indent);

void table_end(struct table *table);

#endif
