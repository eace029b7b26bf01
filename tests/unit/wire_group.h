/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups on the NICs of a test double, from the schedules that the component uses.
 *
 * Called by the tests of the control program. The host's work when a group is created: schedules of
 * all members, and from them the tables of each NIC.
 */
#ifndef TESTS_UNIT_WIRE_GROUP_H
#define TESTS_UNIT_WIRE_GROUP_H

#include "coll_nicbarr/schedule.h"
#include "firmware/bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/groups/spread.h"
#include "tests/unit/wire_double.h"

struct wire_group {
    struct wire *wire;
    uint64_t key;
    struct mcp_secret secret;
    struct nicbarr_choice choice;
    uint32_t size;
    uint32_t *nic_of; /* [rank]: the number of its NIC */
    struct myr_schedule *schedules;
    uint32_t unit_most;        /* of a block; 0: the group carries no data */
    struct myr_carry *carry;   /* [rank] */
    uint32_t slot_bytes;       /* of a group that broadcasts; 0: it does not */
    struct myr_spread *spread; /* [rank] */
};

/* A group of `size` NICs of the wire, rank r on NIC r at first, with a key drawn at random. */
void wire_group_begin(struct wire_group *group, struct wire *wire, struct nicbarr_choice choice,
                      uint32_t size);
void wire_group_end(struct wire_group *group);

/* Have it carry blocks of up to so many bytes, before it is opened anywhere. Returns how many fit
 * into a packet; 0: none do, and it carries none. */
uint32_t wire_group_carry(struct wire_group *group, uint32_t unit_most);

/* Have it broadcast blocks of up to so many bytes, before it is opened anywhere. */
void wire_group_broadcast(struct wire_group *group, uint32_t block);

/* Have the ranks on NICs drawn at random, each on another one. */
void wire_group_shuffle(struct wire_group *group);

struct wire_nic *wire_group_nic(const struct wire_group *group, uint32_t rank);

/* Bytes that the group takes on the NIC of `rank`. */
size_t wire_group_bytes(const struct wire_group *group, uint32_t rank);

/* Make it ready to be opened there: everything up to `epoch` is done. */
void wire_group_fill(const struct wire_group *group, uint32_t rank, uint32_t epoch,
                     struct mcp_group *memory);

/* Have it opened, in memory of the NIC. */
struct mcp_group *wire_group_open(const struct wire_group *group, uint32_t rank, uint32_t epoch);

/* The host on `nic` has arrived in `epoch`; the host closes the group. */
void wire_group_start(struct wire_nic *nic, struct mcp_group *group, uint32_t epoch);
void wire_group_close(struct wire_nic *nic, struct mcp_group *group);

/* The same in a group that carries data: the host arrives with a block; it leaves. */
bool wire_group_offer(struct wire_nic *nic, struct mcp_group *group, uint32_t epoch,
                      const void *block, uint32_t unit);
bool wire_group_farewell(struct wire_nic *nic, struct mcp_group *group);

/* In a group that broadcasts: this host is the root; it asks for a block; where that lies. */
bool wire_group_bcast(struct wire_nic *nic, struct mcp_group *group, uint32_t number,
                      const void *block, uint32_t bytes);
void wire_group_bcast_ask(struct wire_nic *nic, struct mcp_group *group, uint32_t root,
                          uint32_t number);
struct mcp_bcast_slot *wire_group_slot(struct mcp_group *group, uint32_t number);

/* The block of rank `of` on the board of `rank`, whose group lies in `memory`. */
const uint8_t *wire_group_block(const struct wire_group *group, uint32_t rank,
                                struct mcp_group *memory, uint32_t epoch, uint32_t unit,
                                uint32_t of);

uint32_t wire_group_done(const struct mcp_group *group);

#endif
