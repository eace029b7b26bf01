/* SPDX-License-Identifier: BSD-3-Clause */
/* The control program (MCP) of a NIC: the functions that its board calls.
 *
 * A NIC consists of a block of host memory (struct mcp_nic), which contains all its state, and a
 * board. The MCP may be run by a polling process, a thread, a daemon or a simulated CPU, and each
 * call may come from a different one. Callers must serialise their calls. */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "firmware/board.h"
#include "firmware/collective.h"
#include "firmware/counters.h"
#include "firmware/messages.h"

/* A NIC. The tables of ports and connections follow it. */
struct mcp_nic {
    _Alignas(MYR_LINE) uint64_t key; /* of packets for this NIC's ports; random, not 0 */
    struct mcp_counters counters;
    struct mcp_collective collective;
    struct mcp_messages messages;
};

/* Returns the size of a NIC with its tables (bytes). Its memory must be aligned to MYR_LINE. */
size_t mcp_nic_bytes(uint32_t ports, uint32_t connections);

/* Initialises a NIC in memory that is all 0, with capacity for this many ports and connections. */
void mcp_init(struct mcp_nic *nic, uint64_t key, uint32_t ports, uint32_t connections);

/* Handles a received packet, whose contents are not trusted. During this call, MCP_LINK_SENDER
 * denotes the packet's sender to the board. */
void mcp_receive(struct mcp_nic *nic, struct mcp_board *board, const void *packet, size_t bytes);

/* Handles expired timers. To be called at mcp_deadline_ns(), or more often. */
void mcp_timer(struct mcp_nic *nic, struct mcp_board *board);

/* Returns when mcp_timer() is due next (by the board's clock), or 0 if no timer is pending. */
uint64_t mcp_deadline_ns(const struct mcp_nic *nic);

#endif
