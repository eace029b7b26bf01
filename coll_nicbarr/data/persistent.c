/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent collectives that carry data; see persistent.h. */
#include "coll_nicbarr/data/persistent.h"

#include <stdlib.h>

#include "coll_nicbarr/data/memory.h"

/* If there is one. */
#define RETAIN(object)                                                                             \
    do {                                                                                           \
        if (NULL != (object)) {                                                                    \
            OBJ_RETAIN(object);                                                                    \
        }                                                                                          \
    } while (0)

#define RELEASE(object)                                                                            \
    do {                                                                                           \
        if (NULL != (object)) {                                                                    \
            OBJ_RELEASE(object);                                                                   \
        }                                                                                          \
    } while (0)

/* (The request itself may serve another collective then, so it is as it was.) */
static int free_persistent(ompi_request_t **handle)
{
    nicbarr_request_t *request = (nicbarr_request_t *)*handle;
    struct nicbarr_persistent *persistent = request->persistent;
    request->super.req_free = persistent->free;
    nicbarr_reducer_leave(&persistent->reducer);
    nicbarr_streamer_leave(&persistent->streamer);
    nicbarr_carrier_close(&persistent->carrier);
    RELEASE(persistent->type);
    RELEASE(persistent->to_type);
    RELEASE(persistent->op);
    free(persistent);
    return ompi_request_free(handle);
}

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
    persistent->free = request->super.req_free;
    request->super.req_free = free_persistent;
    RETAIN(persistent->type);
    RETAIN(persistent->to_type);
    RETAIN(persistent->op);
    request->persistent = persistent;
    return request;
}
