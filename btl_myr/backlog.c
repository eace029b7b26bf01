/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends the messages of a process that may be blocked in MPI_Comm_disconnect, where Open MPI does
 * not call this component (btl_myr.h). A thread passes these messages to the NIC.
 *
 * When no fragment is free, a process that has communicated with other jobs copies the message to
 * the heap and appends it to the backlog of the destination. The size of the backlog is
 * limited only by the memory of the process. A message is reported to ob1 as sent once it is in the
 * backlog.
 *
 * The thread sends through a port of its own. It calls no function of Open MPI, because Open MPI's
 * locks have no effect in a program that has only one thread. Whenever the port has a free send
 * token, the thread copies a message from the backlog to registered memory and sends it. The thread
 * and the port are created with the first message of the backlog, and exist until the component is
 * closed. */
#include "btl_myr/btl_myr.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/thread.h"

enum {
    TOKENS = 1024,
    AT_ONCE = 16,  /* maximum number of messages to one endpoint that the port sends at a time */
    PAUSE_US = 50, /* first pause between two calls of the port */
    PAUSE_MOST_US = 3200, /* maximum; the pause is doubled as long as nothing happens */
};

/* A message in transit. */
struct mca_btl_myr_backlogged {
    struct mca_btl_myr_backlogged *next;
    struct mca_btl_base_endpoint_t *endpoint;
    uint32_t bytes;
    uint8_t content[]; /* with its header */
};

static struct {
    pthread_mutex_t lock; /* protects everything here, and `backlog` of the endpoints */
    pthread_cond_t come;  /* signalled if there are new messages, or if the thread is to end */
    pthread_t thread;
    struct myr_port *port;                    /* NULL: there is no thread */
    struct mca_btl_base_endpoint_t *endpoint; /* the first endpoint with messages that wait */
    uint32_t sending;                         /* number of messages that the port is sending */
    bool moved; /* whether a message has come or has been sent since the last pause */
    bool ending;
} send_thread = {.lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER};

/* ---- the thread ---- */

static void complete_message(struct myr_port *port, void *context, void *memory,
                             enum myr_status status)
{
    (void)status; /* the receiver has the same buffers as this process, so it does not fail */
    struct mca_btl_base_endpoint_t *endpoint = context;
    myr_port_free(port, memory);
    --endpoint->backlog.sending;
    --send_thread.sending;
    send_thread.moved = true;
    atomic_fetch_sub_explicit(&endpoint->backlog.count, 1, memory_order_release);
}

/* Sends a message. Returns false if there is no memory for it at present. */
static bool send_message(const struct mca_btl_myr_backlogged *message)
{
    struct mca_btl_base_endpoint_t *endpoint = message->endpoint;
    void *memory = myr_port_alloc(send_thread.port, message->bytes);
    if (NULL == memory) {
        return false;
    }
    memcpy(memory, message->content, message->bytes);
    ++endpoint->backlog.sending;
    ++send_thread.sending;
    const enum myr_status status = myr_port_send(send_thread.port, &endpoint->remote, memory,
                                                 message->bytes, complete_message, endpoint);
    if (MYR_OK != status) {
        complete_message(send_thread.port, endpoint, memory, status);
    }
    return true;
}

/* Returns whether another message to this endpoint may be sent. Half of the send tokens are
 * reserved for endpoints with no message in flight. Otherwise messages to a process that makes no
 * MPI calls could occupy all tokens, and delay messages to other processes. */
static bool may_send_to(const struct mca_btl_base_endpoint_t *endpoint)
{
    const uint32_t left = myr_port_send_tokens(send_thread.port);
    return 0 == endpoint->backlog.sending
               ? 0 != left
               : endpoint->backlog.sending < AT_ONCE && left > TOKENS / 2;
}

static void send_backlog_to(struct mca_btl_base_endpoint_t *endpoint)
{
    struct mca_btl_myr_backlogged *message;
    while (NULL != (message = endpoint->backlog.first) && may_send_to(endpoint) &&
           send_message(message)) {
        endpoint->backlog.first = message->next;
        free(message);
    }
}

static void send_backlogs(void)
{
    struct mca_btl_base_endpoint_t **at = &send_thread.endpoint;
    while (NULL != *at) {
        send_backlog_to(*at);
        if (NULL == (*at)->backlog.first) {
            *at = (*at)->backlog.next_endpoint;
        } else {
            at = &(*at)->backlog.next_endpoint;
        }
    }
}

/* Sleeps while the port sends, for longer each time unless something has happened. Called with the
 * lock held, which is released during the pause. */
static void pause_thread(uint32_t *pause_us)
{
    *pause_us = send_thread.moved           ? PAUSE_US
                : *pause_us < PAUSE_MOST_US ? 2 * *pause_us
                                            : PAUSE_MOST_US;
    send_thread.moved = false;
    pthread_mutex_unlock(&send_thread.lock);
    (void)usleep(*pause_us);
    pthread_mutex_lock(&send_thread.lock);
}

static void *run_thread(void *context)
{
    (void)context;
    struct myr_received received; /* nothing: the port has no receive buffers */
    uint32_t pause_us = PAUSE_US;
    pthread_mutex_lock(&send_thread.lock);
    while (!send_thread.ending) {
        if (NULL == send_thread.endpoint && 0 == send_thread.sending) {
            pthread_cond_wait(&send_thread.come, &send_thread.lock);
            continue;
        }
        send_backlogs();
        (void)myr_port_receive(send_thread.port, &received);
        pause_thread(&pause_us);
    }
    pthread_mutex_unlock(&send_thread.lock);
    return NULL;
}

/* ---- the process ---- */

/* Starts the thread unless it is running. Returns false if that is impossible. Called with the lock
 * held. */
static bool start_thread(void)
{
    const struct myr_port_options options = {
        .number = MYR_ANY_PORT, .send_tokens = TOKENS, .receive_tokens = 1};
    if (NULL != send_thread.port) {
        return true;
    }
    if (MYR_OK != myr_port_open(mca_btl_myr_component.nic, &options, &send_thread.port, NULL)) {
        send_thread.port = NULL;
        return false;
    }
    send_thread.ending = false;
    if (0 != os_thread_create(&send_thread.thread, run_thread, NULL)) {
        myr_port_close(send_thread.port);
        send_thread.port = NULL;
    }
    return NULL != send_thread.port;
}

static void append_message(struct mca_btl_myr_backlogged *message)
{
    struct mca_btl_base_endpoint_t *endpoint = message->endpoint;
    if (NULL == endpoint->backlog.first) {
        endpoint->backlog.last = &endpoint->backlog.first;
        endpoint->backlog.next_endpoint = send_thread.endpoint;
        send_thread.endpoint = endpoint;
    }
    message->next = NULL;
    *endpoint->backlog.last = message;
    endpoint->backlog.last = &message->next;
    atomic_fetch_add_explicit(&endpoint->backlog.count, 1, memory_order_relaxed);
    send_thread.moved = true;
    pthread_cond_signal(&send_thread.come);
}

bool mca_btl_myr_backlog_append(const mca_btl_myr_fragment_t *fragment)
{
    const size_t bytes = sizeof(*fragment->header) + fragment->segment.seg_len;
    struct mca_btl_myr_backlogged *message = malloc(sizeof(*message) + bytes);
    if (NULL == message) {
        return false;
    }
    message->endpoint = fragment->endpoint;
    message->bytes = (uint32_t)bytes;
    memcpy(message->content, fragment->header, bytes);
    pthread_mutex_lock(&send_thread.lock);
    const bool carries = start_thread();
    if (carries) {
        append_message(message);
    }
    pthread_mutex_unlock(&send_thread.lock);
    if (!carries) {
        free(message);
    }
    return carries;
}

/* Frees the messages to receivers that no longer exist. */
static void discard_backlogs(void)
{
    for (; NULL != send_thread.endpoint;
         send_thread.endpoint = send_thread.endpoint->backlog.next_endpoint) {
        struct mca_btl_myr_backlogged *message;
        while (NULL != (message = send_thread.endpoint->backlog.first)) {
            send_thread.endpoint->backlog.first = message->next;
            free(message);
        }
    }
}

bool mca_btl_myr_has_backlog(const struct mca_btl_base_endpoint_t *endpoint)
{
    pthread_mutex_lock(&send_thread.lock);
    const bool carries =
        0 != atomic_load_explicit(&endpoint->backlog.count, memory_order_relaxed) &&
        !myr_port_undeliverable(send_thread.port, &endpoint->remote, MYR_DRAIN_SILENCE);
    pthread_mutex_unlock(&send_thread.lock);
    return carries;
}

void mca_btl_myr_backlog_close(void)
{
    if (NULL == send_thread.port) {
        return;
    }
    pthread_mutex_lock(&send_thread.lock);
    send_thread.ending = true;
    pthread_cond_signal(&send_thread.come);
    pthread_mutex_unlock(&send_thread.lock);
    (void)pthread_join(send_thread.thread, NULL);
    discard_backlogs();
    myr_port_close(send_thread.port);
    send_thread.port = NULL;
    send_thread.sending = 0;
}
