/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a schedule to the tables of a NIC, and describes the memory behind these tables. Used by
 * all kinds of NICs. */
#ifndef MYR_GROUP_TABLES_H
#define MYR_GROUP_TABLES_H

#include "firmware/engine.h"
#include "libmyr/groups/group_member.h"

/* Fills in the tables of node `node` from its schedule: the steps and the peers, that is, first the
 * peers to send to, then the peers to wait for. `data` and `bcast` may be NULL. The caller fills in
 * the links of the peers. Returns false if out of memory. */
bool myr_fill_tables(const struct myr_schedule *schedule, uint32_t node,
                     myr_schedule_fn schedule_of, const void *context,
                     const struct myr_nic_data *data, const struct myr_nic_bcast *bcast,
                     struct mcp_step *steps, struct mcp_peer *peers);

/* Prepares the engine's part of `group` for the first epoch, by initialising the tables, as above,
 * and the state for data or broadcasts. The engine's part must have space for the whole schedule.
 * Returns false if out of memory. */
bool myr_group_fill(const struct myr_nic_group *group, struct mcp_group *mcp,
                    const struct myr_nic_members *members, const struct myr_schedule *schedule,
                    myr_schedule_fn schedule_of, const void *context);

/* Describe the memory that follows the engine's part of a group on a node. In a group that carries
 * data, this memory contains both buffers and the state that the node's processes share; in a group
 * that broadcasts, it contains the window. The first function returns the size of this memory in
 * bytes, and the second one takes its address and initialises the pointers of `group`. */
size_t myr_group_behind_bytes(const struct myr_nic_group *group);
void myr_group_set_behind(const struct myr_nic_group *group, uint8_t *behind);

#endif
