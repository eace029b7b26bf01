/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a schedule to a NIC's tables, and the memory that lies behind them; for all kinds of NICs.
 */
#ifndef MYR_GROUP_TABLES_H
#define MYR_GROUP_TABLES_H

#include "firmware/engine.h"
#include "libmyr/groups/group_member.h"

/*
 * Fill in a NIC's tables for node `node` with this schedule: its steps and its peers. The peers
 * sent to come first, then those waited for. `data` and `bcast` may be NULL. The caller fills in
 * the links of the peers. False when out of memory.
 */
bool myr_fill_tables(const struct myr_schedule *schedule, uint32_t node,
                     myr_schedule_fn schedule_of, const void *context,
                     const struct myr_nic_data *data, const struct myr_nic_bcast *bcast,
                     struct mcp_step *steps, struct mcp_peer *peers);

/*
 * Make the engine's group, which has room for it, with all that the schedule says and the first
 * epoch ahead: its tables (as above), and what `group` has for data or broadcasts. False when out
 * of memory.
 */
bool myr_group_fill(const struct myr_nic_group *group, struct mcp_group *mcp,
                    const struct myr_nic_members *members, const struct myr_schedule *schedule,
                    myr_schedule_fn schedule_of, const void *context);

/* What lies behind the engine's group in the node's memory: both buffers, and what its processes
 * share for data; or the window for broadcasts. So many bytes; and take it up where it is. */
size_t myr_group_behind_bytes(const struct myr_nic_group *group);
void myr_group_take_behind(const struct myr_nic_group *group, uint8_t *behind);

#endif
