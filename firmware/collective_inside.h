/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal interface between collective.c and collective_bcast.c. */
#ifndef MCP_COLLECTIVE_INSIDE_H
#define MCP_COLLECTIVE_INSIDE_H

#include "firmware/collective.h"

/* Seals a message and sends it with its payload (NULL if there is none). */
static inline void mcp_collective_send(struct mcp_board *board, const struct mcp_group *group,
                                       struct mcp_message *message, const void *payload)
{
    mcp_seal(&message->header, &group->secret, payload, message->bytes);
    board->ops.send(board, message->to, &message->header, payload, message->bytes);
}

/* Handlers for the packets of broadcasts: a block has arrived, a peer requests one, and the parent
 * reports that it does not have the block yet. */
enum mcp_recorded mcp_collective_take_block(struct mcp_board *board, struct mcp_counters *counters,
                                            struct mcp_group *group, uint32_t root, uint32_t number,
                                            const void *block, uint32_t bytes);
void mcp_collective_answer_bcast(struct mcp_board *board, struct mcp_counters *counters,
                                 struct mcp_group *group, const struct mcp_collective_part *part);
enum mcp_recorded mcp_collective_hear_bcast(struct mcp_board *board, struct mcp_group *group,
                                            const struct mcp_collective_part *part);

#endif
