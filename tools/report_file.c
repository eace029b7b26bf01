/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads report files; see report_file.h. The getters below record the first error, and then return
 * harmless values. Reading continues after an error, so it is sufficient to check for errors once
 * at the end. */
#include "tools/report_file.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/alloc.h"
#include "tools/text.h"

static const char format[] = "nicbarr report 1";

enum {
    LONGEST_NAME = 64, /* characters; MPI's limit for names of communicators */
    LONGEST_REASON = 300,
    LONGEST_ALGORITHM = 31,
    LONGEST_COLLECTIVE = 40,
    LONGEST_PROCESS = 80,
};

static const double most_us = 1e12, most_ms = 1e9, most_bytes = 1e15, most_load = 1e9,
                    most_switches = 1e15;

const char *const report_source_names[REPORT_SOURCES] = {
    [REPORT_MEASURED] = "measured", [REPORT_SAME_SHAPE] = "same shape",
    [REPORT_CACHE] = "cache",       [REPORT_PARAMETER] = "parameter",
    [REPORT_DEFAULT] = "default",   [REPORT_COMPARISON] = "comparison",
    [REPORT_DECLINED] = "declined",
};

struct reader {
    char where[80]; /* path of the object that is being read: "communicators[1]." */
    char *why;      /* the first error; NULL: none so far */
};

__attribute__((format(printf, 2, 3))) static void wrong(struct reader *reader, const char *text,
                                                        ...)
{
    if (NULL != reader->why) {
        return;
    }
    char line[512];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(line, sizeof(line), text, arguments);
    va_end(arguments);
    reader->why = text_printable(line, sizeof(line));
}

/* Enters an object of a list. Returns the argument for leave_object(). */
static size_t enter_object(struct reader *reader, const char *list, size_t index)
{
    const size_t outside = strlen(reader->where);
    snprintf(reader->where + outside, sizeof(reader->where) - outside, "%s[%zu].", list, index);
    return outside;
}

static void leave_object(struct reader *reader, size_t outside)
{
    reader->where[outside] = '\0';
}

/* ---- fields ---- */

static const char *string(struct reader *reader, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value)) {
        wrong(reader, "%s%s is %s", reader->where, name, NULL == value ? "missing" : "not a text");
        return "";
    }
    return json_string_value(value);
}

static char *line(struct reader *reader, const json_t *object, const char *name, size_t most)
{
    return text_printable(string(reader, object, name), most);
}

/* Checks the syntax of an algorithm, on which the plot relies. */
static bool is_algorithm(const char *text)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyz_";
    const size_t name = strspn(text, letters);
    const size_t digits = ':' == text[name] ? strspn(text + name + 1, "0123456789") : 0;
    size_t length = name + (0 == digits ? 0 : 1 + digits);
    const size_t player = '@' == text[length] ? strspn(text + length + 1, letters) : 0;
    length += 0 == player ? 0 : 1 + player;
    return 0 < name && '\0' == text[length] && length <= LONGEST_ALGORITHM;
}

static char *algorithm(struct reader *reader, const json_t *object, const char *name)
{
    const char *text = string(reader, object, name);
    if (!is_algorithm(text)) {
        wrong(reader, "%s%s is not an algorithm such as tree:4", reader->where, name);
    }
    return text_printable(text, LONGEST_ALGORITHM);
}

static double read_json_number(struct reader *reader, const json_t *object, const char *name,
                               double most)
{
    const json_t *value = json_object_get(object, name);
    const double figure = json_number_value(value);
    if (!json_is_number(value) || !(figure >= 0 && figure <= most)) {
        wrong(reader, "%s%s is %s", reader->where, name,
              NULL == value ? "missing" : "not a number, or out of range");
        return 0;
    }
    return figure;
}

static int integer(struct reader *reader, const json_t *object, const char *name, int least)
{
    const json_t *value = json_object_get(object, name);
    const json_int_t figure = json_integer_value(value);
    if (!json_is_integer(value) || figure < least || figure > INT_MAX) {
        wrong(reader, "%s%s is %s", reader->where, name,
              NULL == value ? "missing" : "not a whole number, or out of range");
        return least;
    }
    return (int)figure;
}

static bool boolean(struct reader *reader, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_boolean(value)) {
        wrong(reader, "%s%s is %s", reader->where, name,
              NULL == value ? "missing" : "neither true nor false");
    }
    return json_is_true(value);
}

static enum report_source source(struct reader *reader, const json_t *object)
{
    const char *text = string(reader, object, "source");
    for (int s = 0; s < REPORT_SOURCES; ++s) {
        if (0 == strcmp(text, report_source_names[s])) {
            return (enum report_source)s;
        }
    }
    wrong(reader, "%ssource is '%.40s', which this version does not know", reader->where, text);
    return REPORT_DEFAULT;
}

/* ---- objects ---- */

static void read_candidate(struct reader *reader, const json_t *json,
                           struct report_candidate *candidate)
{
    if (!json_is_object(json)) {
        wrong(reader, "%.*s is not an object", (int)strlen(reader->where) - 1, reader->where);
    }
    candidate->algorithm = algorithm(reader, json, "algorithm");
    candidate->q1_us = read_json_number(reader, json, "q1_us", most_us);
    candidate->median_us = read_json_number(reader, json, "median_us", most_us);
    candidate->q3_us = read_json_number(reader, json, "q3_us", most_us);
    candidate->rounds = integer(reader, json, "rounds", 0);
    if (NULL != json_object_get(json, "model_us")) {
        candidate->model_us = read_json_number(reader, json, "model_us", most_us);
    }
    if (!(candidate->q1_us <= candidate->median_us && candidate->median_us <= candidate->q3_us)) {
        wrong(reader, "%sq1_us, median_us and q3_us are not in this order", reader->where);
    }
    candidate->own = 0 == strcmp(candidate->algorithm, "openmpi");
}

/* Compares candidates by time, with unmeasured candidates last. Candidates with equal times stay in
 * the order of the file, in which the simplest is first. */
static int faster(const void *left, const void *right)
{
    const struct report_candidate *a = left, *b = right;
    if (a->median_us != b->median_us) {
        const bool first = 0 == b->median_us || (a->median_us < b->median_us && 0 != a->median_us);
        return first ? -1 : 1;
    }
    return a->position < b->position ? -1 : 1;
}

static void read_round_trips(struct reader *reader, const json_t *json, struct report_entry *entry)
{
    const json_t *list = json_object_get(json, "round_trips");
    if (NULL != list && !json_is_array(list)) {
        wrong(reader, "%sround_trips is not a list", reader->where);
    }
    const size_t count = json_array_size(list);
    entry->round_trips = tool_alloc(count, sizeof(*entry->round_trips));
    for (; entry->trips < count && NULL == reader->why; ++entry->trips) {
        struct report_round_trip *trip = &entry->round_trips[entry->trips];
        const json_t *one = json_array_get(list, entry->trips);
        const size_t outside = enter_object(reader, "round_trips", entry->trips);
        trip->nic = line(reader, one, "nic", LONGEST_NAME);
        trip->peers = integer(reader, one, "peers", 1);
        trip->least_us = read_json_number(reader, one, "least_us", most_us);
        trip->median_us = read_json_number(reader, one, "median_us", most_us);
        leave_object(reader, outside);
    }
}

static void read_limits(struct reader *reader, const json_t *json, struct report_entry *entry)
{
    if (NULL != json_object_get(json, "line_us")) { /* missing if processes share cores */
        entry->line_us = read_json_number(reader, json, "line_us", most_us);
    }
    entry->switch_us = read_json_number(reader, json, "switch_us", most_us);
    entry->budget_ms = read_json_number(reader, json, "budget_ms", most_ms);
    read_round_trips(reader, json, entry);
}

static void read_confidence(struct reader *reader, const json_t *json, struct report_entry *entry)
{
    entry->has_confidence = NULL != json_object_get(json, "confidence");
    if (!entry->has_confidence) {
        return;
    }
    entry->confidence = read_json_number(reader, json, "confidence", 1);
    entry->provisional = boolean(reader, json, "provisional");
    if (NULL == entry->collective) {
        entry->load = read_json_number(reader, json, "load", most_load);
        entry->switches = read_json_number(reader, json, "involuntary_switches", most_switches);
    }
}

static void read_tuning(struct reader *reader, const json_t *json, struct report_entry *entry)
{
    const json_t *list = json_object_get(json, "candidates");
    if (NULL == list) {
        return;
    }
    if (!json_is_array(list)) {
        wrong(reader, "%scandidates is not a list", reader->where);
    }
    entry->spent_ms = read_json_number(reader, json, "spent_ms", most_ms);
    read_confidence(reader, json, entry);
    if (NULL == entry->collective) {
        read_limits(reader, json, entry);
    }
    const size_t count = json_array_size(list);
    entry->candidates = tool_alloc(count, sizeof(*entry->candidates));
    for (; entry->count < count && NULL == reader->why; ++entry->count) {
        struct report_candidate *candidate = &entry->candidates[entry->count];
        const size_t outside = enter_object(reader, "candidates", entry->count);
        read_candidate(reader, json_array_get(list, entry->count), candidate);
        candidate->position = entry->count;
        candidate->chosen = 0 == strcmp(candidate->algorithm, entry->choice);
        leave_object(reader, outside);
    }
    qsort(entry->candidates, entry->count, sizeof(*entry->candidates), faster);
    const struct report_candidate *own = report_own(entry);
    for (size_t c = 0; NULL != own && c < entry->count; ++c) {
        struct report_candidate *candidate = &entry->candidates[c];
        candidate->gain = candidate->median_us > 0 ? own->median_us / candidate->median_us : 0;
    }
}

/* Reads the A/B comparisons of a choice. */
static void read_comparisons(struct reader *reader, const json_t *json, struct report_entry *entry)
{
    const json_t *list = json_object_get(json, "compared");
    if (NULL == json_object_get(json, "comparisons")) {
        return;
    }
    entry->comparisons = integer(reader, json, "comparisons", 1);
    entry->switched = integer(reader, json, "switches", 0);
    if (NULL != list && !json_is_array(list)) {
        wrong(reader, "%scompared is not a list", reader->where);
    }
    const size_t count = json_array_size(list);
    entry->variants = tool_alloc(count, sizeof(*entry->variants));
    for (; entry->variant_count < count && NULL == reader->why; ++entry->variant_count) {
        struct report_variant *variant = &entry->variants[entry->variant_count];
        const json_t *one = json_array_get(list, entry->variant_count);
        const size_t outside = enter_object(reader, "compared", entry->variant_count);
        variant->algorithm = algorithm(reader, one, "algorithm");
        variant->median_us = read_json_number(reader, one, "median_us", most_us);
        leave_object(reader, outside);
    }
}

/* Reads the repeated measurements of a collective with data. */
static void read_remeasured(struct reader *reader, const json_t *json, struct report_entry *entry)
{
    if (NULL != entry->collective && NULL != json_object_get(json, "remeasured")) {
        entry->remeasured = integer(reader, json, "remeasured", 1);
        entry->switched = integer(reader, json, "switches", 0);
    }
}

static void read_entry(struct reader *reader, const json_t *json, bool has_data,
                       struct report_entry *entry)
{
    if (!json_is_object(json)) {
        wrong(reader, "%.*s is not an object", (int)strlen(reader->where) - 1, reader->where);
    }
    entry->name = line(reader, json, "communicator", LONGEST_NAME);
    entry->process = line(reader, json, "process", LONGEST_PROCESS);
    if (has_data) {
        entry->collective = line(reader, json, "collective", LONGEST_COLLECTIVE);
        entry->bytes = integer(reader, json, "bytes", 1);
    }
    entry->processes = integer(reader, json, "processes", 1);
    entry->communicators = integer(reader, json, "communicators", 1);
    entry->choice = algorithm(reader, json, "choice");
    entry->source = source(reader, json);
    if (REPORT_DECLINED == entry->source) {
        entry->reason = line(reader, json, "reason", LONGEST_REASON);
        return;
    }
    entry->nodes = integer(reader, json, "nodes", 1);
    entry->processors = integer(reader, json, "processors", 1);
    entry->bound_sets = integer(reader, json, "bound_sets", 1);
    entry->oversubscribed = boolean(reader, json, "oversubscribed");
    entry->record_bytes = read_json_number(reader, json, "record_bytes", most_bytes);
    read_comparisons(reader, json, entry);
    read_remeasured(reader, json, entry);
    read_tuning(reader, json, entry);
}

/* Reads the list `name`. Returns its number of entries. */
static size_t read_list(struct reader *reader, const json_t *json, const char *name, bool has_data,
                        struct report_entry **entries)
{
    const json_t *list = json_object_get(json, name);
    const size_t count = json_array_size(list);
    size_t done = 0;
    if (!json_is_array(list) && !(has_data && NULL == list)) { /* the list is missing in older
                                                                  files */
        wrong(reader, "%s is %s", name, NULL == list ? "missing" : "not a list");
    }
    *entries = tool_alloc(count, sizeof(**entries));
    for (; done < count && NULL == reader->why; ++done) {
        const size_t outside = enter_object(reader, name, done);
        read_entry(reader, json_array_get(list, done), has_data, &(*entries)[done]);
        leave_object(reader, outside);
    }
    return done;
}

static void read_document(struct reader *reader, const json_t *json, struct report *report)
{
    const char *theirs = json_string_value(json_object_get(json, "format"));
    if (NULL == theirs) {
        wrong(reader, "it is not a report of nicbarr's: it has no \"format\": \"%s\"", format);
    } else if (0 != strcmp(theirs, format)) {
        wrong(reader, "its format is \"%.40s\", and this version reads \"%s\"", theirs, format);
    }
    report->host = line(reader, json, "host", LONGEST_NAME);
    report->processor = line(reader, json, "processor", LONGEST_NAME);
    report->open_mpi = line(reader, json, "open_mpi", LONGEST_NAME);
    report->nicbarr = line(reader, json, "nicbarr", LONGEST_NAME);
    report->time = line(reader, json, "time", LONGEST_NAME);
    report->count = read_list(reader, json, "communicators", false, &report->entries);
    report->data_count = read_list(reader, json, "collectives", true, &report->data);
}

bool report_read(FILE *file, struct report *report, char **why)
{
    struct reader reader = {"", NULL};
    struct stat status;
    *report = (struct report){0};
    *why = NULL;
    if (0 == fstat(fileno(file), &status) && S_ISDIR(status.st_mode)) {
        wrong(&reader, "%s", strerror(EISDIR));
        *why = reader.why;
        return false;
    }
    json_error_t error;
    errno = 0;
    json_t *json = json_loadf(file, 0, &error);
    if (NULL == json && ferror(file)) {
        wrong(&reader, "%s", strerror(errno));
    } else if (NULL == json) {
        wrong(&reader, "it is not JSON, or not all of it: line %d: %s", error.line, error.text);
    } else {
        read_document(&reader, json, report);
    }
    json_decref(json);
    if (NULL != reader.why) {
        report_free(report);
        *why = reader.why;
    }
    return NULL == *why;
}

static void free_entries(struct report_entry *entries, size_t count)
{
    for (size_t e = 0; e < count; ++e) {
        struct report_entry *entry = &entries[e];
        for (size_t c = 0; c < entry->count; ++c) {
            free(entry->candidates[c].algorithm);
        }
        free(entry->candidates);
        for (size_t t = 0; t < entry->trips; ++t) {
            free(entry->round_trips[t].nic);
        }
        free(entry->round_trips);
        for (size_t d = 0; d < entry->variant_count; ++d) {
            free(entry->variants[d].algorithm);
        }
        free(entry->variants);
        free(entry->name);
        free(entry->process);
        free(entry->collective);
        free(entry->choice);
        free(entry->reason);
    }
    free(entries);
}

void report_free(struct report *report)
{
    free_entries(report->entries, report->count);
    free_entries(report->data, report->data_count);
    free(report->host);
    free(report->processor);
    free(report->open_mpi);
    free(report->nicbarr);
    free(report->time);
    *report = (struct report){0};
}

/* ---- queries ---- */

const struct report_candidate *report_own(const struct report_entry *entry)
{
    for (size_t c = 0; c < entry->count; ++c) {
        if (entry->candidates[c].own) {
            return &entry->candidates[c];
        }
    }
    return NULL;
}

const struct report_candidate *report_ours(const struct report_entry *entry)
{
    for (size_t c = 0; c < entry->count; ++c) {
        if (!entry->candidates[c].own) {
            return &entry->candidates[c];
        }
    }
    return NULL;
}

const struct report_candidate *report_chosen(const struct report_entry *entry)
{
    for (size_t c = 0; c < entry->count; ++c) {
        if (entry->candidates[c].chosen) {
            return &entry->candidates[c];
        }
    }
    return NULL;
}

bool report_same_communicator(const struct report_entry *left, const struct report_entry *right)
{
    return 0 == strcmp(left->name, right->name) && 0 == strcmp(left->process, right->process) &&
           left->processes == right->processes;
}

size_t report_measured(const struct report *report)
{
    size_t measured = 0;
    for (size_t e = 0; e < report->count; ++e) {
        measured += 0 < report->entries[e].count;
    }
    return measured;
}
