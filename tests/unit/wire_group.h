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
#include "tests/unit/wire_double.h"

struct wire_group {
    struct wire *wire;
    uint64_t key;
    struct mcp_secret secret;
    uint32_t size;
    uint32_t *nic_of; /* [rank]: the number of its NIC */
    struct myr_schedule *schedules;
};

/* A group of `size` NICs of the wire, rank r on NIC r at first, with a key drawn at random. */
void wire_group_begin(struct wire_group *group, struct wire *wire, struct nicbarr_choice choice,
                      uint32_t size);
void wire_group_end(struct wire_group *group);

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

uint32_t wire_group_done(const struct mcp_group *group);

#endif
