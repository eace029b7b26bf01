/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables in CSV, as the papers' figures are kept: comments with #, a line of column names, rows; no
 * quotes. A field that is not there is "". */
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

/* False after a line on standard error that says what is wrong. */
bool csv_read(const char *path, struct csv *csv);

const char *csv_text(const struct csv *csv, uint32_t row, const char *column);

/* False if there is none. */
bool csv_number(const struct csv *csv, uint32_t row, const char *column, double *number);

#endif
