/* SPDX-License-Identifier: BSD-3-Clause */
/* See wire_group.h. */
#include "tests/unit/wire_group.h"

#include <stdlib.h>

#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"
#include "tests/unit/crew.h"

void wire_group_begin(struct wire_group *group, struct wire *wire, struct nicbarr_choice choice,
                      uint32_t size)
{
    *group = (struct wire_group){.wire = wire, .choice = choice, .size = size};
    group->key = crew_random(&wire->random) | 1;
    group->secret.word[0] = crew_random(&wire->random);
    group->secret.word[1] = crew_random(&wire->random);
    group->nic_of = crew_require(calloc(size, sizeof(*group->nic_of)));
    group->schedules = crew_require(calloc(size, sizeof(*group->schedules)));
    for (uint32_t r = 0; r < size; ++r) {
        group->nic_of[r] = r;
        if (!nicbarr_schedule_create(choice, size, r, &group->schedules[r])) {
            crew_require(NULL);
        }
    }
}

void wire_group_end(struct wire_group *group)
{
    for (uint32_t r = 0; r < group->size; ++r) {
        nicbarr_schedule_destroy(&group->schedules[r]);
        if (NULL != group->carry) {
            myr_carry_free(&group->carry[r]);
        }
        if (NULL != group->spread) {
            myr_spread_free(&group->spread[r]);
        }
    }
    free(group->carry);
    free(group->spread);
    free(group->schedules);
    free(group->nic_of);
    *group = (struct wire_group){.size = 0};
}

uint32_t wire_group_carry(struct wire_group *group, uint32_t unit_most)
{
    const struct nicbarr_among among = {group->choice, group->size};
    group->carry = crew_require(calloc(group->size, sizeof(*group->carry)));
    for (uint32_t r = 0; r < group->size; ++r) {
        if (!myr_carry_plan(group->size, r, nicbarr_schedule_of, &among, false, &group->carry[r])) {
            crew_require(NULL);
        }
    }
    return group->unit_most = myr_nic_data_fit(&group->carry[0], unit_most, UINT32_MAX);
}

void wire_group_broadcast(struct wire_group *group, uint32_t block)
{
    group->slot_bytes = mcp_bcast_slot_bytes(block);
    group->spread = crew_require(calloc(group->size, sizeof(*group->spread)));
    for (uint32_t r = 0; r < group->size; ++r) {
        if (!myr_spread_plan(&group->schedules[r], group->size, r, &group->spread[r])) {
            crew_require(NULL);
        }
    }
}

void wire_group_shuffle(struct wire_group *group)
{
    struct wire *wire = group->wire;
    uint32_t *order = crew_require(calloc(wire->nnics, sizeof(*order)));
    for (uint32_t n = 0; n < wire->nnics; ++n) {
        const uint32_t place = crew_below(&wire->random, n + 1);
        order[n] = order[place];
        order[place] = n;
    }
    for (uint32_t r = 0; r < group->size; ++r) {
        group->nic_of[r] = order[r];
    }
    free(order);
}

struct wire_nic *wire_group_nic(const struct wire_group *group, uint32_t rank)
{
    return &group->wire->nics[group->nic_of[rank]];
}

size_t wire_group_bytes(const struct wire_group *group, uint32_t rank)
{
    const struct myr_lengths lengths = myr_schedule_lengths(&group->schedules[rank]);
    return mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits) +
           (0 == group->unit_most
                ? 0
                : (size_t)2 * group->carry[rank].buffer_blocks * group->unit_most) +
           (0 == group->slot_bytes
                ? 0
                : (size_t)group->slot_bytes * mcp_bcast_window(group->slot_bytes));
}

void wire_group_fill(const struct wire_group *group, uint32_t rank, uint32_t epoch,
                     struct mcp_group *memory)
{
    const struct nicbarr_among among = {group->choice, group->size};
    const struct myr_schedule *schedule = &group->schedules[rank];
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    struct myr_nic_data data = {.buffers = {NULL}};
    struct myr_nic_bcast bcast = {.slots = NULL};
    mcp_group_init(memory, group->key, group->size, rank, lengths.steps, lengths.sends,
                   lengths.waits, epoch);
    memory->secret = group->secret;
    if (0 != group->unit_most) {
        data.carry = group->carry[rank];
        memory->buffer_blocks = data.carry.buffer_blocks;
        memory->unit_most = group->unit_most;
    }
    if (0 != group->slot_bytes) {
        bcast.spread = group->spread[rank];
        memory->window = mcp_bcast_window(group->slot_bytes);
        memory->slot_bytes = group->slot_bytes;
    }
    struct mcp_peer *peers = mcp_group_sends(memory);
    if (!myr_fill_tables(schedule, rank, nicbarr_schedule_of, &among,
                         0 != group->unit_most ? &data : NULL,
                         0 != group->slot_bytes ? &bcast : NULL, mcp_group_steps(memory), peers)) {
        crew_require(NULL);
    }
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        peers[p].link = wire_group_nic(group, peers[p].node)->link;
    }
}

struct mcp_group *wire_group_open(const struct wire_group *group, uint32_t rank, uint32_t epoch)
{
    struct wire_nic *nic = wire_group_nic(group, rank);
    struct mcp_group *opened = wire_memory(nic, wire_group_bytes(group, rank));
    wire_group_fill(group, rank, epoch, opened);
    mcp_collective_open(&nic->mcp->collective, &nic->board, &nic->mcp->counters, opened);
    return opened;
}

void wire_group_start(struct wire_nic *nic, struct mcp_group *group, uint32_t epoch)
{
    mcp_collective_start(&nic->mcp->collective, &nic->board, &nic->mcp->counters, group, epoch);
}

void wire_group_close(struct wire_nic *nic, struct mcp_group *group)
{
    mcp_collective_close(&nic->mcp->collective, &nic->board, group);
}

bool wire_group_offer(struct wire_nic *nic, struct mcp_group *group, uint32_t epoch,
                      const void *block, uint32_t unit)
{
    return mcp_collective_offer(&nic->mcp->collective, &nic->board, &nic->mcp->counters, group,
                                epoch, block, unit);
}

bool wire_group_begin_closing(struct wire_nic *nic, struct mcp_group *group)
{
    return mcp_collective_begin_closing(&nic->mcp->collective, &nic->board, &nic->mcp->counters,
                                        group);
}

bool wire_group_bcast(struct wire_nic *nic, struct mcp_group *group, uint32_t number,
                      const void *block, uint32_t bytes)
{
    return mcp_collective_bcast(&nic->board, &nic->mcp->counters, group, number, block, bytes);
}

void wire_group_bcast_ask(struct wire_nic *nic, struct mcp_group *group, uint32_t root,
                          uint32_t number)
{
    mcp_collective_bcast_ask(&nic->board, &nic->mcp->counters, group, root, number);
}

struct mcp_bcast_slot *wire_group_slot(struct mcp_group *group, uint32_t number)
{
    return (struct mcp_bcast_slot *)(mcp_group_window(group) +
                                     mcp_bcast_offset(group->window, group->slot_bytes, number));
}

const uint8_t *wire_group_block(const struct wire_group *group, uint32_t rank,
                                struct mcp_group *memory, uint32_t epoch, uint32_t unit,
                                uint32_t of)
{
    return mcp_group_buffer(memory, epoch) + (size_t)group->carry[rank].position_of[of] * unit;
}

uint32_t wire_group_done(const struct mcp_group *group)
{
    return myr_load_acquire(&group->done);
}
