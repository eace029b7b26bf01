/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between ports: the functions that mcp.c and the host's side call.
 *
 * GM's four state machines (Buntinas et al., section 4.1) have a file each. SDMA takes send tokens
 * from the ports and queues them on the connection to their destination's NIC. SEND puts their
 * packets on the wire, and acknowledgements. RECV takes packets, acknowledgements and refusals.
 * RDMA delivers into the buffers of receive tokens and tells the hosts. They share connection.h.
 *
 * A message is delivered whole and once. Messages between two ports stay in order. docs/protocol.md
 * tells how.
 */
#ifndef MCP_MESSAGES_H
#define MCP_MESSAGES_H

#include "firmware/board.h"
#include "firmware/counters.h"
#include "firmware/port.h"

enum {
    MCP_CONNECTION_BUCKETS = 256,
    MCP_NO_CONNECTION = 0xffffffff,
    MCP_MTU = 1500,          /* bytes of an IP packet, where the real limit is unknown */
    MCP_MTU_LEAST = 576,     /* what each host must be able to take */
    MCP_MTU_MOST = 65535,    /* the length field of IPv4 */
    MCP_DATAGRAM_BYTES = 28, /* headers of IPv4 and UDP */
};

struct mcp_nic;

/* The messages' part of a NIC. Its tables lie behind it, see mcp_nic_bytes(). */
struct mcp_messages {
    /* Hosts look at `knocked` all the time. So what lies beside it changes seldom. */
    _Alignas(MYR_LINE) myr_word knocked; /* 1: by `stranger`; nobody has connected to it yet */
    bool known_only;          /* packets are accepted only from NICs that a host has connected to */
    uint8_t stranger_attempt; /* of the last DATA that another one has sent, */
    uint64_t stranger;        /* and its key */
    uint32_t nports, nconnections; /* room in the tables */
    uint32_t connections;          /* that there are */

    _Alignas(MYR_LINE) uint32_t active;      /* number + 1 of the first connection that waits for a
                                                time */
    uint64_t deadline_ns;                    /* nothing is due before; 0: nothing will be */
    uint32_t bucket[MCP_CONNECTION_BUCKETS]; /* number + 1 of the first connection */
};

/* Bytes of the tables. */
size_t mcp_messages_bytes(uint32_t ports, uint32_t connections);

/* Compute the bytes of a port's memory, and its geometry. False if there are too many or too few
 * tokens. */
bool mcp_port_shape(struct mcp_port *port, uint32_t send_tokens, uint32_t receive_tokens,
                    size_t *bytes);

/* A port to be opened. `key` is random and not 0. `rings` is memory that is all 0; mcp_port_shape()
 * tells its size. */
struct mcp_port_wish {
    uint32_t number; /* or MCP_ANY_PORT */
    uint32_t key;
    uint32_t owner;
    mcp_offset rings;
    uint32_t send_tokens, receive_tokens;
};

/* The port's number. MCP_NO_PORT if it is open already, all ports are open, or the tokens are too
 * many. */
uint32_t mcp_port_open(struct mcp_nic *nic, struct mcp_board *board,
                       const struct mcp_port_wish *wish);

/* Close it at once. Its rings and all buffers are the host's again. */
void mcp_port_close(struct mcp_nic *nic, struct mcp_board *board, uint32_t number);

/* A port of the table. NULL if the table is shorter. */
struct mcp_port *mcp_port_at(struct mcp_nic *nic, uint32_t number);

/*
 * The connection to the NIC with `key`: the existing one, else a new one. `link` leads there with
 * packets of `mtu` bytes (0: MCP_MTU). Its packets are signed with `secret`, here and there (NULL:
 * a new one is not signed, and an existing one stays as it is). MCP_NO_CONNECTION if there is no
 * room. The caller has held the link; the connection keeps it, or it is
 * dropped.
 */
uint32_t mcp_connect(struct mcp_nic *nic, struct mcp_board *board, uint64_t key, mcp_link link,
                     uint32_t mtu, const struct mcp_secret *secret);

/* Is there one to the NIC with `key`? */
bool mcp_is_connected(struct mcp_nic *nic, uint64_t key);

/* The host has put send tokens into a port's ring. */
void mcp_messages_sdma(struct mcp_nic *nic, struct mcp_board *board, uint32_t port);

/* The host has provided receive tokens to a port that was hungry. */
void mcp_messages_provided(struct mcp_nic *nic, struct mcp_board *board, uint32_t port);

/* Handle a packet with the NIC's key that mcp_parse() has accepted. MCP_LINK_SENDER is its
 * sender. */
void mcp_messages_receive(struct mcp_nic *nic, struct mcp_board *board,
                          const struct mcp_header *header, const void *payload);

void mcp_messages_timer(struct mcp_nic *nic, struct mcp_board *board);

/*
 * Is there a NIC to which this port has messages under way, and of which nothing has come for
 * `least_ms` (time-outs of packets to it, added up: a NIC that nobody runs counts no silence)? Each
 * silence is told once to each `who`, such as the processes of a job. (`who` is remembered as one
 * of 32: of two that have the same bit, one is told.)
 */
struct mcp_unheard {
    uint32_t connection;
    mcp_link link;
    uint32_t silence_ms;
};
bool mcp_messages_unheard(struct mcp_nic *nic, struct mcp_board *board, uint32_t port, uint32_t who,
                          uint32_t least_ms, struct mcp_unheard *unheard);

#endif
