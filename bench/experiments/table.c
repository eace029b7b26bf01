/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of results; see table.h.
 */
#include "table.h"

#include <math.h>
#include <string.h>

#include "bench/mpi_side.h"
#include "bench/output.h"

/* ---- the head ---- */

static void write_head(const struct settings *settings, FILE *file)
{
    const struct job *job = &settings->job;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    job_library_name(library);
    fprintf(file, "# experiment: %s\n", settings->experiment->name);
    fprintf(file, "# seed: %u\n", settings->seed);
    fprintf(file, "# processes: %d\n", job->size);
    fprintf(file, "# nodes: %d\n", job->nodes);
    fprintf(file, "# open_mpi: %s\n", library);
    fprintf(file, "# nicbarr: %s\n", NICBARR_VERSION);
    fprintf(file, "# a: %s\n", mpi_side_preference_text(settings->preference[0]));
    fprintf(file, "# b: %s\n", mpi_side_preference_text(settings->preference[1]));
    fprintf(file, "# oversubscribed: %s\n", settings_oversubscribed(settings) ? "yes" : "no");
}

void table_introduce(const struct settings *settings)
{
    if (settings->job.rank != 0) {
        return;
    }
    write_head(settings, stdout);
    if (settings->stretch > 1) {
        printf("# work is measured in CPU time; when all processes do it at once, it takes "
               "%.2f times as long\n",
               settings->stretch);
    }
}

static int width_of(const struct column *column)
{
    int length = (int)strlen(column->name) + 2;
    return column->digits == TABLE_TEXT ? 25 : length > 11 ? length : 11;
}

static void write_names(const struct table *table)
{
    printf("\n");
    for (const struct column *column = table->columns; column->name; column++) {
        printf("%*s", width_of(column), column->name);
        if (table->csv) {
            fprintf(table->csv, "%s%s", column == table->columns ? "" : ",", column->name);
        }
    }
    printf("\n");
    if (table->csv) {
        fprintf(table->csv, "\n");
    }
}

bool table_open(struct table *table, const struct settings *settings, const char *csv_name,
                const struct column *columns)
{
    *table = (struct table){settings, columns, csv_name, NULL};
    if (!output_open(csv_name, settings->job.rank, &table->csv)) {
        return false;
    }
    if (settings->job.rank == 0) {
        if (table->csv) {
            write_head(settings, table->csv);
        }
        write_names(table);
    }
    return true;
}

bool table_close(struct table *table)
{
    if (!table->csv) {
        return true;
    }
    bool written = !ferror(table->csv);
    written = fclose(table->csv) == 0 && written;
    if (!written) {
        output_message(0, "%s could not be written completely", table->csv_name);
    }
    return written;
}

/* ---- rows ---- */

void row_add(struct row *row, double value)
{
    row->values[row->count++] = value;
}

void row_add_quartiles(struct row *row, struct nicbarr_quartiles quartiles)
{
    row_add(row, quartiles.median);
    row_add(row, quartiles.q1);
    row_add(row, quartiles.q3);
}

double table_rounded(double value, int digits)
{
    const double unit = pow(10, -digits);
    return fabs(value) < unit / 2 ? 0 : value;
}

/* Writes a row: with `widths` in columns for reading, else as CSV. */
static void write_row(const struct table *table, const struct row *row, FILE *file, bool widths)
{
    const double *value = row->values;
    for (const struct column *column = table->columns; column->name; column++) {
        int width = widths ? width_of(column) : 0;
        if (!widths && column != table->columns) {
            fputc(',', file);
        }
        if (column->digits == TABLE_TEXT) {
            fprintf(file, "%*s", width, row->label);
        } else {
            fprintf(file, "%*.*f", width, column->digits, table_rounded(*value++, column->digits));
        }
    }
    fputc('\n', file);
    fflush(file);
}

void table_add(const struct table *table, const struct row *row)
{
    if (table->settings->job.rank != 0) {
        return;
    }
    write_row(table, row, stdout, true);
    if (table->csv) {
        write_row(table, row, table->csv, false);
    }
}
