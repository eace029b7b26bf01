/* SPDX-License-Identifier: BSD-3-Clause */
/* The internal interface of ports: port.c (opening, memory, messages) and port_remote.c (other
 * ports). */
#ifndef MYR_PORT_INSIDE_H
#define MYR_PORT_INSIDE_H

#include "libmyr/messages/port.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic_inside.h"

/* A send token in use. */
struct myr_port_sent {
    myr_sent_fn callback;
    void *context;
    void *buffer;
};

struct myr_port {
    struct myr_soft_nic *nic;
    struct myr_segment *segment;
    uint8_t *base; /* of the segment, in this process */
    struct mcp_rings *rings;
    struct mcp_port shape; /* for the layout of the rings only */
    uint32_t number, key;
    struct myr_key_pair pair; /* of the NIC's node; unset if packets are not authenticated */
    uint32_t sends, provides, events; /* entries produced or consumed so far */
    uint32_t free_receives;
    uint32_t free_sends;
    uint32_t *free_send;          /* a stack of numbers */
    struct myr_port_sent *sent;   /* by number */
    bool watched;                 /* whether to start a watch */
    struct myr_soft_watch *watch; /* NULL: not started */
};

/* Returns the port's inlet, or NULL. */
static inline struct myr_inlet *myr_port_inlet(const struct myr_segment *segment,
                                               const struct mcp_rings *rings)
{
    return 0 == rings->inlet ? NULL
                             : (struct myr_inlet *)(myr_segment_base(segment) + rings->inlet);
}

static inline bool myr_port_has_keys(const struct myr_port *port)
{
    return myr_has_key(&port->pair.public);
}

static inline bool myr_port_registered(const struct myr_port *port, const void *buffer,
                                       size_t bytes)
{
    const uint8_t *begin = buffer;
    const size_t size = myr_segment_size(port->segment);
    return begin > port->base && begin <= port->base + size &&
           bytes <= size - (size_t)(begin - port->base);
}

#endif
