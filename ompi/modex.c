/* SPDX-License-Identifier: BSD-3-Clause */
/* See modex.h. The modex is implemented by PMIx. */
#include "ompi/modex.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A process publishes its data before its MPI_Init ends, so this timeout expires only if there are
 * none, and may be long. */
enum { WAITED_SECONDS = 30 };

int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes)
{
    int rc;
    OPAL_MODEX_SEND(rc, NICBARR_MODEX_GLOBAL, component, (void *)data, bytes);
    return 0 == rc ? OMPI_SUCCESS : OMPI_ERROR;
}

#if OMPI_MAJOR_VERSION == 4

/* Get the data that this node's server already has. */
static void look_up(const opal_process_name_t *peer, const char *key, uint8_t **data, size_t *bytes)
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

/* The name of a process's node, as mpirun has it; NULL if it is not known here. */
static char *node_of(const opal_process_name_t *process)
{
    int rc;
    char *node = NULL;
    OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, OPAL_PMIX_HOSTNAME, process, &node, OPAL_STRING);
    return OPAL_SUCCESS == rc ? node : NULL;
}

/* Does this node's server certainly have the data of the process, if there are any? It does for
 * processes on this node, which published everything before the start-up fence, unless Open MPI
 * skips that fence. */
static bool has_told_this_node(const opal_process_name_t *peer)
{
    char *here = node_of(OMPI_PROC_MY_NAME), *there = node_of(peer);
    const bool same = NULL != here && NULL != there && 0 == strcmp(here, there);
    free(here);
    free(there);
    return same && !opal_pmix_base_async_modex;
}

/* A query to the peer's server. It is shared by the caller and PMIx; the last of the two frees
 * it. */
struct question {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool answered, left;
    char *key; /* used by PMIx until it answers */
    uint8_t *data;
    size_t bytes;
};

static struct question *make_question(const char *key)
{
    struct question *question = calloc(1, sizeof(*question));
    if (NULL != question) {
        pthread_condattr_t steady;
        pthread_condattr_init(&steady);
        pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
        pthread_cond_init(&question->changed, &steady);
        pthread_condattr_destroy(&steady);
        pthread_mutex_init(&question->lock, NULL);
        question->key = strdup(key);
    }
    return question;
}

static void free_question(struct question *question)
{
    pthread_mutex_destroy(&question->lock);
    pthread_cond_destroy(&question->changed);
    free(question->key);
    free(question->data);
    free(question);
}

/* Called by PMIx's thread. */
static void answer(int status, opal_value_t *value, void *asked)
{
    struct question *question = asked;
    pthread_mutex_lock(&question->lock);
    if (OPAL_SUCCESS == status && NULL != value && OPAL_BYTE_OBJECT == value->type) {
        question->data = value->data.bo.bytes;
        question->bytes = (size_t)value->data.bo.size;
        value->data.bo.bytes = NULL; /* owned by the question now */
    }
    question->answered = true;
    const bool last = question->left;
    pthread_cond_signal(&question->changed);
    pthread_mutex_unlock(&question->lock);
    if (last) {
        free_question(question);
    }
}

/* Returns true if the answer has arrived, and false after the timeout. */
static bool wait_for_answer(struct question *question)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += WAITED_SECONDS;
    pthread_mutex_lock(&question->lock);
    while (!question->answered &&
           0 == pthread_cond_timedwait(&question->changed, &question->lock, &end)) {
    }
    const bool answered = question->answered;
    question->left = !answered;
    pthread_mutex_unlock(&question->lock);
    return answered;
}

/* If the process on another node is running, its server answers at once. There is no answer for a
 * process that has ended, but there is no need to query its data: the PML got all of them when it
 * first learned of the process. */
static void ask(const opal_process_name_t *peer, const char *key, uint8_t **data, size_t *bytes)
{
    struct question *question = make_question(key);
    if (NULL == question) {
        return;
    }
    const bool under_way =
        NULL != question->key &&
        OPAL_SUCCESS == opal_pmix.get_nb(peer, question->key, NULL, answer, question);
    if (under_way && !wait_for_answer(question)) {
        return; /* answer() frees it */
    }
    *data = question->data;
    *bytes = question->bytes;
    question->data = NULL; /* owned by the caller now */
    free_question(question);
}

static void receive(const mca_base_component_t *component, const opal_process_name_t *peer,
                    uint8_t **data, size_t *bytes)
{
    char *key = mca_base_component_to_string(component);
    if (NULL == key) {
        return;
    }
    look_up(peer, key, data, bytes);
    if (NULL == *data && NULL != opal_pmix.get_nb && !has_told_this_node(peer)) {
        ask(peer, key, data, bytes);
    }
    free(key);
}

#else

/* PMIx_Get() queries the peer's server, which waits until the peer publishes the data: forever, if
 * the peer lacks the component. Hence the timeout. (PMIX_IMMEDIATE is no alternative: some
 * processes are then told that there are no data just before others receive them.) */
static void receive(const mca_base_component_t *component, const opal_process_name_t *peer,
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
        value->data.bo.bytes = NULL; /* owned by the caller now */
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
    receive(component, peer, &got, &bytes);
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
