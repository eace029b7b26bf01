/* SPDX-License-Identifier: BSD-3-Clause */
/* See requests.h. The progress function is registered with Open MPI when the first request does not
 * complete immediately. */
#include "coll_nicbarr/requests.h"

#include <string.h>

#include "coll_nicbarr/dead_members.h"
#include "coll_nicbarr/failures.h"
#include "libmyr/groups/nic_bcast.h"

enum { REMIND_EVERY = 64 /* number of calls of progress_requests(), a power of two */ };

static opal_free_list_t requests;
static opal_list_t active;
static opal_mutex_t lock;
static uint32_t calls;      /* number of calls of progress_requests() */
static uint32_t checked_ms; /* time of the last check for missing nodes; see overdue.h */
static bool scanning;       /* a thread is processing the active requests */
static bool progressing;    /* progress_requests() is registered */

/* ---- progress ---- */

/* Returns whether a check for missing nodes is due. */
static bool is_check_due(void)
{
    const uint32_t now_ms = nicbarr_now_ms();
    if (now_ms - checked_ms < NICBARR_CHECK_MS) {
        return false;
    }
    checked_ms = now_ms;
    return true;
}

/* In programs that survive failures, returns whether the request has failed. If so, the request is
 * complete, and contains the error. */
static bool has_failed(nicbarr_request_t *request)
{
    const int failure = nicbarr_known_failure(request->super.req_mpi_object.comm);
    if (OMPI_SUCCESS != failure) {
        request->super.req_status.MPI_ERROR = failure;
    }
    return OMPI_SUCCESS != failure;
}

static int progress_requests(void)
{
    if (opal_list_is_empty(&active)) {
        return 0;
    }
    (void)nicbarr_nics_run(&mca_coll_nicbarr_component.nics, true);
    if (0 != OPAL_THREAD_TRYLOCK(&lock)) {
        return 0;
    }
    if (scanning) {
        OPAL_THREAD_UNLOCK(&lock);
        return 0;
    }
    scanning = true;
    const bool slow = 0 == ++calls % REMIND_EVERY, check = slow && is_check_due();
    opal_list_t complete;
    OBJ_CONSTRUCT(&complete, opal_list_t);
    opal_list_item_t *item, *next;
    OPAL_LIST_FOREACH_SAFE(item, next, &active, opal_list_item_t)
    {
        nicbarr_request_t *request = (nicbarr_request_t *)item;
        const struct nicbarr_operation *operation = request->operation;
        if (has_failed(request) || operation->test(request) ||
            (slow && NULL != operation->remind && operation->remind(request, check))) {
            opal_list_remove_item(&active, item);
            opal_list_append(&complete, item);
        } else if (check && NULL == operation->remind) {
            nicbarr_end_if_member_died(request->super.req_mpi_object.comm,
                                       "a non-blocking collective");
        }
    }
    scanning = false;
    OPAL_THREAD_UNLOCK(&lock);

    /* Complete the requests without the lock, because completing a request may run a callback, and
     * another thread may free the request. */
    int events = 0;
    while (NULL != (item = opal_list_remove_first(&complete))) {
        ompi_request_complete(&((nicbarr_request_t *)item)->super, true);
        ++events;
    }
    OBJ_DESTRUCT(&complete);
    return events;
}

void nicbarr_request_start(nicbarr_request_t *request)
{
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    OPAL_THREAD_LOCK(&lock);
    request->operation->begin(request);
    if (request->operation->test(request)) {
        request->super.req_complete = REQUEST_COMPLETED; /* no thread waits for it yet */
    } else {
        request->super.req_complete = REQUEST_PENDING;
        opal_list_append(&active, &request->super.super.super);
        if (!progressing) {
            opal_progress_register(progress_requests);
            progressing = true;
        }
    }
    OPAL_THREAD_UNLOCK(&lock);
}

/* ---- overdue requests ---- */

bool nicbarr_request_remind(nicbarr_request_t *request, struct myr_nic_group *group,
                            struct nicbarr_wait wait, bool check)
{
    int rc = OMPI_SUCCESS;
    if (wait.block) {
        myr_nic_bcast_remind(group);
    } else {
        myr_nic_group_remind(group);
    }
    if (!request->reminded) {
        request->reminded = true;
        request->wait = wait;
        nicbarr_overdue_begin(&request->wait, nicbarr_now_ms());
    }
    request->wait.epoch = wait.epoch;
    request->wait.block = wait.block;
    if (check || myr_nic_group_over(group)) {
        rc = nicbarr_overdue_check(request->module, request->super.req_mpi_object.comm, group,
                                   &request->wait);
    }
    if (OMPI_SUCCESS != rc) {
        request->super.req_status.MPI_ERROR = rc;
        request->reminded = false;
    }
    return OMPI_SUCCESS != rc;
}

void nicbarr_request_wait_ended(nicbarr_request_t *request, const struct myr_nic_group *group)
{
    nicbarr_overdue_end(request->super.req_mpi_object.comm, group, &request->wait);
    request->reminded = false;
}

/* ---- Open MPI's interface ---- */

static int request_start(size_t count, ompi_request_t **list)
{
    for (size_t i = 0; i < count; ++i) {
        nicbarr_request_start((nicbarr_request_t *)list[i]);
    }
    return OMPI_SUCCESS;
}

static int request_free(ompi_request_t **handle)
{
    nicbarr_request_t *request = (nicbarr_request_t *)*handle;
    ompi_communicator_t *comm = request->super.req_mpi_object.comm;
    if (!REQUEST_COMPLETE(&request->super)) {
        return MPI_ERR_REQUEST; /* MPI does not permit freeing active requests of collectives */
    }
    if (NULL != request->operation->release) {
        request->operation->release(request);
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
    return MPI_ERR_REQUEST; /* MPI does not permit cancelling collectives */
}

static void request_construct(nicbarr_request_t *request)
{
    request->super.req_type = OMPI_REQUEST_COLL;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    request->super.req_start = request_start;
    request->reminded = false;
}

static OBJ_CLASS_INSTANCE(nicbarr_request_t, ompi_coll_base_nbc_request_t, request_construct, NULL);

nicbarr_request_t *nicbarr_request_new(const struct nicbarr_operation *operation,
                                       mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                       bool persistent)
{
    nicbarr_request_t *request = (nicbarr_request_t *)opal_free_list_wait(&requests);
    OMPI_REQUEST_INIT(&request->super, persistent);
    request->super.req_status = ompi_status_empty;
    /* The program may free the communicator before the request completes, but our module must
     * outlive the request. */
    OBJ_RETAIN(comm);
    request->super.req_mpi_object.comm = comm;
    request->operation = operation;
    request->module = module;
    request->persistent = NULL;
    return request;
}

opal_mutex_t *nicbarr_requests_lock(void)
{
    return &lock;
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
        opal_progress_unregister(progress_requests);
        progressing = false;
    }
    OBJ_DESTRUCT(&lock);
    OBJ_DESTRUCT(&active);
    OBJ_DESTRUCT(&requests);
}
