/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: short messages within the node are written into the receiver's inlet, and all others are
 * passed to the port as fragments.
 *
 * A fragment belongs to the port until the port's callback, which only adds it to a list.
 * progress.c calls ob1 later, without the lock. If there are no send tokens, fragments wait here,
 * in order. If there are no fragments left, ob1 itself retries. */
#include "btl_myr/btl_myr.h"

#include <string.h>

static void sent(struct myr_port *port, void *context, void *buffer, enum myr_status status)
{
    (void)port;
    (void)buffer;
    mca_btl_myr_fragment_t *fragment = context;
    fragment->status = status;
    opal_list_append(&mca_btl_myr_component.sent, &fragment->base.super.super);
}

/* Passes a fragment to the port. Returns false if it has to wait for a token. Called with the lock
 * held. */
static bool give_to_port(mca_btl_myr_fragment_t *fragment)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const enum myr_status status =
        myr_port_send(component->port, &fragment->endpoint->remote, fragment->header,
                      sizeof(*fragment->header) + fragment->segment.seg_len, sent, fragment);
    if (MYR_ERR_FULL == status) {
        return false;
    }
    if (MYR_OK != status) {
        sent(component->port, fragment, fragment->header, status);
    }
    return true;
}

void mca_btl_myr_send_waiting(void)
{
    opal_list_t *waiting = &mca_btl_myr_component.waiting;
    while (!opal_list_is_empty(waiting) &&
           give_to_port((mca_btl_myr_fragment_t *)opal_list_get_first(waiting))) {
        opal_list_remove_first(waiting);
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

/* Passes a fragment to the port, or queues it. Called with the lock held. */
static void post_fragment(mca_btl_myr_fragment_t *fragment,
                          struct mca_btl_base_endpoint_t *endpoint, mca_btl_base_tag_t tag)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const size_t bytes = fragment->segment.seg_len;
    fragment->endpoint = endpoint;
    ++component->in_flight;
    void *payload = is_short(endpoint, bytes) ? begin_short(endpoint, tag) : NULL;
    if (NULL != payload) {
        memcpy(payload, fragment->segment.seg_addr.pval, bytes);
        end_short(endpoint, bytes);
        sent(component->port, fragment, fragment->header, MYR_OK);
        return;
    }
    *fragment->header = header_of(endpoint, tag);
    if (!opal_list_is_empty(&component->waiting) || !give_to_port(fragment)) {
        opal_list_append(&component->waiting, &fragment->base.super.super);
    }
}

int mca_btl_myr_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    (void)btl;
    /* Completion is always reported by the callback, because ob1 does not support fragments that
     * complete at once. (Comments of Open MPI's own BTLs confirm this.) */
    descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
    post_fragment((mca_btl_myr_fragment_t *)descriptor, endpoint, tag);
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    return OPAL_SUCCESS;
}

/* Returns whether one more fragment may complete without a callback, and counts it if it is small.
 * Called with the lock held. */
static bool count_without_callback(mca_btl_myr_fragment_t *fragment)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (fragment->pool != &component->eager) {
        return true;
    }
    if (component->without_callback >= component->without_callback_most) {
        return false;
    }
    ++component->without_callback;
    fragment->counted = true;
    return true;
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
    mca_btl_myr_fragment_t *fragment = (mca_btl_myr_fragment_t *)mca_btl_myr_alloc(
        btl, endpoint, order, header_size + payload_size, flags | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (NULL == fragment) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    OPAL_THREAD_LOCK(&component->lock);
    const bool may = count_without_callback(fragment);
    OPAL_THREAD_UNLOCK(&component->lock);
    if (!may) {
        mca_btl_myr_free(btl, &fragment->base);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    write_payload(fragment->segment.seg_addr.pval, header, header_size, convertor, payload_size);
    fragment->base.des_flags &= ~(uint32_t)MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    OPAL_THREAD_LOCK(&component->lock);
    post_fragment(fragment, endpoint, tag);
    OPAL_THREAD_UNLOCK(&component->lock);
    return OPAL_SUCCESS;
}
