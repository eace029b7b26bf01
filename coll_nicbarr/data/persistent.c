/* SPDX-License-Identifier: BSD-3-Clause */
/* See persistent.h. */
#include "coll_nicbarr/data/persistent.h"

#include <stdlib.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/memory.h"
#include "coll_nicbarr/data/rooted.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/no_memory.h"
#include "libmyr/groups/nic_bcast.h"

/* The object may be NULL. */
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

static void release_resources(struct nicbarr_persistent *persistent)
{
    nicbarr_reducer_leave(&persistent->reducer);
    nicbarr_streamer_leave(&persistent->streamer);
    nicbarr_carrier_close(&persistent->carrier);
}

/* The request gets its original req_free back, because it returns to the free list and may then
 * serve another collective. */
static int free_persistent(ompi_request_t **handle)
{
    nicbarr_request_t *request = (nicbarr_request_t *)*handle;
    struct nicbarr_persistent *persistent = request->persistent;
    if (!REQUEST_COMPLETE(&request->super)) {
        return MPI_ERR_REQUEST; /* as in requests.c */
    }
    request->super.req_free = persistent->free;
    release_resources(persistent);
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
    struct nicbarr_persistent *persistent = nicbarr_allocate(comm, sizeof(*persistent));
    nicbarr_request_t *request = nicbarr_request_new(operation, module, comm, true);
    *persistent = *what;
    persistent->free = request->super.req_free;
    request->super.req_free = free_persistent;
    RETAIN(persistent->type);
    RETAIN(persistent->to_type);
    RETAIN(persistent->op);
    request->persistent = persistent;
    return request;
}

/* ---- carriers ---- */

/* Join a group like that of `like`. If this fails on one member, no member joins. */
static int join_group_like(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const struct nicbarr_carrier *like, struct myr_nic_group *group)
{
    const bool broadcasts = NULL != like->group.bcast;
    struct nicbarr_joining joining = {
        .choice = like->choice,
        .unit_most =
            broadcasts ? myr_nic_bcast_most(&like->group) : myr_nic_data_most(&like->group),
        .broadcasts = broadcasts,
        .group = group,
    };
    return nicbarr_across_join_one(module, comm, &joining);
}

/* Create a carrier like `like`. If any member cannot join its group, the new carrier has no group
 * on any member. */
static int open_carrier_like(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             const struct nicbarr_carrier *like, struct nicbarr_carrier *own)
{
    struct myr_nic_group group = {.ops = NULL};
    const int rc = join_group_like(module, comm, like, &group);
    if (OMPI_SUCCESS != rc || !myr_nic_group_joined(&group)) {
        return rc;
    }
    if (!nicbarr_carrier_open(own, &group, like->choice, like->order)) {
        nicbarr_end_without_memory(comm);
    }
    return OMPI_SUCCESS;
}

/* Create the carrier that returns the results, if `like` is rooted. If this fails, `own` is
 * closed. */
static int open_back_carrier_like(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  const struct nicbarr_carrier *like, struct nicbarr_carrier *own)
{
    if (NULL == like->back || !myr_nic_group_joined(&own->group)) {
        return OMPI_SUCCESS;
    }
    struct nicbarr_carrier *back = nicbarr_allocate(comm, sizeof(*back));
    *back = (struct nicbarr_carrier){.stack = NULL};
    const int rc = open_carrier_like(module, comm, like->back, back);
    if (OMPI_SUCCESS == rc && myr_nic_group_joined(&back->group)) {
        nicbarr_rooted_attach_back(own, back, like->combiner);
    } else {
        free(back);
        nicbarr_carrier_close(own);
    }
    return rc;
}

int nicbarr_data_own_carrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, size_t bytes,
                             struct nicbarr_carrier *own)
{
    *own = (struct nicbarr_carrier){.stack = NULL};
    if (!nicbarr_data_serves_at_once(module, comm, collective, bytes)) {
        return OMPI_SUCCESS;
    }
    const struct nicbarr_carrier *like =
        nicbarr_data_carrier(module, collective, nicbarr_size_class(bytes));
    const int rc = open_carrier_like(module, comm, like, own);
    return OMPI_SUCCESS == rc ? open_back_carrier_like(module, comm, like, own) : rc;
}
