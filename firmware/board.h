/* SPDX-License-Identifier: BSD-3-Clause */
/* The board is the interface between the control program (MCP) and everything below it.
 *
 * The board provides a wire, a clock and host memory. The soft NIC implements these with UDP
 * sockets; further implementations are in the simulator and in the tests. The MCP does not call any
 * other interface, has no other clock, and does not allocate memory.
 *
 * The MCP identifies other NICs by links, which are numbers that the board assigns. Only the board
 * knows the network address of a link, so the MCP works with any network. Links are reference
 * counted: whoever holds a link drops the reference when it no longer needs the link.
 *
 * All memory that the NIC uses is contiguous. Each process may map it at a different address, so
 * references within it are offsets in bytes from `memory`. Offset 0 means "none". */
#ifndef MCP_BOARD_H
#define MCP_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/engine.h"
#include "firmware/wire.h"

typedef uint32_t mcp_offset;

struct mcp_board;

struct mcp_board_ops {
    /* Sends a packet, whose header is already sealed. The packet may be lost, and it may be queued
     * until the board is flushed. The payload stays in host memory, where it must not be changed
     * until the packet is acknowledged. */
    void (*send)(struct mcp_board *board, mcp_link to, const struct mcp_header *header,
                 const void *payload, size_t payload_bytes);
    /* Takes a reference to a link to the sender of the present packet, which drop() releases.
     * Returns MCP_LINK_SENDER if the table of links is full. */
    mcp_link (*hold_sender)(struct mcp_board *board);
    void (*drop)(struct mcp_board *board, mcp_link link);
    /* Returns a monotonic clock in nanoseconds. */
    uint64_t (*now_ns)(struct mcp_board *board);
    /* Wakes the hosts that may sleep on `word`, which was just published. */
    void (*wake)(struct mcp_board *board, myr_word *word);
    /* Returns whether a process that has opened a port has ended. The pointer is NULL if no process
     * ends without closing its ports. */
    bool (*has_ended)(struct mcp_board *board, uint32_t process);
};

struct mcp_board {
    struct mcp_board_ops ops;
    uint8_t *memory;
    uint32_t memory_bytes;
    struct mcp_nh_keys nh; /* NH keys of connections, indexed by their links; initially 0 */
};

static inline void *mcp_at(const struct mcp_board *board, mcp_offset offset)
{
    return board->memory + offset;
}

static inline mcp_offset mcp_offset_of(const struct mcp_board *board, const void *pointer)
{
    return (mcp_offset)((const uint8_t *)pointer - board->memory);
}

#endif
