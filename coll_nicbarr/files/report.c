/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports how each communicator implements its collectives, with the measurements. If
 * coll_nicbarr_verbose is set, a message is printed for each decision; if coll_nicbarr_report is
 * set, a JSON file for programs is written (docs/report.md).
 *
 * Rank 0 reports on behalf of its communicator. Communicators without measurements share an entry,
 * which counts them, if their entries would be equal. This file composes the entries; report_file.c
 * stores them. */
#include "coll_nicbarr/files/report.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/comparison.h"
#include "coll_nicbarr/choice/tuning.h"
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/files/json_functions.h"
#include "coll_nicbarr/files/report_file.h"
#include "coll_nicbarr/files/this_host.h"
#include "coll_nicbarr/peers.h"

static const char *format = "nicbarr report 1";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the variables below */
static json_t *entries;                                  /* entries of this process */
static bool changed;                                     /* changed since the last write */
static uint64_t job; /* identity of the job, the same on all nodes; 0: not known yet */

static const char *source_name(enum nicbarr_source source)
{
    switch (source) {
    case NICBARR_UNDECIDED:
        return "default";
    case NICBARR_FORCED:
        return "parameter";
    case NICBARR_MEASURED:
        return "measured";
    case NICBARR_FROM_JOB:
    case NICBARR_FROM_TRIAL:
        return "same shape";
    case NICBARR_FROM_CACHE:
        return "cache";
    case NICBARR_WON_COMPARISON:
        return "comparison";
    }
    return "";
}

/* ---- entries ---- */

static void add_round_trips(json_t *entry, const struct nicbarr_tuning *tuning)
{
    json_t *list = json_array();
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const struct nicbarr_round_trips *trips = &tuning->round_trips[nic];
        for (uint32_t i = 0; i < trips->count; ++i) {
            json_array_append_new(
                list, json_pack("{s:s, s:i, s:f, s:f}", "nic", nicbarr_kind(nic)->name, "peers",
                                (int)trips->of[i].peers, "least_us", trips->of[i].least_us,
                                "median_us", trips->of[i].median_us));
        }
    }
    if (0 < json_array_size(list)) {
        json_object_set(entry, "round_trips", list);
    }
    json_decref(list);
}

/* Add the measurements of a contest to an entry. `model_us` is NULL if there are no predictions. */
static void add_contest(json_t *entry, const struct nicbarr_contest *contest,
                        const struct nicbarr_choice *choices, const double *model_us)
{
    json_t *candidates = json_array();
    for (int c = 0; c < contest->count; ++c) {
        char name[NICBARR_CHOICE_TEXT];
        const struct nicbarr_contestant *one = &contest->of[c];
        json_t *json =
            json_pack("{s:s, s:i, s:f, s:f, s:f}", "algorithm",
                      nicbarr_choice_name(choices[c], name), "rounds", one->rounds, "q1_us",
                      one->us.q1, "median_us", one->us.median, "q3_us", one->us.q3);
        if (NULL != model_us && model_us[c] > 0) {
            json_object_set_new(json, "model_us", json_real(model_us[c]));
        }
        json_array_append_new(candidates, json);
    }
    json_object_set_new(entry, "candidates", candidates);
    json_object_set_new(entry, "confidence", json_real(contest->confidence));
    json_object_set_new(entry, "provisional", json_boolean(contest->provisional));
}

static void add_tuning(json_t *entry, const struct nicbarr_tuning *tuning)
{
    add_contest(entry, tuning->contest, tuning->choices, tuning->model_us);
    if (tuning->limits.line_us > 0) {
        json_object_set_new(entry, "line_us", json_real(tuning->limits.line_us));
    }
    json_object_set_new(entry, "switch_us", json_real(tuning->limits.switch_us));
    add_round_trips(entry, tuning);
    json_object_set_new(entry, "spent_ms", json_real(tuning->spent_us / 1e3));
    json_object_set_new(entry, "budget_ms", json_integer(tuning->budget_ms));
    json_object_set_new(entry, "load", json_real(tuning->load));
    json_object_set_new(entry, "involuntary_switches", json_real(tuning->switches));
}

static json_t *new_entry(ompi_communicator_t *comm)
{
    char comm_name[NICBARR_COMM_TEXT];
    json_t *entry = json_pack("{s:s, s:i, s:i}", "communicator", nicbarr_comm_name(comm, comm_name),
                              "processes", ompi_comm_size(comm), "communicators", 1);
    if (NULL == entry) { /* the name is not valid UTF-8 */
        entry = json_pack("{s:s, s:i, s:i}", "communicator", "(unprintable)", "processes",
                          ompi_comm_size(comm), "communicators", 1);
    }
    return entry;
}

static void add_choice(json_t *entry, const struct nicbarr_shape *shape, const char *choice,
                       enum nicbarr_source source)
{
    json_object_set_new(entry, "choice", json_string(choice));
    json_object_set_new(entry, "source", json_string(source_name(source)));
    json_object_set_new(entry, "nodes", json_integer(shape->nodes));
    json_object_set_new(entry, "processors", json_integer(shape->processors));
    json_object_set_new(entry, "bound_sets", json_integer(shape->homes));
    json_object_set_new(entry, "oversubscribed", json_boolean(shape->oversubscribed));
}

static size_t record_bytes(const struct myr_record *record)
{
    return NULL == record ? 0 : sizeof(struct myr_record) + myr_record_bytes(record);
}

static void add_bytes(json_t *entry, size_t bytes)
{
    json_object_set_new(entry, "record_bytes", json_integer((json_int_t)bytes));
}

static json_t *barrier_json(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const char *declined)
{
    char name[NICBARR_CHOICE_TEXT];
    json_t *entry = new_entry(comm);
    if (NULL != declined) {
        json_object_set_new(entry, "choice", json_string("openmpi"));
        json_object_set_new(entry, "source", json_string("declined"));
        json_object_set_new(entry, "reason", json_string(declined));
        return entry;
    }
    add_choice(entry, &module->shape, nicbarr_choice_name(module->choice, name), module->source);
    if (module->shape.nodes > 1) {
        json_object_set_new(entry, "secret", json_string(module->sealed ? "sealed" : "clear"));
    }
    add_bytes(entry, record_bytes(module->across ? module->nic.record : module->group.record));
    if (0 != module->watch.comparisons) {
        json_object_set_new(entry, "comparisons", json_integer(module->watch.comparisons));
        json_object_set_new(entry, "switches", json_integer(module->watch.switches));
    }
    return entry;
}

/* Returns the name of the choice for a size class. */
static const char *data_choice_name(const mca_coll_nicbarr_module_t *module,
                                    enum nicbarr_collective collective, uint32_t size_class,
                                    char text[NICBARR_CHOICE_TEXT])
{
    const struct nicbarr_carrier *carrier = nicbarr_data_carrier(module, collective, size_class);
    return nicbarr_choice_name(
        NULL != carrier
            ? carrier->choice
            : nicbarr_way_choice(collective, nicbarr_data_way(module, collective, size_class)),
        text);
}

static size_t reducers_bytes(const mca_coll_nicbarr_module_t *module)
{
    size_t bytes = 0;
    for (int slots = 0; slots < MYR_SLOTS_KINDS; ++slots) {
        bytes += record_bytes(module->reducers[slots].exchange.record);
    }
    return bytes;
}

static size_t data_bytes(const mca_coll_nicbarr_module_t *module,
                         enum nicbarr_collective collective, uint32_t size_class)
{
    const struct nicbarr_carrier *carrier = nicbarr_data_carrier(module, collective, size_class);
    const bool ring = nicbarr_data_by_ring(collective) && NULL != module->streamer.ring.record;
    return NULL != carrier ? record_bytes(carrier->group.record)
           : ring          ? myr_ring_taken(&module->streamer.ring)
                           : reducers_bytes(module);
}

static json_t *data_json(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, uint32_t size_class,
                         enum nicbarr_source source)
{
    char text[NICBARR_CHOICE_TEXT], what[NICBARR_CLASS_TEXT];
    const struct nicbarr_class *class = &module->ways[collective][size_class];
    json_t *entry = new_entry(comm);
    json_object_set_new(
        entry, "collective",
        json_string(nicbarr_class_collective(module, collective, size_class, what)));
    json_object_set_new(entry, "bytes", json_integer(nicbarr_size_classes[size_class]));
    add_choice(entry, &module->shape, data_choice_name(module, collective, size_class, text),
               source);
    add_bytes(entry, data_bytes(module, collective, size_class));
    if (0 != class->remeasured) {
        json_object_set_new(entry, "remeasured", json_integer(class->remeasured));
        json_object_set_new(entry, "switches", json_integer(class->switches));
    }
    return entry;
}

/* Returns the index of an entry, or the number of entries if the report does not contain it. */
static size_t index_of(const json_t *entry)
{
    size_t index = 0;
    while (index < json_array_size(entries) && json_array_get(entries, index) != entry) {
        ++index;
    }
    return index;
}

/* Returns whether the entry counts a single communicator. */
static bool is_single(const json_t *entry)
{
    return 1 == json_integer_value(json_object_get(entry, "communicators"));
}

/* Add `entry` to the report. It replaces `before`, if the report still contains that entry; if
 * `before` also counts other communicators, it is kept, and only its count is decremented. An entry
 * without measurements is merged with an equal entry, if there is one. Returns the resulting entry,
 * which is owned by the report. */
static json_t *record_entry(json_t *entry, bool measured, const json_t *before)
{
    json_t *kept = entry;
    pthread_mutex_lock(&lock);
    if (0 == job) {
        job = nicbarr_job_identity();
    }
    entries = NULL == entries ? json_array() : entries;
    const bool follows = NULL != before && index_of(before) < json_array_size(entries);
    const bool replaces = follows && is_single(before);
    if (replaces) {
        json_array_set(entries, index_of(before), entry); /* this may free `before` */
    } else if (measured) {
        json_array_append(entries, entry);
    } else {
        kept = nicbarr_entries_add(entries, entry);
    }
    if (follows && !replaces) {
        nicbarr_entries_remove(entries, before);
    }
    changed = true;
    pthread_mutex_unlock(&lock);
    json_decref(entry);
    return kept;
}

bool nicbarr_report_wanted(void)
{
    const char *path = mca_coll_nicbarr_component.parameters.report;
    return NULL != path && '\0' != *path && nicbarr_json_usable();
}

/* ---- messages to the user ---- */

enum { FIGURES_TEXT = 160 /* bytes */ };

/* Write the results of a contest: the medians of the chosen candidate and of the reference. */
static void write_figures(char figures[FIGURES_TEXT], const struct nicbarr_contest *contest)
{
    const double chosen_us = contest->of[contest->chosen].us.median;
    const double openmpi_us = contest->of[0].us.median;
    char doubt[60] = "";
    if (0 == openmpi_us) {
        snprintf(figures, FIGURES_TEXT, ", provisional: the machine is too busy to measure");
        return;
    }
    if (contest->provisional) {
        snprintf(doubt, sizeof(doubt), "; provisional, confidence %.2f", contest->confidence);
    }
    snprintf(figures, FIGURES_TEXT, ", %.3f us; Open MPI: %.3f us%s", chosen_us, openmpi_us, doubt);
}

/* Print the implementation of `what`. */
static void print_decision(ompi_communicator_t *comm, uint32_t nodes, const char *what,
                           const char *choice, enum nicbarr_source source, const char *figures)
{
    char comm_name[NICBARR_COMM_TEXT], where[32] = "one node";
    if (nodes > 1) {
        snprintf(where, sizeof(where), "%u nodes", nodes);
    }
    opal_output_verbose(
        1, mca_coll_nicbarr_component.output, "nicbarr: %s on %s, %d processes on %s: %s (%s%s)",
        what, nicbarr_comm_name(comm, comm_name), ompi_comm_size(comm), where, choice,
        NICBARR_WON_COMPARISON == source ? "A/B comparison" : source_name(source), figures);
}

static void print_barrier(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          const struct nicbarr_tuning *tuning)
{
    char name[NICBARR_CHOICE_TEXT], figures[FIGURES_TEXT] = "";
    if (NULL != tuning) {
        write_figures(figures, tuning->contest);
    }
    print_decision(comm, module->shape.nodes, "MPI_Barrier",
                   nicbarr_choice_name(module->choice, name), module->source, figures);
}

static void print_data(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       enum nicbarr_collective collective, uint32_t size_class,
                       enum nicbarr_source source, const struct nicbarr_contest *contest)
{
    char what[NICBARR_CLASS_TEXT], figures[FIGURES_TEXT] = "", text[NICBARR_CHOICE_TEXT];
    (void)nicbarr_class_name(module, collective, size_class, what);
    if (NULL != contest) {
        write_figures(figures, contest);
    }
    print_decision(comm, module->shape.nodes, what,
                   data_choice_name(module, collective, size_class, text), source, figures);
}

/* ---- the component's interface ---- */

void nicbarr_report_record(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const struct nicbarr_tuning *tuning, const char *declined)
{
    const bool in_between = NULL != tuning && tuning->in_between;
    if (0 != ompi_comm_rank(comm)) {
        return;
    }
    if (NULL == declined && NICBARR_UNDECIDED != module->source && !in_between) {
        print_barrier(module, comm, tuning);
    }
    if (!nicbarr_report_wanted()) {
        return;
    }
    json_t *entry = barrier_json(module, comm, declined);
    if (NULL != tuning) {
        add_tuning(entry, tuning);
    }
    (void)record_entry(entry, NULL != tuning, NULL == tuning ? NULL : module->entry);
    if (NULL != tuning) {
        module->entry = entry; /* owned by the list */
    }
}

static void print_switch(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_comparison *comparison,
                         const struct nicbarr_choice *choices)
{
    char name[NICBARR_CHOICE_TEXT], before[NICBARR_CHOICE_TEXT], figures[FIGURES_TEXT];
    snprintf(figures, sizeof(figures), ", %.3f us; previously %s: %.3f us",
             nicbarr_comparison_us(comparison, comparison->winner),
             nicbarr_choice_name(choices[0], before), nicbarr_comparison_us(comparison, 0));
    print_decision(comm, module->shape.nodes, "MPI_Barrier",
                   nicbarr_choice_name(module->choice, name), module->source, figures);
}

static json_t *variants_json(const struct nicbarr_comparison *comparison,
                             const struct nicbarr_choice *choices)
{
    char name[NICBARR_CHOICE_TEXT];
    json_t *list = json_array();
    for (int d = 0; d < comparison->count; ++d) {
        json_array_append_new(list, json_pack("{s:s, s:f}", "algorithm",
                                              nicbarr_choice_name(choices[d], name), "median_us",
                                              nicbarr_comparison_us(comparison, d)));
    }
    return list;
}

void nicbarr_report_comparison(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               const struct nicbarr_comparison *comparison,
                               const struct nicbarr_choice *choices)
{
    if (0 != ompi_comm_rank(comm)) {
        return;
    }
    if (0 != comparison->winner) {
        print_switch(module, comm, comparison, choices);
    }
    if (!nicbarr_report_wanted()) {
        return;
    }
    json_t *entry = barrier_json(module, comm, NULL);
    json_object_set_new(entry, "compared", variants_json(comparison, choices));
    if (NULL == module->entry) {
        module->entry = entry; /* owned by the list */
        (void)record_entry(entry, true, NULL);
        return;
    }
    pthread_mutex_lock(&lock);
    /* otherwise the report has been closed */
    if (index_of(module->entry) < json_array_size(entries)) {
        json_object_update(module->entry, entry); /* keeps the measurements */
        changed = true;
    }
    pthread_mutex_unlock(&lock);
    json_decref(entry);
}

void nicbarr_report_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, uint32_t size_class,
                         enum nicbarr_source source, const struct nicbarr_contest *contest,
                         const struct nicbarr_choice *choices)
{
    if (0 != ompi_comm_rank(comm)) {
        return;
    }
    print_data(module, comm, collective, size_class, source, contest);
    if (!nicbarr_report_wanted()) {
        return;
    }
    json_t *entry = data_json(module, comm, collective, size_class, source);
    if (NULL != contest) {
        add_contest(entry, contest, choices, NULL);
        json_object_set_new(entry, "spent_ms", json_real(contest->spent_us / 1e3));
    }
    json_t **kept = &module->ways[collective][size_class].entry;
    *kept = record_entry(entry, NULL != contest, *kept);
}

void nicbarr_report_retract(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const char *declined)
{
    if (0 != ompi_comm_rank(comm) || !nicbarr_report_wanted()) {
        return;
    }
    json_t *entry = barrier_json(module, comm, declined);
    pthread_mutex_lock(&lock);
    nicbarr_entries_remove(entries, entry);
    pthread_mutex_unlock(&lock);
    json_decref(entry);
}

/* ---- the file ---- */

/* Write the names that identify the writer of an entry: the job, and the process among all nodes of
 * the job. */
static void writer_names(char *job_name, size_t job_bytes, char *process, size_t process_bytes)
{
    const struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    snprintf(job_name, job_bytes, "%016llx",
             (unsigned long long)(0 == job ? myr_segment_identity(segment) : job));
    snprintf(process, process_bytes, "%.63s:%u", nicbarr_host_name(),
             (unsigned)myr_segment_index(segment));
}

static json_t *new_document(const char *job_name)
{
    char when[NICBARR_TIME_TEXT];
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[], s:[]}", "format", format, "job",
                     job_name, "host", nicbarr_host_name(), "processor", nicbarr_processor_name(),
                     "open_mpi",
                     NICBARR_TEXT(OMPI_MAJOR_VERSION) "." NICBARR_TEXT(
                         OMPI_MINOR_VERSION) "." NICBARR_TEXT(OMPI_RELEASE_VERSION),
                     "nicbarr", NICBARR_VERSION, "time", nicbarr_time_of_day(when), "communicators",
                     "collectives");
}

static void report_error(const struct myr_error *error)
{
    if (nicbarr_warn_once(NICBARR_MESSAGE_REPORT)) {
        opal_output(0, "nicbarr: the report is not written: %s (see coll_nicbarr_report)",
                    error->text);
    }
}

void nicbarr_report_check(void)
{
    struct myr_error error = {0};
    if (nicbarr_report_wanted() && NULL != mca_coll_nicbarr_component.segment &&
        !nicbarr_report_file_check(mca_coll_nicbarr_component.parameters.report, &error)) {
        report_error(&error);
    }
}

static void write_file(void)
{
    char job_name[32], process[80];
    struct myr_error error = {0};
    writer_names(job_name, sizeof(job_name), process, sizeof(process));
    json_t *head = new_document(job_name);
    if (!nicbarr_report_file_write(mca_coll_nicbarr_component.parameters.report, head, process,
                                   entries, &error)) {
        report_error(&error);
    }
    json_decref(head);
}

void nicbarr_report_write(void)
{
    pthread_mutex_lock(&lock);
    if (changed && NULL != mca_coll_nicbarr_component.segment) {
        write_file();
        changed = false;
    }
    pthread_mutex_unlock(&lock);
}

void nicbarr_report_close(void)
{
    nicbarr_report_write();
    json_decref(entries);
    entries = NULL;
    changed = false;
}
