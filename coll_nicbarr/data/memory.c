/* SPDX-License-Identifier: BSD-3-Clause */
/* See memory.h. */
#include "coll_nicbarr/data/memory.h"

#include <stdlib.h>

#include "coll_nicbarr/data/classes.h"
#include "coll_nicbarr/declining.h"
#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/no_memory.h"

/* The members of a communicator find a common record by its sequence number (nicbarr_record_key()).
 * The following numbers are those of the exchanges for blocking and for non-blocking collectives;
 * the ring for collectives of the same kind has the next number. All other records, such as those
 * of persistent collectives, are numbered from 1 (module->persistent). */
#define BLOCKING (UINT64_C(1) << 63)
#define NONBLOCKING (BLOCKING + 2)

/* Initialise a reducer with a record. Other members may already use the record, so this member can
 * no longer fall back to Open MPI. If it runs out of memory, the job is aborted. */
static void init_reducer(struct nicbarr_reducer *reducer, ompi_communicator_t *comm,
                         struct myr_record *record, enum myr_slots slots)
{
    /* With more than two processes there are intermediate values, which must stay in the
     * first-level cache. */
    enum { PIECE = 1024, PIECE_OF_TWO = 4096 };
    const uint32_t size = (uint32_t)ompi_comm_size(comm), rank = (uint32_t)ompi_comm_rank(comm);
    myr_exchange_init(&reducer->exchange, record, &mca_coll_nicbarr_component.waiter, size, rank,
                      slots);
    reducer->exchange.watch.owner = comm;
    reducer->piece = MYR_SLOTS_LINE == slots ? MYR_LINE : 2 == size ? PIECE_OF_TWO : PIECE;
    reducer->parts = aligned_alloc(MYR_LINE, (size_t)size * reducer->piece);
    if (NULL == reducer->parts) {
        nicbarr_end_without_memory(comm);
    }
}

static void init_streamer(struct nicbarr_streamer *streamer, ompi_communicator_t *comm,
                          struct myr_record *record)
{
    myr_ring_init(&streamer->ring, record, &mca_coll_nicbarr_component.waiter,
                  (uint32_t)ompi_comm_size(comm), (uint32_t)ompi_comm_rank(comm));
    streamer->ring.watch.owner = comm;
}

/* Returns the value that the first member to join stores in the record: whether the node is
 * oversubscribed. */
static uint64_t is_oversubscribed(void)
{
    return myr_waiter_oversubscribed(&mca_coll_nicbarr_component.waiter);
}

static void warn_no_memory(ompi_communicator_t *comm, enum nicbarr_collective collective,
                           const struct myr_error *error)
{
    char name[NICBARR_COMM_TEXT];
    if (0 == ompi_comm_rank(comm) && nicbarr_warn_once(NICBARR_MESSAGE_DATA)) {
        opal_output(0,
                    "nicbarr: %s on %s (%d processes) is left to Open MPI: %s (see "
                    "coll_nicbarr_memory, and the system's limits of memory)",
                    nicbarr_collective_name(collective), nicbarr_comm_name(comm, name),
                    ompi_comm_size(comm), error->text);
    }
}

/* Join the record with this number, and initialise the exchange or ring that the collective
 * needs. */
static bool join_record(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        enum nicbarr_collective collective, uint64_t sequence,
                        struct nicbarr_reducer *reducer, struct nicbarr_streamer *streamer)
{
    const bool ring = nicbarr_data_by_ring(collective);
    const struct myr_key key = nicbarr_record_key(module, comm, sequence + ring);
    const uint32_t size = module->shape.processes;
    struct myr_error error = {0};
    struct myr_record *record =
        myr_record_join(mca_coll_nicbarr_component.segment, &key, size,
                        ring ? myr_ring_bytes(size) : myr_exchange_bytes(size, MYR_SLOTS_LINE),
                        is_oversubscribed(), &error);
    if (NULL == record) {
        warn_no_memory(comm, collective, &error);
    } else if (ring) {
        init_streamer(streamer, comm, record);
    } else {
        init_reducer(reducer, comm, record, MYR_SLOTS_LINE);
    }
    return NULL != record;
}

bool nicbarr_data_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective)
{
    const bool ring = nicbarr_data_by_ring(collective);
    if (NULL !=
        (ring ? module->streamer.ring.record : module->reducers[MYR_SLOTS_LINE].exchange.record)) {
        return true;
    }
    const char *why = nicbarr_members_check(module, comm);
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return false;
    }
    if (!join_record(module, comm, collective, BLOCKING, &module->reducers[MYR_SLOTS_LINE],
                     &module->streamer)) {
        nicbarr_restore_data(module, collective);
        return false;
    }
    return true;
}

bool nicbarr_data_set_up_nonblocking(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective)
{
    const bool ring = nicbarr_data_by_ring(collective);
    struct nicbarr_reducer *reducer = &module->nonblocking.reducer;
    struct nicbarr_streamer *streamer = &module->nonblocking.streamer;
    bool *no_room = &module->nonblocking.no_room[ring];
    if (NULL == (ring ? streamer->ring.record : reducer->exchange.record) && !*no_room) {
        *no_room = NULL != nicbarr_members_check(module, comm) ||
                   !join_record(module, comm, collective, NONBLOCKING, reducer, streamer);
    }
    return !*no_room;
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
    for (int slots = 0; slots < MYR_SLOTS_KINDS; ++slots) {
        nicbarr_reducer_leave(&module->reducers[slots]);
    }
    nicbarr_streamer_leave(&module->streamer);
    nicbarr_reducer_leave(&module->nonblocking.reducer);
    nicbarr_streamer_leave(&module->nonblocking.streamer);
}

/* Returns whether the node has plenty of memory for one more record. The answer may change at any
 * time, but all members must get the same answer. Therefore the first member stores it in a small
 * record, from which the others read it. */
static bool agree_on_plenty(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            size_t bytes)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    const struct myr_key key = nicbarr_record_key(module, comm, ++module->persistent);
    struct myr_record *shared = myr_record_join(segment, &key, module->shape.processes, 0,
                                                myr_segment_has_plenty(segment, bytes), NULL);
    if (NULL == shared) {
        return false;
    }
    const bool plenty = 0 != shared->creator_value;
    myr_record_leave(segment, shared);
    return plenty;
}

/* Join a record for one persistent collective, or for wide or large slots. Returns NULL on all
 * members or on none. */
static struct myr_record *join_own_record(mca_coll_nicbarr_module_t *module,
                                          ompi_communicator_t *comm, size_t bytes)
{
    const char *why = nicbarr_members_check(module, comm);
    if (NULL != why) {
        nicbarr_decline(module, comm, why);
        return NULL;
    }
    const struct myr_key key = nicbarr_record_key(module, comm, ++module->persistent);
    return agree_on_plenty(module, comm, bytes)
               ? myr_record_join(mca_coll_nicbarr_component.segment, &key, module->shape.processes,
                                 bytes, is_oversubscribed(), NULL)
               : NULL;
}

static bool join_own_exchange(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              struct nicbarr_reducer *reducer, enum myr_slots slots)
{
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    struct myr_record *record = join_own_record(module, comm, myr_exchange_bytes(size, slots));
    if (NULL != record) {
        init_reducer(reducer, comm, record, slots);
    }
    return NULL != record;
}

bool nicbarr_data_own_exchange(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               struct nicbarr_reducer *reducer)
{
    return join_own_exchange(module, comm, reducer, MYR_SLOTS_LINE);
}

bool nicbarr_data_get_slots(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum myr_slots slots)
{
    if (!module->slots_decided[slots]) {
        (void)join_own_exchange(module, comm, &module->reducers[slots], slots);
        module->slots_decided[slots] = true;
    }
    return NULL != module->reducers[slots].exchange.record;
}

bool nicbarr_data_own_ring(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct nicbarr_streamer *streamer)
{
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    struct myr_record *record = join_own_record(module, comm, myr_ring_bytes(size));
    if (NULL != record) {
        init_streamer(streamer, comm, record);
    }
    return NULL != record;
}
