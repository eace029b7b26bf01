/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board: the small interface between the control program (MCP) and everything below it.
 *
 * It offers a wire, a clock and host memory. A test double, the simulator and UDP each implement
 * it. The MCP itself calls nothing else, keeps no time and allocates nothing.
 *
 * Other NICs are links. A link is a number that the board gives. Only the board knows its address,
 * so the MCP works with any network. Whoever holds a link drops it when done with it.
 *
 * The NIC's memory is one piece. It may lie at another address in each process, so references
 * inside it are offsets (bytes from `memory`; 0 is "none").
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
     * Put a packet on the wire. It may get lost there, or wait until the board is flushed. The
     * header is sealed. A payload lies in host memory. Its owner does not touch it before it is
     * acknowledged.
     */
    void (*send)(struct mcp_board *board, mcp_link to, const struct mcp_header *header,
                 const void *payload, size_t payload_bytes);
    /*
     * Store an ARRIVE into its receiver's arrival record: first the payload, if there is one, then
     * the epoch. `message->peer` says which of the group's peers receives it: a board that writes
     * into remote memory keeps the place of each peer's records. NULL: the board cannot do this;
     * send the packet.
     */
    void (*put)(struct mcp_board *board, struct mcp_group *group, const struct mcp_message *message,
                const void *payload, size_t payload_bytes);
    /*
     * Keep a link to the sender of the present packet for later. MCP_LINK_SENDER: there is no room
     * for another link. drop() gives up a link that was held once.
     */
    mcp_link (*hold_sender)(struct mcp_board *board);
    void (*drop)(struct mcp_board *board, mcp_link link);
    /* Nanoseconds since some time in the past; never goes back. */
    uint64_t (*now_ns)(struct mcp_board *board);
    /* A word was published on which hosts may sleep. */
    void (*wake)(struct mcp_board *board, myr_word *word);
};

struct mcp_board {
    struct mcp_board_ops ops;
    uint8_t *memory;
    uint32_t memory_bytes;
    struct mcp_nh_keys nh; /* of connections, by their links; begins as 0 */
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
