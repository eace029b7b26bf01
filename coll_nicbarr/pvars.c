/* SPDX-License-Identifier: BSD-3-Clause */
/* Performance variables of MPI's tools interface (MPI_T_pvar_...).
 *
 * coll_nicbarr_<kind>_<counter> are the counters of the NICs, which firmware/counters.h lists. They
 * count from the opening of the NIC, for all processes that share it, and are 0 if there is no such
 * NIC.
 *
 * coll_nicbarr_comparisons and coll_nicbarr_switches count the comparisons (watch.c) of this
 * process's communicators; coll_nicbarr_remeasured and coll_nicbarr_remeasured_switches count the
 * remeasurements of collectives that carry data (data_watch.c). */
#include "coll_nicbarr/pvars.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "coll_nicbarr/choice/watch.h"
#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/data_watch.h"
#include "ompi/pvars.h"

static const struct {
    const char *name, *text;
    size_t offset; /* offset in struct mcp_counters */
} counters[] = {
#define COUNTER(name, text) {#name, text, offsetof(struct mcp_counters, name)},
    MCP_COUNTERS(COUNTER)
#undef COUNTER
};

enum { COUNTERS = sizeof(counters) / sizeof(counters[0]), NAME_BYTES = 64 };

/* The counter that a variable reads. */
static struct variable {
    uint32_t nic;
    size_t offset;
} variables[NICBARR_NICS_MOST][COUNTERS];

static int read_counter(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    const struct variable *variable = pvar->ctx;
    void *nic = mca_coll_nicbarr_component.nics.nic[variable->nic];
    struct mcp_counters counted = {0};
    uint64_t count;
    (void)object;
    if (NULL != nic) {
        nicbarr_kind(variable->nic)->count(nic, &counted);
    }
    memcpy(&count, (const uint8_t *)&counted + variable->offset, sizeof(count));
    *(unsigned long long *)value = count;
    return OPAL_SUCCESS;
}

static int read_watch(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    const struct nicbarr_watch_counters counted = nicbarr_watch_count();
    (void)object;
    return nicbarr_pvar_give(&counted, pvar, value);
}

static int read_remeasured(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    const struct nicbarr_remeasure_counters counted = nicbarr_data_watch_count();
    (void)object;
    return nicbarr_pvar_give(&counted, pvar, value);
}

static void register_counter(const char *name, const char *text, nicbarr_pvar_fn read,
                             void *context)
{
    nicbarr_pvar_add(&mca_coll_nicbarr_component.super.collm_version, name, text, read, context);
}

static void register_nic(uint32_t nic, size_t counter)
{
    char name[NAME_BYTES];
    struct variable *variable = &variables[nic][counter];
    *variable = (struct variable){nic, counters[counter].offset};
    snprintf(name, sizeof(name), "%s_%s", nicbarr_kind(nic)->name, counters[counter].name);
    register_counter(name, counters[counter].text, read_counter, variable);
}

void nicbarr_pvars_register(void)
{
    static size_t comparisons = offsetof(struct nicbarr_watch_counters, comparisons);
    static size_t switches = offsetof(struct nicbarr_watch_counters, switches);
    register_counter("comparisons",
                     "A/B comparisons of the barrier in use with other algorithms, in the "
                     "program's own barriers",
                     read_watch, &comparisons);
    register_counter("switches",
                     "A/B comparisons after which another algorithm has replaced the one in use",
                     read_watch, &switches);
    static size_t remeasured = offsetof(struct nicbarr_remeasure_counters, remeasured);
    static size_t remeasured_switches = offsetof(struct nicbarr_remeasure_counters, switches);
    register_counter("remeasured",
                     "repeated measurements of a choice for a collective that carries data",
                     read_remeasured, &remeasured);
    register_counter("remeasured_switches",
                     "repeated measurements after which another implementation has replaced the "
                     "one in use",
                     read_remeasured, &remeasured_switches);
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        for (size_t counter = 0; counter < COUNTERS; ++counter) {
            register_nic(nic, counter);
        }
    }
}
