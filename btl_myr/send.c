/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: short messages within the node are written into the receiver's inlet, and all others are
 * passed to the port as fragments.
 *
 * The port, which has a send token for each fragment of the pools, owns a fragment until it calls
 * the fragment's callback. The callback only adds the fragment to a list, because ob1 must be
 * called without the lock; progress.c does so later. Overflow fragments wait at their endpoint, in
 * order. */
#include "btl_myr/btl_myr.h"

#include <string.h>

static void complete_send(struct myr_port *port, void *context, void *buffer,
                          enum myr_status status)
{
    (void)port;
    (void)buffer;
    mca_btl_myr_fragment_t *fragment = context;
    fragment->status = status;
    opal_list_append(&mca_btl_myr_component.sent, &fragment->base.super.super);
}

/* Passes the message of a fragment, which is in this registered memory, to the port. Called with
 * the lock held. */
static void pass_to_port(mca_btl_myr_fragment_t *fragment, const struct mca_btl_myr_header *memory)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const enum myr_status status =
        myr_port_send(component->port, &fragment->endpoint->remote, memory,
                      sizeof(*memory) + fragment->segment.seg_len, complete_send, fragment);
    if (MYR_OK != status) {
        complete_send(component->port, fragment, NULL, status);
    }
}

/* Passes an overflow fragment to the port, or to the send thread. Returns false if it has to wait.
 * Called with the lock held. */
static bool send_overflow(mca_btl_myr_fragment_t *fragment)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (mca_btl_myr_register(fragment)) {
        pass_to_port(fragment, fragment->registered->header);
    } else if (component->has_other_jobs && mca_btl_myr_backlog_append(fragment)) {
        complete_send(component->port, fragment, NULL, MYR_OK);
    } else {
        return false;
    }
    return true;
}

static void send_waiting_to(struct mca_btl_base_endpoint_t *endpoint)
{
    while (!opal_list_is_empty(&endpoint->waiting)) {
        mca_btl_myr_fragment_t *first =
            (mca_btl_myr_fragment_t *)opal_list_remove_first(&endpoint->waiting);
        if (!send_overflow(first)) {
            opal_list_prepend(&endpoint->waiting, &first->base.super.super);
            return;
        }
    }
    opal_list_remove_item(&mca_btl_myr_component.waiting, &endpoint->super);
}

void mca_btl_myr_send_waiting(void)
{
    opal_list_t *endpoints = &mca_btl_myr_component.waiting;
    opal_list_item_t *endpoint = opal_list_get_first(endpoints), *next;
    for (; endpoint != opal_list_get_end(endpoints); endpoint = next) {
        next = opal_list_get_next(endpoint);
        send_waiting_to((struct mca_btl_base_endpoint_t *)endpoint);
    }
}

static struct mca_btl_myr_header header_of(const struct mca_btl_base_endpoint_t *endpoint,
                                           mca_btl_base_tag_t tag)
{
    return (struct mca_btl_myr_header){
        .tag = tag, .module = (uint8_t)endpoint->module, .from = opal_proc_local_get()->proc_name};
}

/* Returns whether a payload of this size fits into the receiver's inlet. */
static bool is_short(const struct mca_btl_base_endpoint_t *endpoint, size_t payload)
{
    return NULL != endpoint->remote.outlet.inlet &&
           payload <= MYR_SHORT_BYTES - sizeof(struct mca_btl_myr_header);
}

/* Begins a short message. Returns the address for its payload, or NULL if there is no space. The
 * lock must be held until end_short(). */
static void *begin_short(struct mca_btl_base_endpoint_t *endpoint, mca_btl_base_tag_t tag)
{
    struct mca_btl_myr_header *header = myr_outlet_begin(&endpoint->remote.outlet);
    if (NULL == header) {
        return NULL;
    }
    *header = header_of(endpoint, tag);
    return header + 1;
}

static void end_short(struct mca_btl_base_endpoint_t *endpoint, size_t payload)
{
    myr_outlet_end(&endpoint->remote.outlet,
                   (uint32_t)(sizeof(struct mca_btl_myr_header) + payload));
}

/* Queues an overflow fragment at its endpoint. Called with the lock held. */
static void enqueue_fragment(mca_btl_myr_fragment_t *fragment)
{
    struct mca_btl_base_endpoint_t *endpoint = fragment->endpoint;
    if (opal_list_is_empty(&endpoint->waiting)) {
        opal_list_append(&mca_btl_myr_component.waiting, &endpoint->super);
    }
    opal_list_append(&endpoint->waiting, &fragment->base.super.super);
}

/* Passes a fragment to the inlet or to the port, or queues it. Called with the lock held. */
static void post_fragment(mca_btl_myr_fragment_t *fragment, mca_btl_base_tag_t tag)
{
    struct mca_btl_base_endpoint_t *endpoint = fragment->endpoint;
    const size_t bytes = fragment->segment.seg_len;
    ++endpoint->in_flight;
    void *payload = is_short(endpoint, bytes) ? begin_short(endpoint, tag) : NULL;
    if (NULL != payload) {
        memcpy(payload, fragment->segment.seg_addr.pval, bytes);
        end_short(endpoint, bytes);
        complete_send(mca_btl_myr_component.port, fragment, NULL, MYR_OK);
        return;
    }
    *fragment->header = header_of(endpoint, tag);
    if (fragment->overflow) {
        enqueue_fragment(fragment);
        send_waiting_to(endpoint);
    } else {
        pass_to_port(fragment, fragment->header);
    }
}

int mca_btl_myr_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    (void)btl;
    (void)endpoint; /* the fragment contains it */
    /* Completion is always reported by the callback, because ob1 does not support fragments that
     * complete immediately. (Comments in other BTLs of Open MPI confirm this.) */
    descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
    post_fragment((mca_btl_myr_fragment_t *)descriptor, tag);
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    return OPAL_SUCCESS;
}

static void write_payload(uint8_t *payload, const void *header, size_t header_size,
                          struct opal_convertor_t *convertor, size_t payload_size)
{
    memcpy(payload, header, header_size);
    if (0 != payload_size) { /* else there is no convertor */
        uint32_t iov_count = 1;
        size_t packed = payload_size;
        struct iovec to = {.iov_base = payload + header_size, .iov_len = payload_size};
        (void)opal_convertor_pack(convertor, &to, &iov_count, &packed);
    }
}

int mca_btl_myr_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t **descriptor)
{
    (void)btl;
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (NULL != descriptor) {
        *descriptor = NULL;
    }
    if (is_short(endpoint, header_size + payload_size)) {
        OPAL_THREAD_LOCK(&component->lock);
        uint8_t *payload = begin_short(endpoint, tag);
        if (NULL != payload) {
            write_payload(payload, header, header_size, convertor, payload_size);
            end_short(endpoint, header_size + payload_size);
        }
        OPAL_THREAD_UNLOCK(&component->lock);
        if (NULL != payload) {
            return OPAL_SUCCESS;
        }
    }
    /* Without a convertor it is one of ob1's control packets. */
    mca_btl_myr_fragment_t *fragment =
        mca_btl_myr_fragment_for(endpoint, NULL == convertor, header_size + payload_size, order,
                                 flags | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (NULL == fragment) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    write_payload(fragment->segment.seg_addr.pval, header, header_size, convertor, payload_size);
    fragment->base.des_flags &= ~(uint32_t)MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    OPAL_THREAD_LOCK(&component->lock);
    post_fragment(fragment, tag);
    OPAL_THREAD_UNLOCK(&component->lock);
    return OPAL_SUCCESS;
}
