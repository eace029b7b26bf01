/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between ports: what mcp.c and whoever stands for the host call.
 *
 * GM's four state machines (Buntinas et al., section 4.1), a file each: SDMA takes send tokens from
 * the ports and queues them on the connection to their destination's NIC; SEND puts their packets
 * on the wire, and acknowledgements; RECV takes packets, acknowledgements and refusals; RDMA
 * delivers into the buffers of receive tokens and tells the hosts. connection.h is what they share.
 *
 * Messages are delivered whole, once, and in order between two ports. docs/protocol.md tells how.
 */
#ifndef MCP_MESSAGES_H
#define MCP_MESSAGES_H

#include "firmware/board.h"
#include "firmware/counters.h"
#include "firmware/port.h"

enum {
    MCP_CONNECTION_BUCKETS = 256,
    MCP_NO_CONNECTION = 0xffffffff,
    MCP_MTU = 1500,          /* bytes of an IP packet, where nothing better is known */
    MCP_MTU_LEAST = 576,     /* what each host must be able to take */
    MCP_MTU_MOST = 65535,    /* the length field of IPv4 */
    MCP_DATAGRAM_BYTES = 28, /* headers of IPv4 and UDP */
};

struct mcp_nic;

/* Of a NIC; its tables lie behind it, see mcp_nic_bytes(). */
struct mcp_messages {
    uint32_t nports, nconnections; /* room in the tables */
    uint32_t connections;          /* that there are */
    uint32_t active;               /* number + 1 of the first connection that waits for a time */
    uint64_t deadline_ns;          /* nothing is due before; 0: nothing will be */
    uint32_t bucket[MCP_CONNECTION_BUCKETS]; /* number + 1 of the first connection */
};

/* Bytes of the tables. */
size_t mcp_messages_bytes(uint32_t ports, uint32_t connections);

/* What is to be opened: `key` is random and not 0, `rings` is memory of as many bytes as
 * mcp_port_shape() says, all 0. */
struct mcp_port_wish {
    uint32_t number; /* or MCP_ANY_PORT */
    uint32_t key;
    uint32_t owner;
    mcp_offset rings;
    uint32_t send_tokens, receive_tokens;
};

/* The port's number; MCP_NO_PORT if it is open already, or all are, or the tokens are too many. */
uint32_t mcp_port_open(struct mcp_nic *nic, struct mcp_board *board,
                       const struct mcp_port_wish *wish);

/* Close it at once. Its rings and all buffers are the host's again. */
void mcp_port_close(struct mcp_nic *nic, struct mcp_board *board, uint32_t number);

/* A port of the table, NULL if there are not so many. */
struct mcp_port *mcp_port_at(struct mcp_nic *nic, uint32_t number);

/*
 * The connection to the NIC with `key`, which `link` leads to with packets of `mtu` bytes (0:
 * MCP_MTU): the one that there is, else a new one. MCP_NO_CONNECTION if there is no room for it, or
 * that NIC was given up. The link was held for this; it is the connection's, or dropped.
 */
uint32_t mcp_connect(struct mcp_nic *nic, struct mcp_board *board, uint64_t key, mcp_link link,
                     uint32_t mtu);

/* The host has put send tokens into a port's ring. */
void mcp_messages_sdma(struct mcp_nic *nic, struct mcp_board *board, uint32_t port);

/* The host has provided receive tokens to a port that was hungry. */
void mcp_messages_provided(struct mcp_nic *nic, struct mcp_board *board, uint32_t port);

/* A packet that mcp_parse() has let pass and whose key is the NIC's; it is from
 * MCP_LINK_SENDER. */
void mcp_messages_receive(struct mcp_nic *nic, struct mcp_board *board,
                          const struct mcp_header *header, const void *payload,
                          size_t payload_bytes);

void mcp_messages_timer(struct mcp_nic *nic, struct mcp_board *board);

/* A NIC cannot be reached any more: what is under way to there fails, and so does all that
 * follows. */
void mcp_peer_gone(struct mcp_nic *nic, struct mcp_board *board, mcp_link link);

#endif
