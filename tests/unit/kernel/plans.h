/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates random tables of groups: those of algorithms, and any others that fit.
 */
#ifndef TESTS_UNIT_KERNEL_PLANS_H
#define TESTS_UNIT_KERNEL_PLANS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/schedule.h"
#include "firmware/kernel/owner.h"

struct mcp_kernel_peer peer_at(uint32_t node, uint32_t slot);

/* Plan a rank's part of a random algorithm, with data if `carries` is set. */
void plan_schedule(struct mcp_kernel_plan *plan, bool carries, uint64_t *random);

/* Plan a node's part of a group that broadcasts up to `bytes` bytes. */
void plan_broadcasts(struct mcp_kernel_plan *plan, const struct nicbarr_among *asked, uint32_t node,
                     uint32_t bytes);

/* Plan subtrees that no algorithm generates. */
void broadcast_anything(struct mcp_kernel_plan *plan, uint64_t *random);

/* Plan blocks and places that no algorithm generates, up to the capacity of packets and buffer. */
void carry_anything(struct mcp_kernel_plan *plan, uint64_t *random);

/* Plan tables that no algorithm generates, of a random size or of the greatest. */
void plan_anything(struct mcp_kernel_plan *plan, bool greatest, uint64_t *random);

#endif
