/* SPDX-License-Identifier: BSD-3-Clause */
/* The control program (MCP) of one NIC: the functions that its board calls.
 *
 * A NIC is a piece of host memory (struct mcp_nic) and a board. A process that polls, a thread, a
 * daemon or a simulated processor may run the MCP. The runners serialise its calls. All state is in
 * the memory, so each call may have another runner. */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "firmware/board.h"
#include "firmware/collective.h"
#include "firmware/counters.h"
#include "firmware/messages.h"

/* The tables of ports and connections follow it. */
struct mcp_nic {
    _Alignas(MYR_LINE) uint64_t key; /* of packets for this NIC's ports; random, not 0 */
    struct mcp_counters counters;
    struct mcp_collective collective;
    struct mcp_messages messages;
};

/* Bytes of a NIC with its tables. Its memory must be aligned to MYR_LINE. */
size_t mcp_nic_bytes(uint32_t ports, uint32_t connections);

/* Initialise a NIC in memory that is all 0, with room for this many ports and connections. */
void mcp_init(struct mcp_nic *nic, uint64_t key, uint32_t ports, uint32_t connections);

/* Handle a received packet, which may contain anything at all. MCP_LINK_SENDER is its sender to the
 * board until this returns. */
void mcp_receive(struct mcp_nic *nic, struct mcp_board *board, const void *packet, size_t bytes);

/* Handle expired timers. Call it at mcp_deadline_ns(), or more often. */
void mcp_timer(struct mcp_nic *nic, struct mcp_board *board);

/* When mcp_timer() is due next (the board's clock); 0: never, as far as is known. */
uint64_t mcp_deadline_ns(const struct mcp_nic *nic);

#endif
