/* SPDX-License-Identifier: BSD-3-Clause */
/* See plans.h. */
#include <arpa/inet.h>

#include "firmware/bcast.h"
#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/groups/spread.h"
#include "tests/unit/crew.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/plans.h"
#include "tests/unit/test.h"

struct mcp_kernel_peer peer_at(uint32_t node, uint32_t slot)
{
    return (struct mcp_kernel_peer){
        .ip = address_of(peer_ip(node)),
        .port = htons(PORT),
        .node = (uint16_t)node,
        .slot = (uint16_t)slot,
    };
}

static struct nicbarr_choice some_choice(uint64_t *random)
{
    switch (crew_below(random, 3)) {
    case 0:
        return (struct nicbarr_choice){NICBARR_DISSEMINATION, 1 + crew_below(random, 3), 0};
    case 1:
        return (struct nicbarr_choice){NICBARR_PAIRWISE, 0, 0};
    default:
        return (struct nicbarr_choice){NICBARR_TREE, 2 + crew_below(random, 3), 0};
    }
}

/* Plan the steps and messages of a schedule, with the data that it carries or broadcasts. */
static void plan_messages(struct mcp_kernel_plan *plan, const struct nicbarr_among *asked,
                          const struct myr_schedule *schedule, const struct myr_nic_data *data,
                          const struct myr_nic_bcast *bcast)
{
    struct mcp_peer peers[MCP_KERNEL_PEERS];
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    plan->nsteps = lengths.steps;
    plan->nsends = lengths.sends;
    plan->nwaits = lengths.waits;
    assert_true(myr_fill_tables(schedule, plan->node, nicbarr_schedule_of, asked, data, bcast,
                                plan->steps, peers));
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        plan->peers[p] = peer_at(peers[p].node, peers[p].slot);
        plan->peers[p].blocks = peers[p].blocks;
        plan->peers[p].at = peers[p].at;
    }
}

void plan_schedule(struct mcp_kernel_plan *plan, bool carries, uint64_t *random)
{
    const struct nicbarr_among asked = {some_choice(random),
                                        2 + crew_below(random, MOST_NODES - 1)};
    const uint32_t node = crew_below(random, asked.size);
    struct myr_nic_data data = {.unit_most = 0};
    struct myr_schedule schedule;
    assert_true(nicbarr_schedule_of(&asked, node, &schedule));
    memset(plan, 0, sizeof(*plan));
    plan->node = node;
    if (carries) {
        assert_true(
            myr_carry_plan(asked.size, node, nicbarr_schedule_of, &asked, false, &data.carry));
        plan->buffer_blocks = data.carry.buffer_blocks;
        plan->unit_most =
            myr_nic_data_fit(&data.carry, 16 + crew_below(random, 4096), MCP_KERNEL_BUFFER);
    }
    plan_messages(plan, &asked, &schedule, carries ? &data : NULL, NULL);
    myr_carry_free(&data.carry);
    nicbarr_schedule_destroy(&schedule);
}

void plan_broadcasts(struct mcp_kernel_plan *plan, const struct nicbarr_among *asked, uint32_t node,
                     uint32_t bytes)
{
    struct myr_nic_bcast bcast = {.slots = NULL};
    struct myr_schedule schedule;
    memset(plan, 0, sizeof(*plan));
    plan->nodes = asked->size;
    plan->node = node;
    assert_true(nicbarr_schedule_of(asked, node, &schedule));
    plan->slot_bytes = mcp_bcast_slot_bytes(bytes);
    plan->window = mcp_bcast_window(plan->slot_bytes);
    assert_true(myr_spread_plan(&schedule, asked->size, node, &bcast.spread));
    plan_messages(plan, asked, &schedule, NULL, &bcast);
    myr_spread_free(&bcast.spread);
    nicbarr_schedule_destroy(&schedule);
}

void broadcast_anything(struct mcp_kernel_plan *plan, uint64_t *random)
{
    plan->window = UINT32_C(8) << crew_below(random, 4);
    const uint32_t room = MCP_BCAST_BYTES / plan->window - (uint32_t)sizeof(struct mcp_bcast_slot);
    const uint32_t most = room < MCP_PAYLOAD_MOST ? room : MCP_PAYLOAD_MOST;
    plan->slot_bytes =
        mcp_bcast_slot_bytes(MCP_BLOCK_UNIT * (1 + crew_below(random, most / MCP_BLOCK_UNIT)));
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        plan->peers[p].at = (uint16_t)crew_below(random, MOST_NODES + 1);
    }
}

static struct mcp_kernel_peer some_peer(uint64_t *random)
{
    const uint32_t node = crew_below(random, MOST_NODES);
    return peer_at(node, crew_below(random, 65535));
}

void carry_anything(struct mcp_kernel_plan *plan, uint64_t *random)
{
    plan->unit_most = MCP_BLOCK_UNIT * (1 + crew_below(random, MCP_PAYLOAD_MOST / MCP_BLOCK_UNIT));
    plan->buffer_blocks = 1 + crew_below(random, MCP_KERNEL_BUFFER / plan->unit_most);
    const uint32_t most = MCP_PAYLOAD_MOST / plan->unit_most;
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const uint32_t blocks =
            crew_below(random, (most < plan->buffer_blocks ? most : plan->buffer_blocks) + 1);
        plan->peers[p].blocks = (uint16_t)blocks;
        plan->peers[p].at = (uint16_t)crew_below(random, plan->buffer_blocks - blocks + 1);
    }
}

void plan_anything(struct mcp_kernel_plan *plan, bool greatest, uint64_t *random)
{
    memset(plan, 0, sizeof(*plan));
    plan->node = crew_below(random, MOST_NODES);
    plan->nsteps = greatest ? MCP_KERNEL_STEPS : 1 + crew_below(random, MCP_KERNEL_STEPS);
    plan->nsends = greatest ? MCP_KERNEL_MESSAGES : 1 + crew_below(random, MCP_KERNEL_MESSAGES);
    plan->nwaits = greatest ? MCP_KERNEL_MESSAGES : 1 + crew_below(random, MCP_KERNEL_MESSAGES);
    for (uint32_t i = 0; i < plan->nsends; ++i) {
        ++plan->steps[crew_below(random, plan->nsteps)].sends;
    }
    for (uint32_t i = 0; i < plan->nwaits; ++i) {
        ++plan->steps[crew_below(random, plan->nsteps)].waits;
    }
    for (uint32_t i = 0; i < plan->nsends + plan->nwaits; ++i) {
        plan->peers[i] = some_peer(random);
    }
}
