/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: completes requests, reports lost messages, and drains the endpoint before it is
 * closed. */
#include "mtl_myr/mtl_myr.h"

#include <stdlib.h>

#include "libmyr/messages/pace.h"
#include "ompi/node.h"
#include "ompi/runtime/mpiruntime.h"

/* ---- requests ---- */

static int error_of(enum myr_status status)
{
    switch (status) {
    case MYR_OK:
        return MPI_SUCCESS;
    case MYR_ERR_TOO_LONG:
        return MPI_ERR_TRUNCATE;
    case MYR_ERR_OUT_OF_MEMORY:
        return MPI_ERR_NO_MEM;
    default:
        return MPI_ERR_OTHER;
    }
}

static void unpack_message(struct mca_mtl_myr_request *request)
{
    size_t bytes = request->tagged.wanted;
    struct iovec from = {.iov_base = request->packed, .iov_len = bytes};
    uint32_t iov_count = 1;
    if (0 != bytes) {
        (void)opal_convertor_unpack(request->convertor, &from, &iov_count, &bytes);
    }
}

void mca_mtl_myr_complete(struct mca_mtl_myr_request *request)
{
    struct ompi_status_public_t *status = &request->super.ompi_req->req_status;
    const struct myr_tagged_request *tagged = &request->tagged;
    status->MPI_ERROR = error_of(tagged->status);
    status->_cancelled = tagged->cancelled;
    if (request->receive && !tagged->cancelled) {
        status->MPI_SOURCE = (int)tagged->envelope.source;
        status->MPI_TAG = (int)tagged->envelope.tag;
        status->_ucount = tagged->bytes;
        if (NULL != request->packed) {
            unpack_message(request);
        }
    }
    free(request->packed);
    request->packed = NULL;
    request->super.completion_callback(&request->super);
}

static void abort_for_broken_nic(void)
{
    const uint32_t stopped = myr_soft_given_up(mca_mtl_myr_component.nic);
    if (0 != stopped) {
        opal_output(
            0,
            "nicbarr: mtl myr: messages cannot be sent any more: process %u runs the node's "
            "NIC, but makes no progress (is it stopped?)",
            (unsigned)stopped);
    } else {
        opal_output(0, "nicbarr: mtl myr: messages cannot be sent any more: a process was killed "
                       "while it ran the node's NIC");
    }
    (void)ompi_mpi_abort(&ompi_mpi_comm_world.comm, MPI_ERR_OTHER);
}

/* Reports a node from which nothing has been received. Called with the lock held. */
static void check_silence(void)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    const int warn = component->parameters.nic.warn;
    struct myr_unresponsive unresponsive;
    uint64_t id;
    if (0 != warn && myr_seldom_due(&component->silence) &&
        myr_tagged_unresponsive(component->endpoint, OMPI_PROC_MY_NAME->jobid, (uint32_t)warn,
                                &unresponsive, &id)) {
        const opal_process_name_t name = mca_mtl_myr_name(id);
        nicbarr_nic_unresponsive("mtl", &name, &unresponsive);
    }
}

static struct mca_mtl_myr_request *request_of(struct myr_tagged_request *tagged)
{
    return (struct mca_mtl_myr_request *)((uint8_t *)tagged -
                                          offsetof(struct mca_mtl_myr_request, tagged));
}

uint64_t mca_mtl_myr_read_chunks(bool (*go_on)(void))
{
    struct myr_tagged *endpoint = mca_mtl_myr_component.endpoint;
    struct myr_tagged_chunk chunk;
    uint64_t bytes = 0;
    while (go_on() && myr_tagged_chunk_take(endpoint, &chunk)) {
        mca_mtl_myr_unlock();
        const bool read = myr_tagged_chunk_read(&chunk);
        mca_mtl_myr_lock();
        myr_tagged_chunk_end(endpoint, &chunk, read);
        bytes += chunk.bytes;
    }
    return bytes;
}

static bool never_stop(void)
{
    return true;
}

/* Reads chunks of long messages. The progress thread notices from the host's calls that the host is
 * active. A host thread makes no calls while it reads a chunk, so meanwhile it is counted in
 * `readers`, which the progress thread checks as well. */
static int read_chunks(void)
{
    _Atomic uint32_t *readers = &mca_mtl_myr_component.readers;
    if (!myr_tagged_has_chunks(mca_mtl_myr_component.endpoint)) {
        return 0;
    }
    atomic_fetch_add_explicit(readers, 1, memory_order_relaxed);
    const uint64_t bytes = mca_mtl_myr_read_chunks(never_stop);
    atomic_fetch_sub_explicit(readers, 1, memory_order_relaxed);
    return 0 != bytes;
}

/* Makes progress. Releases the lock, which the caller has acquired. Returns the number of steps,
 * including `steps`. */
static inline int make_progress(int steps)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    steps += (int)myr_tagged_progress(component->endpoint);
    if (myr_soft_knocked(component->nic)) {
        mca_mtl_myr_let_in();
    }
    if (0 == steps) {
        if (myr_tagged_broken(component->endpoint)) {
            abort_for_broken_nic();
        }
        check_silence();
    }
    struct myr_tagged_request *done = myr_tagged_done(component->endpoint);
    while (NULL != done) {
        mca_mtl_myr_unlock();
        ++steps;
        mca_mtl_myr_complete(request_of(done));
        mca_mtl_myr_lock();
        done = myr_tagged_done(component->endpoint);
    }
    mca_mtl_myr_unlock();
    return steps;
}

int mca_mtl_myr_progress(void)
{
    return mca_mtl_myr_try_lock() ? make_progress(0) : 0;
}

int mca_mtl_myr_progress_beside_runner(void)
{
    _Atomic uint32_t *calls = &mca_mtl_myr_component.calls;
    atomic_store_explicit(calls, atomic_load_explicit(calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return mca_mtl_myr_try_lock() ? make_progress(read_chunks()) : 0;
}

/* ---- losses ---- */

void mca_mtl_myr_lost(void *context, uint64_t id, enum myr_status status)
{
    (void)context;
    (void)status;
    const opal_process_name_t name = mca_mtl_myr_name(id);
    char text[400];
    nicbarr_nic_lost(text, sizeof(text), "mtl", &name);
    opal_output(0, "%s", text);
    (void)ompi_mpi_abort(&ompi_mpi_comm_world.comm, MPI_ERR_OTHER);
}

/* ---- closing ---- */

static void step_of_drain(void)
{
    (void)myr_soft_poll(mca_mtl_myr_component.nic);
    (void)myr_tagged_progress(mca_mtl_myr_component.endpoint);
}

static bool is_of_other_job(uint64_t id)
{
    const opal_process_name_t name = mca_mtl_myr_name(id);
    return nicbarr_is_of_other_job(&name);
}

void mca_mtl_myr_drain(void)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    struct myr_drain drain = myr_drain_begin(component->peers);
    uint64_t id;
    while (myr_drain_goes_on(&drain, myr_tagged_busy(component->endpoint))) {
        step_of_drain();
    }
    while (myr_tagged_owes(component->endpoint, is_of_other_job, &id)) {
        step_of_drain();
        check_silence();
        if (myr_drain_wait(&drain, (uint32_t)component->parameters.nic.warn)) {
            const opal_process_name_t name = mca_mtl_myr_name(id);
            nicbarr_nic_not_received("mtl", &name);
        }
    }
}
