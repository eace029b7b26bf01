/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board: all that the control program (MCP) has beneath it, behind one small interface.
 *
 * A wire, a clock and host memory. A test double, the simulator, UDP and others each stand here;
 * the MCP itself calls nothing else, keeps no time and allocates nothing.
 *
 * Host memory is one piece, which may lie elsewhere in each process: everything in it that refers
 * to something else in it does so by offset (bytes from `memory`; 0 is "none").
 */
#ifndef MCP_BOARD_H
#define MCP_BOARD_H

#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/wire.h"

struct mcp_board {
    /*
     * Put a packet on the wire; it may get lost there, or be put off until the board is flushed.
     * The header is complete but for its seal, which is the board's to make. A payload lies in host
     * memory and is not touched by its owner before it was acknowledged.
     */
    void (*transmit)(struct mcp_board *board, const struct mcp_address *to,
                     const struct mcp_header *header, const void *payload, size_t payload_bytes);
    /* Nanoseconds since any time in the past; never goes back. */
    uint64_t (*now_ns)(struct mcp_board *board);
    /* A word that hosts may sleep on was published. */
    void (*wake)(struct mcp_board *board, myr_word *word);
    uint8_t *memory;
    uint32_t memory_bytes;
};

typedef uint32_t mcp_offset;

static inline void *mcp_at(const struct mcp_board *board, mcp_offset offset)
{
    return board->memory + offset;
}

static inline mcp_offset mcp_offset_of(const struct mcp_board *board, const void *place)
{
    return (mcp_offset)((const uint8_t *)place - board->memory);
}

#endif
