/* SPDX-License-Identifier: BSD-3-Clause */
/* See data.h. */
#include "coll_nicbarr/data/data.h"

#include "coll_nicbarr/data/data_watch.h"
#include "coll_nicbarr/data/memory.h"
#include "coll_nicbarr/data/trial.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/requests.h"
#include "coll_nicbarr/split.h"

bool nicbarr_data_wanted(enum nicbarr_collective collective, bool across, int processes)
{
    const int most = across ? NICBARR_DATA_RANKS : NICBARR_DATA_PROCESSES;
    const bool rooted = NICBARR_REDUCE == collective || NICBARR_GATHER == collective;
    const bool may =
        !across || !rooted || nicbarr_may_replace_rooted() || nicbarr_data_forced(collective);
    return may && processes > 1 && processes <= most &&
           NICBARR_WAY_OPENMPI != mca_coll_nicbarr_component.forced_ways[collective] &&
           nicbarr_host_memory_only();
}

bool nicbarr_data_window_suffices(enum nicbarr_collective collective,
                                  const struct myr_record *record)
{
    return 0 == record->creator_value || nicbarr_data_forced(collective);
}

/* Returns the maximum number of bytes that a process contributes to a call of this class. */
static size_t most_of_each(ompi_communicator_t *comm, enum nicbarr_collective collective,
                           uint32_t size_class)
{
    const bool gathers = NICBARR_ALLGATHER == collective || NICBARR_GATHER == collective;
    return nicbarr_size_classes[size_class] / (gathers ? (size_t)ompi_comm_size(comm) : 1);
}

/* Returns whether this class can be carried by an exchange. Contributions of more than a cache line
 * use wide or large slots, which the function allocates. If there is no memory for them, only
 * contributions of a few lines can be carried, and all members use Open MPI's own function for
 * larger ones. (Without wide slots, MPI_Allreduce of 1, 2 and 4 KiB between 2 processes was 0.17,
 * 0.09 and 0.05 times as fast as that function.) */
static bool ensure_slots(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, uint32_t size_class)
{
    const size_t most = most_of_each(comm, collective, size_class);
    const enum myr_slots slots = nicbarr_data_slots(most);
    if (nicbarr_data_by_ring(collective) || MYR_SLOTS_LINE == slots ||
        nicbarr_data_get_slots(module, comm, slots) || most <= NICBARR_LINES_MOST) {
        return true;
    }
    module->ways[collective][size_class].way = NICBARR_WAY_OPENMPI;
    return false;
}

/* Allocate the chunks of the ring, which are used by classes with more than one slot. If there is
 * no memory for them, all members use the slots for payloads of up to NICBARR_LINES_MOST bytes, and
 * Open MPI's own function for longer ones. Returns whether nicbarr can serve this class. */
static bool ensure_chunks(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          enum nicbarr_collective collective, uint32_t size_class)
{
    if (!nicbarr_data_by_ring(collective) || nicbarr_size_classes[size_class] <= MYR_SLOT_BYTES ||
        myr_ring_get_chunks(&module->streamer.ring, mca_coll_nicbarr_component.segment) ||
        nicbarr_size_classes[size_class] <= NICBARR_LINES_MOST) {
        return true;
    }
    for (uint32_t c = 0; c < nicbarr_data_classes(false); ++c) {
        if (nicbarr_size_classes[c] > NICBARR_LINES_MOST) {
            module->ways[collective][c].way = NICBARR_WAY_OPENMPI;
        }
    }
    if (0 == ompi_comm_rank(comm) && nicbarr_warn_once(NICBARR_MESSAGE_CHUNKS)) {
        char name[NICBARR_COMM_TEXT];
        opal_output(0,
                    "nicbarr: %s of more than %d bytes on %s (%d processes) is left to Open MPI: "
                    "half of the node's shared memory is in use (see coll_nicbarr_memory, and the "
                    "system's limits of memory)",
                    nicbarr_collective_name(collective), (int)NICBARR_LINES_MOST,
                    nicbarr_comm_name(comm, name), ompi_comm_size(comm));
    }
    return false;
}

/* ---- decisions ---- */

/* If Open MPI's own function was chosen for all classes of a collective, restore it, so that it
 * runs without any overhead. The classes of user-defined operations are not considered: if
 * nicbarr's functions are not faster with predefined operations, they are not faster with
 * user-defined ones either. */
static void restore_if_all_openmpi(mca_coll_nicbarr_module_t *module,
                                   enum nicbarr_collective collective)
{
    bool all_openmpi =
        NICBARR_ALLREDUCE_USER_OP != collective && NICBARR_REDUCE_USER_OP != collective;
    for (uint32_t c = 0; c < nicbarr_data_classes(module->across); ++c) {
        all_openmpi = all_openmpi && NICBARR_WAY_OPENMPI == module->ways[collective][c].way;
    }
    if (all_openmpi) {
        nicbarr_restore_data(module, collective);
    }
}

static void decide_across(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          enum nicbarr_collective collective, uint32_t size_class)
{
    if (OMPI_SUCCESS != nicbarr_data_across_decide(module, comm, collective, size_class)) {
        module->ways[collective][size_class].way = NICBARR_WAY_OPENMPI; /* see decide_class() */
    }
    if (!module->declined) {
        restore_if_all_openmpi(module, collective);
    }
}

/* Returns whether the class is undecided, and no trial measures it. */
static bool is_untried(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                       uint32_t size_class)
{
    return NICBARR_WAY_OPEN == nicbarr_class_of(module, collective, size_class)->way &&
           NULL == nicbarr_trial_of(module, collective, size_class);
}

/* Returns the bit of a class in module->pending. */
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
    if (0 != (module->pending & NICBARR_PENDING_BARRIER)) {
        module->pending &= ~NICBARR_PENDING_BARRIER;
        /* the collective that follows returns the error */
        (void)nicbarr_across_get_split(module, comm);
    }
    for (uint32_t c = 0; 0 != module->pending && c < NICBARR_ACROSS_CLASSES; ++c) {
        decide_one_pending(module, comm, NICBARR_ALLREDUCE, c);
        decide_one_pending(module, comm, NICBARR_BCAST, c);
    }
}

/* Record the root of a call, unless the collective is forced, because forced collectives are not
 * measured. */
static void record_root(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                        uint32_t size_class, int root)
{
    if (!nicbarr_data_forced(collective)) {
        nicbarr_record_root(nicbarr_class_of(module, collective, size_class), root);
    }
}

/* Decide from the roots of `calls` calls whether the root counts as constant. */
static void judge_roots(struct nicbarr_class *class, uint32_t calls)
{
    class->root_seen = class->root_changes > calls / 2 ? NICBARR_ROOTS_DIFFER : class->root_seen;
    class->root_changes = 0;
}

/* Returns whether the collective is measured only if its root changes. Across nodes, all processes
 * wait for each other in nicbarr's implementations of MPI_Reduce and MPI_Gather, whereas Open MPI's
 * own functions let the other processes run ahead of a constant root without limit. With 4 hosts
 * and 8 to 1024 bytes, nicbarr's implementations were 0.3 to 0.6 times as fast as Open MPI's with a
 * constant root, and 1.1 to 2.0 times as fast with changing roots. */
static bool needs_changing_roots(const mca_coll_nicbarr_module_t *module,
                                 enum nicbarr_collective collective)
{
    return module->across && (NICBARR_REDUCE == collective || NICBARR_GATHER == collective);
}

/* Returns whether the class has been called often enough to be measured. Otherwise counting
 * continues, or, if there is no budget for measuring, the class is left to Open MPI. */
static bool is_worth_measuring(mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    struct nicbarr_class *class = nicbarr_class_of(module, collective, size_class);
    if (nicbarr_data_forced(collective)) {
        return true;
    }
    if (0 == parameters->tune_budget) { /* there is no budget for measuring */
        class->way = NICBARR_WAY_OPENMPI;
        return false;
    }
    if (0 == class->wanted && 0 != parameters->tune_after) { /* this is the first call */
        class->wanted = (uint32_t)parameters->tune_after;
        class->until = class->wanted - 1;
        return false;
    }
    judge_roots(class, class->wanted + 1);
    if (needs_changing_roots(module, collective) && NICBARR_ROOTS_DIFFER != class->root_seen) {
        class->until = class->wanted;
        return false;
    }
    return true;
}

void nicbarr_data_record_call(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                              uint32_t size_class, int root)
{
    if (is_untried(module, collective, size_class)) {
        struct nicbarr_class *class = nicbarr_class_of(module, collective, size_class);
        record_root(module, collective, size_class, root);
        if (0 != class->until) {
            --class->until;
        } else if (is_worth_measuring(module, collective, size_class)) {
            module->pending |= pending_bit(collective, size_class);
        }
    }
}

bool nicbarr_data_serves_at_once(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                 enum nicbarr_collective collective, size_t bytes)
{
    const uint32_t enough = (uint32_t)mca_coll_nicbarr_component.parameters.tune_after;
    if (0 == bytes || bytes > nicbarr_data_most(module->across)) {
        return false;
    }
    const uint32_t size_class = nicbarr_size_class(bytes);
    struct nicbarr_class *class = nicbarr_class_of(module, collective, size_class);
    if (is_untried(module, collective, size_class) && class->wanted <= enough) {
        class->wanted = enough;
        class->until = 0;
    }
    return nicbarr_data_serves(module, comm, collective, bytes, NICBARR_NO_ROOT);
}

bool nicbarr_data_serves_nonblocking(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective)
{
    /* Creating two or three communicators takes about this number of calls. */
    enum { CALLS_LEFT_TO_OPENMPI = 8 };
    OPAL_THREAD_LOCK(nicbarr_requests_lock());
    const bool ours =
        (nicbarr_data_forced(collective) || module->nonblocking.calls >= CALLS_LEFT_TO_OPENMPI ||
         ++module->nonblocking.calls == CALLS_LEFT_TO_OPENMPI) &&
        nicbarr_data_set_up_nonblocking(module, comm, collective);
    OPAL_THREAD_UNLOCK(nicbarr_requests_lock());
    return ours;
}

/* Decide on a class for the first time. */
static void decide_class(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, uint32_t size_class)
{
    enum nicbarr_way *way = &module->ways[collective][size_class].way;
    if (module->across) {
        decide_across(module, comm, collective, size_class);
        return;
    }
    if (!nicbarr_data_set_up(module, comm, collective) ||
        !ensure_chunks(module, comm, collective, size_class) ||
        !ensure_slots(module, comm, collective, size_class)) {
        return;
    }
    if (nicbarr_data_forced(collective)) {
        *way = NICBARR_WAY_NICBARR;
        nicbarr_report_data(module, comm, collective, size_class, NICBARR_FORCED, NULL, NULL);
    } else if (OMPI_SUCCESS != nicbarr_data_tune(module, comm, collective, size_class)) {
        *way = NICBARR_WAY_OPENMPI; /* Open MPI's function then returns the error */
    }
    restore_if_all_openmpi(module, collective);
}

/* Remeasure a decided class, unless the job cannot afford it yet. */
static void remeasure_class(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum nicbarr_collective collective, uint32_t size_class)
{
    struct nicbarr_class *class = nicbarr_class_of(module, collective, size_class);
    if (!nicbarr_data_watch_due(module, comm, collective, size_class)) {
        return;
    }
    judge_roots(class, class->pause);
    const int rc = module->across
                       ? nicbarr_data_across_remeasure(module, comm, collective, size_class)
                       : nicbarr_data_tune_remeasure(module, comm, collective, size_class);
    if (OMPI_SUCCESS != rc) {
        class->way = NICBARR_WAY_OPENMPI; /* see decide_class() */
    }
    restore_if_all_openmpi(module, collective);
}

bool nicbarr_data_process_call(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class, int root)
{
    if (module->declined) {
        return false;
    }
    const bool watched = NICBARR_WAY_WATCHED == module->ways[collective][size_class].way;
    struct nicbarr_trial *trial = nicbarr_trial_of(module, collective, size_class);
    if (NULL == trial && !watched) {
        record_root(module, collective, size_class, root);
        nicbarr_cache_prefetch(comm, module->ways[collective][size_class].wanted);
    }
    if (watched) {
        remeasure_class(module, comm, collective, size_class);
    } else if (NULL == trial && is_worth_measuring(module, collective, size_class)) {
        decide_class(module, comm, collective, size_class);
    } else if (NULL != trial && nicbarr_trial_call(trial)) {
        restore_if_all_openmpi(module, collective);
    }
    trial = nicbarr_trial_of(module, collective, size_class);
    return NICBARR_WAY_NICBARR ==
           (NULL != trial ? trial->way : nicbarr_data_way(module, collective, size_class));
}
