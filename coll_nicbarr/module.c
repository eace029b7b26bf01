/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator's module.
 *
 * Creation is cheap: it looks whether the communicator lies on one node and remembers the functions
 * below. On one node, everything else happens at the first collective that uses it
 * (nicbarr_set_up()), without a message. The members find their common record in the shared segment
 * by the communicator's name. If that fails, it fails for all members alike. Then the functions
 * below are put back, and the module is out of the way. For several nodes see across.c.
 */
#include "coll_nicbarr/module.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/barrier.h"
#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/tune.h"
#include "coll_nicbarr/choice/watch.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/trial.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/layout.h"
#include "coll_nicbarr/members.h"

/* ---- the functions below ---- */

/* Of `module`, on `comm`. */
#define SAVE(collective)                                                                           \
    module->collective.function = comm->c_coll->coll_##collective;                                 \
    module->collective.module = comm->c_coll->coll_##collective##_module;                          \
    missing = missing || NULL == module->collective.module;                                        \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RETAIN(module->collective.module);                                                     \
    }

#define FORGET(collective)                                                                         \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RELEASE(module->collective.module);                                                    \
    }

/* The slot in the communicator holds a reference to its module, and we hold one to the module
 * below. Our module lives as long as the communicator: Open MPI keeps a list of all modules. */
#define PUT_BACK(the_module, comm, collective)                                                     \
    do {                                                                                           \
        if (&(the_module)->super == (comm)->c_coll->coll_##collective##_module) {                  \
            OBJ_RETAIN((the_module)->collective.module);                                           \
            (comm)->c_coll->coll_##collective = (the_module)->collective.function;                 \
            (comm)->c_coll->coll_##collective##_module = (the_module)->collective.module;          \
            OBJ_RELEASE(the_module);                                                               \
        }                                                                                          \
    } while (0)

/* ... of all kinds. */
#define PUT_BACK_ALL(module, comm, collective)                                                     \
    do {                                                                                           \
        PUT_BACK(module, comm, collective);                                                        \
        PUT_BACK(module, comm, i##collective);                                                     \
        PUT_BACK(module, comm, collective##_init);                                                 \
    } while (0)

/* Where there is nothing to fall back on, it leaves the communicator alone. */
static int module_enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    bool missing = false;
    NICBARR_COVERED(SAVE)
    return missing ? OMPI_ERR_NOT_FOUND : OMPI_SUCCESS;
}

static void module_construct(mca_coll_nicbarr_module_t *module)
{
    memset((uint8_t *)module + sizeof(module->super), 0, sizeof(*module) - sizeof(module->super));
}

static void module_destruct(mca_coll_nicbarr_module_t *module)
{
    nicbarr_trials_end(module);
    if (NULL != module->group.record) {
        myr_plan_destroy(&module->group.plan);
        myr_record_leave(mca_coll_nicbarr_component.segment, module->group.record);
    }
    nicbarr_tune_end(module);
    nicbarr_watch_end(module);
    nicbarr_data_leave(module);
    nicbarr_carriers_free(module);
    nicbarr_group_leave(&module->nic);
    nicbarr_group_leave(&module->split);
    nicbarr_nodes_free(&module->nodes);
    free(module->homes);
    NICBARR_COVERED(FORGET)
}

OBJ_CLASS_INSTANCE(mca_coll_nicbarr_module_t, mca_coll_base_module_t, module_construct,
                   module_destruct);

mca_coll_base_module_t *nicbarr_comm_query(ompi_communicator_t *comm, int *priority)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const bool across = ompi_group_have_remote_peers(comm->c_local_group);
    *priority = component->parameters.priority < 100 ? component->parameters.priority : 100;
    const char *why = *priority < 0              ? "coll_nicbarr_priority is negative"
                      : OMPI_COMM_IS_INTER(comm) ? "it is an intercommunicator"
                      : across && !nicbarr_nics_wanted(&component->nics)
                          ? "its processes are on several nodes, and coll_nicbarr_nic wants no NIC"
                          : NULL;
    if (NULL != why) {
        char name[NICBARR_COMM_TEXT];
        if (0 == ompi_comm_rank(comm)) {
            opal_output_verbose(2, component->output, "nicbarr: %s is left to Open MPI: %s",
                                nicbarr_comm_name(comm, name), why);
        }
        return NULL;
    }
    mca_coll_nicbarr_module_t *module = OBJ_NEW(mca_coll_nicbarr_module_t);
    if (NULL == module) {
        return NULL;
    }
    module->super.coll_module_enable = module_enable;
    module->across = across;
    if (ompi_comm_size(comm) > 1) { /* alone there is nothing to gain, and nobody to tune with */
        module->super.coll_barrier = across ? nicbarr_barrier_across_first : nicbarr_barrier_first;
    }
    if (component->parameters.nonblocking) {
        module->super.coll_ibarrier = nicbarr_ibarrier;
        module->super.coll_barrier_init = nicbarr_barrier_init;
    }
    if (nicbarr_data_wanted(NICBARR_ALLREDUCE, across, ompi_comm_size(comm))) {
        module->super.coll_allreduce = across ? nicbarr_allreduce_across : nicbarr_allreduce;
        module->super.coll_iallreduce = across ? nicbarr_iallreduce_across : nicbarr_iallreduce;
        module->super.coll_allreduce_init =
            across ? nicbarr_allreduce_init_across : nicbarr_allreduce_init;
    }
    if (nicbarr_data_wanted(NICBARR_REDUCE, across, ompi_comm_size(comm))) {
        module->super.coll_reduce = across ? nicbarr_reduce_across : nicbarr_reduce;
        module->super.coll_ireduce = across ? NULL : nicbarr_ireduce;
        module->super.coll_reduce_init = across ? NULL : nicbarr_reduce_init;
    }
    if (nicbarr_data_wanted(NICBARR_BCAST, across, ompi_comm_size(comm))) {
        module->super.coll_bcast = across ? nicbarr_bcast_across : nicbarr_bcast;
        module->super.coll_ibcast = across ? nicbarr_ibcast_across : nicbarr_ibcast;
        module->super.coll_bcast_init = !across ? nicbarr_bcast_init
                                        : nicbarr_data_forced(NICBARR_BCAST)
                                            ? nicbarr_bcast_init_across
                                            : NULL;
    }
    if (nicbarr_data_wanted(NICBARR_ALLGATHER, across, ompi_comm_size(comm))) {
        module->super.coll_allgather = nicbarr_allgather;
        module->super.coll_iallgather = across ? NULL : nicbarr_iallgather;
        module->super.coll_allgather_init = across ? NULL : nicbarr_allgather_init;
    }
    if (nicbarr_data_wanted(NICBARR_GATHER, across, ompi_comm_size(comm))) {
        module->super.coll_gather = nicbarr_gather;
        module->super.coll_igather = across ? NULL : nicbarr_igather;
        module->super.coll_gather_init =
            !across && nicbarr_data_forced(NICBARR_GATHER) ? nicbarr_gather_init : NULL;
    }
    if (nicbarr_data_wanted(NICBARR_SCATTER, across, ompi_comm_size(comm))) {
        module->super.coll_scatter = nicbarr_scatter;
        module->super.coll_iscatter = across ? NULL : nicbarr_iscatter;
        module->super.coll_scatter_init = across ? NULL : nicbarr_scatter_init;
    }
    return &module->super;
}

/* ---- setting up ---- */

struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence)
{
    struct myr_key key = {.members = module->members_digest, .sequence = sequence};
    nicbarr_comm_identity(comm, &key.scope, &key.id);
    return key;
}

uint64_t nicbarr_pack(struct nicbarr_choice choice, enum nicbarr_source source)
{
    return UINT64_C(1) << 63 | (uint64_t)choice.nic << 48 | (uint64_t)source << 40 |
           (uint64_t)choice.algorithm << 32 | choice.parameter;
}

enum nicbarr_source nicbarr_unpack(uint64_t word, struct nicbarr_choice *choice)
{
    choice->parameter = (uint32_t)word;
    choice->algorithm = (enum nicbarr_algorithm)(word >> 32 & 0xff);
    choice->nic = (uint32_t)(word >> 48 & 0xff);
    return (enum nicbarr_source)(word >> 40 & 0xff);
}

uint64_t nicbarr_recall(const struct nicbarr_shape *shape)
{
    struct nicbarr_choice choice;
    const uint64_t note =
        myr_note_get(mca_coll_nicbarr_component.segment, nicbarr_shape_key(shape));
    return 0 == note || NICBARR_UNDECIDED == nicbarr_unpack(note, &choice) ? 0 : note;
}

void nicbarr_remember(const struct nicbarr_shape *shape, struct nicbarr_choice choice)
{
    myr_note_set(mca_coll_nicbarr_component.segment, nicbarr_shape_key(shape),
                 nicbarr_pack(choice, NICBARR_FROM_JOB));
}

bool nicbarr_adopt(mca_coll_nicbarr_module_t *module, uint64_t known)
{
    struct nicbarr_choice choice;
    struct myr_plan plan = {.nsteps = 0};
    const enum nicbarr_source source = nicbarr_unpack(known, &choice);
    if (NICBARR_OPENMPI != choice.algorithm && !module->across &&
        !nicbarr_layout_plan(module, choice, &plan)) {
        return false;
    }
    myr_plan_destroy(&module->group.plan);
    module->group.plan = plan;
    module->choice = choice;
    module->source = source;
    return true;
}

/* Where no NIC is named, the first that can plays between nodes. */
static struct nicbarr_choice resolve(const struct nicbarr_shape *shape,
                                     struct nicbarr_choice choice)
{
    if (0 == choice.nic && shape->nodes > 1 && nicbarr_algorithm_messages(choice.algorithm)) {
        choice.nic = (uint32_t)__builtin_ctz(shape->players);
    }
    return choice;
}

const char *nicbarr_forced_in_vain(const struct nicbarr_shape *shape)
{
    static char why[300];
    char name[NICBARR_CHOICE_TEXT];
    const struct nicbarr_choice forced = mca_coll_nicbarr_component.forced;
    if (NICBARR_ALGORITHMS == forced.algorithm || nicbarr_playable(shape, resolve(shape, forced)) ||
        1 == shape->processes) { /* there is nothing to play alone */
        return NULL;
    }
    const int length = snprintf(why, sizeof(why), "coll_nicbarr_algorithm is %s, and ",
                                nicbarr_choice_name(forced, name));
    char *rest = why + length;
    const size_t room = sizeof(why) - (size_t)length;
    if (1 == shape->nodes) {
        snprintf(rest, room, "on one node there is nothing to do for a NIC");
    } else if (0 == forced.nic) {
        snprintf(rest, room, "it is for processes on one node only");
    } else {
        const struct myr_nic_kind *kind = nicbarr_kind(forced.nic);
        snprintf(rest, room, "not all of the nodes have %s%s%s%s (see also coll_nicbarr_nic)",
                 kind->title, NULL == kind->absent ? "" : " (",
                 NULL == kind->absent ? "" : kind->absent, NULL == kind->absent ? "" : ")");
    }
    return why;
}

enum nicbarr_source nicbarr_propose(const struct nicbarr_shape *shape,
                                    struct nicbarr_choice *choice)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    if (NICBARR_ALGORITHMS != component->forced.algorithm) {
        *choice = resolve(shape, component->forced);
        return NICBARR_FORCED;
    }
    const uint64_t note = myr_note_get(component->segment, nicbarr_shape_key(shape));
    if (0 != note) {
        return nicbarr_unpack(note, choice);
    }
    bool sure = false;
    if (!nicbarr_cache_read(shape, NULL, choice, &sure)) {
        *choice = nicbarr_default_choice(shape);
    } else if (0 == component->parameters.tune_budget) {
        sure = true; /* as sure as it will get */
    }
    const enum nicbarr_source source = sure ? NICBARR_FROM_CACHE : NICBARR_UNDECIDED;
    /* So that nobody has to look in the file again. */
    myr_note_set(component->segment, nicbarr_shape_key(shape), nicbarr_pack(*choice, source));
    return source;
}

/* Bytes for `choice`, or, where that is open or may be challenged, for every candidate. */
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

void nicbarr_put_back_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective)
{
    switch (collective) {
    case NICBARR_ALLREDUCE:
    case NICBARR_ALLREDUCE_USERS:
        PUT_BACK_ALL(module, comm, allreduce);
        break;
    case NICBARR_REDUCE:
    case NICBARR_REDUCE_USERS:
        PUT_BACK_ALL(module, comm, reduce);
        break;
    case NICBARR_BCAST:
        PUT_BACK_ALL(module, comm, bcast);
        break;
    case NICBARR_ALLGATHER:
        PUT_BACK_ALL(module, comm, allgather);
        break;
    case NICBARR_GATHER:
        PUT_BACK_ALL(module, comm, gather);
        break;
    case NICBARR_SCATTER:
        PUT_BACK_ALL(module, comm, scatter);
        break;
    case NICBARR_COLLECTIVES:
        break;
    }
}

static void put_back(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    PUT_BACK_ALL(module, comm, barrier);
    for (int c = 0; c < NICBARR_COLLECTIVES; ++c) {
        nicbarr_put_back_data(module, comm, (enum nicbarr_collective)c);
    }
}

/* Another component may have been preferred for MPI_Barrier, and this one for the others only. */
static bool serves_barrier(const mca_coll_nicbarr_module_t *module, const ompi_communicator_t *comm)
{
    return &module->super == comm->c_coll->coll_barrier_module;
}

void nicbarr_install_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (NULL != module->tuner) {
        comm->c_coll->coll_barrier = nicbarr_barrier_provisional;
        return;
    }
    const bool watched = nicbarr_watch_begin(module);
    if (NICBARR_OPENMPI == module->choice.algorithm) {
        if (watched) {
            comm->c_coll->coll_barrier = nicbarr_barrier_watched_own;
        } else {
            PUT_BACK(module, comm, barrier);
        }
    } else if (module->across) {
        comm->c_coll->coll_barrier = watched ? nicbarr_barrier_watched_nic : nicbarr_barrier_nic;
    } else if (NICBARR_UNDECIDED == module->source) {
        comm->c_coll->coll_barrier = nicbarr_barrier_undecided;
    } else if (NULL != module->group.plan.leaf) {
        comm->c_coll->coll_barrier =
            watched ? nicbarr_barrier_watched_counter : nicbarr_barrier_counter;
    } else {
        comm->c_coll->coll_barrier =
            watched ? nicbarr_barrier_watched_slots : nicbarr_barrier_slots;
    }
}

const char *nicbarr_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const char *why = NULL;
    if (module->agreed) {
        return NULL;
    }
    if (NULL == mca_coll_nicbarr_component.segment) {
        return nicbarr_hello_own()->why;
    }
    module->agreed = nicbarr_members_agree(module, comm, &why);
    return module->agreed ? NULL : why;
}

static const char *try_to_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    static char trouble[sizeof(((struct myr_error *)0)->text)];
    const char *why = nicbarr_agree(module, comm);
    if (NULL != why) {
        return why;
    }
    why = nicbarr_forced_in_vain(&module->shape);
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
        nicbarr_pack(module->choice, module->source), &error);
    if (NULL == record) {
        snprintf(trouble, sizeof(trouble), "%.200s (coll_nicbarr_memory, or the system's)",
                 error.text);
        return trouble;
    }
    /* Who came first has decided. */
    module->source = nicbarr_unpack(record->note, &module->choice);
    bytes = bytes_needed(&module->shape, module->source, module->choice);
    module->counter_bytes = bytes.counters;
    myr_group_init(&module->group, record, &component->waiter, module->shape.processes,
                   (uint32_t)ompi_comm_rank(comm));
    return NULL;
}

void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why)
{
    module->declined = true;
    nicbarr_explain(comm, why);
    nicbarr_report_note(module, comm, NULL, why);
    put_back(module, comm);
}

bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (module->across) { /* that takes messages: it is the first MPI_Barrier's to do */
        return myr_nic_group_joined(&module->split);
    }
    if (NULL != module->group.record || module->declined) {
        return !module->declined;
    }
    const char *why = try_to_set_up(module, comm);
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return false;
    }
    if (!serves_barrier(module, comm)) {
        return true;
    }
    if (NICBARR_OPENMPI != module->choice.algorithm &&
        !nicbarr_layout_plan(module, module->choice, &module->group.plan)) {
        /* The others may have begun: this cannot be declined any more. */
        char name[NICBARR_COMM_TEXT];
        opal_output(0, "nicbarr: out of memory while setting up %s", nicbarr_comm_name(comm, name));
        ompi_mpi_abort(comm, OMPI_ERR_OUT_OF_RESOURCE);
    }
    nicbarr_report_note(module, comm, NULL, NULL);
    nicbarr_install_barrier(module, comm);
    return true;
}
