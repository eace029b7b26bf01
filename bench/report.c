/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of nicbarr_bench; see report.h.
 */
#include "report.h"

#include <jansson.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "mpi_side.h"

enum { A = REPORT_A, B = REPORT_B };

/* ---- figures ---- */

void report_open(struct report *report, const struct options *options, const struct job *job)
{
    *report = (struct report){.options = options, .job = job};
}

void report_close(struct report *report)
{
    for (size_t p = 0; p < report->count; p++)
        free(report->points[p].rows);
}

static bool has_beside(const struct report *report)
{
    return report->options->beside != OPERATION_NONE;
}

static size_t first_raw(const struct report *report)
{
    return REPORT_BESIDE + has_beside(report);
}

static struct report_row make_row(const struct report *report, const struct contestant *contestant,
                                  const enum operation *operation)
{
    const unsigned chunks = report->options->chunks;
    struct report_row row = {.name = contestant->name,
                             .probe = contestant->probe,
                             .iterations = contestant->iterations,
                             .average = contestant->average,
                             .least = contestant->least,
                             .most = contestant->most};
    memcpy(row.tails, contestant->tails, sizeof(row.tails));
    for (int f = 0; f < FIGURES; f++)
        row.figures[f] = stats_quartiles(contestant->samples[f], chunks);
    if (!operation)
        return row;
    row.checked = operations[*operation].checked && !report->options->unchecked;
    row.overlaps = operations[*operation].nonblocking;
    if (row.overlaps)
        row.overlap = contest_overlap(contestant, chunks);
    return row;
}

void report_add(struct report *report, size_t bytes, const struct contestant *contestants,
                size_t count, const bool right[REPORT_SIDES])
{
    const struct options *options = report->options;
    const enum operation *const played[REPORT_SIDES] = {&options->operation, &options->operation,
                                                        &options->beside};
    struct report_point *point = &report->points[report->count++];
    *point = (struct report_point){
        .bytes = bytes, .rows = bench_alloc(count, sizeof(*point->rows)), .count = count};
    for (size_t i = 0; i < count; i++) {
        const bool is_mpi = i < first_raw(report);
        point->rows[i] = make_row(report, &contestants[i], is_mpi ? played[i] : NULL);
        point->rows[i].right = !is_mpi || right[i];
        if (!is_mpi && !point->rows[i].probe &&
            (!point->best_raw || point->rows[i].figures[FIGURE_LATENCY].median <
                                     point->rows[point->best_raw].figures[FIGURE_LATENCY].median))
            point->best_raw = i;
    }

    const double *a = contestants[A].samples[FIGURE_LATENCY];
    point->b_over_a = stats_ratio(contestants[B].samples[FIGURE_LATENCY], a, options->chunks);
    if (has_beside(report))
        point->a_over_beside =
            stats_ratio(a, contestants[REPORT_BESIDE].samples[FIGURE_LATENCY], options->chunks);
    if (point->best_raw)
        point->a_over_raw =
            stats_ratio(a, contestants[point->best_raw].samples[FIGURE_LATENCY], options->chunks);
}

bool report_right(const struct report *report)
{
    for (size_t p = 0; p < report->count; p++)
        for (size_t i = 0; i < report->points[p].count; i++)
            if (!report->points[p].rows[i].right)
                return false;
    return true;
}

/* ---- text ---- */

static void print_head(const struct report *report)
{
    const struct options *options = report->options;
    const struct job *job = report->job;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    job_library_name(library);
    printf("# nicbarr_bench %s, %s, %d processes ", operations[options->operation].name, library,
           job->size);
    if (job->one_node)
        printf("on %u CPUs, %s%s\n", job->placement.processors,
               job->placement.bound ? "bound" : "not bound",
               job->placement.crowded ? ", sharing CPUs" : "");
    else
        printf("on several nodes\n");
    printf("# coll preference of A: %s; of B: %s\n",
           mpi_side_preference_text(options->preference[A]),
           mpi_side_preference_text(options->preference[B]));
    if (has_beside(report))
        printf("# beside them, with A's coll preference: %s\n", operations[options->beside].name);
}

/* Prints the key of a line: a contestant, and the size if there are sizes. */
static void print_key(const struct report *report, int width, const char *name, size_t bytes)
{
    printf("%-*s", width, name);
    if (report->options->sized)
        printf("%10zu", bytes);
}

static void print_key_head(const struct report *report, int width, const char *title)
{
    printf("\n# %-*s", width - 2, title);
    if (report->options->sized)
        printf("%10s", "Size");
}

/* Prints the columns of the OSU benchmarks, but with medians over chunks instead of means over
 * iterations. The median of the ratio is printed on both lines. */
static void print_osu_head(const struct report *report)
{
    const struct options *options = report->options;
    const struct report_row *row = &report->points[0].rows[A];
    print_key_head(report, 3, "");
    if (row->overlaps)
        printf("%18s%18s%18s%18s", "Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)");
    else
        printf("%18s", "Avg Latency(us)");
    if (options->full)
        printf("%20s%20s%12s", row->overlaps ? "Min Pure Comm.(us)" : "Min Latency(us)",
               row->overlaps ? "Max Pure Comm.(us)" : "Max Latency(us)", "Iterations");
    if (options->tails)
        for (int t = 0; t < CONTEST_TAILS; t++)
            printf("    P%.0f Tail Lat(us)", 100 * contest_tails[t]);
    if (row->checked)
        printf("%12s", "Validation");
    if (options->sized)
        printf("%10s", "B/A");
    printf("\n");
}

static void print_osu(const struct report *report, const struct report_point *point,
                      const struct report_row *row)
{
    const struct options *options = report->options;
    print_key(report, 3, row->name, point->bytes);
    if (row->overlaps)
        printf("%18.3f%18.3f%18.3f%18.2f", row->figures[FIGURE_OVERALL].median,
               row->figures[FIGURE_COMPUTE].median, row->average, row->overlap.median);
    else
        printf("%18.3f", row->average);
    if (options->full)
        printf("%20.3f%20.3f%12lu", row->least, row->most,
               (unsigned long)options->chunks * row->iterations);
    if (options->tails)
        for (int t = 0; t < CONTEST_TAILS; t++)
            printf("%19.3f", row->tails[t]);
    if (row->checked)
        printf("%12s", row->right ? "Pass" : "Fail");
    if (options->sized)
        printf("%10.2f", point->b_over_a.median);
    printf("\n");
}

enum { KEY_WIDTH = 18 };

static void print_quartiles_head(const struct report *report, const char *title)
{
    print_key_head(report, KEY_WIDTH, title);
    printf("%12s%12s%12s\n", "q1", "median", "q3");
}

static void print_quartiles(const struct report *report, const char *name, size_t bytes,
                            struct nicbarr_quartiles quartiles, int digits)
{
    print_key(report, KEY_WIDTH, name, bytes);
    printf("%12.*f%12.*f%12.*f\n", digits, quartiles.q1, digits, quartiles.median, digits,
           quartiles.q3);
}

static void print_ratio_to(const struct report *report, const struct report_point *point,
                           const char *name, struct nicbarr_quartiles ratio)
{
    char title[64];
    snprintf(title, sizeof(title), "A/%s", name);
    print_quartiles(report, title, point->bytes, ratio, 2);
}

void report_print(const struct report *report)
{
    print_head(report);
    print_osu_head(report);
    for (size_t p = 0; p < report->count; p++)
        for (int i = A; i <= B; i++)
            print_osu(report, &report->points[p], &report->points[p].rows[i]);

    printf("\n# %u interleaved chunks of each; slowest rank of each chunk",
           report->options->chunks);
    print_quartiles_head(report, "microseconds");
    for (size_t p = 0; p < report->count; p++)
        for (size_t i = 0; i < report->points[p].count; i++)
            print_quartiles(report, report->points[p].rows[i].name, report->points[p].bytes,
                            report->points[p].rows[i].figures[FIGURE_LATENCY], 3);

    print_quartiles_head(report, "ratio");
    for (size_t p = 0; p < report->count; p++) {
        const struct report_point *point = &report->points[p];
        print_quartiles(report, "B/A", point->bytes, point->b_over_a, 2);
        if (has_beside(report))
            print_ratio_to(report, point, point->rows[REPORT_BESIDE].name, point->a_over_beside);
        if (point->best_raw)
            print_ratio_to(report, point, point->rows[point->best_raw].name, point->a_over_raw);
    }
}

/* ---- JSON ---- */

static json_t *json_quartiles(struct nicbarr_quartiles quartiles)
{
    return json_pack("{s:f, s:f, s:f}", "q1", quartiles.q1, "median", quartiles.median, "q3",
                     quartiles.q3);
}

static json_t *json_raw(const struct report *report, const struct report_point *point)
{
    json_t *raw = json_object();
    for (size_t i = first_raw(report); i < point->count; i++)
        json_object_set_new(raw, point->rows[i].name,
                            json_pack("{s:o, s:b, s:i}", "latency",
                                      json_quartiles(point->rows[i].figures[FIGURE_LATENCY]),
                                      "barrier", !point->rows[i].probe, "iterations_per_chunk",
                                      (int)point->rows[i].iterations));
    return raw;
}

static json_t *json_side(const struct report *report, const struct report_row *row,
                         const char *preference)
{
    json_t *json = json_pack("{s:s?, s:i, s:o, s:{s:f, s:f, s:f}}", "preference", preference,
                             "iterations_per_chunk", (int)row->iterations, "latency",
                             json_quartiles(row->figures[FIGURE_LATENCY]), "ranks", "average",
                             row->average, "minimum", row->least, "maximum", row->most);
    if (report->options->tails)
        json_object_set_new(json, "tails",
                            json_pack("{s:f, s:f, s:f}", "p50", row->tails[0], "p90", row->tails[1],
                                      "p99", row->tails[2]));
    if (row->overlaps) {
        const char *const names[FIGURES] = {NULL, "overall", "compute"};
        for (int f = FIGURE_OVERALL; f < FIGURES; f++)
            json_object_set_new(json, names[f], json_quartiles(row->figures[f]));
        json_object_set_new(json, "overlap_percent", json_quartiles(row->overlap));
    }
    if (row->checked)
        json_object_set_new(json, "validation", json_string(row->right ? "pass" : "fail"));
    return json;
}

static json_t *json_point(const struct report *report, const struct report_point *point)
{
    const struct options *options = report->options;
    json_t *json = json_pack("{s:o, s:o, s:o}", "a",
                             json_side(report, &point->rows[A], options->preference[A]), "b",
                             json_side(report, &point->rows[B], options->preference[B]), "b_over_a",
                             json_quartiles(point->b_over_a));
    if (has_beside(report)) {
        json_object_set_new(json, "beside",
                            json_side(report, &point->rows[REPORT_BESIDE], options->preference[A]));
        json_object_set_new(json, "a_over_beside", json_quartiles(point->a_over_beside));
    }
    if (point->best_raw) {
        json_object_set_new(json, "raw", json_raw(report, point));
        json_object_set_new(json, "best_raw", json_string(point->rows[point->best_raw].name));
        json_object_set_new(json, "a_over_raw", json_quartiles(point->a_over_raw));
    }
    return json;
}

/* Adds an object per size. If there are no sizes, the results are members of the report itself. */
static void add_points(json_t *json, const struct report *report)
{
    json_t *sizes = report->options->sized ? json_array() : NULL;
    for (size_t p = 0; p < report->count; p++) {
        json_t *point = json_point(report, &report->points[p]);
        if (sizes) {
            json_object_set_new(point, "bytes", json_integer((json_int_t)report->points[p].bytes));
            json_array_append(sizes, point);
        } else {
            json_object_update(json, point);
        }
        json_decref(point);
    }
    if (sizes)
        json_object_set_new(json, "sizes", sizes);
}

bool report_write_json(const struct report *report, FILE *file)
{
    const struct options *options = report->options;
    const struct job *job = report->job;
    char library[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
    int length;
    job_library_name(library);
    MPI_Get_processor_name(host, &length);

    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:i}", "benchmark", "nicbarr_bench",
                             "mode", operations[options->operation].name, "library", library,
                             "host", host, "processes", job->size, "one_node", job->one_node,
                             "chunks", (int)options->chunks);
    if (has_beside(report))
        json_object_set_new(json, "beside_mode", json_string(operations[options->beside].name));
    if (job->one_node)
        json_object_set_new(json, "placement",
                            json_pack("{s:i, s:b, s:b}", "processors",
                                      (int)job->placement.processors, "bound", job->placement.bound,
                                      "sharing_processors", job->placement.crowded));
    add_points(json, report);
    bool written = json && json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0 &&
                   fputc('\n', file) != EOF && fflush(file) == 0;
    json_decref(json);
    return written;
}
