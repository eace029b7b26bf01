/*
 * The control program (MCP) of one NIC: what its board calls.
 *
 * A NIC is a piece of host memory (struct mcp_nic) and a board. Whoever runs the MCP (a process
 * that polls, a thread, a daemon, a simulated processor) sees to it that one does at a time; the
 * state is all in the memory, so it may be another one each time.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include "firmware/board.h"
#include "firmware/collective.h"
#include "firmware/counters.h"

struct mcp_nic {
    uint64_t key; /* of packets for this NIC's ports; random */
    struct mcp_counters counters;
    struct mcp_collective collective;
};

/* Set up a NIC in memory that is all 0. */
void mcp_init(struct mcp_nic *nic, uint64_t key);

/* A packet has come from `from`; anything at all may be in it. */
void mcp_receive(struct mcp_nic *nic, struct mcp_board *board, const struct mcp_address *from,
                 const void *packet, size_t bytes);

/* Do what is due; to be called when the time mcp_deadline_ns() has come, or more often. */
void mcp_timer(struct mcp_nic *nic, struct mcp_board *board);

/* When mcp_timer() has something to do next (the board's clock); 0: never, as far as is known. */
uint64_t mcp_deadline_ns(const struct mcp_nic *nic);

#endif
