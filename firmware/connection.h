/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: the state that the four state machines share about the messages from and to one
 * other NIC, and the functions that they call of each other.
 *
 * A connection has two halves. The sending half numbers packets. `base` is the first one not
 * acknowledged, `next` the next one to be sent (or sent again), `highest` the next one never sent;
 * base <= next <= highest. The receiving half knows the sequence number that it expects. It accepts
 * no other packet, and keeps none that is out of order (go-back-N).
 *
 * A refusal (NACK) ends a round. A receiver that refuses packet s of round r accepts nothing more
 * of that round. On the refusal, the sender begins round r + 1, in which it may reuse s and all
 * later sequence numbers for other packets. So a refused message is set aside, and messages to
 * other ports pass it: no port holds up another. Of the messages set aside, the first for each port
 * has a retry time. Once it was accepted, others follow. */
#ifndef MCP_CONNECTION_H
#define MCP_CONNECTION_H

#include "firmware/mcp.h"

enum {
    MCP_WINDOW_FIRST = 64, /* window in packets: initially, */
    MCP_WINDOW_LEAST = 4,  /* after losses, */
    MCP_WINDOW_MOST = 256, /* at most: 350 KiB; a network of 1 Gbit/s transmits that in 3 ms */
    MCP_VOIDS = 2 * MCP_WINDOW_MOST, /* a window, and one for each cut message in it */
    MCP_ACK_EVERY = 16,              /* packets for each acknowledgement */
};

/* The first sequence number and the first round. Both are near their end, so that they wrap around
 * early. */
#define MCP_FIRST_SEQUENCE (UINT32_MAX - 99)
#define MCP_FIRST_ROUND (UINT16_MAX - 1)

/* All in nanoseconds: the delay of an acknowledgement for piggybacking; the retransmission timeout,
 * initially and at most; pauses after a refusal, by its reason. */
#define MCP_ACK_DELAY_NS UINT64_C(200000)
#define MCP_RETRY_NS UINT64_C(2000000)
#define MCP_RETRY_MOST_NS UINT64_C(64000000)
#define MCP_PAUSE_NOT_READY_NS UINT64_C(200000)
#define MCP_PAUSE_CLOSED_NS UINT64_C(2000000)
#define MCP_PAUSE_MOST_NS UINT64_C(64000000)

/* The message that is being received. */
struct mcp_incoming {
    uint32_t port; /* number + 1; 0: none */
    mcp_offset memory;
    uint32_t room; /* of the buffer */
    uint32_t length, received;
    uint16_t from_port;
};

struct mcp_connection {
    uint64_t key;             /* the other NIC's; 0: the entry is free */
    struct mcp_secret secret; /* of the two NICs; mcp_open_secret: none */
    mcp_link link;            /* held */
    uint32_t fragment;        /* the largest payload of a packet (bytes) */
    uint32_t next_bucket;     /* index + 1 */
    uint32_t next_active;     /* index + 1 */
    bool active;

    /* The sending half. */
    uint16_t round;
    uint8_t attempt; /* how often it went back, for MCP_GAP */
    uint32_t base, next, highest;
    struct mcp_queue queue; /* not acknowledged, in order */
    struct mcp_queue aside; /* refused */
    mcp_offset current;     /* in the queue: the message of packet `next`, or an earlier one */
    uint32_t window, threshold, credit;
    uint32_t asked;     /* the last packet that asks for an acknowledgement, if not before `base` */
    uint32_t timed;     /* the packet whose RTT is being measured */
    uint32_t silent_ms; /* sum of retransmission timeouts since the last packet from there */
    uint64_t timed_ns;  /* when it was sent; 0: none */
    uint64_t round_trip_ns; /* smoothed RTT */
    uint64_t rto_ns;        /* the present retransmission timeout */
    uint64_t retry_ns;      /* when it expires; 0: nothing is in flight */
    uint64_t resume_ns;     /* when to retry what was set aside; 0: nothing is */
    uint32_t nvoids;
    uint32_t voids[MCP_VOIDS / 32]; /* by sequence number: packets whose message was cut */

    /* The receiving half. */
    uint32_t expected;
    uint32_t notified; /* bits of those to whom the silence was reported */
    uint16_t incoming_round;
    uint64_t refused_ports; /* bit n: a port with number n, n + 64 and so on was refused for lack of
                               tokens, and will report when it has some */
    uint8_t refused_why;    /* enum mcp_reason of the last refusal; 0: none */
    bool gap_reported;      /* a gap was reported: `expected` is missing, */
    uint8_t gap_attempt;    /* ... during this attempt of the sender */
    uint32_t unacknowledged; /* packets accepted since the last acknowledgement */
    uint64_t acknowledge_ns; /* when to acknowledge at the latest; 0: nothing to acknowledge */
    struct mcp_incoming incoming;
};

static inline struct mcp_port *mcp_ports(struct mcp_nic *nic)
{
    return (struct mcp_port *)(nic + 1);
}

static inline struct mcp_connection *mcp_connections(struct mcp_nic *nic)
{
    const size_t bytes = nic->messages.nports * sizeof(struct mcp_port);
    return (struct mcp_connection *)((uint8_t *)(nic + 1) + myr_whole_lines(bytes));
}

static inline uint32_t mcp_connection_number(struct mcp_nic *nic, const struct mcp_connection *c)
{
    return (uint32_t)(c - mcp_connections(nic));
}

/* A port's bit in `refused_ports`. */
static inline uint64_t mcp_port_bit(uint32_t number)
{
    return UINT64_C(1) << number % 64;
}

/* a <= b for numbers less than 2^31 apart. */
static inline bool mcp_not_after(uint32_t a, uint32_t b)
{
    return (int32_t)(b - a) >= 0;
}

/* A packet of the other NIC has arrived. */
static inline void mcp_heard(struct mcp_connection *c)
{
    if (0 != c->silent_ms) {
        c->silent_ms = 0;
        c->notified = 0;
    }
}

/* For unsigned connections: the check of their packets detects damage only. */
static const struct mcp_secret mcp_open_secret = {{0, 0}};

/* The NH key for a packet with this much payload; NULL: not needed. */
static inline const struct mcp_nh_key *
mcp_nh_of(struct mcp_board *board, const struct mcp_connection *c, size_t payload_bytes)
{
    return payload_bytes < MCP_NH_BLOCK ? NULL : mcp_nh_kept(&board->nh, c->link, &c->secret);
}

/* ---- connection.c ---- */

struct mcp_connection *mcp_connection_find(struct mcp_nic *nic, uint64_t key);

/* Create an unsigned connection to the sender of the present packet. NULL if there is no room. */
struct mcp_connection *mcp_connection_to_sender(struct mcp_nic *nic, struct mcp_board *board,
                                                uint64_t key);

/* Arm the connection's timer for that time. */
void mcp_connection_due(struct mcp_nic *nic, struct mcp_connection *c, uint64_t at_ns);

void mcp_enqueue(struct mcp_board *board, struct mcp_queue *queue, struct mcp_sending *sending);
void mcp_unqueue(struct mcp_board *board, struct mcp_queue *queue, struct mcp_sending *sending);

/* NULL for 0. */
static inline struct mcp_sending *mcp_sending_at(const struct mcp_board *board, mcp_offset offset)
{
    return 0 == offset ? NULL : mcp_at(board, offset);
}

/* ---- sdma.c ---- */

/* Messages from this NIC wait for receive tokens of this port: deliver as many as possible. */
void mcp_deliver_waiting(struct mcp_nic *nic, struct mcp_board *board, uint32_t number);

/* Complete a message: return its token, with this event. */
void mcp_sending_done(struct mcp_nic *nic, struct mcp_board *board, struct mcp_sending *sending,
                      uint8_t type, uint8_t why);

/* ---- send.c ---- */

/* Send packets, as far as the window allows. */
void mcp_send(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Process a cumulative acknowledgement of all packets before `expected`; it may be an old one. */
void mcp_advance(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                 uint32_t expected);

/* Retransmit all that is not acknowledged; mcp_retry() is for timeouts, and does so carefully. */
void mcp_go_back(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);
void mcp_retry(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Packet `base` was refused, and none after it was accepted. Their sequence numbers are free,
 * because the receiver accepts none of the old packets any more. Returns the packet's message,
 * removed from the queue; NULL if the message is gone. */
struct mcp_sending *mcp_next_round(struct mcp_board *board, struct mcp_connection *c);

/* Append a message to the queue. */
void mcp_queue_message(struct mcp_board *board, struct mcp_connection *c,
                       struct mcp_sending *sending);

/* The sender's port was closed: drop a message that is queued or set aside. */
void mcp_cut(struct mcp_board *board, struct mcp_connection *c, struct mcp_sending *sending);

/* Set aside a refused message, and all messages in the queue to the same port. */
void mcp_set_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                   struct mcp_sending *refused, uint64_t pause_ns);

/* Retry messages that were set aside: one for each port whose pause is over. */
void mcp_resume(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* A port has this many receive tokens: queue as many of its messages that were set aside. */
void mcp_resume_port(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                     uint16_t port, uint32_t key, uint32_t tokens);

void mcp_acknowledge(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                     uint8_t flags, uint8_t detail);
void mcp_ready(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
               uint16_t port, uint32_t key, uint32_t tokens);
void mcp_refuse(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                const struct mcp_message_part *refused, uint8_t reason);

/* ---- rdma.c ---- */

/* Accept the next packet in order. Returns 0, or the reason for a refusal (enum mcp_reason). */
uint8_t mcp_deliver(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                    const struct mcp_message_part *part, const void *payload,
                    uint32_t payload_bytes);

/* Drop the message that is being received. Its receive token is free again. */
void mcp_incoming_drop(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Take the next receive token of an open port, for a message of this many bytes. Returns 0, or the
 * reason for a refusal (enum mcp_reason). */
uint8_t mcp_take_token(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port,
                       uint32_t bytes, struct mcp_receive_token *token);

/* Post an event to a port's host. */
void mcp_post(struct mcp_board *board, struct mcp_port *port, const struct mcp_event *event);

/* A lower bound on the receive tokens that a port has left. */
uint32_t mcp_tokens_left(const struct mcp_board *board, const struct mcp_port *port);

static inline bool mcp_in_memory(const struct mcp_board *board, mcp_offset memory, uint32_t bytes)
{
    return 0 != memory && memory <= board->memory_bytes && bytes <= board->memory_bytes - memory;
}

#endif
