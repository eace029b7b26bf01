/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: delivers received messages to ob1, and completes fragments that were sent.
 *
 * Open MPI calls the progress function continuously, from any thread. Only one thread at a time
 * makes progress, so messages are delivered in order. A receive buffer is returned to the port when
 * ob1 has copied its contents. */
#include "btl_myr/btl_myr.h"

#include <stdatomic.h>

enum {
    BURST = 16, /* maximum number of messages of each kind in one call */
};

static atomic_int busy;

/* ---- completed fragments ---- */

/* Calls ob1's callback, unless ob1 has not requested it or has removed the receiver. */
static void complete_fragment(mca_btl_myr_fragment_t *fragment)
{
    struct mca_btl_base_endpoint_t *endpoint = fragment->endpoint;
    mca_btl_base_module_t *btl = &mca_btl_myr_module[endpoint->module].super;
    const bool owned = fragment->base.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    const bool calls = fragment->base.des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    if (NULL != endpoint->proc) {
        if (MYR_OK != fragment->status) {
            mca_btl_myr_lost(endpoint);
        }
        if (NULL != fragment->base.des_cbfunc && calls) {
            fragment->base.des_cbfunc(btl, endpoint, &fragment->base,
                                      MYR_OK == fragment->status ? OPAL_SUCCESS : OPAL_ERROR);
        }
    }
    if (owned) {
        mca_btl_myr_free(btl, &fragment->base);
    }
}

/* Returns the next completed fragment, or NULL if there is none. Called with the lock held. */
static mca_btl_myr_fragment_t *take_sent(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    mca_btl_myr_fragment_t *fragment =
        (mca_btl_myr_fragment_t *)opal_list_remove_first(&component->sent);
    if (NULL != fragment) {
        --fragment->endpoint->in_flight;
    }
    return fragment;
}

/* ---- received messages ---- */

/* Returns the buffer of the previous message to the port, and receives the next message. Returns
 * false if no message has arrived. Called with the lock held. */
static bool take_message(struct myr_received *received)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    if (NULL != component->spent) {
        (void)myr_port_provide(component->port, component->spent, component->self.buffer_bytes);
        component->spent = NULL;
    }
    return myr_port_check(component->port, received);
}

static void deliver_message(const void *message, uint32_t bytes)
{
    const struct mca_btl_myr_header *header = message;
    if (bytes < sizeof(*header) || header->module >= MCA_BTL_MYR_MODULES) {
        return;
    }
    struct mca_btl_base_endpoint_t *endpoint =
        nicbarr_btl_wants_endpoint(header->tag) ? mca_btl_myr_endpoint_named(&header->from, false)
                                                : NULL;
    mca_btl_base_segment_t segment = {.seg_addr = {.pval = (void *)(header + 1)},
                                      .seg_len = bytes - sizeof(*header)};
    (void)nicbarr_btl_deliver(&mca_btl_myr_module[header->module].super, endpoint, header->tag,
                              &segment);
}

/* Delivers one short message from the port's inlet. Returns false if there is none. */
static bool step_inlet(void)
{
    struct myr_intake *intake = &mca_btl_myr_component.intake;
    uint32_t bytes;
    const void *message = myr_intake_check(intake, &bytes);
    if (NULL == message) {
        return false;
    }
    deliver_message(message, bytes);
    myr_intake_done(intake);
    return true;
}

/* Delivers one message, and completes all fragments that were sent. Returns false if there was
 * nothing to do. */
static bool step_port(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct myr_received received;
    bool any = false;
    OPAL_THREAD_LOCK(&component->lock);
    const bool come = take_message(&received);
    if (!opal_list_is_empty(&component->waiting)) {
        mca_btl_myr_send_waiting();
    }
    mca_btl_myr_fragment_t *fragment = take_sent();
    OPAL_THREAD_UNLOCK(&component->lock);
    while (NULL != fragment) {
        any = true;
        complete_fragment(fragment);
        OPAL_THREAD_LOCK(&component->lock);
        fragment = take_sent();
        OPAL_THREAD_UNLOCK(&component->lock);
    }
    if (come) {
        any = true;
        deliver_message(received.buffer, received.bytes);
        component->spent = received.buffer;
    }
    return any;
}

/* Runs the NIC, which reads from the network (libmyr/messages/pace.h). Returns whether anything has
 * arrived. */
static bool run_nic(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const bool any = 0 != myr_pace_poll(&component->pace, component->nic);
    if (any) {
        mca_btl_myr_has_peer(MYR_DRAIN_OTHER_NODES);
    } else if (myr_pace_broken(&component->pace, component->nic)) {
        /* The NIC may have been broken by a process of another job of this user. The failure of
         * that job does not end this job, so this job is aborted here. */
        mca_btl_myr_broken();
    }
    return any;
}

/* Reports a node from which nothing has been received. */
static void check_silence(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    const int warn = component->parameters.nic.warn;
    struct myr_unresponsive unresponsive;
    if (0 == warn || !myr_seldom_due(&component->silence)) {
        return;
    }
    OPAL_THREAD_LOCK(&component->lock);
    const bool any = myr_port_unresponsive(component->port, OMPI_PROC_MY_NAME->jobid,
                                           (uint32_t)warn, &unresponsive);
    OPAL_THREAD_UNLOCK(&component->lock);
    if (any) {
        nicbarr_nic_unresponsive("btl", mca_btl_myr_process_by(unresponsive.connection),
                                 &unresponsive);
    }
}

/* Connects to NICs that have sent a message although there was no connection to them. These NICs
 * then retransmit the message immediately. */
static void connect_strangers(void)
{
    if (mca_btl_myr_meet()) {
        myr_pace_expect(&mca_btl_myr_component.pace);
    }
}

int mca_btl_myr_progress(void)
{
    if (0 != atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
        return 0;
    }
    int steps = 0, last = BURST;
    while (steps < last && step_inlet()) {
        ++steps;
    }
    last = steps + BURST; /* so that neither kind of message delays the other */
    while (steps < last && step_port()) {
        ++steps;
    }
    if (myr_pace_polls(&mca_btl_myr_component.pace, (uint32_t)steps)) {
        if (myr_soft_knocked(mca_btl_myr_component.nic)) {
            connect_strangers();
        }
        if (run_nic()) {
            steps += step_port();
        } else {
            check_silence();
        }
    }
    atomic_store_explicit(&busy, 0, memory_order_release);
    return steps;
}

/* ---- closing ---- */

/* Runs the NIC, drops what has arrived, and completes fragments without their callbacks. */
static void step_of_drain(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct myr_received received;
    mca_btl_myr_fragment_t *fragment;
    uint32_t bytes;
    OPAL_THREAD_LOCK(&component->lock);
    (void)myr_soft_poll(component->nic);
    while (NULL != myr_intake_check(&component->intake, &bytes)) {
        myr_intake_done(&component->intake);
    }
    if (take_message(&received)) {
        component->spent = received.buffer;
    }
    mca_btl_myr_send_waiting();
    while (NULL != (fragment = take_sent())) {
        mca_btl_myr_free(NULL, &fragment->base);
    }
    OPAL_THREAD_UNLOCK(&component->lock);
}

void mca_btl_myr_drain(void)
{
    mca_btl_myr_component_t *component = &mca_btl_myr_component;
    struct myr_drain drain = myr_drain_begin(component->peers);
    const struct mca_btl_base_endpoint_t *endpoint;
    while (myr_drain_goes_on(&drain, NULL != mca_btl_myr_endpoint_in_flight(false))) {
        step_of_drain();
    }
    while (NULL != (endpoint = mca_btl_myr_endpoint_in_flight(true))) {
        step_of_drain();
        check_silence();
        if (myr_drain_wait(&drain, (uint32_t)component->parameters.nic.warn)) {
            nicbarr_nic_not_received("btl", &endpoint->name);
        }
    }
}
