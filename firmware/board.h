/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board: all that the control program (MCP) has beneath it, behind one small interface.
 *
 * A wire, a clock and host memory. A test double, the simulator, UDP and others each stand here;
 * the MCP itself calls nothing else, keeps no time and allocates nothing.
 *
 * Other NICs are links: numbers that the board gives and that mean an address to the board alone,
 * whatever addresses its network has. Who holds a link drops it when done with it.
 *
 * The NIC's memory is one piece, which may lie elsewhere in each process: everything in it that
 * refers to something else in it does so by offset (bytes from `memory`; 0 is "none").
 */
#ifndef MCP_BOARD_H
#define MCP_BOARD_H

#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/engine.h"
#include "firmware/wire.h"

typedef uint32_t mcp_offset;

struct mcp_board;

struct mcp_board_ops {
    /*
     * Put a packet on the wire; it may get lost there, or be put off until the board is flushed.
     * The header is complete but for its seal, which is the board's to make. A payload lies in host
     * memory and is not touched by its owner before it was acknowledged.
     */
    void (*send)(struct mcp_board *board, mcp_link to, const struct mcp_header *header,
                 const void *payload, size_t payload_bytes);
    /*
     * Store what an ARRIVE says into its receiver's arrival record: the payload, if there is one,
     * before the epoch. `message->peer` says which of the group's peers that is: a board that
     * writes into remote memory keeps for each of them where the group's records are. NULL: the
     * board does not; send the packet.
     */
    void (*put)(struct mcp_board *board, struct mcp_group *group, const struct mcp_message *message,
                const void *payload, size_t payload_bytes);
    /*
     * Hold a link to the sender of the packet that is being handled, for later; MCP_LINK_SENDER: no
     * room for another. drop() gives up a link that was held once.
     */
    mcp_link (*hold_sender)(struct mcp_board *board);
    void (*drop)(struct mcp_board *board, mcp_link link);
    /* Nanoseconds since any time in the past; never goes back. */
    uint64_t (*now_ns)(struct mcp_board *board);
    /* A word that hosts may sleep on was published. */
    void (*wake)(struct mcp_board *board, myr_word *word);
};

struct mcp_board {
    struct mcp_board_ops ops;
    uint8_t *memory;
    uint32_t memory_bytes;
};

static inline void *mcp_at(const struct mcp_board *board, mcp_offset offset)
{
    return board->memory + offset;
}

static inline mcp_offset mcp_offset_of(const struct mcp_board *board, const void *place)
{
    return (mcp_offset)((const uint8_t *)place - board->memory);
}

#endif
