/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up communicators on one node.
 *
 * The members find their common record in the shared segment by the communicator's identity,
 * without exchanging messages. If this fails, it fails on all members. They then restore Open MPI's
 * functions, and the module is no longer called. */
#include "coll_nicbarr/setup.h"

#include <stdio.h>

#include "coll_nicbarr/barrier_state.h"
#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/declining.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/layout.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/no_memory.h"

/* Returns the number of bytes that `choice` needs, or that all candidates need if another candidate
 * may replace it later. */
static struct nicbarr_bytes bytes_needed(const struct nicbarr_shape *shape,
                                         enum nicbarr_source source, struct nicbarr_choice choice)
{
    struct nicbarr_choice candidates[NICBARR_CANDIDATES];
    const bool open = NICBARR_UNDECIDED == source || nicbarr_watched(source);
    const int count = open ? nicbarr_candidates(shape, candidates) : 0;
    struct nicbarr_bytes most = nicbarr_layout_bytes(shape, choice);
    for (int c = 0; c < count; ++c) {
        const struct nicbarr_bytes bytes = nicbarr_layout_bytes(shape, candidates[c]);
        most.counters = bytes.counters > most.counters ? bytes.counters : most.counters;
        most.others = bytes.others > most.others ? bytes.others : most.others;
    }
    return most;
}

static const char *set_up_record(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    static char trouble[sizeof(((struct myr_error *)0)->text)];
    const char *why = nicbarr_members_check(module, comm);
    if (NULL != why) {
        return why;
    }
    why = nicbarr_forced_unusable(&module->shape);
    if (NULL != why) {
        return why;
    }
    module->source = nicbarr_propose(&module->shape, &module->choice);
    const struct myr_key key = nicbarr_record_key(module, comm, 0);
    struct nicbarr_bytes bytes = bytes_needed(&module->shape, module->source, module->choice);
    struct myr_error error = {0};
    struct myr_record *record = myr_record_join(
        component->segment, &key, module->shape.processes,
        myr_group_arrival_bytes(module->shape.processes) + bytes.counters + bytes.others,
        nicbarr_choice_encode(module->choice, module->source), &error);
    if (NULL == record) {
        snprintf(trouble, sizeof(trouble),
                 "%.160s (see coll_nicbarr_memory, and the system's limits of memory)", error.text);
        return trouble;
    }
    /* All members use the choice of the one that created the record. */
    module->source = nicbarr_choice_decode(record->creator_value, &module->choice);
    bytes = bytes_needed(&module->shape, module->source, module->choice);
    module->counter_bytes = bytes.counters;
    myr_group_init(&module->group, record, &component->waiter, module->shape.processes,
                   (uint32_t)ompi_comm_rank(comm));
    module->group.watch.owner = comm;
    return NULL;
}

bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (module->across) { /* setup takes messages, so it is left to MPI_Barrier */
        return !module->declined && myr_nic_group_joined(&module->split);
    }
    if (NULL != module->group.record || module->declined) {
        return !module->declined;
    }
    const char *why = set_up_record(module, comm);
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return false;
    }
    if (NICBARR_OPENMPI != module->choice.algorithm &&
        !nicbarr_layout_plan(module, module->choice, &module->group.plan)) {
        /* Other members may already be in the barrier, so this member can no longer fall back to
         * Open MPI. */
        nicbarr_end_without_memory(comm);
    }
    nicbarr_report_record(module, comm, NULL, NULL);
    nicbarr_barrier_event(module, NICBARR_EVENT_CHOSEN);
    return true;
}
