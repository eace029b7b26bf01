/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated host's port: its tokens, its buffers, and messages over it. The host pays for each
 * message, and at the level of MPI more (struct nicsim_machine).
 */
#ifndef NICSIM_PORT_H
#define NICSIM_PORT_H

#include "firmware/sim/machine.h"

/* What a message takes the host that sends it, and the one that receives it. */
struct nicsim_message_us {
    double send, receive;
};

struct nicsim_port {
    struct mcp_port shape;
    struct mcp_rings *rings;
    uint32_t sends, provides, events; /* tokens handed over, and events taken */
    uint32_t free_tokens;
    uint32_t *free_token; /* their numbers */
    mcp_offset payload;   /* of all that is sent: what it says does not matter */
    uint32_t bytes_most;
    struct nicsim_message_us costs;
};

/* Bytes of a node's memory for a port with so many tokens and messages of so many bytes, and of its
 * rings alone. */
size_t nicsim_port_bytes(uint32_t sends, uint32_t receives, uint32_t bytes_most);
size_t nicsim_port_ring_bytes(uint32_t sends, uint32_t receives);

/* Open port 0 of a node. False when out of memory; nicsim_port_free() in any case. */
bool nicsim_port_open(struct nicsim_port *port, struct sim_node *node, uint32_t sends,
                      uint32_t receives, uint32_t bytes_most, struct nicsim_message_us costs);
void nicsim_port_free(struct nicsim_port *port);

/* The connection to port 0 of another node. */
uint32_t nicsim_port_connect(struct sim_node *node, uint32_t to);

/* Send a message there. False, and nothing is done, where there is no token. */
bool nicsim_port_send(struct nicsim_port *port, struct sim_node *node, uint32_t to,
                      uint32_t connection, uint32_t bytes);

/* Take the next event. True with the sender where it is a message; else it is a token. */
bool nicsim_port_take(struct nicsim_port *port, struct sim_node *node, uint32_t *from);

#endif
