/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader for the CSV tables of the papers' values. A table has comments with #, a line of column
 * names, then rows, without quotes. A missing field reads as "". */
#ifndef NICSIM_CSV_H
#define NICSIM_CSV_H

#include <stdbool.h>
#include <stdint.h>

enum { CSV_COLUMNS = 12, CSV_FIELD = 120, CSV_ROWS = 64 };

struct csv {
    uint32_t columns, rows;
    char name[CSV_COLUMNS][CSV_FIELD];
    char field[CSV_ROWS][CSV_COLUMNS][CSV_FIELD];
};

/* Reads a table. On failure prints a message on standard error and returns false. */
bool csv_read(const char *path, struct csv *csv);

const char *csv_text(const struct csv *csv, uint32_t row, const char *column);

/* Reads a field as a number. Returns false if the field is missing or is not a number. */
bool csv_number(const struct csv *csv, uint32_t row, const char *column, double *number);

#endif
