/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between ports: the functions that mcp.c and the host side call.
 *
 * Each of GM's four state machines (Buntinas et al., section 4.1) is implemented by a separate
 * file; they share connection.h:
 * - SDMA takes send tokens from the ports and queues them on the connection to their destination's
 *   NIC.
 * - SEND sends the packets of these messages, and acknowledgements.
 * - RECV handles packets, acknowledgements and refusals.
 * - RDMA delivers into the buffers of receive tokens and posts events to the hosts.
 *
 * Each message is delivered completely and exactly once, and messages between two ports stay in
 * order. docs/protocol.md describes how. */
#ifndef MCP_MESSAGES_H
#define MCP_MESSAGES_H

#include "firmware/board.h"
#include "firmware/counters.h"
#include "firmware/port.h"

enum {
    MCP_CONNECTION_BUCKETS = 256,
    MCP_NO_CONNECTION = 0xffffffff,
    MCP_MTU = 1500,          /* bytes of an IP packet, if the path MTU is unknown */
    MCP_MTU_LEAST = 576,     /* the size that each host must accept */
    MCP_MTU_MOST = 65535,    /* the length field of IPv4 */
    MCP_DATAGRAM_BYTES = 28, /* headers of IPv4 and UDP */
};

struct mcp_nic;

/* The part of a NIC for messages. Its tables follow the NIC, see mcp_nic_bytes(). */
struct mcp_messages {
    /* 1 if a packet has arrived from a NIC to which no host has connected (`stranger`). Hosts poll
     * this word continuously, so its cache line contains only fields that rarely change. */
    _Alignas(MYR_LINE) myr_word knocked;
    bool known_only; /* whether to accept packets only from NICs that a host has connected to */
    uint8_t stranger_attempt;      /* attempt number in the last DATA of `stranger` */
    uint64_t stranger;             /* key of the last NIC that sent a DATA without a connection */
    uint32_t nports, nconnections; /* capacities of the tables */
    uint32_t connections;          /* entries used so far */
    uint32_t peers;                /* number of connected NICs that have not left */
    uint32_t departures;           /* number of those that have left so far */
    bool takes_leave; /* whether to notify the connected NICs when this one is closed, because some
                         of them may live longer */

    _Alignas(MYR_LINE) uint32_t active; /* index + 1 of the first connection with a pending timer */
    uint64_t deadline_ns;               /* the earliest timer; 0 if none is pending */
    uint32_t bucket[MCP_CONNECTION_BUCKETS]; /* index + 1 of the first connection */
};

/* Returns the size of the tables (bytes). */
size_t mcp_messages_bytes(uint32_t ports, uint32_t connections);

/* Computes the layout of a port and the size of its memory (bytes). Returns false if there are too
 * many or too few tokens. */
bool mcp_port_shape(struct mcp_port *port, uint32_t send_tokens, uint32_t receive_tokens,
                    size_t *bytes);

/* The parameters of a port to open. `key` is random and not 0. `rings` is zeroed memory of the size
 * that mcp_port_shape() computes. */
struct mcp_port_wish {
    uint32_t number; /* or MCP_ANY_PORT */
    uint32_t key;
    uint32_t owner;
    mcp_offset rings;
    uint32_t send_tokens, receive_tokens;
};

/* Opens a port and returns its number. Returns MCP_NO_PORT if that port is open already, all ports
 * are open, or there are too many tokens. */
uint32_t mcp_port_open(struct mcp_nic *nic, struct mcp_board *board,
                       const struct mcp_port_wish *wish);

/* Closes a port immediately. Its rings and all buffers belong to the host again. */
void mcp_port_close(struct mcp_nic *nic, struct mcp_board *board, uint32_t number);

/* Returns a port of the table, or NULL beyond its end. */
struct mcp_port *mcp_port_at(struct mcp_nic *nic, uint32_t number);

/* Returns the handle of the connection to the NIC with `key`, and creates the connection if there
 * is none. `link` is the link to that NIC; packets of up to `mtu` bytes can be sent over it (0
 * means MCP_MTU).
 *
 * When the other NIC has left, the table entry of the connection may be reused for another
 * connection. The handle then remains invalid for a long time (see mcp_connection_at()). Messages
 * to an invalid handle, like those to any NIC that has left, are never sent.
 *
 * Both sides use `secret` to authenticate packets. If `secret` is NULL, a new connection is not
 * authenticated, and an existing one keeps its secret. The function takes over the caller's
 * reference to the link, and keeps it in the connection or drops it. Returns MCP_NO_CONNECTION if
 * the table is full. */
uint32_t mcp_connect(struct mcp_nic *nic, struct mcp_board *board, uint64_t key, mcp_link link,
                     uint32_t mtu, const struct mcp_secret *secret);

/* Returns whether there is a connection to the NIC with `key`. */
bool mcp_is_connected(struct mcp_nic *nic, uint64_t key);

/* Notifies all connected NICs that this NIC is closed and will never send a message again. Its
 * ports must have been closed before, and its key must not be used afterwards.
 *
 * Returns the number of NICs that have neither replied nor left themselves; mcp_messages_unaware()
 * returns this number without notifying them. Since packets may be lost, the caller repeats the
 * call until the number is 0, or until it cannot wait any longer. A NIC that is never notified
 * keeps its connection. */
uint32_t mcp_messages_leave(struct mcp_nic *nic, struct mcp_board *board);
uint32_t mcp_messages_unaware(struct mcp_nic *nic);

/* Processes the send tokens that the host has put into a port's ring. */
void mcp_messages_sdma(struct mcp_nic *nic, struct mcp_board *board, uint32_t port);

/* Resumes deliveries to a port that had run out of receive tokens, because the host has provided
 * some. */
void mcp_messages_provided(struct mcp_nic *nic, struct mcp_board *board, uint32_t port);

/* Handles a packet with the NIC's key that mcp_parse() has accepted. MCP_LINK_SENDER is its
 * sender. */
void mcp_messages_receive(struct mcp_nic *nic, struct mcp_board *board,
                          const struct mcp_header *header, const void *payload);

void mcp_messages_timer(struct mcp_nic *nic, struct mcp_board *board);

/* Finds a NIC that has outstanding messages of this port and has been silent for at least
 * `least_ms`.
 *
 * The silence of a NIC is measured as the sum of the retransmission timeouts of packets to it, so
 * it does not include time in which the local NIC was not run. It is reported once to each
 * `recipient`, for example to each process of a job. (Recipients that have got the report are
 * stored in a mask of 32 bits; if two recipients have the same bit, only one of them gets the
 * report.) */
struct mcp_unresponsive {
    uint32_t connection;
    mcp_link link;
    uint32_t silence_ms;
};
bool mcp_messages_unresponsive(struct mcp_nic *nic, struct mcp_board *board, uint32_t port,
                               uint32_t recipient, uint32_t least_ms,
                               struct mcp_unresponsive *unresponsive);

/* Returns whether the outstanding messages from port `number` to the port `to` will never be
 * delivered: because that port is closed, because its NIC has left, or because its NIC has been
 * silent for at least `silence_ms`. */
struct mcp_destination {
    uint32_t connection; /* or MCP_SAME_NIC */
    uint32_t key;
    uint16_t port;
};
bool mcp_messages_undeliverable(struct mcp_nic *nic, struct mcp_board *board, uint32_t number,
                                const struct mcp_destination *to, uint32_t silence_ms);

#endif
