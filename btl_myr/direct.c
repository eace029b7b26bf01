/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements btl_get: the receiver of a large message reads it directly from the memory of the
 * sender on the same node (libmyr/node/direct.h). After that, ob1 completes the receive and sends a
 * control packet to the sender, where it completes the send. */
#include "btl_myr/btl_myr.h"

/* If the get fails, ob1 lets the sender send the message in fragments. (If btl_get returned an
 * error instead, ob1 would retry the get in later callbacks.) */
int mca_btl_myr_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                    void *data)
{
    (void)remote_handle;
    (void)flags;
    (void)order;
    const bool read = myr_direct_read(endpoint->pid, local_address, remote_address, size);
    callback(btl, endpoint, local_address, local_handle, context, data,
             read ? OPAL_SUCCESS : OPAL_ERROR);
    return OPAL_SUCCESS;
}
