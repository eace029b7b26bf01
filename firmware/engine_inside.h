/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal interface of engine.c and bcast.c: access to a group's tables, and the initialisation of
 * messages. */
#ifndef MCP_ENGINE_INSIDE_H
#define MCP_ENGINE_INSIDE_H

#include "firmware/engine.h"

#ifdef __bpf__

#define INSIDE MCP_ENGINE

/* The tables have the layout of struct mcp_kernel_group. Each index is masked to the size of its
 * table, and so is each bound that is read from memory, so that the verifier knows their ranges. */
INSIDE uint32_t *arrival_at(struct mcp_group *group, uint32_t index)
{
    uint32_t *arrivals = (uint32_t *)(group + 1) + MCP_KERNEL_BEHIND;
    return arrivals + (index & (MCP_KERNEL_MESSAGES - 1));
}

INSIDE struct mcp_step *step_at(struct mcp_group *group, uint32_t index)
{
    struct mcp_step *steps = (struct mcp_step *)(arrival_at(group, 0) + MCP_KERNEL_MESSAGES);
    return steps + (index & (MCP_KERNEL_STEPS - 1));
}

INSIDE struct mcp_peer *peer_at(struct mcp_group *group, uint32_t index)
{
    struct mcp_peer *peers = (struct mcp_peer *)(step_at(group, 0) + MCP_KERNEL_STEPS);
    return peers + (index & (MCP_KERNEL_PEERS - 1));
}

INSIDE uint32_t *heard_at(struct mcp_group *group, uint32_t index)
{
    uint32_t *heard = (uint32_t *)(peer_at(group, 0) + MCP_KERNEL_PEERS);
    return heard + (index & (MCP_KERNEL_MESSAGES - 1));
}

INSIDE uint32_t *claim_at(struct mcp_group *group, uint32_t index)
{
    uint32_t *claims = heard_at(group, 0) + MCP_KERNEL_MESSAGES;
    return claims + (index & (MCP_KERNEL_MESSAGES - 1));
}

/* The condition of a loop. It has two comparisons because older verifiers do not track the minimum
 * of two bounds. */
#define BELOW(index, count, most) ((index) < (most) && (index) < (count))

/* Returns the result of a search loop unchanged, but conceals it from the verifier by writing it to
 * memory and reading it back. Otherwise the verifier would follow each possible result as a
 * separate path. */
INSIDE uint32_t hide_from_verifier(struct mcp_group *group, uint32_t index)
{
    *(volatile uint32_t *)&group->found = index;
    return *(volatile uint32_t *)&group->found;
}

#else

#define INSIDE static inline

INSIDE struct mcp_step *step_at(struct mcp_group *group, uint32_t index)
{
    return &mcp_group_steps(group)[index];
}

INSIDE struct mcp_peer *peer_at(struct mcp_group *group, uint32_t index)
{
    return &mcp_group_sends(group)[index];
}

INSIDE uint32_t *arrival_at(struct mcp_group *group, uint32_t index)
{
    return &mcp_group_arrivals(group)[index];
}

INSIDE uint32_t *heard_at(struct mcp_group *group, uint32_t index)
{
    return &mcp_group_heard(group)[index];
}

INSIDE uint32_t *claim_at(struct mcp_group *group, uint32_t index)
{
    return &mcp_group_claims(group)[index];
}

#define BELOW(index, count, most) ((index) < (count))

INSIDE uint32_t hide_from_verifier(struct mcp_group *group, uint32_t index)
{
    (void)group;
    return index;
}

#endif

/* Returns the last complete epoch. A relaxed load suffices, because only the NIC writes `done`, one
 * thread at a time. */
INSIDE uint32_t last_complete(const struct mcp_group *group)
{
    return myr_load_relaxed(&group->done);
}

INSIDE void address_message(struct mcp_group *group, struct mcp_message *message, uint32_t peer,
                            uint8_t type, uint32_t slot, uint32_t epoch)
{
    *message = (struct mcp_message){
        .to = peer_at(group, peer)->link,
        .peer = peer,
        .header = {.type = type, .key = group->key},
    };
    message->header.collective = (struct mcp_collective_part){epoch, (uint16_t)slot, group->node};
}

/* Turns the message into a FAIL that names the missing node, if the group has failed. */
INSIDE void make_failure(const struct mcp_group *group, struct mcp_message *message)
{
    const uint32_t failed = myr_load_relaxed(&group->failed);
    if (0 != failed) {
        message->header.type = MCP_FAIL;
        message->header.collective.node = (uint16_t)(failed - 1);
    }
}

#endif
