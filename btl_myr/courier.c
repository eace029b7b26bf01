/* SPDX-License-Identifier: BSD-3-Clause */
/* The courier: a thread that passes messages to the NIC while the process may wait in
 * MPI_Comm_disconnect, where it makes no progress (btl_myr.h).
 *
 * A process that has communicated with other jobs hands each message for which there is no fragment
 * to the courier, which copies it to the heap. The only limit is therefore the memory of the
 * process. For ob1 the message has been sent.
 *
 * The thread has a port of its own, which only sends, and uses nothing of Open MPI, whose locks
 * have no effect as long as the program has only one thread. Messages are copied to registered
 * memory one by one, when the port has a token for them. The thread and the port exist from the
 * first such message until the component is closed. */
#include "btl_myr/btl_myr.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/thread.h"

enum {
    TOKENS = 1024,
    AT_ONCE = 16,         /* maximum number of parcels to an endpoint that the port sends */
    PAUSE_US = 50,        /* the first pause between two calls of the port; it is doubled */
    PAUSE_MOST_US = 3200, /* up to this one, as long as nothing happens */
};

/* A message in transit. */
struct mca_btl_myr_parcel {
    struct mca_btl_myr_parcel *next;
    struct mca_btl_base_endpoint_t *endpoint;
    uint32_t bytes;
    uint8_t message[]; /* with its header */
};

static struct {
    pthread_mutex_t lock; /* protects everything here, and `parcels` of the endpoints */
    pthread_cond_t come;  /* signalled if there are new parcels, or if the courier is to end */
    pthread_t thread;
    struct myr_port *port;                    /* NULL: there is no courier */
    struct mca_btl_base_endpoint_t *endpoint; /* the first endpoint with parcels that wait */
    uint32_t sending;                         /* number of parcels that the port sends */
    bool moved; /* whether a parcel has come or has been sent since the last pause */
    bool ending;
} courier = {.lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER};

/* ---- the thread ---- */

static void complete_parcel(struct myr_port *port, void *context, void *memory,
                            enum myr_status status)
{
    (void)status; /* the receiver has the same buffers as this process, so it does not fail */
    struct mca_btl_base_endpoint_t *endpoint = context;
    myr_port_free(port, memory);
    --endpoint->parcels.sending;
    --courier.sending;
    courier.moved = true;
    atomic_fetch_sub_explicit(&endpoint->carried, 1, memory_order_release);
}

/* Sends a parcel. Returns false if there is no memory for it at present. */
static bool send_parcel(const struct mca_btl_myr_parcel *parcel)
{
    struct mca_btl_base_endpoint_t *endpoint = parcel->endpoint;
    void *memory = myr_port_alloc(courier.port, parcel->bytes);
    if (NULL == memory) {
        return false;
    }
    memcpy(memory, parcel->message, parcel->bytes);
    ++endpoint->parcels.sending;
    ++courier.sending;
    const enum myr_status status = myr_port_send(courier.port, &endpoint->remote, memory,
                                                 parcel->bytes, complete_parcel, endpoint);
    if (MYR_OK != status) {
        complete_parcel(courier.port, endpoint, memory, status);
    }
    return true;
}

/* Returns whether another parcel to this endpoint may be sent. Half of the tokens are reserved for
 * endpoints that have none, so that a process that makes no calls does not delay parcels to
 * others. */
static bool may_send_to(const struct mca_btl_base_endpoint_t *endpoint)
{
    const uint32_t left = myr_port_send_tokens(courier.port);
    return 0 == endpoint->parcels.sending
               ? 0 != left
               : endpoint->parcels.sending < AT_ONCE && left > TOKENS / 2;
}

static void send_parcels_to(struct mca_btl_base_endpoint_t *endpoint)
{
    struct mca_btl_myr_parcel *parcel;
    while (NULL != (parcel = endpoint->parcels.first) && may_send_to(endpoint) &&
           send_parcel(parcel)) {
        endpoint->parcels.first = parcel->next;
        free(parcel);
    }
}

static void send_parcels(void)
{
    struct mca_btl_base_endpoint_t **at = &courier.endpoint;
    while (NULL != *at) {
        send_parcels_to(*at);
        if (NULL == (*at)->parcels.first) {
            *at = (*at)->parcels.next_endpoint;
        } else {
            at = &(*at)->parcels.next_endpoint;
        }
    }
}

/* Pauses while the port sends. */
static void pause_courier(uint32_t *pause_us)
{
    *pause_us = courier.moved               ? PAUSE_US
                : *pause_us < PAUSE_MOST_US ? 2 * *pause_us
                                            : PAUSE_MOST_US;
    courier.moved = false;
    pthread_mutex_unlock(&courier.lock);
    (void)usleep(*pause_us);
    pthread_mutex_lock(&courier.lock);
}

static void *run_courier(void *context)
{
    (void)context;
    struct myr_received received; /* nothing: the port has no receive buffers */
    uint32_t pause_us = PAUSE_US;
    pthread_mutex_lock(&courier.lock);
    while (!courier.ending) {
        if (NULL == courier.endpoint && 0 == courier.sending) {
            pthread_cond_wait(&courier.come, &courier.lock);
            continue;
        }
        send_parcels();
        (void)myr_port_receive(courier.port, &received);
        pause_courier(&pause_us);
    }
    pthread_mutex_unlock(&courier.lock);
    return NULL;
}

/* ---- the process ---- */

/* Starts the courier unless it runs. Returns false if that is impossible. Called with the lock. */
static bool start_courier(void)
{
    const struct myr_port_options options = {
        .number = MYR_ANY_PORT, .send_tokens = TOKENS, .receive_tokens = 1};
    if (NULL != courier.port) {
        return true;
    }
    if (MYR_OK != myr_port_open(mca_btl_myr_component.nic, &options, &courier.port, NULL)) {
        courier.port = NULL;
        return false;
    }
    courier.ending = false;
    if (0 != os_thread_create(&courier.thread, run_courier, NULL)) {
        myr_port_close(courier.port);
        courier.port = NULL;
    }
    return NULL != courier.port;
}

static void append_parcel(struct mca_btl_myr_parcel *parcel)
{
    struct mca_btl_base_endpoint_t *endpoint = parcel->endpoint;
    if (NULL == endpoint->parcels.first) {
        endpoint->parcels.last = &endpoint->parcels.first;
        endpoint->parcels.next_endpoint = courier.endpoint;
        courier.endpoint = endpoint;
    }
    parcel->next = NULL;
    *endpoint->parcels.last = parcel;
    endpoint->parcels.last = &parcel->next;
    atomic_fetch_add_explicit(&endpoint->carried, 1, memory_order_relaxed);
    courier.moved = true;
    pthread_cond_signal(&courier.come);
}

bool mca_btl_myr_carry(const mca_btl_myr_fragment_t *fragment)
{
    const size_t bytes = sizeof(*fragment->header) + fragment->segment.seg_len;
    struct mca_btl_myr_parcel *parcel = malloc(sizeof(*parcel) + bytes);
    if (NULL == parcel) {
        return false;
    }
    parcel->endpoint = fragment->endpoint;
    parcel->bytes = (uint32_t)bytes;
    memcpy(parcel->message, fragment->header, bytes);
    pthread_mutex_lock(&courier.lock);
    const bool carries = start_courier();
    if (carries) {
        append_parcel(parcel);
    }
    pthread_mutex_unlock(&courier.lock);
    if (!carries) {
        free(parcel);
    }
    return carries;
}

/* Frees the parcels to receivers that no longer exist. */
static void discard_parcels(void)
{
    for (; NULL != courier.endpoint; courier.endpoint = courier.endpoint->parcels.next_endpoint) {
        struct mca_btl_myr_parcel *parcel;
        while (NULL != (parcel = courier.endpoint->parcels.first)) {
            courier.endpoint->parcels.first = parcel->next;
            free(parcel);
        }
    }
}

bool mca_btl_myr_carries_to(const struct mca_btl_base_endpoint_t *endpoint)
{
    pthread_mutex_lock(&courier.lock);
    const bool carries =
        0 != atomic_load_explicit(&endpoint->carried, memory_order_relaxed) &&
        !myr_port_undeliverable(courier.port, &endpoint->remote, MYR_DRAIN_SILENCE);
    pthread_mutex_unlock(&courier.lock);
    return carries;
}

void mca_btl_myr_courier_close(void)
{
    if (NULL == courier.port) {
        return;
    }
    pthread_mutex_lock(&courier.lock);
    courier.ending = true;
    pthread_cond_signal(&courier.come);
    pthread_mutex_unlock(&courier.lock);
    (void)pthread_join(courier.thread, NULL);
    discard_parcels();
    myr_port_close(courier.port);
    courier.port = NULL;
    courier.sending = 0;
}
