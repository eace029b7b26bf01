/* SPDX-License-Identifier: BSD-3-Clause */
/* See modex.h. The modex is implemented by PMIx. */
#include "ompi/modex.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Timeout for the data that a process publishes during its MPI_Init. A long timeout does no harm,
 * because it expires only if the process publishes no data. */
enum { WAITED_SECONDS = 30 };

int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes)
{
    int rc;
    OPAL_MODEX_SEND(rc, NICBARR_MODEX_GLOBAL, component, (void *)data, bytes);
    return 0 == rc ? OMPI_SUCCESS : OMPI_ERROR;
}

#if OMPI_MAJOR_VERSION == 4

/* Gets the data from this node's server, if it already has them. */
static void lookup_local(const opal_process_name_t *peer, const char *key, uint8_t **data,
                         size_t *bytes)
{
    int rc;
    opal_byte_object_t *object = NULL;
    OPAL_MODEX_RECV_VALUE_IMMEDIATE(rc, key, peer, &object, OPAL_BYTE_OBJECT);
    if (OPAL_SUCCESS == rc) {
        *data = object->bytes;
        *bytes = (size_t)object->size;
        free(object);
    }
}

/* Returns the name of a process's node, as used by mpirun, or NULL if it is unknown here. */
static char *node_of(const opal_process_name_t *process)
{
    int rc;
    char *node = NULL;
    OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, OPAL_PMIX_HOSTNAME, process, &node, OPAL_STRING);
    return OPAL_SUCCESS == rc ? node : NULL;
}

/* Returns whether this node's PMIx server is certain to have the data of the process, if the
 * process has published any. The server has the data of all processes of its own node, because they
 * publish them before the start-up fence, unless Open MPI skips this fence. */
static bool has_published_here(const opal_process_name_t *peer)
{
    char *here = node_of(OMPI_PROC_MY_NAME), *there = node_of(peer);
    const bool same = NULL != here && NULL != there && 0 == strcmp(here, there);
    free(here);
    free(there);
    return same && !opal_pmix_base_async_modex;
}

/* A query to the peer's server. The caller and PMIx share it, and the last one frees it. */
struct query {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool answered, left;
    char *key; /* used by PMIx until it replies */
    uint8_t *data;
    size_t bytes;
};

static struct query *make_query(const char *key)
{
    struct query *query = calloc(1, sizeof(*query));
    if (NULL != query) {
        pthread_condattr_t steady;
        pthread_condattr_init(&steady);
        pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
        pthread_cond_init(&query->changed, &steady);
        pthread_condattr_destroy(&steady);
        pthread_mutex_init(&query->lock, NULL);
        query->key = strdup(key);
    }
    return query;
}

static void free_query(struct query *query)
{
    pthread_mutex_destroy(&query->lock);
    pthread_cond_destroy(&query->changed);
    free(query->key);
    free(query->data);
    free(query);
}

/* Completes a query. Called by PMIx's thread. */
static void complete_query(int status, opal_value_t *value, void *context)
{
    struct query *query = context;
    pthread_mutex_lock(&query->lock);
    if (OPAL_SUCCESS == status && NULL != value && OPAL_BYTE_OBJECT == value->type) {
        query->data = value->data.bo.bytes;
        query->bytes = (size_t)value->data.bo.size;
        value->data.bo.bytes = NULL; /* owned by the query now */
    }
    query->answered = true;
    const bool last = query->left;
    pthread_cond_signal(&query->changed);
    pthread_mutex_unlock(&query->lock);
    if (last) {
        free_query(query);
    }
}

/* Waits for the reply. Returns true if it has arrived, false after the timeout. */
static bool wait_for_answer(struct query *query)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += WAITED_SECONDS;
    pthread_mutex_lock(&query->lock);
    while (!query->answered && 0 == pthread_cond_timedwait(&query->changed, &query->lock, &end)) {
    }
    const bool answered = query->answered;
    query->left = !answered;
    pthread_mutex_unlock(&query->lock);
    return answered;
}

/* Queries the PMIx server of the peer's node, which replies immediately if the peer is running. It
 * does not reply if the peer has ended, but then no query is needed, because this process received
 * all of the peer's data when the PML added the peer. */
static void query_server(const opal_process_name_t *peer, const char *key, uint8_t **data,
                         size_t *bytes)
{
    struct query *query = make_query(key);
    if (NULL == query) {
        return;
    }
    const bool under_way =
        NULL != query->key &&
        OPAL_SUCCESS == opal_pmix.get_nb(peer, query->key, NULL, complete_query, query);
    if (under_way && !wait_for_answer(query)) {
        return; /* complete_query() then frees it */
    }
    *data = query->data;
    *bytes = query->bytes;
    query->data = NULL; /* owned by the caller from now on */
    free_query(query);
}

static void receive_data(const mca_base_component_t *component, const opal_process_name_t *peer,
                         uint8_t **data, size_t *bytes)
{
    char *key = mca_base_component_to_string(component);
    if (NULL == key) {
        return;
    }
    lookup_local(peer, key, data, bytes);
    if (NULL == *data && NULL != opal_pmix.get_nb && !has_published_here(peer)) {
        query_server(peer, key, data, bytes);
    }
    free(key);
}

#else

/* PMIx_Get() queries the PMIx server of the peer's node, which waits until the peer publishes the
 * data. If the peer does not have the component, it never publishes them, so a timeout is required.
 * (PMIX_IMMEDIATE is no alternative: some processes would be told that there are no data shortly
 * before other processes receive them.) */
static void receive_data(const mca_base_component_t *component, const opal_process_name_t *peer,
                         uint8_t **data, size_t *bytes)
{
    int seconds = WAITED_SECONDS;
    char *key = mca_base_component_to_string(component);
    pmix_proc_t process;
    pmix_info_t timeout;
    pmix_value_t *value = NULL;
    OPAL_PMIX_CONVERT_NAME(&process, peer);
    PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &seconds, PMIX_INT);
    const pmix_status_t rc =
        NULL == key ? PMIX_ERR_NOMEM : PMIx_Get(&process, key, &timeout, 1, &value);
    PMIX_INFO_DESTRUCT(&timeout);
    free(key);
    if (PMIX_SUCCESS == rc && NULL != value) {
        *data = (uint8_t *)value->data.bo.bytes;
        *bytes = value->data.bo.size;
        value->data.bo.bytes = NULL; /* owned by the caller from now on */
    }
    if (NULL != value) {
        PMIX_VALUE_RELEASE(value);
    }
}

#endif

size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room)
{
    uint8_t *got = NULL;
    size_t bytes = 0;
    receive_data(component, peer, &got, &bytes);
    if (NULL == got || bytes > room) {
        bytes = 0;
    }
    if (0 != bytes) {
        memcpy(data, got, bytes);
    }
    free(got);
    return bytes;
}

bool nicbarr_next_process(uint32_t *walked, opal_process_name_t *name)
{
    if (*walked >= ompi_process_info.num_procs) {
        return false;
    }
    *name = *OMPI_PROC_MY_NAME;
    name->vpid = (*walked)++;
    return true;
}
