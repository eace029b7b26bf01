/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets up groups on the NICs of the fake wire, with the component's schedules.
 *
 * It does the host's part of creating a group: it computes the schedules of all members, and from
 * them the tables of each NIC.
 */
#ifndef TESTS_UNIT_WIRE_GROUP_H
#define TESTS_UNIT_WIRE_GROUP_H

#include "coll_nicbarr/schedule.h"
#include "firmware/bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/groups/spread.h"
#include "tests/unit/wire_fake.h"

struct wire_group {
    struct wire *wire;
    uint64_t key;
    struct mcp_secret secret;
    struct nicbarr_choice choice;
    uint32_t size;
    uint32_t *nic_of; /* [rank]: the number of its NIC */
    struct myr_schedule *schedules;
    uint32_t unit_most;        /* maximum size of a block; 0: the group carries no data */
    struct myr_carry *carry;   /* [rank] */
    uint32_t slot_bytes;       /* size of a broadcast's slot; 0: the group does not broadcast */
    struct myr_spread *spread; /* [rank] */
};

/* Initialize a group of `size` NICs, at first with rank r on NIC r, and a random key. */
void wire_group_begin(struct wire_group *group, struct wire *wire, struct nicbarr_choice choice,
                      uint32_t size);
void wire_group_end(struct wire_group *group);

/* Make the group carry blocks of up to `unit_most` bytes, before it is opened on any NIC.
 * Returns the number of blocks that fit into a packet, or 0 if none fits and the group therefore
 * carries no data. */
uint32_t wire_group_carry(struct wire_group *group, uint32_t unit_most);

/* Make the group broadcast blocks of up to `block` bytes, before it is opened on any NIC. */
void wire_group_broadcast(struct wire_group *group, uint32_t block);

/* Map the ranks to distinct random NICs. */
void wire_group_shuffle(struct wire_group *group);

struct wire_nic *wire_group_nic(const struct wire_group *group, uint32_t rank);

/* Returns the size of the group's memory on the NIC of `rank`. */
size_t wire_group_bytes(const struct wire_group *group, uint32_t rank);

/* Prepare the group's memory for opening it there, with all epochs up to `epoch` complete. */
void wire_group_fill(const struct wire_group *group, uint32_t rank, uint32_t epoch,
                     struct mcp_group *memory);

/* Open the group in memory of the NIC. */
struct mcp_group *wire_group_open(const struct wire_group *group, uint32_t rank, uint32_t epoch);

/* Let the host arrive in `epoch`; close the group. */
void wire_group_start(struct wire_nic *nic, struct mcp_group *group, uint32_t epoch);
void wire_group_close(struct wire_nic *nic, struct mcp_group *group);

/* Let the host arrive with a block, in a group that carries data; send its close messages. */
bool wire_group_offer(struct wire_nic *nic, struct mcp_group *group, uint32_t epoch,
                      const void *block, uint32_t unit);
bool wire_group_begin_closing(struct wire_nic *nic, struct mcp_group *group);

/* In a group that broadcasts: broadcast as the root; request a block; find the slot of a block. */
bool wire_group_bcast(struct wire_nic *nic, struct mcp_group *group, uint32_t number,
                      const void *block, uint32_t bytes);
void wire_group_bcast_ask(struct wire_nic *nic, struct mcp_group *group, uint32_t root,
                          uint32_t number);
struct mcp_bcast_slot *wire_group_slot(struct mcp_group *group, uint32_t number);

/* Returns the block of rank `of` in the memory of `rank`, whose group is `memory`. */
const uint8_t *wire_group_block(const struct wire_group *group, uint32_t rank,
                                struct mcp_group *memory, uint32_t epoch, uint32_t unit,
                                uint32_t of);

uint32_t wire_group_done(const struct mcp_group *group);

#endif
