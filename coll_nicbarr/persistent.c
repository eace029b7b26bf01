/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent collectives that carry data; see persistent.h. */
#include "coll_nicbarr/persistent.h"

#include <stdlib.h>

#include "coll_nicbarr/data.h"

nicbarr_request_t *nicbarr_persistent_new(const struct nicbarr_operation *operation,
                                          mca_coll_nicbarr_module_t *module,
                                          ompi_communicator_t *comm,
                                          const struct nicbarr_persistent *what)
{
    struct nicbarr_persistent *persistent = malloc(sizeof(*persistent));
    nicbarr_request_t *request =
        NULL == persistent ? NULL : nicbarr_request_new(operation, module, comm, true);
    if (NULL == request) {
        free(persistent);
        return NULL;
    }
    *persistent = *what;
    OBJ_RETAIN(persistent->type);
    if (NULL != persistent->op) {
        OBJ_RETAIN(persistent->op);
    }
    request->persistent = persistent;
    return request;
}

void nicbarr_persistent_drop(nicbarr_request_t *request)
{
    struct nicbarr_persistent *persistent = request->persistent;
    nicbarr_reducer_leave(&persistent->reducer);
    nicbarr_carrier_close(&persistent->carrier);
    OBJ_RELEASE(persistent->type);
    if (NULL != persistent->op) {
        OBJ_RELEASE(persistent->op);
    }
    free(persistent);
}
