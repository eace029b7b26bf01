/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal interface of machine.c (network, NICs, time) and host.c: events, and work that waits for
 * a processor. */
#ifndef SIM_MACHINE_INSIDE_H
#define SIM_MACHINE_INSIDE_H

#include "firmware/sim/machine.h"

enum sim_work_kind {
    WORK_PACKET,   /* NIC: a packet has arrived */
    WORK_START,    /* NIC: the host has arrived in a group's epoch */
    WORK_SENDS,    /* NIC: the host has posted a send token */
    WORK_PROVIDES, /* NIC: the host has provided receive tokens again */
    WORK_BCAST,    /* NIC: the host has a block for a broadcast */
    WORK_CALL,     /* NIC: the host calls the program above the port */
    WORK_TIMER,    /* NIC: a deadline has expired */
    WORK_NOTICE    /* host: a notification */
};

struct sim_work {
    struct sim_work *next;
    enum sim_work_kind kind;
    enum sim_notice notice;
    struct mcp_group *group;
    uint32_t epoch;
    struct mcp_send_token *token;
    uint32_t sequence;
    const void *block;
    uint32_t length; /* size of the block */
    void *what;      /* the argument of a call */
    uint32_t from, bytes;
    uint64_t link_ps;  /* how long the packet occupies a link */
    uint64_t ready_ps; /* when the NIC's processor will have noticed it */
    _Alignas(8) uint8_t packet[];
};

enum sim_event_kind {
    EVENT_HEAD,     /* the packet's first bytes have reached its destination's link */
    EVENT_NIC,      /* the NIC has work: a packet is complete, or a doorbell has arrived */
    EVENT_NIC_FREE, /* the NIC's processor takes the next work item */
    EVENT_HOST,     /* the host has work */
    EVENT_HOST_FREE,
    EVENT_TIMER
};

/* Allocates a work item of this kind, otherwise all 0, with `bytes` of a packet. Returns NULL if
 * out of memory; then the simulation ends. */
struct sim_work *sim_work_new(struct sim_machine *m, enum sim_work_kind kind, size_t bytes);
void sim_work_free(struct sim_machine *m, struct sim_work *work);

static inline void sim_work_append(struct sim_queue *queue, struct sim_work *work)
{
    work->next = NULL;
    if (NULL == queue->first) {
        queue->first = work;
    } else {
        queue->last->next = work;
    }
    queue->last = work;
}

static inline struct sim_work *sim_work_take(struct sim_queue *queue)
{
    struct sim_work *work = queue->first;
    queue->first = work->next;
    return work;
}

void sim_schedule(struct sim_machine *m, uint64_t at_ps, enum sim_event_kind kind, uint32_t node,
                  struct sim_work *work);

/* Converts microseconds to picoseconds. */
static inline uint64_t sim_ps(double us)
{
    return (uint64_t)(us * 1e6 + 0.5);
}

/* Returns whether the host copies a payload of this size into the NIC itself. */
static inline bool sim_host_copies(const struct sim_machine *m, size_t bytes)
{
    return 0 != bytes && (double)bytes <= m->parameters.copy_most;
}

/* sim_host_queue() adds a work item for the host; sim_host_run() executes the first one. */
void sim_host_queue(struct sim_node *node, struct sim_work *work);
void sim_host_run(struct sim_node *node);

#endif
