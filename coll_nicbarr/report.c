/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report: which barrier each communicator runs, and what was measured; a line for people who
 * ask (coll_nicbarr_verbose) and a JSON file for programs (coll_nicbarr_report; docs/report.md).
 *
 * Rank 0 of a communicator reports it. Communicators that were not measured and agree in all that
 * is reported share an entry, which counts them. Several processes write into the same file: each
 * replaces its own entries, under a lock; entries of an earlier job go.
 */
#include "coll_nicbarr/coll_nicbarr.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "coll_nicbarr/this_host.h"
#include "coll_nicbarr/tuning.h"

static const char *format = "nicbarr report 1";
static json_t *entries; /* this process's; under the component's lock */
static bool changed;    /* since they were last written */
static uint64_t job;    /* its name, the same on all nodes; 0: not known yet */

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
        return "same shape";
    case NICBARR_FROM_CACHE:
        return "cache";
    }
    return "";
}

/* ---- entries ---- */

static json_t *candidate_json(const struct nicbarr_candidate *candidate)
{
    char name[NICBARR_CHOICE_TEXT];
    json_t *json = json_pack("{s:s, s:i, s:f, s:f, s:f}", "algorithm",
                             nicbarr_choice_name(candidate->choice, name), "rounds",
                             (int)candidate->rounds, "q1_us", candidate->us.q1, "median_us",
                             candidate->us.median, "q3_us", candidate->us.q3);
    if (candidate->model_us > 0) {
        json_object_set_new(json, "model_us", json_real(candidate->model_us));
    }
    return json;
}

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

static void add_tuning(json_t *entry, const struct nicbarr_tuning *tuning)
{
    json_t *candidates = json_array();
    for (int c = 0; c < tuning->count; ++c) {
        json_array_append_new(candidates, candidate_json(&tuning->candidates[c]));
    }
    json_object_set_new(entry, "candidates", candidates);
    if (tuning->limits.line_us > 0) {
        json_object_set_new(entry, "line_us", json_real(tuning->limits.line_us));
    }
    json_object_set_new(entry, "switch_us", json_real(tuning->limits.switch_us));
    add_round_trips(entry, tuning);
    json_object_set_new(entry, "spent_ms", json_real(tuning->spent_us / 1e3));
    json_object_set_new(entry, "budget_ms",
                        json_integer(mca_coll_nicbarr_component.parameters.tune_budget));
}

static json_t *entry_json(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          const char *declined)
{
    char name[NICBARR_CHOICE_TEXT], comm_name[NICBARR_COMM_TEXT];
    json_t *entry = json_pack("{s:s, s:i, s:i}", "communicator", nicbarr_comm_name(comm, comm_name),
                              "processes", ompi_comm_size(comm), "communicators", 1);
    if (NULL == entry) { /* a name that is not UTF-8 */
        entry = json_pack("{s:s, s:i, s:i}", "communicator", "(unprintable)", "processes",
                          ompi_comm_size(comm), "communicators", 1);
    }
    if (NULL != declined) {
        json_object_set_new(entry, "choice", json_string("openmpi"));
        json_object_set_new(entry, "source", json_string("declined"));
        json_object_set_new(entry, "reason", json_string(declined));
        return entry;
    }
    const struct nicbarr_shape *shape = &module->shape;
    json_object_set_new(entry, "choice", json_string(nicbarr_choice_name(module->choice, name)));
    json_object_set_new(entry, "source", json_string(source_name(module->source)));
    json_object_set_new(entry, "nodes", json_integer(shape->nodes));
    json_object_set_new(entry, "processors", json_integer(shape->processors));
    json_object_set_new(entry, "bound_sets", json_integer(shape->homes));
    json_object_set_new(entry, "oversubscribed", json_boolean(shape->oversubscribed));
    const struct myr_record *record = module->across ? module->nic.record : module->group.record;
    const size_t bytes = NULL == record ? 0 : sizeof(struct myr_record) + myr_record_bytes(record);
    json_object_set_new(entry, "record_bytes", json_integer((json_int_t)bytes));
    return entry;
}

/* Do two entries differ in nothing but their names and counts? */
static bool alike(const json_t *left, const json_t *right)
{
    static const char *fields[] = {"processes",  "nodes",          "choice",
                                   "source",     "reason",         "processors",
                                   "bound_sets", "oversubscribed", "record_bytes"};
    for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); ++f) {
        const json_t *a = json_object_get(left, fields[f]), *b = json_object_get(right, fields[f]);
        if (a != b && !json_equal(a, b)) {
            return false;
        }
    }
    return true;
}

/* The number of the entry that `entry` would share, SIZE_MAX if there is none. */
static size_t find_alike(const json_t *entry)
{
    for (size_t i = 0; i < json_array_size(entries); ++i) {
        if (alike(entry, json_array_get(entries, i))) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Have an entry count one communicator more or less. */
static void count(size_t index, int more)
{
    json_t *entry = json_array_get(entries, index);
    const json_int_t now = json_integer_value(json_object_get(entry, "communicators")) + more;
    if (0 == now) {
        json_array_remove(entries, index);
    } else {
        json_object_set_new(entry, "communicators", json_integer(now));
    }
}

bool nicbarr_report_wanted(void)
{
    const char *path = mca_coll_nicbarr_component.parameters.report;
    return NULL != path && '\0' != *path;
}

static void say(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                const struct nicbarr_tuning *tuning)
{
    char name[NICBARR_CHOICE_TEXT], comm_name[NICBARR_COMM_TEXT];
    char figures[120] = "", nodes[32] = "one node";
    if (module->shape.nodes > 1) {
        snprintf(nodes, sizeof(nodes), "%u nodes", module->shape.nodes);
    }
    for (int c = 0; NULL != tuning && c < tuning->count; ++c) {
        if (nicbarr_choice_equal(tuning->candidates[c].choice, module->choice)) {
            snprintf(figures, sizeof(figures), ", %.3f us; Open MPI's own: %.3f us",
                     tuning->candidates[c].us.median, tuning->candidates[0].us.median);
        }
    }
    opal_output_verbose(1, mca_coll_nicbarr_component.output,
                        "nicbarr: MPI_Barrier on %s, %d processes on %s: %s (%s%s)",
                        nicbarr_comm_name(comm, comm_name), ompi_comm_size(comm), nodes,
                        nicbarr_choice_name(module->choice, name), source_name(module->source),
                        figures);
}

void nicbarr_report_note(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_tuning *tuning, const char *declined)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    if (0 != ompi_comm_rank(comm)) {
        return;
    }
    if (NULL == declined && NICBARR_UNDECIDED != module->source) {
        say(module, comm, tuning);
    }
    if (!nicbarr_report_wanted()) {
        return;
    }
    json_t *entry = entry_json(module, comm, declined);
    pthread_mutex_lock(&component->lock);
    if (0 == job) {
        job = nicbarr_job_identity();
    }
    entries = NULL == entries ? json_array() : entries;
    const size_t known = NULL == tuning ? find_alike(entry) : SIZE_MAX;
    if (SIZE_MAX != known) {
        count(known, 1);
        json_decref(entry);
    } else {
        if (NULL != tuning) {
            add_tuning(entry, tuning);
        }
        json_array_append_new(entries, entry);
    }
    changed = true;
    pthread_mutex_unlock(&component->lock);
}

void nicbarr_report_retract(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    if (0 != ompi_comm_rank(comm) || NULL == entries) {
        return;
    }
    json_t *entry = entry_json(module, comm, NULL);
    pthread_mutex_lock(&component->lock);
    const size_t known = find_alike(entry);
    if (SIZE_MAX != known) {
        count(known, -1);
    }
    pthread_mutex_unlock(&component->lock);
    json_decref(entry);
}

/* ---- the file ---- */

/* Who wrote an entry: equal for the same process of the same job only, on whatever node. */
static void own_names(char *job_name, size_t job_bytes, char *process, size_t process_bytes)
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
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[]}", "format", format, "job", job_name,
                     "host", nicbarr_host_name(), "processor", nicbarr_processor_name(), "open_mpi",
                     NICBARR_TEXT(OMPI_MAJOR_VERSION) "." NICBARR_TEXT(
                         OMPI_MINOR_VERSION) "." NICBARR_TEXT(OMPI_RELEASE_VERSION),
                     "nicbarr", NICBARR_VERSION, "time", nicbarr_time_of_day(when),
                     "communicators");
}

/* What other processes of this job have written into the file so far, else a new document. */
static json_t *others(int file, const char *job_name, const char *process)
{
    json_error_t error;
    json_t *document = json_loadfd(file, JSON_DISABLE_EOF_CHECK, &error);
    const char *theirs = json_string_value(json_object_get(document, "job"));
    json_t *list = json_object_get(document, "communicators");
    if (NULL == theirs || 0 != strcmp(theirs, job_name) || !json_is_array(list)) {
        json_decref(document);
        return new_document(job_name);
    }
    for (size_t i = json_array_size(list); i > 0; --i) {
        const char *writer =
            json_string_value(json_object_get(json_array_get(list, i - 1), "process"));
        if (NULL != writer && 0 == strcmp(writer, process)) {
            json_array_remove(list, i - 1);
        }
    }
    return document;
}

static bool replace(int file, const json_t *document)
{
    return 0 == ftruncate(file, 0) && 0 == lseek(file, 0, SEEK_SET) &&
           0 == json_dumpfd(document, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER) &&
           1 == write(file, "\n", 1);
}

static void write_report(const char *path)
{
    char job_name[32], process[80];
    own_names(job_name, sizeof(job_name), process, sizeof(process));
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    bool written = file >= 0 && 0 == flock(file, LOCK_EX);
    if (written) {
        json_t *document = others(file, job_name, process);
        size_t index;
        json_t *entry;
        json_array_foreach(entries, index, entry)
        {
            json_object_set_new(entry, "process", json_string(process));
            json_array_append(json_object_get(document, "communicators"), entry);
        }
        written = replace(file, document);
        json_decref(document);
    }
    if (!written && nicbarr_say_once(NICBARR_SAID_REPORT)) {
        opal_output(0, "nicbarr: no report: %s: %s (coll_nicbarr_report)", path, strerror(errno));
    }
    if (file >= 0) {
        close(file); /* and unlock */
    }
}

void nicbarr_report_write(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    pthread_mutex_lock(&component->lock);
    if (changed && NULL != component->segment) {
        write_report(component->parameters.report);
        changed = false;
    }
    pthread_mutex_unlock(&component->lock);
}

void nicbarr_report_close(void)
{
    nicbarr_report_write();
    json_decref(entries);
    entries = NULL;
    changed = false;
}
