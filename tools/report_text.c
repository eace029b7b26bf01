/* SPDX-License-Identifier: BSD-3-Clause */
/* See report_text.h. */
#include "tools/report_text.h"

#include <string.h>

#include "tools/table.h"
#include "tools/text.h"

enum {
    WIDTH = 96,
    LABEL = 4,  /* column of the labels "choice", "gain", ... */
    VALUE = 16, /* column of the text after such a label */
    WORDS = 21, /* column of the text after an algorithm, whose name is longer */
};

static void print_labelled(size_t column, FILE *out, const char *label, const char *text)
{
    fprintf(out, "%*s%-*s", LABEL, "", (int)column - LABEL, label);
    text_wrap(out, text, column, WIDTH);
}

static void print_field(FILE *out, const char *label, const char *text)
{
    print_labelled(VALUE, out, label, text);
}

static const char *plural(int count)
{
    return 1 == count ? "" : "s";
}

int report_decimals(double smallest)
{
    return smallest >= 100 ? 0 : smallest >= 10 ? 1 : smallest >= 1 ? 2 : smallest >= 0.1 ? 3 : 4;
}

/* ---- an entry ---- */

void report_shape(const struct report_entry *entry, char *text, size_t bytes)
{
    char where[80] = "", bound[80] = "", nodes[40] = "on";
    if (REPORT_DECLINED != entry->source) {
        if (entry->nodes > 1) { /* the number of cores refers to one node */
            snprintf(nodes, sizeof(nodes), "on %d nodes of", entry->nodes);
        }
        snprintf(where, sizeof(where), " %s %d CPU%s%s", nodes, entry->processors,
                 plural(entry->processors), entry->oversubscribed ? ", oversubscribed" : "");
        snprintf(bound, sizeof(bound),
                 1 == entry->bound_sets ? ", not bound" : ", bound to %d sets of CPUs",
                 entry->bound_sets);
    }
    snprintf(text, bytes, "%d process%s%s%s", entry->processes, 1 == entry->processes ? "" : "es",
             where, bound);
}

static const char *source_words(enum report_source source)
{
    switch (source) {
    case REPORT_MEASURED:
        return "measured on this communicator";
    case REPORT_SAME_SHAPE:
        return "measured on another communicator of the same shape in this job";
    case REPORT_CACHE:
        return "measured by an earlier job (tuning cache, see coll_nicbarr_cache)";
    case REPORT_PARAMETER:
        return "set by the parameter coll_nicbarr_algorithm";
    case REPORT_DEFAULT:
        return "the default: not measured, as the job was too short (see "
               "coll_nicbarr_tune_after, coll_nicbarr_tune_share and coll_nicbarr_tune_budget)";
    case REPORT_COMPARISON:
        return "the winner of an A/B comparison in this communicator's own barriers";
    case REPORT_DECLINED:
    case REPORT_SOURCES:
        break;
    }
    return "Open MPI's own function, as nicbarr declined";
}

static void print_choice(const struct report_entry *entry, FILE *out)
{
    char text[256];
    if (REPORT_DECLINED == entry->source) {
        print_field(out, "barrier", source_words(entry->source));
        print_field(out, "because", entry->reason);
        return;
    }
    const bool own = 0 == strcmp(entry->choice, "openmpi");
    snprintf(text, sizeof(text), "%s%s, %s", entry->choice, own ? " (Open MPI's own function)" : "",
             source_words(entry->source));
    print_field(out, "barrier", text);
}

static void print_gain(const struct report_entry *entry, FILE *out)
{
    const struct report_candidate *own = report_own(entry), *chosen = report_chosen(entry);
    char text[256];
    if (NULL == own || NULL == chosen || 0 == chosen->gain) {
        return;
    }
    if (chosen == own) {
        print_field(out, "gain", "none: nothing was clearly faster than Open MPI's function");
        return;
    }
    const int decimals = report_decimals(chosen->median_us);
    snprintf(text, sizeof(text), "%.2f times faster than Open MPI: %.*f us instead of %.*f us",
             chosen->gain, decimals, chosen->median_us, decimals, own->median_us);
    print_field(out, "gain", text);
}

/* Adds a cell with a time, which is 0 if it was not measured. */
static void cell_us(struct table *table, double us, int decimals)
{
    if (us > 0) {
        table_cell(table, "%.*f", decimals, us);
    } else {
        table_cell(table, "-");
    }
}

static void cell_gain(struct table *table, double gain)
{
    if (gain > 0) {
        table_cell(table, "%.2f x", gain);
    } else {
        table_cell(table, "-");
    }
}

static void print_candidates(const struct report_entry *entry, FILE *out)
{
    static const struct table_column columns[] = {
        {"", "", false},       {"algorithm", "", false}, {"median", "us", true},
        {"q1", "us", true},    {"q3", "us", true},       {"gain", "", true},
        {"model", "us", true}, {"rounds", "", true},     {"", "", false},
    };
    struct table table;
    table_begin(&table, columns, sizeof(columns) / sizeof(columns[0]));
    const int decimals = report_decimals(entry->candidates[0].median_us);
    for (size_t c = 0; c < entry->count; ++c) {
        const struct report_candidate *candidate = &entry->candidates[c];
        const bool measured = candidate->median_us > 0;
        table_cell(&table, "%s", candidate->chosen ? ">" : "");
        table_cell(&table, "%s", candidate->algorithm);
        cell_us(&table, candidate->median_us, decimals);
        cell_us(&table, measured ? candidate->q1_us : 0, decimals);
        cell_us(&table, measured ? candidate->q3_us : 0, decimals);
        cell_gain(&table, candidate->gain);
        cell_us(&table, candidate->model_us, decimals);
        table_cell(&table, "%d", candidate->rounds);
        table_cell(&table, "%s%s%s", candidate->own ? "Open MPI" : "",
                   candidate->own && candidate->chosen ? ", " : "",
                   candidate->chosen ? "chosen" : "");
        table_end_row(&table);
    }
    fputc('\n', out);
    table_print(&table, out, LABEL);
    table_end(&table);
}

/* Prints the raw limits. Those across nodes differ from those on one node. */
static void print_limits(const struct report_entry *entry, FILE *out)
{
    const char *label = "raw limits";
    char text[256];
    if (entry->switch_us > 0) {
        snprintf(text, sizeof(text), "%.*f us: context switch from one process to the next",
                 report_decimals(entry->switch_us), entry->switch_us);
        print_field(out, label, text);
        label = "";
    }
    if (entry->line_us > 0) {
        snprintf(text, sizeof(text), "%.*f us: transfer of a cache line from rank 0 to rank 1",
                 report_decimals(entry->line_us), entry->line_us);
        print_field(out, label, text);
        label = "";
    }
    for (size_t t = 0; t < entry->trips; ++t) {
        const struct report_round_trip *trip = &entry->round_trips[t];
        snprintf(text, sizeof(text), "%.*f us: round trip to %d node%s, %s NIC",
                 report_decimals(trip->least_us), trip->least_us, trip->peers,
                 1 == trip->peers ? "" : "s", trip->nic);
        print_field(out, label, text);
        label = "";
    }
}

static void print_confidence(const struct report_entry *entry, FILE *out)
{
    char text[256];
    if (!entry->has_confidence) {
        return;
    }
    snprintf(text, sizeof(text), "%.0f %%%s", 100 * entry->confidence,
             entry->provisional
                 ? "; the choice is provisional: it could not be measured well enough"
                 : "");
    print_field(out, "confidence", text);
    snprintf(text, sizeof(text),
             "load %.1f; %.0f involuntary context switch%s of a process while measuring",
             entry->load, entry->switches, 1 == entry->switches ? "" : "es");
    print_field(out, "machine", text);
}

/* Prints how often the choice was challenged, and the result of the last comparison. */
static void print_comparisons(const struct report_entry *entry, FILE *out)
{
    char text[512];
    size_t slow = 0;
    int length = snprintf(text, sizeof(text),
                          "in %d A/B comparison%s with other algorithms, replaced in %d of them",
                          entry->comparisons, plural(entry->comparisons), entry->switched);
    for (size_t d = 0; d < entry->variant_count; ++d) {
        const struct report_variant *variant = &entry->variants[d];
        slow += 0 == variant->median_us;
        if (variant->median_us > 0 && length < (int)sizeof(text)) {
            length += snprintf(text + length, sizeof(text) - (size_t)length, "%s %s %.*f us",
                               slow == d ? "; in the last one" : ",", variant->algorithm,
                               report_decimals(variant->median_us), variant->median_us);
        }
    }
    if (slow > 0 && length < (int)sizeof(text)) {
        snprintf(text + length, sizeof(text) - (size_t)length, "; %zu clearly slower", slow);
    }
    print_field(out, "challenged", text);
}

static void print_heading(const struct report_entry *entry, size_t number, FILE *out)
{
    char text[256];
    fprintf(out, "\n[%zu] %s\n", number, entry->name);
    report_shape(entry, text, sizeof(text));
    print_field(out, "shape", text);
}

static void print_barrier(const struct report_entry *entry, FILE *out)
{
    char text[256];
    if (entry->communicators > 1) {
        snprintf(text, sizeof(text), "%d communicators; the name is the first one's",
                 entry->communicators);
        print_field(out, "shared by", text);
    }
    print_choice(entry, out);
    if (0 < entry->comparisons) {
        print_comparisons(entry, out);
    }
    if (REPORT_DECLINED != entry->source) {
        snprintf(text, sizeof(text), "%.0f bytes of shared memory per communicator",
                 entry->record_bytes);
        print_field(out, "memory", text);
    }
    if (0 == entry->count) {
        return;
    }
    print_gain(entry, out);
    print_limits(entry, out);
    snprintf(text, sizeof(text), "%.1f ms %s a budget of %.0f ms", entry->spent_ms,
             entry->spent_ms > entry->budget_ms ? "in batches, the first of them with" : "of",
             entry->budget_ms);
    print_field(out, "tuning took", text);
    print_confidence(entry, out);
    print_candidates(entry, out);
}

/* ---- collectives with data ---- */

static void print_data_row(struct table *table, const struct report_entry *entry)
{
    const struct report_candidate *ours = report_ours(entry), *own = report_own(entry);
    const double ours_us = NULL == ours ? 0 : ours->median_us;
    const double own_us = NULL == own ? 0 : own->median_us;
    char shared[40] = "", doubt[40] = "", remeasured[60] = "";
    if (entry->provisional) {
        snprintf(doubt, sizeof(doubt), ", provisional (%.0f %%)", 100 * entry->confidence);
    }
    if (entry->communicators > 1) {
        snprintf(shared, sizeof(shared), ", %d communicators", entry->communicators);
    }
    if (entry->remeasured > 0) {
        snprintf(remeasured, sizeof(remeasured), ", remeasured %d time%s, replaced %d time%s",
                 entry->remeasured, plural(entry->remeasured), entry->switched,
                 plural(entry->switched));
    }
    table_cell(table, "%s", entry->collective);
    table_cell(table, "%d", entry->bytes);
    table_cell(table, "%s", entry->choice);
    cell_us(table, ours_us, report_decimals(ours_us));
    cell_us(table, own_us, report_decimals(own_us));
    cell_gain(table, NULL == ours ? 0 : ours->gain);
    table_cell(table, "%s%s%s%s", report_source_names[entry->source], remeasured, doubt, shared);
    table_end_row(table);
}

/* Prints the choices for collectives with data of the communicator of `of`, if there are any. */
static void print_data(const struct report *report, const struct report_entry *of, FILE *out)
{
    static const struct table_column columns[] = {
        {"collective", "", false}, {"up to", "bytes", true},   {"choice", "", false},
        {"nicbarr's", "us", true}, {"Open MPI's", "us", true}, {"gain", "", true},
        {"", "", false},
    };
    struct table table;
    table_begin(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t d = 0; d < report->data_count; ++d) {
        if (report_same_communicator(&report->data[d], of)) {
            print_data_row(&table, &report->data[d]);
        }
    }
    if (0 < table.count) {
        fputc('\n', out);
        table_print(&table, out, LABEL);
    }
    table_end(&table);
}

/* Returns whether one of the entries describes the same communicator as `entry`. */
static bool is_among(const struct report_entry *entry, const struct report_entry *entries,
                     size_t count)
{
    for (size_t e = 0; e < count; ++e) {
        if (report_same_communicator(&entries[e], entry)) {
            return true;
        }
    }
    return false;
}

/* ---- the whole report ---- */

static void print_head(const struct report *report, FILE *out)
{
    char text[256];
    fprintf(out, "nicbarr report: what this job's communicators use, and why\n\n");
    snprintf(text, sizeof(text), "%s (%s)", report->host, report->processor);
    print_field(out, "host", text);
    snprintf(text, sizeof(text), "nicbarr %s, Open MPI %s", report->nicbarr, report->open_mpi);
    print_field(out, "versions", text);
    print_field(out, "time", report->time);
}

static void print_summary(const struct report *report, FILE *out)
{
    char text[256];
    long communicators = 0, ours = 0;
    for (size_t e = 0; e < report->count; ++e) {
        const struct report_entry *entry = &report->entries[e];
        communicators += entry->communicators;
        ours += 0 == strcmp(entry->choice, "openmpi") ? 0 : entry->communicators;
    }
    if (0 == communicators) {
        print_field(out, "summary",
                    "no communicator executed enough barriers for a choice (see "
                    "coll_nicbarr_tune_after)");
        return;
    }
    snprintf(text, sizeof(text),
             "%ld communicator%s with a chosen barrier: %ld by nicbarr, %ld by Open MPI",
             communicators, 1 == communicators ? "" : "s", ours, communicators - ours);
    print_field(out, "summary", text);
}

/* Returns whether there is an algorithm whose name begins with `name` and contains `what`. */
static bool has_algorithm(const struct report_entry *entries, size_t count, const char *name,
                          const char *what)
{
    const size_t length = strlen(name);
    for (size_t e = 0; e < count; ++e) {
        const struct report_entry *entry = &entries[e];
        if (0 == strncmp(entry->choice, name, length) && NULL != strstr(entry->choice, what)) {
            return true;
        }
        for (size_t c = 0; c < entry->count; ++c) {
            const char *algorithm = entry->candidates[c].algorithm;
            if (0 == strncmp(algorithm, name, length) && NULL != strstr(algorithm, what)) {
                return true;
            }
        }
    }
    return false;
}

/* Explains the algorithms that occur in the report, and the words for the NICs that run them. */
static void print_algorithms(const struct report *report, FILE *out)
{
    static const struct {
        const char *name, *part, *label, *words;
    } algorithms[] = {
        {"counter", "", "counter:N",
         "every process increments one of N counters, and the last one releases all"},
        {"flags", "", "flags:B",
         "every process sets its flag and polls the flags of all others, B bytes apart"},
        {"tree", "", "tree:D",
         "arrivals are gathered up a tree of degree D, and the release is broadcast down it"},
        {"dissemination", "", "dissemination:N",
         "in each step, every process (or node) notifies N others, at growing distances"},
        {"pairwise", "", "pairwise",
         "in each step, every process (or node) exchanges messages with one other (recursive "
         "doubling)"},
        {"exchange", "", "exchange",
         "every process writes its data into shared memory, and reads those of all others"},
        {"ring", "", "ring",
         "one process writes into shared memory, ahead of the others, which read it"},
        {"rooted", "", "rooted:N",
         "data are sent up a tree of degree N to one node, which combines them; NICs broadcast "
         "the result"},
        {"openmpi", "", "openmpi", "Open MPI's own function"},
        {"", "@soft", "...@soft", "executed by the soft NICs of the nodes"},
        {"", "@kernel", "...@kernel", "executed by the kernels of the nodes (myrd --kernel)"},
        {"", "@verbs", "...@verbs", "executed by processes, through the RDMA cards of their nodes"},
    };
    for (size_t a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); ++a) {
        const char *name = algorithms[a].name, *part = algorithms[a].part;
        if (has_algorithm(report->entries, report->count, name, part) ||
            has_algorithm(report->data, report->data_count, name, part)) {
            print_labelled(WORDS, out, algorithms[a].label, algorithms[a].words);
        }
    }
}

static void print_legend(const struct report *report, FILE *out)
{
    const bool barriers = 0 < report_measured(report), data = 0 < report->data_count;
    if (barriers || data) {
        fprintf(out, "\nHow to read the tables\n");
        print_field(out, "gain",
                    "median of Open MPI's function, divided by that of this candidate");
    }
    if (barriers) {
        print_field(out, "median, q",
                    "median and quartiles of a barrier's time over all rounds, on the slowest rank "
                    "of each");
        print_field(out, "model",
                    "predicted from the raw limits, assuming that nodes share no CPUs");
        print_field(
            out, "rounds",
            "rounds measured; fewer if a candidate was dropped early as clearly slower; 0: the "
            "machine was busy, and there is at most one measurement");
        print_field(out, "chosen", "the simplest candidate that is as fast as the fastest");
        print_field(out, "confidence",
                    "probability that no other candidate is better by more than 3 %");
    }
    if (data) {
        print_field(out, "us",
                    "time of a call with the maximum of bytes: median over all rounds, on the "
                    "slowest rank of each");
    }
    if (0 < report->count || data) {
        fprintf(out, "\nAlgorithms\n");
        print_algorithms(report, out);
    }
}

/* Prints each barrier with the other collectives of its communicator, and then the communicators
 * without a barrier. */
static void print_entries(const struct report *report, FILE *out)
{
    size_t number = 0;
    for (; number < report->count; ++number) {
        const struct report_entry *entry = &report->entries[number];
        print_heading(entry, number + 1, out);
        print_barrier(entry, out);
        if (!is_among(entry, report->entries, number)) {
            print_data(report, entry, out);
        }
    }
    for (size_t d = 0; d < report->data_count; ++d) {
        const struct report_entry *entry = &report->data[d];
        if (!is_among(entry, report->entries, report->count) && !is_among(entry, report->data, d)) {
            print_heading(entry, ++number, out);
            print_data(report, entry, out);
        }
    }
}

void report_print(const struct report *report, FILE *out)
{
    print_head(report, out);
    print_summary(report, out);
    print_entries(report, out);
    print_legend(report, out);
}

/* ---- CSV ---- */

static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; '\0' != *text; ++text) {
        fputs('"' == *text ? "\"\"" : (char[]){*text, '\0'}, out);
    }
    fputc('"', out);
}

void report_print_csv(const struct report *report, FILE *out)
{
    fprintf(out, "entry,communicator,communicators,processes,processors,bound_sets,oversubscribed,"
                 "algorithm,chosen,median_us,q1_us,q3_us,gain,model_us,rounds,line_us,switch_us\n");
    for (size_t e = 0; e < report->count; ++e) {
        const struct report_entry *entry = &report->entries[e];
        for (size_t c = 0; c < entry->count; ++c) {
            const struct report_candidate *candidate = &entry->candidates[c];
            fprintf(out, "%zu,", e + 1);
            print_quoted(out, entry->name);
            fprintf(out, ",%d,%d,%d,%d,%d,%s,%d,%.6g,%.6g,%.6g,", entry->communicators,
                    entry->processes, entry->processors, entry->bound_sets, entry->oversubscribed,
                    candidate->algorithm, candidate->chosen, candidate->median_us, candidate->q1_us,
                    candidate->q3_us);
            if (candidate->gain > 0) {
                fprintf(out, "%.6g", candidate->gain);
            }
            fputc(',', out);
            if (candidate->model_us > 0) {
                fprintf(out, "%.6g", candidate->model_us);
            }
            fprintf(out, ",%d,", candidate->rounds);
            if (entry->line_us > 0) {
                fprintf(out, "%.6g", entry->line_us);
            }
            fprintf(out, ",%.6g\n", entry->switch_us);
        }
    }
}
