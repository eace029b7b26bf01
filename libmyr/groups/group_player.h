/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a kind of NIC does for its groups, and what groups of all kinds share (nic_group.c): the
 * processes of the node, waiting, and the way from a schedule to a NIC's tables.
 */
#ifndef MYR_GROUP_PLAYER_H
#define MYR_GROUP_PLAYER_H

#include <stdbool.h>

#include "firmware/engine.h"
#include "libmyr/groups/nic_group.h"

struct myr_player {
    /* All of the node have arrived. In a group that carries data there is a block of `unit` bytes
     * (0: nobody has data in this epoch). */
    void (*start)(struct myr_nic_group *group, uint32_t epoch, const void *block, uint32_t unit);
    /* In a group that broadcasts, this process is the root of one, with this block; or it has
     * waited for one for long. */
    void (*bcast)(struct myr_nic_group *group, uint32_t number, const void *block, uint32_t bytes);
    void (*bcast_ask)(struct myr_nic_group *group, uint32_t root, uint32_t number);
    /* Run the NIC, if hosts have to. Returns how many packets were taken. */
    uint32_t (*poll)(struct myr_nic_group *group);
    /* Somebody waits for an epoch, and it is `now_us`; called now and then. */
    void (*remind)(const struct myr_nic_group *group, uint64_t now_us);
    /* Sleep while the word that is watched is `seen`, until something else happens, or the time is
     * up. */
    void (*sleep)(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us);
    /* As myr_nic_group_missing(), myr_nic_group_fail() and myr_nic_group_failed(). NULL: this kind
     * of NIC cannot. */
    uint32_t (*missing)(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most);
    void (*fail)(struct myr_nic_group *group, uint32_t node);
    uint32_t (*failed)(const struct myr_nic_group *group); /* the node + 1; 0: it has not */
    bool (*over)(const struct myr_nic_group *group);       /* nothing will be completed any more */
    void (*leave)(struct myr_nic_group *group);
};

/* Have all processes of the node arrived in `epoch`? And which is the last such epoch? */
bool myr_group_all_arrived(const struct myr_nic_group *group, uint32_t epoch);
uint32_t myr_group_arrived(const struct myr_nic_group *group);

/* Arrive in the next epoch of a group without blocks, which is returned. */
uint32_t myr_group_arrive_next(struct myr_nic_group *group);

/* As myr_nic_group_wait(), until this word is `value`, or of epochs has reached it. */
bool myr_group_await(struct myr_nic_group *group, const myr_word *word, uint32_t value,
                     uint32_t timeout_us);

/*
 * What a group that carries data needs besides; `members` may say that it carries none, then that
 * is NULL, too. The kind of NIC adds the memory. MYR_ERR_TOO_LONG: no block of use has room on
 * buffers of so many bytes, or in packets.
 */
enum myr_status myr_nic_data_new(const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                                 const void *context, uint32_t buffer_bytes,
                                 struct myr_nic_data **data, struct myr_error *error);
void myr_nic_data_free(struct myr_nic_data *data);

/* The length of a schedule. */
struct myr_lengths {
    uint32_t steps, sends, waits;
};
struct myr_lengths myr_schedule_lengths(const struct myr_schedule *schedule);

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
