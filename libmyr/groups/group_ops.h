/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of a kind of NIC on its groups, and the arrivals of a node's processes. */
#ifndef MYR_GROUP_OPS_H
#define MYR_GROUP_OPS_H

#include "firmware/missing.h"
#include "libmyr/groups/group_member.h"

struct myr_group_ops {
    /* Begins an epoch; called when all processes of the node have arrived in it. In a group that
     * carries data, `block` is the node's block of `unit` bytes (0 if the epoch carries no
     * data). */
    void (*start)(struct myr_nic_group *group, uint32_t epoch, const void *block, uint32_t unit);
    /* In a group that broadcasts, the root of broadcast `number` sends its block by bcast().
     * Another process that has waited for this block too long requests it by bcast_ask(). */
    void (*bcast)(struct myr_nic_group *group, uint32_t number, const void *block, uint32_t bytes);
    void (*bcast_ask)(struct myr_nic_group *group, uint32_t root, uint32_t number);
    /* Runs the NIC, if hosts run it. Returns the number of packets received. */
    uint32_t (*poll)(struct myr_nic_group *group);
    /* Called from time to time while a process waits for an epoch; `now_us` is the present time. */
    void (*remind)(const struct myr_nic_group *group, uint64_t now_us);
    /* Sleeps while the watched word is `seen`, until another event or the timeout. */
    void (*sleep)(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us);
    /* Implement myr_nic_group_missing(), myr_nic_group_fail() and myr_nic_group_failed(). NULL if
     * this kind of NIC does not support it. */
    uint32_t (*missing)(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most);
    void (*fail)(struct myr_nic_group *group, uint32_t node);
    /* the missing node + 1; 0 if not failed */
    uint32_t (*failed)(const struct myr_nic_group *group);
    bool (*over)(const struct myr_nic_group *group); /* whether no further epoch will complete */
    void (*leave)(struct myr_nic_group *group);
};

/* myr_group_all_arrived() returns whether all processes of the node have arrived in `epoch`;
 * myr_group_arrived() returns the last such epoch. */
bool myr_group_all_arrived(const struct myr_nic_group *group, uint32_t epoch);
uint32_t myr_group_arrived(const struct myr_nic_group *group);

/* Arrives in the next epoch of a group without blocks, and returns its number. */
uint32_t myr_group_arrive_next(struct myr_nic_group *group);

#endif
