/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements one-sided communication for osc/rdma: puts, gets and atomic operations on the memory
 * of other processes. Each operation ends with a callback when it has completed at the target.
 *
 * Within the node, puts and gets are executed by system calls that copy between processes, if the
 * system permits this. All other operations are sent as active messages, which the target processes
 * in its progress function and answers with a reply. Data are cut into chunks, each with its own
 * message, and each chunk of a put is acknowledged, so the order of messages does not matter.
 * Atomic operations on the memory of a process are executed with atomic CPU instructions, by this
 * process itself or by processes that have mapped its memory.
 *
 * Only two atomic operations are implemented, on 64-bit words, because osc/rdma requires no others.
 * It implements all other operations by acquiring a lock, a get and a put. If the BTL offered more
 * operations, two bugs of osc/rdma 4.1 would appear: it does not pass on whether a number is
 * signed, and MPI_Get_accumulate of more than 4096 bytes returns wrong data. The disadvantage is
 * that operations on a single number are slower.
 *
 * Memory is bounded, and no request is dropped, as follows:
 *
 * - Each message that has not been sent yet belongs to a task. The number of tasks for puts and
 *   gets is limited; beyond this limit, osc/rdma retries.
 * - Atomic operations always get a task, because osc/rdma also issues them in callbacks, where it
 *   cannot wait. osc/rdma has at most one outstanding atomic operation for each thread and each
 *   process.
 * - Replies are also tasks, so their number is limited by the number of requests of all other
 *   processes.
 * - Windows have separate fragments (fragment.c). A fragment that has been returned is used for the
 *   next part of the first task of an endpoint. Then this task moves to the end of the endpoint's
 *   list, and the endpoint to the end of the list of endpoints. An endpoint whose process does not
 *   receive must leave fragments to the others (btl_myr.h).
 * - Replies wait only for fragments, which are returned as long as the other process receives.
 *   Therefore no two processes can wait for each other.
 *
 * The handle of registered memory contains only the range of this memory, which held.c needs. An
 * operation without a handle refers to memory that this process has mapped: its own memory or, with
 * MPI_Win_allocate, that of another process on the node. The address is then valid in this process.
 * (osc/rdma accesses such memory itself, except that 4.1.4 passes compare-and-swap operations on it
 * to the BTL.)
 *
 * There is no btl_flush, because every operation has a callback.
 *
 * All processes of a window must use the same BTL, but each process selects the BTL separately.
 * osc/rdma selects, among the modules that reach all processes, the one with the lowest latency. If
 * several have the same latency, it selects the one that this process has found first, which may
 * differ between ranks. In a window within one node, btl/vader is a candidate as well, with a
 * latency of 1 us. Therefore this module announces a latency of 0, so that all processes select it
 * whenever it reaches all of them. */
#include "btl_myr/btl_myr.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG = MCA_BTL_TAG_BTL + 24, /* tag of active messages; Open MPI's BTLs use the first four */
    MOST_ASKED = 1024,          /* limit of a process's outstanding puts and gets */
};

enum what {
    PUT,    /* acknowledged by DONE for each chunk */
    GET,    /* answered by DATA, in chunks */
    ATOMIC, /* answered by WORD */
    DONE,
    DATA,
    WORD,
};

/* The header of an active message, which data may follow. */
struct active_message {
    uint8_t what;
    bool zero[7];
    uint64_t address; /* address at the target; in DATA: offset from the beginning of the requested
                         data */
    uint64_t bytes;   /* size of the memory that the message refers to */
    uint64_t task;    /* the task at the process that sent the request */
    struct mca_btl_myr_atomic atomic; /* in WORD: executed */
};

/* An active message to send, with its data. The task of a request exists until the reply is
 * complete. */
typedef struct task {
    opal_free_list_item_t super;
    struct mca_btl_base_endpoint_t *endpoint;
    struct active_message message; /* the next message to be sent */
    const uint8_t *data;           /* data to be sent; NULL: none */
    size_t left;                   /* bytes not sent yet */
    bool asks;                     /* whether it is a request; otherwise it is a reply */

    /* For requests only: */
    uint64_t unanswered;   /* bytes; 1 for a word */
    bool waits_for_itself; /* the process would wait for a lock that it holds itself; see held.c */
    void *local;           /* destination of the reply's data */
    mca_btl_base_registration_handle_t *handle;
    mca_btl_base_rdma_completion_fn_t callback;
    void *context, *data_of_callback;
} task_t;
static OBJ_CLASS_INSTANCE(task_t, opal_free_list_item_t, NULL, NULL);

/* ---- sending ---- */

/* The part of a task that is sent in one fragment. */
struct part {
    mca_btl_myr_fragment_t *fragment;
    struct mca_btl_base_endpoint_t *endpoint;
    struct active_message message;
    const uint8_t *data;
    size_t bytes;
};

static void complete_active(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            mca_btl_base_descriptor_t *descriptor, int status);

static task_t *first_task(struct mca_btl_base_endpoint_t *endpoint)
{
    return (task_t *)opal_list_get_first(&endpoint->waiting);
}

/* Queues a task. Called with the lock held. */
static void append_task(task_t *task)
{
    struct mca_btl_base_endpoint_t *endpoint = task->endpoint;
    if (opal_list_is_empty(&endpoint->waiting)) {
        opal_list_append(&mca_btl_myr_component.asking, &endpoint->super);
    }
    opal_list_append(&endpoint->waiting, &task->super.super);
}

/* Searches for an endpoint that can get a fragment for the next part of its first task. Returns
 * this task, or NULL if there is no such endpoint. Called with the lock held. */
static task_t *find_task(struct part *part)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    opal_list_item_t *item = opal_list_get_first(&component->asking);
    for (; item != opal_list_get_end(&component->asking); item = opal_list_get_next(item)) {
        struct mca_btl_base_endpoint_t *endpoint = (struct mca_btl_base_endpoint_t *)item;
        task_t *task = first_task(endpoint);
        const size_t all = sizeof(struct active_message) + task->left;
        const enum mca_btl_myr_pools pool = all <= component->pool[MCA_BTL_MYR_ACTIVE].payload
                                                ? MCA_BTL_MYR_ACTIVE
                                                : MCA_BTL_MYR_CHUNK;
        const size_t most = component->pool[pool].payload, bytes = all < most ? all : most;
        part->fragment = mca_btl_myr_take_fragment(pool, endpoint, bytes, MCA_BTL_NO_ORDER, 0);
        if (NULL != part->fragment) {
            part->bytes = bytes - sizeof(struct active_message);
            return task;
        }
    }
    return NULL;
}

/* Removes the next part from a task. Returns false if there is no task, or if no task gets a
 * fragment. Called with the lock held. */
static bool take_part(struct part *part)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    task_t *task = find_task(part);
    if (NULL == task) {
        return false;
    }
    struct mca_btl_base_endpoint_t *endpoint = task->endpoint;
    part->endpoint = endpoint;
    part->message = task->message;
    part->data = task->data;
    opal_list_remove_first(&endpoint->waiting);
    opal_list_remove_item(&component->asking, &endpoint->super);
    if (NULL != task->data) {
        part->message.bytes = part->bytes;
        task->message.address += part->bytes;
        task->data += part->bytes;
        task->left -= part->bytes;
    }
    if (!opal_list_is_empty(&endpoint->waiting)) {
        opal_list_append(&component->asking, &endpoint->super);
    }
    if (0 != task->left) {
        append_task(task);
    } else if (!task->asks) {
        opal_free_list_return(&component->spare_tasks, &task->super);
    }
    return true;
}

/* Sends as many parts as there are fragments. */
static void send_parts(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct part part;
    for (;;) {
        OPAL_THREAD_LOCK(&component->lock);
        const bool more = take_part(&part);
        OPAL_THREAD_UNLOCK(&component->lock);
        if (!more) {
            return;
        }
        uint8_t *payload = part.fragment->segment.seg_addr.pval;
        memcpy(payload, &part.message, sizeof(part.message));
        if (0 != part.bytes) {
            memcpy(payload + sizeof(part.message), part.data, part.bytes);
        }
        part.fragment->base.des_cbfunc = complete_active;
        (void)mca_btl_myr_send(NULL, part.endpoint, &part.fragment->base, TAG);
    }
}

static void complete_active(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            mca_btl_base_descriptor_t *descriptor, int status)
{
    (void)endpoint;
    (void)status; /* the error has been reported already */
    mca_btl_myr_free(btl, descriptor);
    send_parts();
}

static void send_task(task_t *task)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    OPAL_THREAD_LOCK(&component->lock);
    append_task(task);
    OPAL_THREAD_UNLOCK(&component->lock);
    send_parts();
}

/* ---- the target ---- */

static void send_answer(const opal_process_name_t *to, const struct active_message *message,
                        const void *data, size_t bytes)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct mca_btl_base_endpoint_t *endpoint = mca_btl_myr_endpoint_named(to, true);
    task_t *task = NULL == endpoint ? NULL : (task_t *)opal_free_list_get(&component->spare_tasks);
    if (NULL == task) {
        mca_btl_myr_no_answer(to);
        return;
    }
    task->endpoint = endpoint;
    task->message = *message;
    task->data = data;
    task->left = bytes;
    task->asks = false;
    send_task(task);
}

static void execute_atomic(uint64_t address, struct mca_btl_myr_atomic *atomic)
{
    uint64_t *word = (uint64_t *)(uintptr_t)address, found = atomic->compare;
    if (atomic->swaps) {
        const bool swapped = __atomic_compare_exchange_n(word, &found, atomic->operand, false,
                                                         __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        atomic->locks_regions =
            swapped && atomic->locks_regions && mca_btl_myr_locks_regions(address);
    } else {
        found = __atomic_fetch_add(word, atomic->operand, __ATOMIC_SEQ_CST);
    }
    atomic->operand = found;
}

/* Executes a request of process `by`, and sends the reply. */
static void serve_request(const opal_process_name_t *by, const struct active_message *message,
                          const void *data)
{
    struct active_message back = {.bytes = message->bytes, .task = message->task};
    switch (message->what) {
    case PUT:
        memcpy((void *)(uintptr_t)message->address, data, message->bytes);
        back.what = DONE;
        send_answer(by, &back, NULL, 0);
        return;
    case GET:
        back.what = DATA;
        send_answer(by, &back, (const void *)(uintptr_t)message->address, message->bytes);
        return;
    default:
        back.what = WORD;
        back.atomic = message->atomic;
        execute_atomic(message->address, &back.atomic);
        send_answer(by, &back, NULL, 0);
    }
}

/* ---- the requester ---- */

/* Creates the task of a request. Returns NULL if there are too many tasks, or if out of memory. */
static task_t *make_request(struct mca_btl_base_endpoint_t *endpoint, uint8_t what,
                            uint64_t address, uint64_t bytes)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    OPAL_THREAD_LOCK(&component->lock);
    const bool may = ATOMIC == what || component->asked < MOST_ASKED;
    task_t *task = may ? (task_t *)opal_free_list_get(&component->spare_tasks) : NULL;
    component->asked += NULL != task;
    OPAL_THREAD_UNLOCK(&component->lock);
    if (NULL != task) {
        task->endpoint = endpoint;
        task->message = (struct active_message){
            .what = what, .address = address, .bytes = bytes, .task = (uint64_t)(uintptr_t)task};
        task->data = NULL;
        task->left = 0;
        task->asks = true;
        task->unanswered = bytes;
    }
    return task;
}

static int send_request(task_t *task, void *local_address,
                        mca_btl_base_registration_handle_t *handle,
                        mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    if (NULL == task) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    task->local = local_address;
    task->handle = handle;
    task->callback = callback;
    task->context = context;
    task->data_of_callback = data;
    send_task(task);
    return OPAL_SUCCESS;
}

/* Stores the previous value for the requester of an atomic operation. */
static void store_found(const struct mca_btl_base_endpoint_t *endpoint, void *local,
                        uint64_t address, bool waits_for_itself,
                        const struct mca_btl_myr_atomic *result)
{
    const uint64_t told = mca_btl_myr_found(endpoint, address, waits_for_itself, result);
    if (NULL != local) {
        memcpy(local, &told, sizeof(told));
    }
}

/* Processes a reply. The request completes with its last reply. */
static void process_reply(const struct active_message *message, const void *data)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    task_t *task = (task_t *)(uintptr_t)message->task;
    if (DATA == message->what) {
        memcpy((uint8_t *)task->local + message->address, data, message->bytes);
    } else if (WORD == message->what) {
        store_found(task->endpoint, task->local, task->message.address, task->waits_for_itself,
                    &message->atomic);
    }
    task->unanswered -= message->bytes;
    if (0 != task->unanswered) {
        return;
    }
    task->callback(&mca_btl_myr_module[MCA_BTL_MYR_ONESIDED].super, task->endpoint, task->local,
                   task->handle, task->context, task->data_of_callback, OPAL_SUCCESS);
    OPAL_THREAD_LOCK(&component->lock);
    --component->asked;
    opal_free_list_return(&component->spare_tasks, &task->super);
    OPAL_THREAD_UNLOCK(&component->lock);
}

static void receive_active(const mca_btl_base_segment_t *segment)
{
    const struct active_message *message = segment->seg_addr.pval;
    const struct mca_btl_myr_header *header = segment->seg_addr.pval;
    if (message->what <= ATOMIC) {
        serve_request(&header[-1].from, message, message + 1);
    } else {
        process_reply(message, message + 1);
    }
}
NICBARR_BTL_RECEIVER(received, receive_active)

/* ---- the BTL's functions ---- */

/* Returns whether the address is valid in this process. */
static bool is_local_address(const struct mca_btl_base_endpoint_t *endpoint,
                             const mca_btl_base_registration_handle_t *remote_handle)
{
    return NULL == remote_handle || MCA_BTL_MYR_ITSELF == endpoint->reach;
}

static int put_data(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                    void *data)
{
    (void)flags;
    (void)order;
    if (is_local_address(endpoint, remote_handle)) {
        memcpy((void *)(uintptr_t)remote_address, local_address, size);
    } else if (MCA_BTL_MYR_BY_CALLS != endpoint->reach ||
               !myr_direct_write(endpoint->pid, local_address, remote_address, size)) {
        task_t *task = make_request(endpoint, PUT, remote_address, size);
        if (NULL != task) {
            task->data = local_address;
            task->left = size;
        }
        return send_request(task, local_address, local_handle, callback, context, data);
    }
    callback(btl, endpoint, local_address, local_handle, context, data, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}

static int get_data(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                    void *data)
{
    (void)flags;
    (void)order;
    if (is_local_address(endpoint, remote_handle)) {
        memcpy(local_address, (const void *)(uintptr_t)remote_address, size);
    } else if (MCA_BTL_MYR_BY_CALLS != endpoint->reach ||
               !myr_direct_read(endpoint->pid, local_address, remote_address, size)) {
        return send_request(make_request(endpoint, GET, remote_address, size), local_address,
                            local_handle, callback, context, data);
    }
    callback(btl, endpoint, local_address, local_handle, context, data, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}

/* Executes an atomic operation. The previous value is stored at `local_address`, unless that is
 * NULL. */
static int start_atomic(struct mca_btl_base_endpoint_t *endpoint, void *local_address,
                        uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
                        const mca_btl_base_registration_handle_t *remote_handle,
                        struct mca_btl_myr_atomic *atomic,
                        mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    const bool waits_for_itself = mca_btl_myr_waits_for_itself(endpoint, remote_address, atomic);
    atomic->locks_regions = mca_btl_myr_may_lock_regions(atomic, remote_address, remote_handle);
    if (is_local_address(endpoint, remote_handle)) {
        execute_atomic(remote_address, atomic);
        store_found(endpoint, local_address, remote_address, waits_for_itself, atomic);
        callback(&mca_btl_myr_module[MCA_BTL_MYR_ONESIDED].super, endpoint, local_address,
                 local_handle, context, data, OPAL_SUCCESS);
        return OPAL_SUCCESS;
    }
    task_t *task = make_request(endpoint, ATOMIC, remote_address, 1);
    if (NULL != task) {
        task->message.atomic = *atomic;
        task->waits_for_itself = waits_for_itself;
    }
    return send_request(task, local_address, local_handle, callback, context, data);
}

static int fetch_and_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        void *local_address, uint64_t remote_address,
                        mca_btl_base_registration_handle_t *local_handle,
                        mca_btl_base_registration_handle_t *remote_handle,
                        mca_btl_base_atomic_op_t operation, uint64_t operand, int flags, int order,
                        mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    (void)btl;
    (void)order;
    if (MCA_BTL_ATOMIC_ADD != operation || 0 != flags) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    struct mca_btl_myr_atomic atomic = {.operand = operand};
    return start_atomic(endpoint, local_address, remote_address, local_handle, remote_handle,
                        &atomic, callback, context, data);
}

static int atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     uint64_t remote_address, mca_btl_base_registration_handle_t *remote_handle,
                     mca_btl_base_atomic_op_t operation, uint64_t operand, int flags, int order,
                     mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    return fetch_and_op(btl, endpoint, NULL, remote_address, NULL, remote_handle, operation,
                        operand, flags, order, callback, context, data);
}

static int compare_and_swap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                            uint64_t value, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    (void)btl;
    (void)order;
    if (0 != flags) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    struct mca_btl_myr_atomic atomic = {.swaps = true, .operand = value, .compare = compare};
    return start_atomic(endpoint, local_address, remote_address, local_handle, remote_handle,
                        &atomic, callback, context, data);
}

static mca_btl_base_registration_handle_t *register_memory(mca_btl_base_module_t *btl,
                                                           struct mca_btl_base_endpoint_t *endpoint,
                                                           void *base, size_t size, uint32_t flags)
{
    (void)btl;
    (void)endpoint;
    (void)flags;
    mca_btl_base_registration_handle_t *handle = malloc(sizeof(*handle));
    if (NULL != handle) {
        handle->base = (uintptr_t)base;
        handle->bytes = size;
    }
    return handle;
}

static int deregister_memory(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
    (void)btl;
    free(handle);
    return OPAL_SUCCESS;
}

void mca_btl_myr_onesided_open(mca_btl_base_module_t *module)
{
    module->btl_flags = NICBARR_BTL_ONESIDED;
    module->btl_atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_CSWAP;
    /* These three fields are 0 so that this module does not influence ob1, which uses the maximum
     * of each of the first two over all modules, and distributes messages to the modules in
     * proportion to their bandwidth. */
    module->btl_min_rdma_pipeline_size = 0;
    module->btl_rdma_pipeline_send_length = 0;
    module->btl_bandwidth = 0;
    module->btl_latency = 0; /* see the head of this file */
    module->btl_put_limit = SIZE_MAX;
    module->btl_get_limit = SIZE_MAX;
    /* Local memory needs no registration. */
    module->btl_put_local_registration_threshold = SIZE_MAX;
    module->btl_get_local_registration_threshold = SIZE_MAX;
    module->btl_registration_handle_size = sizeof(struct mca_btl_base_registration_handle_t);
    module->btl_register_mem = register_memory;
    module->btl_deregister_mem = deregister_memory;
    module->btl_put = put_data;
    module->btl_get = get_data;
    module->btl_atomic_op = atomic_op;
    module->btl_atomic_fop = fetch_and_op;
    module->btl_atomic_cswap = compare_and_swap;
    (void)opal_free_list_init(&mca_btl_myr_component.spare_tasks, sizeof(task_t), MYR_LINE,
                              OBJ_CLASS(task_t), 0, 0, 0, -1, 64, NULL, 0, NULL, NULL, NULL);
    mca_btl_base_active_message_trigger[TAG].cbfunc = received;
}

void mca_btl_myr_onesided_close(void)
{
    mca_btl_base_active_message_trigger[TAG].cbfunc = NULL;
}
