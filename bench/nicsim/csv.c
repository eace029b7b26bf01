/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables in CSV; see csv.h. */
#include "bench/nicsim/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits a line at its commas. Returns the number of fields. */
static uint32_t cut(char *line, char fields[CSV_COLUMNS][CSV_FIELD])
{
    uint32_t count = 0;
    while (NULL != line && count < CSV_COLUMNS) {
        const char *field = strsep(&line, ",");
        snprintf(fields[count++], CSV_FIELD, "%s", field);
    }
    return count;
}

bool csv_read(const char *path, struct csv *csv)
{
    char line[1000];
    FILE *file = fopen(path, "r");
    memset(csv, 0, sizeof(*csv));
    if (NULL == file) {
        fprintf(stderr, "nicsim: %s cannot be read\n", path);
        return false;
    }
    bool whole = true;
    while (whole && NULL != fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if ('#' == line[0] || '\0' == line[0]) {
            continue;
        }
        if (0 == csv->columns) {
            csv->columns = cut(line, csv->name);
        } else if (csv->rows < CSV_ROWS) {
            (void)cut(line, csv->field[csv->rows++]);
        } else {
            whole = false;
        }
    }
    whole = whole && !ferror(file);
    fclose(file);
    if (!whole || 0 == csv->rows) {
        fprintf(stderr, "nicsim: %s: no table with up to %d rows\n", path, (int)CSV_ROWS);
    }
    return whole && 0 != csv->rows;
}

const char *csv_text(const struct csv *csv, uint32_t row, const char *column)
{
    for (uint32_t c = 0; c < csv->columns; ++c) {
        if (0 == strcmp(csv->name[c], column)) {
            return csv->field[row][c];
        }
    }
    return "";
}

bool csv_number(const struct csv *csv, uint32_t row, const char *column, double *number)
{
    const char *text = csv_text(csv, row, column);
    char *end;
    *number = strtod(text, &end);
    return end != text && '\0' == *end;
}
