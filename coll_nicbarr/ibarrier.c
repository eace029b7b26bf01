/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Ibarrier and persistent barriers.
 *
 * To arrive is one store to a word of one's own. A barrier is complete when all members' words have
 * reached its epoch. Between arrival and completion nobody has anything to do. So the operation
 * overlaps wholly with computation, any number may be outstanding, and a process that does not call
 * MPI slows nobody down. Different processes may start several persistent barriers in different
 * order, so each of those has a record of its own. Across nodes the NICs play MPI_Ibarrier, and
 * persistent barriers are Open MPI's own.
 *
 * Open MPI's progress engine looks at the active requests. Where there are threads, one lock guards
 * the requests and their list.
 */
#include "coll_nicbarr/barrier.h"
#include "coll_nicbarr/module.h"
#include "coll_nicbarr/overdue.h"

#include <string.h>

typedef struct {
    ompi_request_t super;
    struct myr_arrival arrival;
    struct myr_group own;              /* a persistent barrier's; else its record is NULL */
    mca_coll_nicbarr_module_t *module; /* across nodes: MPI_Ibarrier's; else NULL */
    uint32_t epoch;                    /* what its NICs' group must reach */
    bool looked;                       /* the clock has been looked at: `wait` is valid */
    struct nicbarr_wait wait;
} nicbarr_request_t;

enum { REMIND_EVERY = 64 /* calls of progress, a power of two */ };

static opal_free_list_t requests;
static opal_list_t active;
static opal_mutex_t lock;
static uint32_t calls;   /* of progress */
static uint32_t look_ms; /* when somebody last looked for missing nodes; see overdue.h */
static bool progressing; /* whether Open MPI's progress engine knows of us */

static opal_list_item_t *as_item(nicbarr_request_t *request)
{
    return &request->super.super.super;
}

/* ---- progress ---- */

/* Is it complete? */
static bool test(nicbarr_request_t *request)
{
    if (NULL == request->module) {
        return myr_arrival_test(&request->arrival);
    }
    const bool done = myr_nic_group_test(&request->module->split, request->epoch);
    if (done && request->looked) {
        nicbarr_overdue_end(request->super.req_mpi_object.comm, &request->wait);
    }
    return done;
}

/* It takes a while: ask for what is missing, and once in a second see whether it will ever come.
 * True if it will not, with the error that the request ends with. */
static bool remind(nicbarr_request_t *request, bool look)
{
    if (NULL == request->module) {
        return false;
    }
    struct myr_nic_group *group = &request->module->split;
    myr_nic_group_remind(group);
    if (!request->looked) {
        request->looked = true;
        request->wait = (struct nicbarr_wait){nicbarr_now_ms(), request->epoch, false};
    }
    if (look || myr_nic_group_over(group)) {
        request->super.req_status.MPI_ERROR = nicbarr_overdue_look(
            request->module, request->super.req_mpi_object.comm, group, &request->wait);
    }
    return OMPI_SUCCESS != request->super.req_status.MPI_ERROR;
}

/* Is it time to look for missing nodes? */
static bool look_now(void)
{
    const uint32_t now_ms = nicbarr_now_ms();
    if (now_ms - look_ms < NICBARR_LOOK_MS) {
        return false;
    }
    look_ms = now_ms;
    return true;
}

static int progress(void)
{
    if (opal_list_is_empty(&active)) {
        return 0;
    }
    (void)nicbarr_nics_run(&mca_coll_nicbarr_component.nics, true);
    if (0 != OPAL_THREAD_TRYLOCK(&lock)) {
        return 0;
    }
    const bool slow = 0 == ++calls % REMIND_EVERY, look = slow && look_now();
    opal_list_t complete;
    OBJ_CONSTRUCT(&complete, opal_list_t);
    opal_list_item_t *item, *next;
    OPAL_LIST_FOREACH_SAFE(item, next, &active, opal_list_item_t)
    {
        nicbarr_request_t *request = (nicbarr_request_t *)item;
        if (test(request) || (slow && remind(request, look))) {
            opal_list_remove_item(&active, item);
            opal_list_append(&complete, item);
        }
    }
    OPAL_THREAD_UNLOCK(&lock);

    /* Not under the lock: completing may call back, and another thread may free the request. */
    int events = 0;
    while (NULL != (item = opal_list_remove_first(&complete))) {
        ompi_request_complete(&((nicbarr_request_t *)item)->super, true);
        ++events;
    }
    OBJ_DESTRUCT(&complete);
    return events;
}

/* Arrive in one of the two groups, and hand the request to the progress engine unless that was all.
 */
static void start(nicbarr_request_t *request, struct myr_group *group,
                  mca_coll_nicbarr_module_t *across)
{
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    request->module = across;
    request->looked = false;
    OPAL_THREAD_LOCK(&lock);
    if (NULL != across) {
        request->epoch = myr_nic_group_arrive(&across->split);
    } else {
        myr_group_arrive(group, &request->arrival);
    }
    if (test(request)) {
        request->super.req_complete = REQUEST_COMPLETED; /* nobody waits for it yet */
    } else {
        request->super.req_complete = REQUEST_PENDING;
        opal_list_append(&active, as_item(request));
        if (!progressing) {
            opal_progress_register(progress);
            progressing = true;
        }
    }
    OPAL_THREAD_UNLOCK(&lock);
}

/* ---- what Open MPI does with a request ---- */

static int request_start(size_t count, ompi_request_t **list)
{
    for (size_t i = 0; i < count; ++i) {
        nicbarr_request_t *request = (nicbarr_request_t *)list[i];
        start(request, &request->own, NULL);
    }
    return OMPI_SUCCESS;
}

static int request_free(ompi_request_t **handle)
{
    nicbarr_request_t *request = (nicbarr_request_t *)*handle;
    ompi_communicator_t *comm = request->super.req_mpi_object.comm;
    if (NULL != request->own.record) {
        myr_record_leave(mca_coll_nicbarr_component.segment, request->own.record);
        request->own.record = NULL;
    }
    OMPI_REQUEST_FINI(&request->super);
    opal_free_list_return(&requests, &request->super.super);
    *handle = MPI_REQUEST_NULL;
    OBJ_RELEASE(comm);
    return OMPI_SUCCESS;
}

static int request_cancel(ompi_request_t *request, int complete)
{
    (void)request;
    (void)complete;
    return MPI_ERR_REQUEST; /* MPI allows no cancelling of collectives */
}

static void request_construct(nicbarr_request_t *request)
{
    request->super.req_type = OMPI_REQUEST_COLL;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    request->super.req_start = request_start;
    memset(&request->own, 0, sizeof(request->own));
}

static OBJ_CLASS_INSTANCE(nicbarr_request_t, ompi_request_t, request_construct, NULL);

static nicbarr_request_t *new_request(ompi_communicator_t *comm, bool persistent)
{
    nicbarr_request_t *request = (nicbarr_request_t *)opal_free_list_wait(&requests);
    if (NULL != request) {
        OMPI_REQUEST_INIT(&request->super, persistent);
        request->super.req_status = ompi_status_empty;
        /* The communicator may be freed before the request is; our module must outlive it. */
        OBJ_RETAIN(comm);
        request->super.req_mpi_object.comm = comm;
    }
    return request;
}

int nicbarr_requests_open(void)
{
    OBJ_CONSTRUCT(&requests, opal_free_list_t);
    OBJ_CONSTRUCT(&active, opal_list_t);
    OBJ_CONSTRUCT(&lock, opal_mutex_t);
    return opal_free_list_init(&requests, sizeof(nicbarr_request_t), opal_cache_line_size,
                               OBJ_CLASS(nicbarr_request_t), 0, 0, 0, -1, 8, NULL, 0, NULL, NULL,
                               NULL);
}

void nicbarr_requests_close(void)
{
    if (progressing) {
        opal_progress_unregister(progress);
        progressing = false;
    }
    OBJ_DESTRUCT(&lock);
    OBJ_DESTRUCT(&active);
    OBJ_DESTRUCT(&requests);
}

/* ---- what MPI calls ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **handle,
                     mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (NULL == module->group.record && !nicbarr_set_up(module, comm)) {
        return module->ibarrier.function(comm, handle, module->ibarrier.module);
    }
    nicbarr_request_t *request = new_request(comm, false);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    start(request, &module->group, module->across ? module : NULL);
    *handle = &request->super;
    return OMPI_SUCCESS;
}

int nicbarr_ibarrier_failed(ompi_communicator_t *comm, ompi_request_t **handle,
                            mca_coll_base_module_t *base)
{
    *handle = MPI_REQUEST_NULL;
    return nicbarr_barrier_failed(comm, base);
}

int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                         mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct myr_record *record = NULL;
    if (!module->across && nicbarr_set_up(module, comm)) {
        const struct myr_key key = nicbarr_record_key(module, comm, ++module->persistent);
        const uint32_t size = module->group.size;
        record =
            myr_record_join(component->segment, &key, size, myr_group_arrival_bytes(size), 0, NULL);
    }
    if (NULL == record) {
        return module->barrier_init.function(comm, info, handle, module->barrier_init.module);
    }
    nicbarr_request_t *request = new_request(comm, true);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    myr_group_init(&request->own, record, &component->waiter, module->group.size,
                   module->group.rank);
    *handle = &request->super;
    return OMPI_SUCCESS;
}
