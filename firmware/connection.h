/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: the knowledge that the four state machines share about the messages from and to one
 * other NIC, and the functions that they call of each other.
 *
 * A connection has two halves. In the half that sends, packets have sequence numbers. `base` is the
 * first that was not acknowledged, `next` is the next to be sent (again), `highest` is the next
 * that was never sent; base <= next <= highest. The half that receives knows the number it expects.
 * It takes no other packet, and keeps none that comes out of turn (go-back-N).
 *
 * A refusal ends a round. A receiver that refuses packet s of round r takes nothing more of that
 * round. When the sender is told, it begins round r + 1. There it may give s and all later numbers
 * to other packets. So a refused message is set aside, and messages to other ports pass it: no port
 * holds up another. Of the messages set aside, the first for each port has a time to try again.
 * When one was taken, others follow.
 */
#ifndef MCP_CONNECTION_H
#define MCP_CONNECTION_H

#include "firmware/mcp.h"

enum {
    MCP_WINDOW_FIRST = 64, /* packets under way: at first, */
    MCP_WINDOW_LEAST = 4,  /* after losses, */
    MCP_WINDOW_MOST = 256, /* at the most: 350 KiB; a network of 1 Gbit/s holds that in 3 ms */
    MCP_VOIDS = 2 * MCP_WINDOW_MOST, /* a window, and one for each cut message in it */
    MCP_ACK_EVERY = 16,              /* packets for each acknowledgement */
};

/* The first number and the first round. Both are near their end, so that wrapping around happens
 * soon and is not left for later. */
#define MCP_FIRST_SEQUENCE (UINT32_MAX - 99)
#define MCP_FIRST_ROUND (UINT16_MAX - 1)

/* All in nanoseconds: how long an acknowledgement waits for a packet to ride on; how long a sender
 * waits for an acknowledgement, at first and at the most; pauses after a refusal, by its reason. */
#define MCP_ACK_DELAY_NS UINT64_C(200000)
#define MCP_RETRY_NS UINT64_C(2000000)
#define MCP_RETRY_MOST_NS UINT64_C(64000000)
#define MCP_PAUSE_NOT_READY_NS UINT64_C(200000)
#define MCP_PAUSE_CLOSED_NS UINT64_C(2000000)
#define MCP_PAUSE_MOST_NS UINT64_C(64000000)

/* The message that is coming in. */
struct mcp_incoming {
    uint32_t port; /* number + 1; 0: none */
    mcp_offset memory;
    uint32_t room; /* of the buffer */
    uint32_t length, received;
    uint16_t from_port;
};

struct mcp_connection {
    uint64_t key;             /* the other NIC's; 0: free */
    struct mcp_secret secret; /* of the two NICs; mcp_open_secret: they have none */
    mcp_link link;            /* held */
    uint32_t fragment;        /* payload of a packet, at the most */
    uint32_t next_bucket;     /* number + 1 */
    uint32_t next_active;     /* number + 1 */
    bool active;

    /* The half that sends. */
    uint16_t round;
    uint8_t attempt; /* how often it went back, for MCP_GAP */
    uint32_t base, next, highest;
    struct mcp_queue queue; /* not acknowledged, in order */
    struct mcp_queue aside; /* refused */
    mcp_offset current;     /* of the queue: the message of packet `next`, or an earlier one */
    uint32_t window, threshold, credit;
    uint32_t asked; /* the last packet that asks for an acknowledgement, if not before `base` */
    uint32_t timed; /* the packet whose acknowledgement is timed */
    uint32_t unheard_ms;    /* time-outs, added up, since anything came from there */
    uint64_t timed_ns;      /* when it was sent; 0: none is */
    uint64_t round_trip_ns; /* smoothed */
    uint64_t patience_ns;   /* how long to wait for an acknowledgement now */
    uint64_t retry_ns;      /* when that is over; 0: nothing is under way */
    uint64_t resume_ns;     /* when to try again what was set aside; 0: nothing is */
    uint32_t nvoids;
    uint32_t voids[MCP_VOIDS / 32]; /* by number: packets whose message was cut */

    /* The half that receives. */
    uint32_t expected;
    uint32_t told; /* who were told of the silence: their bits */
    uint16_t incoming_round;
    uint64_t refused_ports;  /* bit n: a port with number n, n + 64 and so on was refused for want
                                of tokens, and will tell when it has some */
    uint8_t refused_why;     /* enum mcp_reason of the last refusal; 0: there was none */
    bool gap_told;           /* that `expected` is missing, */
    uint8_t gap_attempt;     /* when the sender was at this attempt */
    uint32_t unacknowledged; /* packets taken since the last acknowledgement */
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

/* A packet of the other NIC's has come. */
static inline void mcp_heard(struct mcp_connection *c)
{
    if (0 != c->unheard_ms) {
        c->unheard_ms = 0;
        c->told = 0;
    }
}

/* Of a connection that is not signed: the check of its packets finds damage, and nothing else. */
static const struct mcp_secret mcp_open_secret = {{0, 0}};

/* The key of NH for a packet with so many bytes of payload; NULL: it needs none. */
static inline const struct mcp_nh_key *
mcp_nh_of(struct mcp_board *board, const struct mcp_connection *c, size_t payload_bytes)
{
    return payload_bytes < MCP_NH_BLOCK ? NULL : mcp_nh_kept(&board->nh, c->link, &c->secret);
}

/* ---- connection.c ---- */

struct mcp_connection *mcp_connection_find(struct mcp_nic *nic, uint64_t key);

/* Make a connection, which is not signed, with the sender of the present packet. NULL if there is
 * no room. */
struct mcp_connection *mcp_connection_to_sender(struct mcp_nic *nic, struct mcp_board *board,
                                                uint64_t key);

/* Something is due on it at that time. */
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

/* The message is done: give back its token, with this event. */
void mcp_sending_done(struct mcp_nic *nic, struct mcp_board *board, struct mcp_sending *sending,
                      uint8_t type, uint8_t why);

/* ---- send.c ---- */

/* Put packets on the wire, as far as the window allows. */
void mcp_send(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* The other side has all packets before `expected`. Some of them may be news. */
void mcp_advance(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                 uint32_t expected);

/* Send again all that was not acknowledged. After a time-out, do so carefully. */
void mcp_go_back(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);
void mcp_retry(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/*
 * Packet `base` was refused, and none after it was accepted. Their numbers are free, as the
 * receiver takes none of the old packets any more. Returns the packet's message, taken out of the
 * queue; NULL if the message is gone.
 */
struct mcp_sending *mcp_next_round(struct mcp_board *board, struct mcp_connection *c);

/* Queue a message behind all others. */
void mcp_queue_message(struct mcp_board *board, struct mcp_connection *c,
                       struct mcp_sending *sending);

/* The sender's port is closed: forget a message that is queued or set aside. */
void mcp_cut(struct mcp_board *board, struct mcp_connection *c, struct mcp_sending *sending);

/* Set aside a refused message, and all messages in the queue to the same port. */
void mcp_set_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                   struct mcp_sending *refused, uint64_t pause_ns);

/* Try again messages that were set aside: one for each port whose pause is over. */
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

/* Take a packet that is next in turn. Returns 0, or the reason for a refusal (enum mcp_reason). */
uint8_t mcp_deliver(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                    const struct mcp_message_part *part, const void *payload,
                    uint32_t payload_bytes);

/* Give up the message that is coming in. Its receive token is free again. */
void mcp_incoming_drop(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Take the next receive token of an open port, for a message of this many bytes. Returns 0, or the
 * reason for a refusal (enum mcp_reason). */
uint8_t mcp_take_token(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port,
                       uint32_t bytes, struct mcp_receive_token *token);

/* Tell a port's host. */
void mcp_post(struct mcp_board *board, struct mcp_port *port, const struct mcp_event *event);

/* How many receive tokens a port has left; it may have more. */
uint32_t mcp_tokens_left(const struct mcp_board *board, const struct mcp_port *port);

/* Is [memory, memory + bytes) in host memory? */
static inline bool mcp_in_memory(const struct mcp_board *board, mcp_offset memory, uint32_t bytes)
{
    return 0 != memory && memory <= board->memory_bytes && bytes <= board->memory_bytes - memory;
}

#endif
