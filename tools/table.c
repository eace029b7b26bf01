/* SPDX-License-Identifier: BSD-3-Clause */
/* See table.h. */
#include "tools/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"
#include "tools/text.h"

enum { GAP = 2 /* blanks between columns */ };

void table_begin(struct table *table, const struct table_column *columns, size_t width)
{
    *table = (struct table){.columns = columns, .width = width};
}

static void put_cell(struct table *table, char *cell)
{
    if (table->count == table->capacity) {
        const size_t capacity = 2 * table->capacity + 8 * table->width;
        char **cells = tool_alloc(capacity, sizeof(*cells));
        if (0 < table->count) {
            memcpy(cells, table->cells, table->count * sizeof(*cells));
        }
        free(table->cells);
        table->cells = cells;
        table->capacity = capacity;
    }
    table->cells[table->count++] = cell;
}

void table_cell(struct table *table, const char *format, ...)
{
    char *cell;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&cell, format, arguments);
    va_end(arguments);
    if (length < 0) {
        fprintf(stderr, "nicbarr: out of memory\n");
        exit(EXIT_FAILURE);
    }
    put_cell(table, cell);
}

void table_end_row(struct table *table)
{
    while (0 != table->count % table->width) {
        put_cell(table, NULL);
    }
}

static void print_row(const struct table *table, FILE *out, size_t indent, const size_t *widths,
                      char *const *cells)
{
    size_t pending = indent; /* blanks before the next cell that is not empty */
    for (size_t c = 0; c < table->width; ++c) {
        const char *cell = NULL == cells[c] ? "" : cells[c];
        const size_t columns = text_columns(cell), rest = widths[c] - columns;
        if (0 < columns) {
            pending += table->columns[c].right ? rest : 0;
            fprintf(out, "%*s%s", (int)pending, "", cell);
            pending = table->columns[c].right ? 0 : rest;
        } else {
            pending += rest;
        }
        pending += GAP;
    }
    fputc('\n', out);
}

void table_print(const struct table *table, FILE *out, size_t indent)
{
    size_t *widths = tool_alloc(table->width, sizeof(*widths));
    char **headings = tool_alloc(table->width, sizeof(*headings));
    char **units = tool_alloc(table->width, sizeof(*units));
    bool any_unit = false;
    for (size_t c = 0; c < table->width; ++c) {
        headings[c] = (char *)table->columns[c].heading;
        units[c] = (char *)table->columns[c].unit;
        any_unit = any_unit || '\0' != units[c][0];
        const size_t heading = text_columns(headings[c]), unit = text_columns(units[c]);
        widths[c] = heading > unit ? heading : unit;
    }
    for (size_t cell = 0; cell < table->count; ++cell) {
        const size_t columns = NULL == table->cells[cell] ? 0 : text_columns(table->cells[cell]);
        size_t *width = &widths[cell % table->width];
        *width = columns > *width ? columns : *width;
    }
    print_row(table, out, indent, widths, headings);
    if (any_unit) {
        print_row(table, out, indent, widths, units);
    }
    for (size_t cell = 0; cell + table->width <= table->count; cell += table->width) {
        print_row(table, out, indent, widths, &table->cells[cell]);
    }
    free(widths);
    free(headings);
    free(units);
}

void table_end(struct table *table)
{
    for (size_t cell = 0; cell < table->count; ++cell) {
        free(table->cells[cell]);
    }
    free(table->cells);
    *table = (struct table){0};
}
