/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nicbarr_bench found: see report.h.
 */
#include "report.h"

#include <jansson.h>
#include <mpi.h>
#include <stdlib.h>

#include "alloc.h"
#include "mpi_barrier.h"

enum { A, B, FIRST_RAW };

/* ---- figures ---- */

static struct nicbarr_quartiles ratio(const struct report *report, size_t over, size_t under)
{
    return stats_ratio(report->contestants[over].samples[FIGURE_LATENCY],
                       report->contestants[under].samples[FIGURE_LATENCY], report->options->chunks);
}

void report_make(struct report *report, const struct options *options, const struct job *job,
                 const struct contestant *contestants, size_t count)
{
    *report =
        (struct report){.options = options, .job = job, .contestants = contestants, .count = count};
    report->latencies = bench_alloc(count, sizeof(*report->latencies));
    for (size_t i = 0; i < count; i++)
        report->latencies[i] =
            stats_quartiles(contestants[i].samples[FIGURE_LATENCY], options->chunks);
    if (options->mode == MODE_IBARRIER)
        for (int i = A; i <= B; i++)
            report->overlaps[i] = contest_overlap(&contestants[i], options->chunks);
    report->b_over_a = ratio(report, B, A);

    for (size_t i = FIRST_RAW; i < count; i++)
        if (!contestants[i].probe &&
            (!report->best_raw ||
             report->latencies[i].median < report->latencies[report->best_raw].median))
            report->best_raw = i;
    if (report->best_raw)
        report->a_over_raw = ratio(report, A, report->best_raw);
}

void report_free(struct report *report)
{
    free(report->latencies);
}

/* ---- text ---- */

static void print_head(const struct report *report)
{
    const struct job *job = report->job;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    job_library_name(library);
    printf("# nicbarr_bench %s, %s, %d processes ", mode_names[report->options->mode], library,
           job->size);
    if (job->one_node)
        printf("on %u processors, %s%s\n", job->placement.processors,
               job->placement.bound ? "bound" : "not bound",
               job->placement.crowded ? ", sharing processors" : "");
    else
        printf("on several nodes\n");
    printf("# coll preference of A: %s; of B: %s\n",
           mpi_barrier_preference_text(report->options->preference[A]),
           mpi_barrier_preference_text(report->options->preference[B]));
}

/* The columns of the OSU benchmarks. Their means over iterations are medians over chunks here. */
static void print_osu(const struct report *report)
{
    const struct options *options = report->options;
    bool nonblocking = options->mode == MODE_IBARRIER;
    printf("\n#  ");
    if (nonblocking)
        printf("%18s%18s%18s%18s", "Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)");
    else
        printf("%18s", "Avg Latency(us)");
    if (options->full)
        printf("%20s%20s%12s", nonblocking ? "Min Pure Comm.(us)" : "Min Latency(us)",
               nonblocking ? "Max Pure Comm.(us)" : "Max Latency(us)", "Iterations");
    if (options->tails)
        for (int t = 0; t < CONTEST_TAILS; t++)
            printf("    P%.0f Tail Lat(us)", 100 * contest_tails[t]);
    printf("\n");

    for (int i = A; i <= B; i++) {
        const struct contestant *contestant = &report->contestants[i];
        printf("%-3s", contestant->name);
        if (nonblocking)
            printf("%18.3f%18.3f%18.3f%18.2f",
                   stats_quartiles(contestant->samples[FIGURE_OVERALL], options->chunks).median,
                   stats_quartiles(contestant->samples[FIGURE_COMPUTE], options->chunks).median,
                   contestant->average, report->overlaps[i].median);
        else
            printf("%18.3f", contestant->average);
        if (options->full)
            printf("%20.3f%20.3f%12lu", contestant->least, contestant->most,
                   (unsigned long)options->chunks * contestant->iterations);
        if (options->tails)
            for (int t = 0; t < CONTEST_TAILS; t++)
                printf("%19.3f", contestant->tails[t]);
        printf("\n");
    }
}

static void print_quartiles(const char *name, struct nicbarr_quartiles quartiles, int digits)
{
    printf("%-18s%12.*f%12.*f%12.*f\n", name, digits, quartiles.q1, digits, quartiles.median,
           digits, quartiles.q3);
}

static void print_quartiles_head(const char *title)
{
    printf("\n# %-16s%12s%12s%12s\n", title, "q1", "median", "q3");
}

void report_print(const struct report *report)
{
    print_head(report);
    print_osu(report);

    printf("\n# %u chunks of each in turns; slowest rank of each chunk", report->options->chunks);
    print_quartiles_head("microseconds");
    for (size_t i = 0; i < report->count; i++)
        print_quartiles(report->contestants[i].name, report->latencies[i], 3);

    print_quartiles_head("ratio");
    print_quartiles("B/A", report->b_over_a, 2);
    if (report->best_raw) {
        char name[64];
        snprintf(name, sizeof(name), "A/%s", report->contestants[report->best_raw].name);
        print_quartiles(name, report->a_over_raw, 2);
    }
}

/* ---- JSON ---- */

static json_t *json_quartiles(struct nicbarr_quartiles quartiles)
{
    return json_pack("{s:f, s:f, s:f}", "q1", quartiles.q1, "median", quartiles.median, "q3",
                     quartiles.q3);
}

static json_t *json_raw(const struct report *report)
{
    json_t *raw = json_object();
    for (size_t i = FIRST_RAW; i < report->count; i++)
        json_object_set_new(raw, report->contestants[i].name,
                            json_pack("{s:o, s:b, s:i}", "latency",
                                      json_quartiles(report->latencies[i]), "barrier",
                                      !report->contestants[i].probe, "iterations_per_chunk",
                                      (int)report->contestants[i].iterations));
    return raw;
}

static json_t *json_communicator(const struct report *report, int which)
{
    const struct options *options = report->options;
    const struct contestant *contestant = &report->contestants[which];
    json_t *json =
        json_pack("{s:s?, s:i, s:o, s:{s:f, s:f, s:f}}", "preference", options->preference[which],
                  "iterations_per_chunk", (int)contestant->iterations, "latency",
                  json_quartiles(report->latencies[which]), "ranks", "average", contestant->average,
                  "minimum", contestant->least, "maximum", contestant->most);
    if (options->tails)
        json_object_set_new(json, "tails",
                            json_pack("{s:f, s:f, s:f}", "p50", contestant->tails[0], "p90",
                                      contestant->tails[1], "p99", contestant->tails[2]));
    if (options->mode == MODE_IBARRIER) {
        const char *const names[FIGURES] = {NULL, "overall", "compute"};
        for (int f = FIGURE_OVERALL; f < FIGURES; f++)
            json_object_set_new(
                json, names[f],
                json_quartiles(stats_quartiles(contestant->samples[f], options->chunks)));
        json_object_set_new(json, "overlap_percent", json_quartiles(report->overlaps[which]));
    }
    return json;
}

bool report_write_json(const struct report *report, FILE *file)
{
    const struct options *options = report->options;
    const struct job *job = report->job;
    char library[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
    int length;
    job_library_name(library);
    MPI_Get_processor_name(host, &length);

    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:i, s:o, s:o, s:o}", "benchmark",
                  "nicbarr_bench", "mode", mode_names[options->mode], "library", library, "host",
                  host, "processes", job->size, "one_node", job->one_node, "chunks",
                  (int)options->chunks, "a", json_communicator(report, A), "b",
                  json_communicator(report, B), "b_over_a", json_quartiles(report->b_over_a));
    if (job->one_node)
        json_object_set_new(json, "placement",
                            json_pack("{s:i, s:b, s:b}", "processors",
                                      (int)job->placement.processors, "bound", job->placement.bound,
                                      "sharing_processors", job->placement.crowded));
    if (report->best_raw) {
        json_object_set_new(json, "raw", json_raw(report));
        json_object_set_new(json, "best_raw",
                            json_string(report->contestants[report->best_raw].name));
        json_object_set_new(json, "a_over_raw", json_quartiles(report->a_over_raw));
    }
    bool written = json && json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0 &&
                   fputc('\n', file) != EOF && fflush(file) == 0;
    json_decref(json);
    return written;
}
