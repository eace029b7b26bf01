/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of groups: those of algorithms, and any others that there is room for.
 */
#ifndef TESTS_UNIT_KERNEL_PLANS_H
#define TESTS_UNIT_KERNEL_PLANS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/schedule.h"
#include "firmware/kernel/owner.h"

/* A node, and the slot that it waits at. */
struct mcp_kernel_peer peer_at(uint32_t node, uint32_t slot);

/* A rank's part of some algorithm; `carries`: with data. */
void plan_schedule(struct mcp_kernel_plan *plan, bool carries, uint64_t *random);

/* A node's part of a group that broadcasts blocks of up to so many bytes. */
void plan_broadcasts(struct mcp_kernel_plan *plan, const struct nicbarr_among *asked, uint32_t node,
                     uint32_t bytes);

/* Reaches that no algorithm makes. */
void broadcast_anything(struct mcp_kernel_plan *plan, uint64_t *random);

/* Blocks and places that no algorithm makes, as many as packets and buffer have room for. */
void carry_anything(struct mcp_kernel_plan *plan, uint64_t *random);

/* Tables that no algorithm makes, up to the greatest that there is room for. */
void plan_anything(struct mcp_kernel_plan *plan, bool greatest, uint64_t *random);

#endif
