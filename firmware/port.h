/* SPDX-License-Identifier: BSD-3-Clause */
/* A port, which the host and the NIC share: its rings, and the private state of the NIC.
 *
 * A port has three rings in host memory: two of them pass send tokens and receive tokens from the
 * host to the NIC, and the third one passes events from the NIC to the host. An entry is valid once
 * its `sequence` equals its number, counted from 1. The sequence is in the same cache line as the
 * rest of the entry. The host never puts more tokens into the rings than it owns, and each token
 * results in one event, so the event ring never overflows.
 *
 * The NIC does not trust anything that a host writes: it copies each entry, and then validates the
 * copy. The host must not access struct mcp_port, nor the memory behind the rings. */
#ifndef MCP_PORT_H
#define MCP_PORT_H

#include <stdbool.h>

#include "firmware/atomics.h"
#include "firmware/board.h"

enum {
    MCP_ANY_PORT = 0xffff,
    MCP_NO_PORT = 0xffffffff,
    MCP_SAME_NIC = 0xffffffff, /* used instead of a connection if the receiver is on this NIC */
    MCP_TOKENS_MOST = 1 << 16, /* limit of either kind of token, per port */
};

/* A send request. `token` is an index that the host has chosen for it, below the number of its send
 * tokens. */
struct mcp_send_token {
    myr_word sequence;
    uint32_t token;
    mcp_offset memory;
    uint32_t bytes;
    uint32_t connection; /* its handle, or MCP_SAME_NIC */
    uint32_t to_key;
    uint16_t to_port;
    uint16_t zero[3];
};

/* A receive buffer. */
struct mcp_receive_token {
    myr_word sequence;
    mcp_offset memory;
    uint32_t bytes;
    uint32_t zero;
};

enum mcp_event_type {
    MCP_SENT = 1, /* send token `what` has completed: the other NIC has the whole message */
    MCP_FAILED,   /* the message will never arrive, for `why` */
    MCP_RECEIVED, /* a message has arrived in the buffer at `what` */
    MCP_UNFIT,    /* the buffer at `what` is outside host memory; its receive token is free again */
};

/* The reason why a message failed. */
enum mcp_failure {
    MCP_FAILED_TOO_LONG = 1, /* longer than the next buffer */
    MCP_FAILED_BAD_TOKEN,    /* its memory or destination is invalid */
};

struct mcp_event {
    myr_word sequence;
    uint8_t type; /* enum mcp_event_type */
    uint8_t why;  /* enum mcp_failure */
    uint16_t from_port;
    uint32_t what;
    uint32_t bytes;
    uint64_t from_nic;
    uint64_t zero;
};

/* The state that the NIC keeps of a message that is being sent. There is one for each send
 * token. */
struct mcp_sending {
    mcp_offset next; /* in its list */
    uint16_t state;  /* enum mcp_sending_state */
    uint16_t port;   /* of the sender */
    uint16_t to_port;
    uint8_t begun;       /* whether its first packet has a sequence number */
    uint8_t refused_why; /* enum mcp_reason of its last refusal, or of the message that it waits
                            behind; 0: none */
    uint32_t refusals;   /* number of consecutive refusals */
    uint32_t token;
    mcp_offset memory;
    uint32_t bytes;
    uint32_t connection;
    uint32_t to_key;
    uint32_t first;     /* its first packet's sequence number */
    uint32_t fragment;  /* payload of each of its packets but the last (bytes) */
    uint64_t resume_ns; /* of a message set aside: when to retry it; 0 if it is retried together
                           with the previous message to the same port */
};

enum mcp_sending_state {
    MCP_IDLE,
    MCP_QUEUED,   /* on its connection */
    MCP_ASIDE,    /* on its connection; was refused, and will be retried later */
    MCP_WAITING,  /* in the queue of its destination on this NIC; waits for a receive token */
    MCP_STRANDED, /* in no queue, because its destination's NIC has left */
};

/* A list of struct mcp_sending, in order. */
struct mcp_queue {
    mcp_offset first, last;
};

/* The part of a port that is in host memory: this struct, followed by the entries of the rings, and
 * then by state that only the NIC uses. */
struct mcp_rings {
    _Alignas(MYR_LINE) myr_word hungry; /* written by the NIC: it waits for a receive token */
    _Alignas(MYR_LINE)
        mcp_offset blocks; /* written by the host: head of the list of its allocations */
    mcp_offset inlet;      /* written by the host: the inlet for short messages; 0 if none */
    _Alignas(MYR_LINE) uint8_t entries[];
};

/* A port in the NIC's table. */
struct mcp_port {
    uint32_t key;   /* 0 if the port is closed */
    uint32_t owner; /* the process that opened it */
    mcp_offset rings;
    uint32_t send_slots, receive_slots, event_slots; /* of the rings: powers of two */
    uint32_t send_tokens;
    uint32_t sends, receives, events; /* numbers of entries consumed, or produced */
    uint32_t under_way;               /* outstanding messages */
    uint32_t spares;                  /* receive tokens taken but not used, see mcp_take_token() */
    struct mcp_queue waiting;         /* messages from ports of this NIC to this port */
};

static inline uint32_t mcp_slots(uint32_t least)
{
    uint32_t slots = 1;
    while (slots < least) {
        slots *= 2;
    }
    return slots;
}

/* Returns an entry of a ring; `number` counts from 0. */
static inline struct mcp_send_token *mcp_send_slot(const struct mcp_port *port,
                                                   struct mcp_rings *rings, uint32_t number)
{
    return (struct mcp_send_token *)rings->entries + (number & (port->send_slots - 1));
}

static inline struct mcp_event *mcp_event_slot(const struct mcp_port *port, struct mcp_rings *rings,
                                               uint32_t number)
{
    uint8_t *events = rings->entries + port->send_slots * sizeof(struct mcp_send_token);
    return (struct mcp_event *)events + (number & (port->event_slots - 1));
}

static inline struct mcp_receive_token *mcp_receive_slot(const struct mcp_port *port,
                                                         struct mcp_rings *rings, uint32_t number)
{
    struct mcp_event *end = mcp_event_slot(port, rings, 0) + port->event_slots;
    return (struct mcp_receive_token *)end + (number & (port->receive_slots - 1));
}

/* The part of the memory that only the NIC uses: unused receive tokens, and outstanding
 * messages. */
static inline struct mcp_receive_token *mcp_spare_tokens(const struct mcp_port *port,
                                                         struct mcp_rings *rings)
{
    return mcp_receive_slot(port, rings, 0) + port->receive_slots;
}

static inline struct mcp_sending *mcp_sendings(const struct mcp_port *port, struct mcp_rings *rings)
{
    return (struct mcp_sending *)(mcp_spare_tokens(port, rings) + port->receive_slots);
}

#endif
