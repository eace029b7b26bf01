/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: the addresses that peers publish, and the connections to their ports.
 *
 * Open MPI calls these functions to find out which processes are reachable. They are also called
 * when a one-sided operation that needs a reply arrives from a process whose reachability Open MPI
 * has not checked yet. Each process has one endpoint for messages and one for windows, which are
 * kept until the component is closed.
 *
 * Windows and messages have separate endpoints. If they shared one, ob1 would use the module for
 * windows to copy large messages. */
#include "btl_myr/btl_myr.h"

#include <stdlib.h>

#include "ompi/modex.h"
#include "ompi/node.h"

static struct mca_btl_base_endpoint_t **bucket_of(const opal_process_name_t *name)
{
    const uint32_t hash = (name->jobid * 31 + name->vpid) * UINT32_C(0x9e3779b9);
    return &mca_btl_myr_component.endpoint[hash >> 24];
}
_Static_assert(256 == MCA_BTL_MYR_BUCKETS, "the hash has eight bits");

static bool same_name(const opal_process_name_t *one, const opal_process_name_t *other)
{
    return one->jobid == other->jobid && one->vpid == other->vpid;
}

static bool is_endpoint_of(const struct mca_btl_base_endpoint_t *endpoint,
                           const opal_process_name_t *name, bool for_windows)
{
    return same_name(&endpoint->name, name) &&
           (MCA_BTL_MYR_ONESIDED == endpoint->module) == for_windows;
}

static struct mca_btl_base_endpoint_t *find_endpoint(const opal_process_name_t *name,
                                                     bool for_windows)
{
    OPAL_THREAD_LOCK(&mca_btl_myr_component.table_lock);
    struct mca_btl_base_endpoint_t *endpoint = *bucket_of(name);
    while (NULL != endpoint && !is_endpoint_of(endpoint, name, for_windows)) {
        endpoint = endpoint->next;
    }
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.table_lock);
    return endpoint;
}

/* Logs for users of btl_base_verbose why a process is left to other BTLs. */
static void log_unreachable(const opal_proc_t *proc, const char *why)
{
    opal_output_verbose(10, opal_btl_base_framework.framework_output,
                        "nicbarr: btl myr does not reach process %s: %s",
                        OPAL_NAME_PRINT(proc->proc_name), why);
}

/* Prints, once, that the NIC has too many connections, because Open MPI's error message would not
 * mention this reason. */
static void report_full_table(const opal_proc_t *proc, const char *why)
{
    if (!atomic_exchange(&mca_btl_myr_component.full, true)) {
        opal_output(0,
                    "nicbarr: btl myr does not reach process %s, and leaves it to other BTLs: %s",
                    OPAL_NAME_PRINT(proc->proc_name), why);
    }
}

/* Reads the process's modex entry. Returns false if there is none, or if it is of another
 * version. */
static bool read_modex(const opal_process_name_t *name, struct mca_btl_myr_hello *hello)
{
    return sizeof(*hello) ==
           nicbarr_modex_get(&mca_btl_myr_component.super.btl_version, name, hello, sizeof(*hello));
}

static struct mca_btl_base_endpoint_t *new_endpoint(const opal_process_name_t *name)
{
    struct mca_btl_base_endpoint_t *endpoint = calloc(1, sizeof(*endpoint));
    if (NULL != endpoint) {
        OBJ_CONSTRUCT(&endpoint->super, opal_list_item_t);
        OBJ_CONSTRUCT(&endpoint->waiting, opal_list_t);
        endpoint->name = *name;
    }
    return endpoint;
}

static void free_endpoint(struct mca_btl_base_endpoint_t *endpoint)
{
    if (NULL != endpoint) {
        OBJ_DESTRUCT(&endpoint->waiting);
        OBJ_DESTRUCT(&endpoint->super);
        free(endpoint);
    }
}

/* Creates the endpoint of this process for itself, which windows need. */
static struct mca_btl_base_endpoint_t *make_own_endpoint(opal_proc_t *proc)
{
    struct mca_btl_base_endpoint_t *endpoint = new_endpoint(&proc->proc_name);
    if (NULL != endpoint) {
        endpoint->module = MCA_BTL_MYR_ONESIDED;
        endpoint->reach = MCA_BTL_MYR_ITSELF;
    }
    return endpoint;
}

/* Called when this process has met another job for the first time: hands the messages that wait for
 * a fragment to the send thread. */
static void hand_over_waiting(void)
{
    OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
    mca_btl_myr_send_waiting();
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
}

static struct mca_btl_base_endpoint_t *make_endpoint(opal_proc_t *proc, bool for_windows)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (proc == opal_proc_local_get()) {
        return for_windows ? make_own_endpoint(proc) : NULL;
    }
    struct mca_btl_myr_hello hello;
    struct myr_error error = {0};
    if (!read_modex(&proc->proc_name, &hello)) {
        log_unreachable(proc, "it has not opened a port");
        return NULL;
    }
    if (hello.buffer_bytes != component->self.buffer_bytes ||
        proc->proc_arch != opal_proc_local_get()->proc_arch) {
        log_unreachable(proc, "it has another btl_myr_max_send_size, or another CPU architecture");
        return NULL;
    }
    struct mca_btl_base_endpoint_t *endpoint = new_endpoint(&proc->proc_name);
    if (NULL == endpoint) {
        return NULL;
    }
    OPAL_THREAD_LOCK(&component->lock);
    const enum myr_status status =
        myr_port_connect(component->port, &hello.port, &endpoint->remote, &error);
    OPAL_THREAD_UNLOCK(&component->lock);
    if (MYR_OK != status) {
        log_unreachable(proc, error.text);
        if (MYR_ERR_FULL == status) {
            report_full_table(proc, error.text);
        }
        free_endpoint(endpoint);
        return NULL;
    }
    if (nicbarr_is_of_other_job(&endpoint->name) && !component->has_other_jobs) {
        component->has_other_jobs = true;
        hand_over_waiting();
    }
    if (!endpoint->remote.same_nic && nicbarr_is_of_other_job(&endpoint->name)) {
        mca_btl_myr_has_peer(MYR_DRAIN_OTHER_JOBS);
        myr_port_met_other_job(component->port);
    } else if (!endpoint->remote.same_nic) {
        mca_btl_myr_has_peer(MYR_DRAIN_OTHER_NODES);
    }
    if (!endpoint->remote.same_nic && !endpoint->remote.is_signed) {
        opal_output_verbose(
            10, opal_btl_base_framework.framework_output,
            "nicbarr: btl myr: messages to process %s are not signed, because nicbarr "
            "was built without libsodium on this node or on the other one",
            OPAL_NAME_PRINT(proc->proc_name));
    }
    endpoint->pid = hello.direct.pid;
    const bool direct =
        endpoint->remote.same_nic && myr_direct_possible(&component->self.direct, &hello.direct);
    endpoint->reach = direct ? MCA_BTL_MYR_BY_CALLS : MCA_BTL_MYR_BY_MESSAGES;
    endpoint->module = for_windows ? MCA_BTL_MYR_ONESIDED
                       : direct    ? MCA_BTL_MYR_DIRECT
                                   : MCA_BTL_MYR_COPYING;
    return endpoint;
}

struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_of(opal_proc_t *proc, bool for_windows)
{
    struct mca_btl_base_endpoint_t *endpoint = find_endpoint(&proc->proc_name, for_windows);
    if (NULL != endpoint) {
        return endpoint;
    }
    struct mca_btl_base_endpoint_t *made =
        make_endpoint(proc, for_windows); /* may block, so no lock is held */
    if (NULL == made) {
        return NULL;
    }
    OPAL_THREAD_LOCK(&mca_btl_myr_component.table_lock);
    struct mca_btl_base_endpoint_t **bucket = bucket_of(&made->name);
    for (endpoint = *bucket; NULL != endpoint; endpoint = endpoint->next) {
        if (is_endpoint_of(endpoint, &made->name, for_windows)) {
            break; /* another thread was first */
        }
    }
    if (NULL == endpoint) {
        endpoint = made;
        endpoint->proc = proc;
        endpoint->next = *bucket;
        *bucket = endpoint;
        made = NULL;
    }
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.table_lock);
    free_endpoint(made);
    return endpoint;
}

struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_named(const opal_process_name_t *name,
                                                           bool for_windows)
{
    struct mca_btl_base_endpoint_t *endpoint = find_endpoint(name, for_windows);
    if (NULL == endpoint) {
        opal_proc_t *proc = opal_proc_for_name(*name);
        endpoint = NULL == proc ? NULL : mca_btl_myr_endpoint_of(proc, for_windows);
    }
    return endpoint;
}

bool mca_btl_myr_meet(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    opal_process_name_t name;
    const uint32_t before = component->met;
    while (myr_soft_knocked(component->nic) && nicbarr_next_process(&component->met, &name)) {
        struct mca_btl_myr_hello hello;
        struct myr_remote remote;
        if (read_modex(&name, &hello)) {
            OPAL_THREAD_LOCK(&component->lock);
            (void)myr_port_connect(component->port, &hello.port, &remote, NULL);
            OPAL_THREAD_UNLOCK(&component->lock);
        }
    }
    return before != component->met;
}

/* Returns an endpoint for which `is` returns true, or NULL. */
static struct mca_btl_base_endpoint_t *
find_endpoint_where(bool (*is)(const struct mca_btl_base_endpoint_t *, uint32_t), uint32_t what)
{
    struct mca_btl_base_endpoint_t *endpoint = NULL;
    OPAL_THREAD_LOCK(&mca_btl_myr_component.table_lock);
    for (int b = 0; NULL == endpoint && b < MCA_BTL_MYR_BUCKETS; ++b) {
        endpoint = mca_btl_myr_component.endpoint[b];
        while (NULL != endpoint && !is(endpoint, what)) {
            endpoint = endpoint->next;
        }
    }
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.table_lock);
    return endpoint;
}

static bool uses_connection(const struct mca_btl_base_endpoint_t *endpoint, uint32_t connection)
{
    return MCA_BTL_MYR_ITSELF != endpoint->reach && !endpoint->remote.same_nic &&
           connection == endpoint->remote.connection;
}

const opal_process_name_t *mca_btl_myr_process_by(uint32_t connection)
{
    const struct mca_btl_base_endpoint_t *endpoint =
        find_endpoint_where(uses_connection, connection);
    return NULL == endpoint ? NULL : &endpoint->name;
}

static bool is_in_flight(const struct mca_btl_base_endpoint_t *endpoint, uint32_t other_job)
{
    if (!other_job) {
        return 0 != endpoint->in_flight ||
               0 != atomic_load_explicit(&endpoint->backlog.count, memory_order_acquire);
    }
    if (!nicbarr_is_of_other_job(&endpoint->name)) {
        return false;
    }
    return mca_btl_myr_has_backlog(endpoint) ||
           (0 != endpoint->in_flight &&
            !myr_port_undeliverable(mca_btl_myr_component.port, &endpoint->remote,
                                    MYR_DRAIN_SILENCE));
}

struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_in_flight(bool of_other_job)
{
    return find_endpoint_where(is_in_flight, of_other_job);
}

/* Frees overflow fragments that were never sent. */
static void free_waiting(struct mca_btl_base_endpoint_t *endpoint)
{
    opal_list_item_t *item;
    while (MCA_BTL_MYR_ONESIDED != endpoint->module &&
           NULL != (item = opal_list_remove_first(&endpoint->waiting))) {
        mca_btl_myr_free(NULL, (mca_btl_base_descriptor_t *)item);
    }
}

void mca_btl_myr_endpoints_free(void)
{
    for (int b = 0; b < MCA_BTL_MYR_BUCKETS; ++b) {
        struct mca_btl_base_endpoint_t *endpoint = mca_btl_myr_component.endpoint[b];
        while (NULL != endpoint) {
            struct mca_btl_base_endpoint_t *next = endpoint->next;
            free_waiting(endpoint);
            free_endpoint(endpoint);
            endpoint = next;
        }
        mca_btl_myr_component.endpoint[b] = NULL;
    }
}
