/* SPDX-License-Identifier: BSD-3-Clause */
/* When collectives that carry data are served, and their memory; see data.h. */
#include "coll_nicbarr/data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/data/data_watch.h"
#include "coll_nicbarr/data/trial.h"
#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/lower.h"
#include "coll_nicbarr/setup.h"

/* In the keys of records, apart from what is persistent, which is numbered from 1. */
static const uint64_t first_sequence = UINT64_C(1) << 63;

const char *nicbarr_collective_name(enum nicbarr_collective collective)
{
    static const char *const names[] = {
        "MPI_Allreduce",     "MPI_Reduce",    "MPI_Bcast",  "MPI_Allreduce (user)",
        "MPI_Reduce (user)", "MPI_Allgather", "MPI_Gather", "MPI_Scatter"};
    return names[collective];
}

const char *nicbarr_class_collective(const mca_coll_nicbarr_module_t *module,
                                     enum nicbarr_collective collective, uint32_t size_class,
                                     char text[NICBARR_CLASS_TEXT])
{
    const bool one_root = NICBARR_NO_ROOT != nicbarr_data_one_root(module, collective, size_class);
    snprintf(text, NICBARR_CLASS_TEXT, "%s%s", nicbarr_collective_name(collective),
             one_root ? " (one root)" : "");
    return text;
}

const char *nicbarr_class_name(const mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class,
                               char text[NICBARR_CLASS_TEXT])
{
    const size_t length = strlen(nicbarr_class_collective(module, collective, size_class, text));
    snprintf(text + length, NICBARR_CLASS_TEXT - length, " up to %u bytes",
             nicbarr_size_classes[size_class]);
    return text;
}

const char *nicbarr_way_name(enum nicbarr_collective collective, enum nicbarr_way way)
{
    if (NICBARR_WAY_OURS != way) {
        return "openmpi";
    }
    return nicbarr_data_by_ring(collective) ? "ring" : "exchange";
}

uint64_t nicbarr_data_note_key(const mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class)
{
    const bool one_root = NICBARR_NO_ROOT != nicbarr_data_one_root(module, collective, size_class);
    const uint32_t what[] = {(uint32_t)collective, size_class, module->across, one_root};
    const uint64_t digest = nicbarr_digest(nicbarr_shape_key(&module->shape), what, sizeof(what));
    return digest | UINT64_C(1) << 63; /* as that of a shape */
}

bool nicbarr_data_wanted(enum nicbarr_collective collective, bool across, int processes)
{
    const int most = across ? NICBARR_DATA_RANKS : NICBARR_DATA_PROCESSES;
    const bool rooted = NICBARR_REDUCE == collective || NICBARR_GATHER == collective;
    const bool may =
        !across || !rooted || nicbarr_may_take_rooted() || nicbarr_data_forced(collective);
    return may && processes > 1 && processes <= most &&
           NICBARR_WAY_OWN != mca_coll_nicbarr_component.forced_ways[collective] &&
           nicbarr_host_memory_only();
}

/* ---- memory ---- */

/* Take up a record for reductions. The others may have begun: this cannot be declined any more. */
static void take_up(struct nicbarr_reducer *reducer, ompi_communicator_t *comm,
                    struct myr_record *record)
{
    const uint32_t size = (uint32_t)ompi_comm_size(comm), rank = (uint32_t)ompi_comm_rank(comm);
    myr_exchange_init(&reducer->exchange, record, &mca_coll_nicbarr_component.waiter, size, rank);
    reducer->parts = aligned_alloc(MYR_LINE, (size_t)size * MYR_LINE);
    if (NULL == reducer->parts) {
        char name[NICBARR_COMM_TEXT];
        opal_output(0, "nicbarr: out of memory while setting up %s", nicbarr_comm_name(comm, name));
        ompi_mpi_abort(comm, OMPI_ERR_OUT_OF_RESOURCE);
    }
}

/* What the first member says in a record's note. */
static uint64_t crowded(void)
{
    return myr_waiter_oversubscribed(&mca_coll_nicbarr_component.waiter);
}

bool nicbarr_data_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective)
{
    const bool ring = nicbarr_data_by_ring(collective);
    if (NULL != (ring ? module->streamer.ring.record : module->reducer.exchange.record)) {
        return true;
    }
    const char *why = nicbarr_agree(module, comm);
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return false;
    }
    const struct myr_key key = nicbarr_record_key(module, comm, first_sequence + ring);
    const uint32_t size = module->shape.processes;
    struct myr_error error = {0};
    struct myr_record *record =
        myr_record_join(mca_coll_nicbarr_component.segment, &key, size,
                        ring ? myr_ring_bytes(size) : myr_exchange_bytes(size), crowded(), &error);
    if (NULL == record) {
        char name[NICBARR_COMM_TEXT];
        nicbarr_put_back_data(module, comm, collective);
        if (0 == ompi_comm_rank(comm) && nicbarr_say_once(NICBARR_SAID_DATA)) {
            opal_output(0,
                        "nicbarr: %s on %s (%d processes) stays Open MPI's own: %s "
                        "(coll_nicbarr_memory, or the system's)",
                        nicbarr_collective_name(collective), nicbarr_comm_name(comm, name),
                        ompi_comm_size(comm), error.text);
        }
        return false;
    }
    if (ring) {
        myr_ring_init(&module->streamer.ring, record, &mca_coll_nicbarr_component.waiter, size,
                      (uint32_t)ompi_comm_rank(comm));
    } else {
        take_up(&module->reducer, comm, record);
    }
    return true;
}

void nicbarr_reducer_leave(struct nicbarr_reducer *reducer)
{
    if (NULL != reducer->exchange.record) {
        myr_record_leave(mca_coll_nicbarr_component.segment, reducer->exchange.record);
        free(reducer->parts);
    }
}

void nicbarr_streamer_leave(struct nicbarr_streamer *streamer)
{
    if (NULL != streamer->ring.record) {
        myr_ring_leave(&streamer->ring, mca_coll_nicbarr_component.segment);
    }
}

void nicbarr_data_leave(mca_coll_nicbarr_module_t *module)
{
    nicbarr_reducer_leave(&module->reducer);
    nicbarr_streamer_leave(&module->streamer);
}

/* Is there plenty of memory for one more record? Who comes first says so in a small one, and all
 * members read that. */
static bool plenty_for_all(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           size_t bytes)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    const struct myr_key key = nicbarr_record_key(module, comm, ++module->persistent);
    struct myr_record *said = myr_record_join(segment, &key, module->shape.processes, 0,
                                              myr_segment_has_plenty(segment, bytes), NULL);
    if (NULL == said) {
        return false;
    }
    const bool plenty = 0 != said->note;
    myr_record_leave(segment, said);
    return plenty;
}

/* A record for one persistent collective alone; NULL on all members, or on none. */
static struct myr_record *own_record(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     size_t bytes)
{
    const char *why = nicbarr_agree(module, comm);
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return NULL;
    }
    const struct myr_key key = nicbarr_record_key(module, comm, ++module->persistent);
    return plenty_for_all(module, comm, bytes)
               ? myr_record_join(mca_coll_nicbarr_component.segment, &key, module->shape.processes,
                                 bytes, crowded(), NULL)
               : NULL;
}

bool nicbarr_data_own_exchange(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               struct nicbarr_reducer *reducer)
{
    struct myr_record *record =
        own_record(module, comm, myr_exchange_bytes((uint32_t)ompi_comm_size(comm)));
    if (NULL != record) {
        take_up(reducer, comm, record);
    }
    return NULL != record;
}

bool nicbarr_data_own_ring(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct nicbarr_streamer *streamer)
{
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    struct myr_record *record = own_record(module, comm, myr_ring_bytes(size));
    if (NULL != record) {
        myr_ring_init(&streamer->ring, record, &mca_coll_nicbarr_component.waiter, size,
                      (uint32_t)ompi_comm_rank(comm));
    }
    return NULL != record;
}

bool nicbarr_data_keeps_up(enum nicbarr_collective collective, const struct myr_record *record)
{
    return 0 == record->note || nicbarr_data_forced(collective);
}

/* Has the ring pieces, where this class needs them? What is more than a line asks for them. Where
 * there is no room for them, what is more than a few lines becomes Open MPI's own, on all members.
 */
static bool pieces_if_needed(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, uint32_t size_class)
{
    if (!nicbarr_data_by_ring(collective) || nicbarr_size_classes[size_class] <= MYR_SLOT_BYTES ||
        myr_ring_get_pieces(&module->streamer.ring, mca_coll_nicbarr_component.segment) ||
        nicbarr_size_classes[size_class] <= NICBARR_LINES_MOST) {
        return true;
    }
    for (uint32_t c = 0; c < nicbarr_data_classes(collective, false); ++c) {
        if (nicbarr_size_classes[c] > NICBARR_LINES_MOST) {
            module->ways[collective][c].way = NICBARR_WAY_OWN;
        }
    }
    if (0 == ompi_comm_rank(comm) && nicbarr_say_once(NICBARR_SAID_PIECES)) {
        char name[NICBARR_COMM_TEXT];
        opal_output(0,
                    "nicbarr: %s of more than %d bytes on %s (%d processes) stays Open MPI's own: "
                    "half of the node's shared memory is used up (coll_nicbarr_memory, or the "
                    "system's)",
                    nicbarr_collective_name(collective), (int)NICBARR_LINES_MOST,
                    nicbarr_comm_name(comm, name), ompi_comm_size(comm));
    }
    return false;
}

/* ---- deciding ---- */

/* Nothing is nicbarr's: Open MPI's own functions run at no cost. Where MPI's operations are not
 * faster, a program's will not be. */
static void give_up_if_all_own(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective)
{
    bool all_own = NICBARR_ALLREDUCE_USERS != collective && NICBARR_REDUCE_USERS != collective;
    for (uint32_t c = 0; c < nicbarr_data_classes(collective, module->across); ++c) {
        all_own = all_own && NICBARR_WAY_OWN == module->ways[collective][c].way;
    }
    if (all_own) {
        nicbarr_put_back_data(module, comm, collective);
    }
}

static void decide_across(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          enum nicbarr_collective collective, uint32_t size_class)
{
    const bool forced = nicbarr_data_forced(collective);
    if (OMPI_SUCCESS != nicbarr_data_across_decide(module, comm, collective, size_class, forced)) {
        module->ways[collective][size_class].way = NICBARR_WAY_OWN; /* as below */
    }
    if (!module->declined) {
        give_up_if_all_own(module, comm, collective);
    }
}

/* Is it neither decided nor tried? */
static bool is_untried(const mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                       uint32_t size_class)
{
    return NICBARR_WAY_OPEN == module->ways[collective][size_class].way &&
           NULL == nicbarr_trial_of(module, collective, size_class);
}

/* Which bit of what is pending is this? */
static uint32_t pending_bit(enum nicbarr_collective collective, uint32_t size_class)
{
    return UINT32_C(1) << (size_class + (NICBARR_BCAST == collective ? NICBARR_PENDING_BCAST : 0));
}

static void decide_one_pending(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class)
{
    const uint32_t bit = pending_bit(collective, size_class);
    if (0 != (module->pending & bit)) {
        module->pending &= ~bit;
        if (is_untried(module, collective, size_class) && !module->declined) {
            decide_across(module, comm, collective, size_class);
        }
    }
}

void nicbarr_data_decide_pending(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (!module->tuning && 0 != (module->pending & NICBARR_PENDING_BARRIER)) {
        /* (One that is set up, or provisional, has nothing to do here, and would come back.) */
        if (NULL == module->tuner && !myr_nic_group_joined(&module->split)) {
            (void)comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
        }
        module->pending &= ~NICBARR_PENDING_BARRIER;
    }
    for (uint32_t c = 0; !module->tuning && 0 != module->pending && c < NICBARR_ACROSS_CLASSES;
         ++c) {
        decide_one_pending(module, comm, NICBARR_ALLREDUCE, c);
        decide_one_pending(module, comm, NICBARR_BCAST, c);
    }
}

/* What nicbarr_data_one_root() goes by: the root of the call before, counted from 1; 0: none yet.
 */
enum { ROOTS_DIFFER = -1 };

static void note_root(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                      uint32_t size_class, int root)
{
    struct nicbarr_class *class = &module->ways[collective][size_class];
    if (!nicbarr_data_forced(collective) && ROOTS_DIFFER != class->root_seen &&
        root + 1 != class->root_seen) {
        class->root_changes += 0 != class->root_seen;
        class->root_seen = root + 1;
    }
}

/* So many calls have come. */
static void judge_roots(struct nicbarr_class *class, uint32_t calls)
{
    class->root_seen = class->root_changes > calls / 2 ? ROOTS_DIFFER : class->root_seen;
    class->root_changes = 0;
}

/* Across nodes, all processes of these wait for each other. With one root, Open MPI's own lets the
 * others run ahead without bound: 4 hosts, 8 to 1024 bytes, nicbarr's 0.3 to 0.6 times as fast. So
 * these compete only where the root changes (1.1 to 2.0 times). */
static bool wants_roots(const mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective)
{
    return module->across && (NICBARR_REDUCE == collective || NICBARR_GATHER == collective);
}

/* Is a class used often enough, after one more call? */
static bool worth_a_look(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                         uint32_t size_class)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    struct nicbarr_class *class = &module->ways[collective][size_class];
    if (nicbarr_data_forced(collective)) {
        return true;
    }
    if (0 == parameters->tune_budget || ++class->calls <= (uint32_t)parameters->tune_after) {
        return false;
    }
    judge_roots(class, class->calls);
    if (wants_roots(module, collective) && ROOTS_DIFFER != class->root_seen) {
        class->calls = 0;
        return false;
    }
    return true;
}

int nicbarr_data_one_root(const mca_coll_nicbarr_module_t *module,
                          enum nicbarr_collective collective, uint32_t size_class)
{
    const int seen = module->ways[collective][size_class].root_seen;
    return seen > 0 ? seen - 1 : NICBARR_NO_ROOT;
}

void nicbarr_data_note_call(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                            uint32_t size_class, int root)
{
    if (is_untried(module, collective, size_class)) {
        note_root(module, collective, size_class, root);
        if (worth_a_look(module, collective, size_class)) {
            module->pending |= pending_bit(collective, size_class);
        }
    }
}

bool nicbarr_data_ours_at_once(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, size_t bytes)
{
    const uint32_t enough = (uint32_t)mca_coll_nicbarr_component.parameters.tune_after;
    if (0 == bytes || bytes > nicbarr_data_most(collective, module->across)) {
        return false;
    }
    uint32_t *calls = &module->ways[collective][nicbarr_size_class(bytes)].calls;
    *calls = *calls < enough ? enough : *calls;
    return nicbarr_data_ours(module, comm, collective, bytes, NICBARR_NO_ROOT);
}

bool nicbarr_data_nonblocking_ours(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                   enum nicbarr_collective collective)
{
    enum { NOT_WORTH_IT = 8 /* calls: two or three communicators */ };
    return (nicbarr_data_forced(collective) || module->nonblocking >= NOT_WORTH_IT ||
            ++module->nonblocking == NOT_WORTH_IT) &&
           nicbarr_data_set_up(module, comm, collective);
}

/* The first time. */
static void decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                   enum nicbarr_collective collective, uint32_t size_class)
{
    enum nicbarr_way *way = &module->ways[collective][size_class].way;
    if (module->across) {
        decide_across(module, comm, collective, size_class);
        return;
    }
    if (!nicbarr_data_set_up(module, comm, collective) ||
        !pieces_if_needed(module, comm, collective, size_class)) {
        return;
    }
    if (nicbarr_data_forced(collective)) {
        *way = NICBARR_WAY_OURS;
        nicbarr_report_data(module, comm, collective, size_class, NICBARR_FORCED, NULL, NULL);
    } else if (OMPI_SUCCESS != nicbarr_data_tune(module, comm, collective, size_class)) {
        *way = NICBARR_WAY_OWN; /* whose error this is says so itself, in this very call */
    }
    give_up_if_all_own(module, comm, collective);
}

/* It is watched, and enough calls were counted. */
static void decide_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        enum nicbarr_collective collective, uint32_t size_class)
{
    struct nicbarr_class *class = &module->ways[collective][size_class];
    if (!nicbarr_data_watch_due(module, comm, collective, size_class)) {
        return;
    }
    judge_roots(class, class->pause);
    const int rc = module->across ? nicbarr_data_across_anew(module, comm, collective, size_class)
                                  : nicbarr_data_tune_anew(module, comm, collective, size_class);
    if (OMPI_SUCCESS != rc) {
        class->way = NICBARR_WAY_OWN; /* as above */
    }
    give_up_if_all_own(module, comm, collective);
}

static __attribute__((noinline)) bool decide_or_try(mca_coll_nicbarr_module_t *module,
                                                    ompi_communicator_t *comm,
                                                    enum nicbarr_collective collective,
                                                    uint32_t size_class, int root)
{
    const bool watched = NICBARR_WAY_WATCHED == module->ways[collective][size_class].way;
    struct nicbarr_trial *trial = nicbarr_trial_of(module, collective, size_class);
    if (NULL == trial && !watched) {
        note_root(module, collective, size_class, root);
    }
    if (watched) {
        decide_anew(module, comm, collective, size_class);
    } else if (NULL == trial && worth_a_look(module, collective, size_class)) {
        decide(module, comm, collective, size_class);
    } else if (NULL != trial && nicbarr_trial_call(trial)) {
        give_up_if_all_own(module, comm, collective);
    }
    trial = nicbarr_trial_of(module, collective, size_class);
    return NICBARR_WAY_OURS ==
           (NULL != trial ? trial->way : nicbarr_data_way(module, collective, size_class));
}

MYR_HOT bool nicbarr_data_counted(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  enum nicbarr_collective collective, uint32_t size_class, int root)
{
    struct nicbarr_class *class = &module->ways[collective][size_class];
    if (NICBARR_WAY_WATCHED == class->way && 0 != class->until) {
        --class->until;
        note_root(module, collective, size_class, root);
        return NICBARR_WAY_OURS == class->now;
    }
    if (module->tuning) { /* that uses collectives, too */
        return NICBARR_WAY_OURS == nicbarr_data_way(module, collective, size_class);
    }
    return decide_or_try(module, comm, collective, size_class, root);
}
