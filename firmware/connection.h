/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection is the state that a NIC keeps for its messages to and from one other NIC. This file
 * declares the connection, which is shared by the four state machines (sdma.c, send.c, recv.c,
 * rdma.c), and the functions by which these call each other.
 *
 * A connection has two halves. The sending half numbers its packets: `base` is the first packet
 * that is not acknowledged, `next` is the next packet to be sent or retransmitted, and `highest` is
 * the first packet that was never sent, so base <= next <= highest. The receiving half knows the
 * sequence number of the next packet, and accepts only this packet. Packets that arrive out of
 * order are not buffered but dropped (go-back-N).
 *
 * A refusal (NACK) ends a round. A receiver that refuses packet s of round r accepts no further
 * packet of that round. When the refusal arrives, the sender begins round r + 1, in which it may
 * reuse s and all later sequence numbers for other packets. This lets the sender set the refused
 * message aside and continue with messages to other ports, so no port blocks another (no
 * head-of-line blocking). Of the messages set aside, the first one for each port has a retry time;
 * once it is accepted, the others follow.
 *
 * A NIC that is closed notifies its peers by a LEFT packet. This is final, because the next NIC of
 * that node has another key. A peer that receives the notification removes all messages from the
 * connection, sends no further ones, and drops packets of the closed NIC that arrive late. The
 * connection keeps its entry in the table until the table is full; then the entry of the NIC that
 * left first is reused. Since hosts may still have the handle of the old connection, each reuse
 * increments the generation of the entry, which is a part of the handle. */
#ifndef MCP_CONNECTION_H
#define MCP_CONNECTION_H

#include "firmware/mcp.h"

enum {
    MCP_WINDOW_FIRST = 64, /* initial window (packets) */
    MCP_WINDOW_LEAST = 4,  /* smallest window, after losses */
    MCP_WINDOW_MOST = 256, /* largest window: 350 KiB, which take 3 ms at 1 Gbit/s */
    /* a window of packets, and one for each cancelled message in it */
    MCP_VOIDS = 2 * MCP_WINDOW_MOST,
    MCP_ACK_EVERY = 16, /* packets per acknowledgement */
};

/* The first sequence number and the first round. Both are so close to their maximum that they wrap
 * around early, so that each run exercises this case. */
#define MCP_FIRST_SEQUENCE (UINT32_MAX - 99)
#define MCP_FIRST_ROUND (UINT16_MAX - 1)

/* Times in nanoseconds: how long an acknowledgement is delayed to be piggybacked, the initial and
 * the maximum retransmission timeout, and how long a sender pauses after a refusal, depending on
 * its reason. */
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
    uint32_t room; /* size of the buffer */
    uint32_t length, received;
    uint16_t from_port;
};

struct mcp_connection {
    uint64_t key;             /* of the other NIC; 0 if the entry is free */
    struct mcp_secret secret; /* shared by the two NICs; mcp_open_secret if there is none */
    mcp_link link;            /* holds a reference */
    uint32_t fragment;        /* the largest payload of a packet (bytes) */
    uint32_t next_bucket;     /* index + 1 */
    uint32_t next_active;     /* index + 1 */
    bool active;
    bool aware;          /* whether the peer has replied that it knows that this NIC is closed */
    uint16_t generation; /* how often the entry was reused */
    uint32_t departure;  /* rank of the peer in the order in which NICs left; 0: it has not left */

    /* The sending half. */
    uint16_t round;
    uint8_t attempt; /* how often the sender went back, for MCP_GAP */
    uint32_t base, next, highest;
    struct mcp_queue queue; /* messages that are not acknowledged, in order */
    struct mcp_queue aside; /* refused messages */
    mcp_offset current;     /* in the queue: the message of packet `next`, or an earlier one */
    uint32_t window, threshold, credit;
    uint32_t asked;     /* the last packet that requests an acknowledgement, if not before `base` */
    uint32_t timed;     /* the packet whose RTT is being measured */
    uint32_t silent_ms; /* sum of the retransmission timeouts since the last packet from the peer */
    uint64_t timed_ns;  /* when packet `timed` was sent; 0 if no RTT is being measured */
    uint64_t round_trip_ns; /* smoothed RTT */
    uint64_t rto_ns;        /* the present retransmission timeout */
    uint64_t retry_ns;      /* when the timeout expires; 0 if nothing is in flight */
    uint64_t resume_ns;     /* when to retry the messages set aside; 0 if there are none */
    uint32_t nvoids;
    uint32_t voids[MCP_VOIDS / 32]; /* by sequence number: packets whose message was cancelled */

    /* The receiving half. */
    uint32_t expected;
    uint32_t notified; /* bits of the recipients to which the silence was reported */
    uint16_t incoming_round;
    uint64_t
        refused_ports; /* bit n: messages to a port with number n, n + 64 and so on were refused for
                          lack of tokens; the port will report when it has tokens again */
    uint8_t refused_why;     /* enum mcp_reason of the last refusal; 0: none */
    bool gap_reported;       /* whether a report was sent that packet `expected` is missing */
    uint8_t gap_attempt;     /* the sender's attempt during which the gap was reported */
    uint32_t unacknowledged; /* packets accepted since the last acknowledgement */
    uint64_t acknowledge_ns; /* when to acknowledge at the latest; 0 if nothing is unacknowledged */
    struct mcp_incoming incoming;
};

static inline struct mcp_port *mcp_ports(struct mcp_nic *nic)
{
    return (struct mcp_port *)(nic + 1);
}

/* Returns whether the port with this key is closed, or its process has ended without closing
 * it. */
static inline bool mcp_port_is_over(struct mcp_board *board, const struct mcp_port *port,
                                    uint32_t key)
{
    return NULL == port || 0 == port->key || key != port->key ||
           (NULL != board->ops.has_ended && board->ops.has_ended(board, port->owner));
}

static inline struct mcp_connection *mcp_connections(struct mcp_nic *nic)
{
    const size_t bytes = nic->messages.nports * sizeof(struct mcp_port);
    return (struct mcp_connection *)((uint8_t *)(nic + 1) + myr_whole_lines(bytes));
}

static inline uint32_t mcp_connection_index(struct mcp_nic *nic, const struct mcp_connection *c)
{
    return (uint32_t)(c - mcp_connections(nic));
}

/* A handle consists of the generation in the upper half, and the index of an entry in the lower
 * half. Since there are fewer than 2^16 - 1 entries, it never equals MCP_SAME_NIC or
 * MCP_NO_CONNECTION. */
static inline uint32_t mcp_connection_handle(struct mcp_nic *nic, const struct mcp_connection *c)
{
    return (uint32_t)c->generation << 16 | mcp_connection_index(nic, c);
}

static inline uint32_t mcp_index_of(uint32_t handle)
{
    return handle & 0xffff;
}

/* Returns the connection with this handle, or NULL if its entry does not exist or was reused. (When
 * an entry has been reused 2^16 times, the generation wraps around, and an old handle becomes valid
 * again. The receiver refuses messages that are sent by this handle, because they contain the key
 * of a port of the old NIC.) */
static inline struct mcp_connection *mcp_connection_at(struct mcp_nic *nic, uint32_t handle)
{
    const uint32_t index = mcp_index_of(handle);
    if (index >= nic->messages.connections) {
        return NULL;
    }
    struct mcp_connection *c = &mcp_connections(nic)[index];
    return c->generation == handle >> 16 ? c : NULL;
}

/* Returns the connection of a message that is queued on it or was set aside. Such a connection's
 * entry is not reused. */
static inline struct mcp_connection *mcp_connection_of(struct mcp_nic *nic,
                                                       const struct mcp_sending *sending)
{
    return &mcp_connections(nic)[mcp_index_of(sending->connection)];
}

/* Returns a port's bit in `refused_ports`. */
static inline uint64_t mcp_port_bit(uint32_t number)
{
    return UINT64_C(1) << number % 64;
}

/* Returns whether a <= b, for numbers less than 2^31 apart. */
static inline bool mcp_not_after(uint32_t a, uint32_t b)
{
    return (int32_t)(b - a) >= 0;
}

/* Ends the silence, because a packet from the other NIC has arrived. */
static inline void mcp_reset_silence(struct mcp_connection *c)
{
    if (0 != c->silent_ms) {
        c->silent_ms = 0;
        c->notified = 0;
    }
}

/* The secret of unauthenticated connections. The check of their packets only detects damage. */
static const struct mcp_secret mcp_open_secret = {{0, 0}};

/* Returns the NH key for a packet with a payload of this size, or NULL if the packet needs none. */
static inline const struct mcp_nh_key *
mcp_nh_of(struct mcp_board *board, const struct mcp_connection *c, size_t payload_bytes)
{
    return payload_bytes < MCP_NH_BLOCK ? NULL : mcp_nh_kept(&board->nh, c->link, &c->secret);
}

/* ---- connection.c ---- */

struct mcp_connection *mcp_connection_find(struct mcp_nic *nic, uint64_t key);

/* Creates an unauthenticated connection to the sender of the present packet. Returns NULL if the
 * table has no space for one. */
struct mcp_connection *mcp_connection_to_sender(struct mcp_nic *nic, struct mcp_board *board,
                                                uint64_t key);

/* Ends the connection, because the other NIC has left. */
void mcp_connection_end(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Arms the connection's timer to expire at `at_ns`. */
void mcp_connection_due(struct mcp_nic *nic, struct mcp_connection *c, uint64_t at_ns);

void mcp_enqueue(struct mcp_board *board, struct mcp_queue *queue, struct mcp_sending *sending);
void mcp_unqueue(struct mcp_board *board, struct mcp_queue *queue, struct mcp_sending *sending);

/* Returns the message at this offset, or NULL for offset 0. */
static inline struct mcp_sending *mcp_sending_at(const struct mcp_board *board, mcp_offset offset)
{
    return 0 == offset ? NULL : mcp_at(board, offset);
}

/* Returns whether the destination of a message is this port of its connection's NIC. */
static inline bool mcp_is_for_port(const struct mcp_sending *sending, uint16_t port, uint32_t key)
{
    return port == sending->to_port && key == sending->to_key;
}

/* ---- sdma.c ---- */

/* Delivers messages from ports of this NIC that wait for receive tokens of this port, as many as
 * possible. */
void mcp_deliver_waiting(struct mcp_nic *nic, struct mcp_board *board, uint32_t number);

/* Completes a message, and returns its token to the host with this event. */
void mcp_sending_done(struct mcp_nic *nic, struct mcp_board *board, struct mcp_sending *sending,
                      uint8_t type, uint8_t why);

/* ---- send.c ---- */

/* Sends packets, as far as the window allows. */
void mcp_send_packets(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Processes a cumulative acknowledgement, possibly an outdated one, of all packets before
 * `expected`. */
void mcp_advance_base(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                      uint32_t expected);

/* Retransmit all packets that are not acknowledged. mcp_retransmit_cautiously() is called after
 * timeouts and uses a smaller window, because the network may be congested. */
void mcp_go_back(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);
void mcp_retransmit_cautiously(struct mcp_nic *nic, struct mcp_board *board,
                               struct mcp_connection *c);

/* Begins the next round, because the receiver has refused packet `base`. The receiver accepts no
 * more packets of the old round, so `base` and all later sequence numbers can be reused. Removes
 * the message of the refused packet from the queue and returns it, or returns NULL if this message
 * was cancelled. */
struct mcp_sending *mcp_next_round(struct mcp_board *board, struct mcp_connection *c);

/* Appends a message to the queue. */
void mcp_queue_message(struct mcp_board *board, struct mcp_connection *c,
                       struct mcp_sending *sending);

/* Cancels a message that is queued or set aside, because the port of the sender was closed. */
void mcp_cancel_message(struct mcp_board *board, struct mcp_connection *c,
                        struct mcp_sending *sending);

/* Sets a refused message aside, together with all queued messages to the same port. `why` is an
 * enum mcp_reason. */
void mcp_set_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                   struct mcp_sending *refused, uint8_t why);

/* Retries messages that were set aside: one for each port whose pause is over. */
void mcp_retry_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Queues up to `tokens` messages to this port that were set aside, because the port has that many
 * receive tokens again. */
void mcp_requeue_port(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                      uint16_t port, uint32_t key, uint32_t tokens);

void mcp_send_acknowledgement(struct mcp_nic *nic, struct mcp_board *board,
                              struct mcp_connection *c, uint8_t flags, uint8_t detail);
void mcp_report_tokens(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                       uint16_t port, uint32_t key, uint32_t tokens);
void mcp_send_refusal(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                      const struct mcp_message_part *refused, uint8_t reason);

/* ---- rdma.c ---- */

/* Accepts the next packet in order. Returns 0, or the reason for a refusal (enum mcp_reason). */
uint8_t mcp_deliver_packet(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                           const struct mcp_message_part *part, const void *payload,
                           uint32_t payload_bytes);

/* Drops the message that is being received, and frees its receive token. */
void mcp_incoming_drop(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c);

/* Takes the next receive token of an open port, for a message of this many bytes. Returns 0, or the
 * reason for a refusal (enum mcp_reason). */
uint8_t mcp_take_token(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port,
                       uint32_t bytes, struct mcp_receive_token *token);

/* Posts an event to a port's host. */
void mcp_post_event(struct mcp_board *board, struct mcp_port *port, const struct mcp_event *event);

/* Returns a lower bound on the receive tokens that a port has left. */
uint32_t mcp_tokens_left(const struct mcp_board *board, const struct mcp_port *port);

static inline bool mcp_in_memory(const struct mcp_board *board, mcp_offset memory, uint32_t bytes)
{
    return 0 != memory && memory <= board->memory_bytes && bytes <= board->memory_bytes - memory;
}

#endif
