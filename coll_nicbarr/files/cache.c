/* SPDX-License-Identifier: BSD-3-Clause */
/* The component's interface to the tuning cache. This file contributes the description of the
 * machine, on which measurements depend, and prints messages about the files, once per node.
 * cache_locations.c determines the files, cache_file.c handles a single file, and evidence.c
 * derives a choice from the measurements.
 *
 * The description contains no host name, so hosts with the same hardware and software share their
 * measurements. */
#include "coll_nicbarr/files/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/classes.h"
#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/cache_writer.h"
#include "coll_nicbarr/files/json_functions.h"
#include "coll_nicbarr/files/network.h"
#include "coll_nicbarr/files/node_cache.h"
#include "coll_nicbarr/files/this_host.h"
#include "firmware/wire.h"

/* ---- the machine on which measurements depend ---- */

static void describe_machine(const struct nicbarr_shape *shape, char machine[NICBARR_CACHE_MACHINE])
{
    char network[NICBARR_NETWORK_TEXT] = "shared memory";
    const uint32_t wire = shape->nodes > 1 ? MCP_WIRE_VERSION : 0;
    if (shape->nodes > 1) {
        (void)nicbarr_network_name("/sys", network);
    }
    snprintf(machine, NICBARR_CACHE_MACHINE, "%s | %s | Open MPI %d.%d.%d | schedules %016llx",
             nicbarr_processor_name(), network, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
             OMPI_RELEASE_VERSION,
             (unsigned long long)nicbarr_digest(nicbarr_schedules_digest(), &wire, sizeof(wire)));
}

/* ---- messages ---- */

/* Print the first failure on a node, and a remedy for the user. */
static void report_cache_failure(const char *path, bool writing, const struct myr_error *error)
{
    if (!nicbarr_warn_once(NICBARR_MESSAGE_CACHE)) {
        return;
    }
    if (MYR_ERR_FOREIGN == error->status) {
        opal_output(0,
                    "nicbarr: the tuning cache %s is not used, and left unchanged: %s. Remove it, "
                    "or choose another one with --mca coll_nicbarr_cache FILE (or none)",
                    path, error->text);
    } else if (writing) {
        opal_output(
            0,
            "nicbarr: the tuning cache %s is not written: %s. Later jobs will measure again. "
            "Choose a writable file with --mca coll_nicbarr_cache FILE (or none)",
            path, error->text);
    } else {
        opal_output(0,
                    "nicbarr: the tuning cache %s is not read: %s. Make it readable, or choose "
                    "another one with --mca coll_nicbarr_cache FILE (or none)",
                    path, error->text);
    }
}

static void report_pending_trouble(void)
{
    char path[PATH_MAX];
    struct myr_error error;
    if (nicbarr_cache_trouble_pop(&nicbarr_node_cache_trouble, path, &error)) {
        report_cache_failure(path, false, &error);
    }
    if (nicbarr_cache_trouble_pop(&nicbarr_cache_writer_trouble, path, &error)) {
        report_cache_failure(path, true, &error);
    }
}

/* ---- reading ---- */

bool nicbarr_cache_ready(void)
{
    const bool ready = nicbarr_node_cache_ready();
    report_pending_trouble();
    return ready;
}

void nicbarr_cache_prefetch(ompi_communicator_t *comm, uint32_t calls_before)
{
    if (0 == calls_before && 0 == ompi_comm_rank(comm)) {
        (void)nicbarr_cache_ready();
    }
}

void nicbarr_cache_close(void)
{
    nicbarr_cache_writer_close();
    report_pending_trouble();
    nicbarr_node_cache_close();
}

/* Collect the measurements from all files. */
static void gather_evidence(const struct nicbarr_shape *shape, const char *what,
                            struct nicbarr_evidence *evidence)
{
    char machine[NICBARR_CACHE_MACHINE], key[NICBARR_CACHE_KEY];
    const struct nicbarr_cache_file any = {.machine = machine, .what = what};
    describe_machine(shape, machine);
    nicbarr_node_cache_find(nicbarr_cache_file_key(&any, shape, key), evidence);
}

/* Look up the best choice according to the files. Its name is written into
 * name[NICBARR_CHOICE_TEXT]. */
static bool read_name(const struct nicbarr_shape *shape, const char *what, char *name, bool *sure)
{
    struct nicbarr_finding finding = {.sure = false};
    struct nicbarr_evidence *evidence = calloc(1, sizeof(*evidence));
    if (NULL != evidence) {
        gather_evidence(shape, what, evidence);
    }
    const bool found =
        NULL != evidence && nicbarr_evidence_conclude(evidence, time(NULL), &finding);
    free(evidence);
    memcpy(name, finding.name, NICBARR_CHOICE_TEXT);
    *sure = finding.sure;
    return found;
}

bool nicbarr_cache_read(const struct nicbarr_shape *shape, const char *what,
                        struct nicbarr_choice *choice, bool *sure)
{
    char name[NICBARR_CHOICE_TEXT];
    if (!nicbarr_json_usable() || !read_name(shape, what, name, sure)) {
        return false;
    }
    const bool known =
        NULL == what ? nicbarr_choice_parse(name, choice) : nicbarr_choice_parse_data(name, choice);
    if (known && nicbarr_runnable(shape, *choice)) {
        return true;
    }
    *sure = false;
    if (nicbarr_warn_once(NICBARR_MESSAGE_CACHE)) {
        opal_output(
            0,
            "nicbarr: an entry of the tuning cache (%s) is ignored, and measured again: its "
            "best choice %s",
            mca_coll_nicbarr_component.parameters.cache,
            known ? "needs a NIC that is not available" : "is not an algorithm");
    }
    return false;
}

/* ---- writing ---- */

/* A provisional result is stored with at most this confidence, so that it never suffices alone. */
static const double most_provisional = 0.9;

_Static_assert((int)NICBARR_CLASS_TEXT <= (int)NICBARR_CACHE_WHAT,
               "the name of a class fits into NICBARR_CACHE_WHAT");

/* Add the measurement to the cache. If memory is exhausted, it is dropped. */
static void add_measurement(const struct nicbarr_shape *shape, const char *what,
                            const struct nicbarr_measurement *measurement)
{
    struct nicbarr_cache_addition *addition = calloc(1, sizeof(*addition));
    char *list = strdup(mca_coll_nicbarr_component.parameters.cache);
    if (NULL == addition || NULL == list) {
        free(addition);
        free(list);
        return;
    }
    addition->list = list;
    addition->shape = *shape;
    addition->measurement = *measurement;
    describe_machine(shape, addition->machine);
    snprintf(addition->what, sizeof(addition->what), "%s", NULL == what ? "" : what);
    nicbarr_cache_writer_add(addition);
    report_pending_trouble();
}

void nicbarr_cache_add(const struct nicbarr_shape *shape, const char *what,
                       const struct nicbarr_choice *choices, const struct nicbarr_contest *contest)
{
    const bool doubtful = contest->provisional && contest->confidence > most_provisional;
    if (!nicbarr_json_usable()) {
        return;
    }
    struct nicbarr_measurement measurement = {
        .when = time(NULL),
        .confidence = doubtful ? most_provisional : contest->confidence,
    };
    for (int c = 0; c < contest->count; ++c) {
        const uint32_t index = measurement.count;
        if (contest->of[c].rounds > 0) { /* not dropped after the preliminary round */
            (void)nicbarr_choice_name(choices[c], measurement.of[index].name);
            measurement.of[index].rounds = (uint32_t)contest->of[c].rounds;
            measurement.of[index].us = contest->of[c].us;
            ++measurement.count;
        }
    }
    /* without the reference, Open MPI's own function, the others cannot be compared */
    if (contest->count > 1 && contest->of[0].rounds > 0) {
        add_measurement(shape, what, &measurement);
    }
}
