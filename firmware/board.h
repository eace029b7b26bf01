/* SPDX-License-Identifier: BSD-3-Clause */
/* The board: the interface between the control program (MCP) and everything below it.
 *
 * It provides a wire, a clock and host memory. A test double, the simulator and UDP each implement
 * it. The MCP itself calls nothing else, reads no clock of its own and allocates nothing.
 *
 * Other NICs are links: numbers that the board assigns. Only the board knows a link's address, so
 * the MCP works with any network. The holder of a link drops it when done with it.
 *
 * The NIC's memory is one piece. It may be mapped at another address in each process, so references
 * inside it are offsets (bytes from `memory`; 0 is "none"). */
#ifndef MCP_BOARD_H
#define MCP_BOARD_H

#include <stdint.h>

#include "firmware/atomics.h"
#include "firmware/engine.h"
#include "firmware/wire.h"

typedef uint32_t mcp_offset;

struct mcp_board;

struct mcp_board_ops {
    /* Send a packet. It may be lost, or queued until the board is flushed. The header is sealed. A
     * payload lies in host memory, and its owner does not change it before it is acknowledged. */
    void (*send)(struct mcp_board *board, mcp_link to, const struct mcp_header *header,
                 const void *payload, size_t payload_bytes);
    /* Store an ARRIVE into its receiver's arrival record: first the payload, if there is one, then
     * the epoch. `message->peer` is the receiver's index among the group's peers: a board that
     * writes into remote memory keeps the address of each peer's records. NULL: not supported; send
     * the packet. */
    void (*put)(struct mcp_board *board, struct mcp_group *group, const struct mcp_message *message,
                const void *payload, size_t payload_bytes);
    /* Take a reference to a link to the sender of the present packet. MCP_LINK_SENDER: no room for
     * another link. drop() releases one reference. */
    mcp_link (*hold_sender)(struct mcp_board *board);
    void (*drop)(struct mcp_board *board, mcp_link link);
    /* A monotonic clock in nanoseconds. */
    uint64_t (*now_ns)(struct mcp_board *board);
    /* Wake the hosts that may sleep on `word`, which was just published. */
    void (*wake)(struct mcp_board *board, myr_word *word);
};

struct mcp_board {
    struct mcp_board_ops ops;
    uint8_t *memory;
    uint32_t memory_bytes;
    struct mcp_nh_keys nh; /* of connections, by their links; initially 0 */
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
