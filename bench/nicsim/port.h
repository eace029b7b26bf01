/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port of a simulated host, with tokens, buffers and messages. Each message costs the host
 * time, which is longer with MPI than with GM (struct nicsim_machine).
 */
#ifndef NICSIM_PORT_H
#define NICSIM_PORT_H

#include "firmware/sim/machine.h"

/* Host time per message, of the sender and of the receiver. */
struct nicsim_message_us {
    double send, receive;
};

struct nicsim_port {
    struct mcp_port shape;
    struct mcp_rings *rings;
    uint32_t sends, provides, events; /* numbers of tokens written, and of events read */
    uint32_t free_tokens;
    uint32_t *free_token; /* stack of the numbers of free tokens */
    mcp_offset payload;   /* payload of all messages that are sent, whose contents are irrelevant */
    uint32_t bytes_most;
    struct nicsim_message_us costs;
};

/* Return the bytes of memory that a node needs for a port with that many tokens and messages of up
 * to bytes_most, and those that the rings of the port need. */
size_t nicsim_port_bytes(uint32_t sends, uint32_t receives, uint32_t bytes_most);
size_t nicsim_port_ring_bytes(uint32_t sends, uint32_t receives);

/* Opens port 0 of a node. Returns false if memory runs out. Call nicsim_port_free() in any case. */
bool nicsim_port_open(struct nicsim_port *port, struct sim_node *node, uint32_t sends,
                      uint32_t receives, uint32_t bytes_most, struct nicsim_message_us costs);
void nicsim_port_free(struct nicsim_port *port);

/* Returns the connection to port 0 of another node. */
uint32_t nicsim_port_connect(struct sim_node *node, uint32_t to);

/* Sends a message to port 0 of a node. Returns false, without any effect, if there is no free
 * token. */
bool nicsim_port_send(struct nicsim_port *port, struct sim_node *node, uint32_t to,
                      uint32_t connection, uint32_t bytes);

/* Reads the next event. Returns true, with the sender, if it is a message, and false if a send
 * token has returned. */
bool nicsim_port_take(struct nicsim_port *port, struct sim_node *node, uint32_t *from);

#endif
