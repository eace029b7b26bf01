/* SPDX-License-Identifier: BSD-3-Clause */
/* btl_get: the receiver reads a large message from the memory of a sender on the same node
 * (libmyr/node/direct.h). */
#include "btl_myr/btl_myr.h"

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
    if (!myr_direct_read(endpoint->pid, local_address, remote_address, size)) {
        return OPAL_ERROR; /* ob1 then sends the message in fragments */
    }
    callback(btl, endpoint, local_address, local_handle, context, data, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}
