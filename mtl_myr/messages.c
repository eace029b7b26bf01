/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends, receives, probes and cancels: translates calls of pml/cm to calls of the endpoint.
 *
 * Data of types with gaps are packed into a copy before they are sent, and unpacked from a copy
 * after they were received. */
#include "mtl_myr/mtl_myr.h"

#include <stdlib.h>

#include "ompi/message/message.h"

/* ---- envelopes ---- */

static uint32_t context_of(struct ompi_communicator_t *comm)
{
    uint64_t scope, id;
    nicbarr_comm_identity(comm, &scope, &id);
    (void)scope;
    return (uint32_t)id;
}

static struct mcp_pattern pattern_of(struct ompi_communicator_t *comm, int source, int tag)
{
    return (struct mcp_pattern){
        .envelope = {context_of(comm), (uint32_t)source, (uint32_t)tag},
        .open = (MPI_ANY_SOURCE == source ? MCP_OPEN_SOURCE : 0) |
                (MPI_ANY_TAG == tag ? MCP_OPEN_TAG : 0),
    };
}

/* Writes the result of a probe into the status that pml/cm has received from the program. MPI_ERROR
 * remains unchanged, because a call with a single status returns its error instead of storing it
 * (MPI 4.0, 3.2.5). */
static void write_status(struct ompi_status_public_t *status, const struct mcp_envelope *envelope,
                         uint64_t bytes)
{
    status->MPI_SOURCE = (int)envelope->source;
    status->MPI_TAG = (int)envelope->tag;
    status->_ucount = bytes;
    status->_cancelled = 0;
}

/* ---- buffers ---- */

/* Finds the user's buffer if the datatype is contiguous; otherwise allocates memory for a packed
 * copy. Returns false if memory is exhausted.
 *
 * For a contiguous datatype, pml/cm prepares only some fields of the convertor, among them
 * pBaseBuf, which points to the data. Such a convertor can be recognised by its flags, which
 * contain neither CONVERTOR_SEND nor CONVERTOR_RECV. */
static bool find_buffer(struct mca_mtl_myr_request *request, struct opal_convertor_t *convertor,
                        void **buffer, size_t *bytes)
{
    request->packed = NULL;
    *buffer = NULL;
    if (0 == (convertor->flags & (CONVERTOR_SEND | CONVERTOR_RECV))) {
        *buffer = convertor->pBaseBuf;
        *bytes = convertor->local_size;
        return true;
    }
    opal_convertor_get_packed_size(convertor, bytes);
    if (0 == *bytes) {
        return true;
    }
    if (!opal_convertor_need_buffers(convertor)) {
        opal_convertor_get_current_pointer(convertor, buffer);
        return true;
    }
    *buffer = request->packed = malloc(*bytes);
    return NULL != *buffer;
}

static bool find_packed_buffer(struct mca_mtl_myr_request *request,
                               struct opal_convertor_t *convertor, void **buffer, size_t *bytes)
{
    if (!find_buffer(request, convertor, buffer, bytes)) {
        return false;
    }
    if (NULL != request->packed) {
        struct iovec to = {.iov_base = request->packed, .iov_len = *bytes};
        uint32_t iov_count = 1;
        (void)opal_convertor_pack(convertor, &to, &iov_count, bytes);
    }
    return true;
}

/* ---- sends ---- */

int mca_mtl_myr_isend(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
                      int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode,
                      bool blocking, mca_mtl_request_t *mtl_request)
{
    (void)mtl;
    (void)blocking;
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    struct mca_mtl_myr_request *request = (struct mca_mtl_myr_request *)mtl_request;
    const struct mcp_envelope envelope = {context_of(comm), (uint32_t)ompi_comm_rank(comm),
                                          (uint32_t)tag};
    void *buffer;
    size_t bytes;
    bool done = false;
    request->receive = false;
    if (!find_packed_buffer(request, convertor, &buffer, &bytes)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_mtl_myr_lock();
    struct myr_tagged_peer *peer = mca_mtl_myr_peer(comm, dest);
    if (NULL != peer) {
        done = myr_tagged_send(component->endpoint, peer, &envelope, buffer, bytes,
                               MCA_PML_BASE_SEND_SYNCHRONOUS == mode, &request->tagged);
    }
    mca_mtl_myr_unlock();
    if (NULL == peer) {
        free(request->packed);
        return OMPI_ERR_UNREACH;
    }
    if (done) {
        mca_mtl_myr_complete(request);
    }
    return OMPI_SUCCESS;
}

/* A blocking send. */
struct blocking_send {
    struct mca_mtl_myr_request request; /* first, so that a pointer to it can be converted */
    struct ompi_request_t end;          /* only its status is used */
    atomic_bool done;
};

/* Publishes the status that mca_mtl_myr_complete() has written, possibly in another thread. From
 * then on, the sender's stack frame must not be accessed. */
static void publish_completion(mca_mtl_request_t *request)
{
    struct blocking_send *send = (struct blocking_send *)request;
    atomic_store_explicit(&send->done, true, memory_order_release);
}

int mca_mtl_myr_send(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
                     int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode)
{
    struct blocking_send send; /* a send does not read the members that are not set here */
    send.request.super.ompi_req = &send.end;
    send.request.super.completion_callback = publish_completion;
    send.end.req_status.MPI_ERROR = MPI_SUCCESS;
    atomic_init(&send.done, false);
    const int status =
        mca_mtl_myr_isend(mtl, comm, dest, tag, convertor, mode, true, &send.request.super);
    if (OMPI_SUCCESS != status) {
        return status;
    }
    while (!atomic_load_explicit(&send.done, memory_order_acquire)) {
        opal_progress();
    }
    return send.end.req_status.MPI_ERROR;
}

/* ---- receives ---- */

static bool begin_receive(struct mca_mtl_myr_request *request, struct opal_convertor_t *convertor,
                          void **buffer, size_t *bytes)
{
    request->receive = true;
    request->convertor = convertor;
    return find_buffer(request, convertor, buffer, bytes);
}

int mca_mtl_myr_irecv(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
                      int tag, struct opal_convertor_t *convertor, mca_mtl_request_t *mtl_request)
{
    (void)mtl;
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    struct mca_mtl_myr_request *request = (struct mca_mtl_myr_request *)mtl_request;
    const struct mcp_pattern pattern = pattern_of(comm, source, tag);
    void *buffer;
    size_t bytes;
    if (!begin_receive(request, convertor, &buffer, &bytes)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_mtl_myr_lock();
    const bool done =
        myr_tagged_receive(component->endpoint, &pattern, buffer, bytes, &request->tagged);
    mca_mtl_myr_unlock();
    if (done) {
        mca_mtl_myr_complete(request);
    }
    return OMPI_SUCCESS;
}

int mca_mtl_myr_imrecv(mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor,
                       struct ompi_message_t **message, mca_mtl_request_t *mtl_request)
{
    (void)mtl;
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    struct mca_mtl_myr_request *request = (struct mca_mtl_myr_request *)mtl_request;
    void *buffer;
    size_t bytes;
    if (!begin_receive(request, convertor, &buffer, &bytes)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_mtl_myr_lock();
    const bool done = myr_tagged_receive_taken(component->endpoint, (*message)->req_ptr, buffer,
                                               bytes, &request->tagged);
    mca_mtl_myr_unlock();
    ompi_message_return(*message);
    *message = MPI_MESSAGE_NULL;
    if (done) {
        mca_mtl_myr_complete(request);
    }
    return OMPI_SUCCESS;
}

/* ---- probes ---- */

/* The result of a probe. */
struct found {
    bool any;
    struct myr_tagged_message *taken; /* the message of a matched probe */
    struct mcp_envelope envelope;
    uint64_t bytes;
};

/* Searches for a message. If none matches, makes progress once and searches again. */
static struct found search_message(struct ompi_communicator_t *comm, int source, int tag, bool take)
{
    struct myr_tagged *endpoint = mca_mtl_myr_component.endpoint;
    const struct mcp_pattern pattern = pattern_of(comm, source, tag);
    struct found found = {.any = false};
    for (int tries = 0; !found.any && tries < 2; ++tries) {
        if (0 != tries) {
            opal_progress();
        }
        mca_mtl_myr_lock();
        if (take) {
            found.taken = myr_tagged_take(endpoint, &pattern, &found.envelope, &found.bytes);
            found.any = NULL != found.taken;
        } else {
            found.any = myr_tagged_probe(endpoint, &pattern, &found.envelope, &found.bytes);
        }
        mca_mtl_myr_unlock();
    }
    return found;
}

int mca_mtl_myr_iprobe(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
                       int tag, int *flag, struct ompi_status_public_t *status)
{
    (void)mtl;
    const struct found found = search_message(comm, source, tag, false);
    *flag = found.any;
    if (found.any && MPI_STATUS_IGNORE != status) {
        write_status(status, &found.envelope, found.bytes);
    }
    return OMPI_SUCCESS;
}

int mca_mtl_myr_improbe(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
                        int tag, int *matched, struct ompi_message_t **message,
                        struct ompi_status_public_t *status)
{
    (void)mtl;
    struct ompi_message_t *handle = ompi_message_alloc();
    if (NULL == handle) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    const struct found found = search_message(comm, source, tag, true);
    *matched = found.any;
    if (!found.any) {
        ompi_message_return(handle);
        return OMPI_SUCCESS;
    }
    handle->req_ptr = found.taken;
    handle->comm = comm;
    handle->peer = (int)found.envelope.source;
    handle->count = found.bytes;
    *message = handle;
    if (MPI_STATUS_IGNORE != status) {
        write_status(status, &found.envelope, found.bytes);
    }
    return OMPI_SUCCESS;
}

/* ---- cancelling ---- */

/* Cancels a receive. Sends are not cancelled, as MPI 4.0 recommends (section 3.8.4). */
int mca_mtl_myr_cancel(mca_mtl_base_module_t *mtl, mca_mtl_request_t *mtl_request, int flag)
{
    (void)mtl;
    (void)flag;
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    struct mca_mtl_myr_request *request = (struct mca_mtl_myr_request *)mtl_request;
    if (request->receive) {
        mca_mtl_myr_lock();
        (void)myr_tagged_cancel(component->endpoint, &request->tagged);
        mca_mtl_myr_unlock();
        (void)mca_mtl_myr_progress();
    }
    return OMPI_SUCCESS;
}
