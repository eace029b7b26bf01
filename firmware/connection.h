/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: what the four state machines know about the messages from and to one other NIC, and
 * what they call of each other.
 *
 * A connection has two halves. The one that sends: packets have sequence numbers, `base` is the
 * first that was not acknowledged, `next` the next to be sent (again), `highest` the next that was
 * never sent; base <= next <= highest. The one that receives knows the number it expects, takes no
 * other, and keeps nothing that comes out of turn (go-back-N).
 *
 * Refusals end a round. The receiver that refuses packet s of round r takes nothing more of that
 * round; the sender that hears of it begins round r + 1, in which s and all later numbers are free
 * to be given to other packets. So a message that is refused is set aside, and those to other ports
 * pass it: nobody waits for another one's port. Of those set aside, the first for each port has a
 * time to try again; when one was taken, others follow.
 */
#ifndef MCP_CONNECTION_H
#define MCP_CONNECTION_H

#include "firmware/mcp.h"

enum {
    MCP_WINDOW_FIRST = 64, /* packets under way: at first, */
    MCP_WINDOW_LEAST = 4,  /* after losses, */
    MCP_WINDOW_MOST = 256, /* at the most: 350 KiB, what a network of 1 Gbit/s holds in 3 ms */
    MCP_VOIDS = 2 * MCP_WINDOW_MOST, /* a window, and one for each message in it that was cut */
    MCP_ACK_EVERY = 16,              /* packets that one acknowledgement is for */
};

/* The first number and the first round: wrapping around is not left for later. */
#define MCP_FIRST_SEQUENCE (UINT32_MAX - 99)
#define MCP_FIRST_ROUND (UINT16_MAX - 1)

/* How long an acknowledgement waits for something to ride on; how long a sender waits for one, at
 * first and at the most; pauses after a refusal, by its reason (nanoseconds). */
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
    uint64_t key;         /* the other NIC's; 0: free */
    mcp_link link;        /* held */
    uint32_t fragment;    /* payload of a packet, at the most */
    uint32_t next_bucket; /* number + 1 */
    uint32_t next_active; /* number + 1 */
    bool active, gone;

    /* The half that sends. */
    uint16_t round;
    uint8_t attempt; /* how often it went back, for MCP_GAP */
    uint32_t base, next, highest;
    struct mcp_queue queue; /* not acknowledged, in order */
    struct mcp_queue aside; /* refused */
    mcp_offset current;     /* of the queue: the one that `next` belongs to, or an earlier one */
    uint32_t window, threshold, credit;
    uint32_t asked;    /* the last packet that asks for an acknowledgement, if not before `base` */
    uint32_t timed;    /* a packet whose acknowledgement is waited for with a watch */
    uint64_t timed_ns; /* when it was sent; 0: none is */
    uint64_t round_trip_ns; /* smoothed */
    uint64_t patience_ns;   /* how long to wait for an acknowledgement now */
    uint64_t retry_ns;      /* when that is over; 0: nothing is under way */
    uint64_t resume_ns;     /* when to try again what was set aside; 0: nothing is */
    uint32_t nvoids;
    uint32_t voids[MCP_VOIDS / 32]; /* packets whose message is no more, by number */

    /* The half that receives. */
    uint32_t expected;
    uint16_t incoming_round;
    uint64_t refused_ports;  /* bit n: a port whose number is n, or n + 64 and so on, refused for
                                want of tokens and will tell when it has some */
    uint8_t refused_why;     /* enum mcp_reason of the last refusal */
    bool gap_told;           /* that `expected` is missing, */
    uint8_t gap_attempt;     /* when the sender was at this attempt */
    uint32_t unacknowledged; /* packets taken since the last acknowledgement */
    uint64_t acknowledge_ns; /* when to do it at the latest; 0: there is nothing to acknowledge */
    struct mcp_incoming incoming;
};

static inline struct mcp_port *mcp_ports(struct mcp_nic *nic)
{
    return (struct mcp_port *)(nic + 1);
}

static inline struct mcp_connection *mcp_connections(struct mcp_nic *nic)
{
    const size_t bytes = nic->messages.nports * sizeof(struct mcp_port);
    return (struct mcp_connection *)((uint8_t *)(nic + 1) +
                                     (bytes + MYR_LINE - 1) / MYR_LINE * MYR_LINE);
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

/* ---- connection.c ---- */

struct mcp_connection *mcp_connection_find(struct mcp_nic *nic, uint64_t key);

/* Find the one with the sender of the packet that is being handled, or make it; NULL if there is no
 * room. */
struct mcp_connection *mcp_connection_of_sender(struct mcp_nic *nic, struct mcp_board *board,
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

/* Messages from this NIC that wait for receive tokens of this port: deliver what can be. */
void mcp_deliver_waiting(struct mcp_nic *nic, struct mcp_board *board, uint32_t number);

/* The message is done: give back its token, saying so. */
void mcp_sending_done(struct mcp_nic *nic, struct mcp_board *board, struct mcp_sending *sending,
                      uint8_t type, uint8_t why);

/* ---- send.c ---- */

/* Put on the wire what the window allows. */
void mcp_send(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* The other side has all packets before `expected`, some of them since now. */
void mcp_advance(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                 uint32_t expected);

/* Send again all that was not acknowledged; after a time-out, carefully. */
void mcp_go_back(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);
void mcp_retry(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/*
 * Packet `base` was refused, and none after it was accepted: their numbers are free, and the
 * receiver takes none of the old packets any more. Gives the message it was of, out of the queue;
 * NULL if that is no more.
 */
struct mcp_sending *mcp_next_round(struct mcp_board *board, struct mcp_connection *c);

/* Queue a message behind all others. */
void mcp_queue_message(struct mcp_board *board, struct mcp_connection *c,
                       struct mcp_sending *sending);

/* The sender's port is closed: forget a message that is queued or set aside. */
void mcp_cut(struct mcp_board *board, struct mcp_connection *c, struct mcp_sending *sending);

/* Set aside a message that was refused, and all of the queue that go to the same port. */
void mcp_set_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                   struct mcp_sending *refused, uint64_t pause_ns);

/* Try again what was set aside: of each port whose pause is over, one message. */
void mcp_resume(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* A port has so many receive tokens: as many messages that were set aside. */
void mcp_resume_port(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                     uint16_t port, uint32_t key, uint32_t tokens);

void mcp_acknowledge(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                     uint8_t flags, uint8_t detail);
void mcp_ready(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
               uint16_t port, uint32_t key, uint32_t tokens);
void mcp_refuse(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                const struct mcp_message_part *refused, uint8_t reason);

/* ---- rdma.c ---- */

/* A packet that is next in turn: take it, 0, or say why not (enum mcp_reason). */
uint8_t mcp_deliver(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                    const struct mcp_message_part *part, const void *payload,
                    uint32_t payload_bytes);

/* Give up the message that is coming in; its receive token is there again. */
void mcp_incoming_drop(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Take the next receive token of an open port for a message of so many bytes: 0, or why not (enum
 * mcp_reason). */
uint8_t mcp_take_token(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port,
                       uint32_t bytes, struct mcp_receive_token *token);

/* Tell a port's host. */
void mcp_post(struct mcp_board *board, struct mcp_port *port, const struct mcp_event *event);

/* How many receive tokens a port has left; at least so many. */
uint32_t mcp_tokens_left(const struct mcp_board *board, const struct mcp_port *port);

/* Is [memory, memory + bytes) in host memory? */
static inline bool mcp_in_memory(const struct mcp_board *board, mcp_offset memory, uint32_t bytes)
{
    return 0 != memory && memory <= board->memory_bytes && bytes <= board->memory_bytes - memory;
}

#endif
