/* SPDX-License-Identifier: BSD-3-Clause */
/* btl_get: the receiver reads a large message from the memory of a sender on the same node
 * (libmyr/node/direct.h).
 *
 * When a get has completed, ob1 completes the receive and sends a control packet, which completes
 * the send. A process that has communicated with other jobs may then wait in MPI_Comm_disconnect
 * without making progress, so by that time the control packet must have been passed to the NIC
 * (btl_myr.h). Therefore such a process delays a get until its endpoint has a fragment for the
 * packet. */
#include "btl_myr/btl_myr.h"

/* The arguments of mca_btl_myr_get(). */
typedef struct {
    opal_list_item_t super; /* in the list of delayed gets */
    struct mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    uint64_t remote_address;
    size_t bytes;
    mca_btl_base_registration_handle_t *local_handle;
    mca_btl_base_rdma_completion_fn_t callback;
    void *context, *data;
} get_t;
static OBJ_CLASS_INSTANCE(get_t, opal_list_item_t, NULL, NULL);

/* If the get fails, ob1 lets the sender send the message in fragments. (If btl_get returned an
 * error instead, ob1 would retry the get in later callbacks.) */
static void execute_get(const get_t *get)
{
    const bool read =
        myr_direct_read(get->endpoint->pid, get->local_address, get->remote_address, get->bytes);
    get->callback(&mca_btl_myr_module[get->endpoint->module].super, get->endpoint,
                  get->local_address, get->local_handle, get->context, get->data,
                  read ? OPAL_SUCCESS : OPAL_ERROR);
}

/* Delays a get if its endpoint has to wait for a fragment. Returns false if it may be executed. */
static bool delay_get(const get_t *arguments)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    OPAL_THREAD_LOCK(&component->lock);
    get_t *get = mca_btl_myr_may_answer(arguments->endpoint) ? NULL : OBJ_NEW(get_t);
    if (NULL != get) {
        const opal_list_item_t super = get->super;
        *get = *arguments;
        get->super = super;
        opal_list_append(&component->gets, &get->super);
    }
    OPAL_THREAD_UNLOCK(&component->lock);
    return NULL != get;
}

/* Removes the first delayed get whose endpoint has a fragment. Returns NULL if there is none.
 * Called with the lock held. */
static get_t *take_delayed_get(void)
{
    opal_list_t *gets = &mca_btl_myr_component.gets;
    for (opal_list_item_t *at = opal_list_get_first(gets); at != opal_list_get_end(gets);
         at = opal_list_get_next(at)) {
        if (mca_btl_myr_may_answer(((get_t *)at)->endpoint)) {
            (void)opal_list_remove_item(gets, at);
            return (get_t *)at;
        }
    }
    return NULL;
}

bool mca_btl_myr_get_delayed(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    OPAL_THREAD_LOCK(&component->lock);
    get_t *get = take_delayed_get();
    OPAL_THREAD_UNLOCK(&component->lock);
    if (NULL == get) {
        return false;
    }
    execute_get(get);
    OBJ_RELEASE(get);
    return true;
}

int mca_btl_myr_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                    void *data)
{
    (void)btl;
    (void)remote_handle;
    (void)flags;
    (void)order;
    const get_t get = {.endpoint = endpoint,
                       .local_address = local_address,
                       .remote_address = remote_address,
                       .bytes = size,
                       .local_handle = local_handle,
                       .callback = callback,
                       .context = context,
                       .data = data};
    if (!mca_btl_myr_component.has_other_jobs || !delay_get(&get)) {
        execute_get(&get);
    }
    return OPAL_SUCCESS;
}
