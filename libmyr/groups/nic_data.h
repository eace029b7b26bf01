/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data across nodes: groups (nic_group.h) in which each node contributes a block to each epoch, and
 * all processes get all nodes' blocks.
 *
 * The processes of a node put their parts side by side in shared memory. The one that finds all of
 * them there makes the node's block of them, and rings the NIC. The NICs exchange the blocks as
 * they play a barrier (engine.h). What a block contains is the caller's business.
 *
 *     memcpy(myr_nic_data_part(group), mine, bytes);
 *     epoch = myr_nic_data_arrive(group, unit, build, context);
 *     myr_nic_group_wait(group, epoch, ...);
 *     look at myr_nic_data_block(group, epoch, unit, node) of all nodes;
 *
 * An epoch is begun when the one before is complete and this process does not look at its blocks
 * any more. All processes of the group give the same `unit`. It is an error of the program if they
 * do not: then what is read as a block is not what was written. So a block should say which epoch
 * it is of, and how long.
 *
 * Threads: one at a time uses a group.
 */
#ifndef MYR_NIC_DATA_H
#define MYR_NIC_DATA_H

#include "libmyr/groups/carry.h"
#include "libmyr/groups/group_member.h"

/* What a node's processes share for this; the node's blocks and the processes' parts follow. */
struct myr_node_data {
    myr_word building; /* the last epoch whose block somebody makes, */
    myr_word built;    /* ... has made, and has rung for */
    uint32_t unit[2];  /* bytes of the blocks of the last even and odd epoch */
};

/* This process's side of it, by a group's pointer `data`. */
struct myr_nic_data {
    const uint8_t *buffers[2]; /* what has come in the last even and odd epoch; the NIC writes it */
    struct myr_node_data *shared;
    uint32_t unit_most; /* bytes of a block, and of a process's part */
    struct myr_carry carry;
};

/* ---- what the user calls ---- */

/* The greatest block (bytes). */
static inline uint32_t myr_nic_data_most(const struct myr_nic_group *group)
{
    return group->data->unit_most;
}

/* The part of process `local` of this node, for the epoch after this one's last: to be written by
 * itself, and read by whoever builds. */
uint8_t *myr_nic_data_part_of(const struct myr_nic_group *group, uint32_t local);

static inline uint8_t *myr_nic_data_part(const struct myr_nic_group *group)
{
    return myr_nic_data_part_of(group, group->local);
}

/* Make the node's block of all parts. */
typedef void (*myr_build_fn)(void *context, uint32_t epoch, uint8_t *block);

/* Arrive in the next epoch, which is returned. `unit`: bytes of a block, a multiple of
 * MCP_BLOCK_UNIT, at most myr_nic_data_most(). */
uint32_t myr_nic_data_arrive(struct myr_nic_group *group, uint32_t unit, myr_build_fn build,
                             void *context);

/* A node's block of a complete epoch: valid until this process arrives in the next. */
static inline const uint8_t *myr_nic_data_block(const struct myr_nic_group *group, uint32_t epoch,
                                                uint32_t unit, uint32_t node)
{
    return group->data->buffers[epoch % 2] + (size_t)group->data->carry.place_of[node] * unit;
}

/* ---- what kinds of NICs call ---- */

/*
 * What a group that carries data needs besides; `members` may say that it carries none, then that
 * is NULL, too. The kind of NIC adds the memory. MYR_ERR_TOO_LONG: no block of use has room on
 * buffers of so many bytes, or in packets.
 */
enum myr_status myr_nic_data_new(const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                                 const void *context, uint32_t buffer_bytes,
                                 struct myr_nic_data **data, struct myr_error *error);
void myr_nic_data_free(struct myr_nic_data *data);

/* The greatest block that a group can have whose NICs have buffers of so many bytes, and whose user
 * wants `unit_most`; 0: none is of use. */
uint32_t myr_nic_data_fit(const struct myr_carry *carry, uint32_t unit_most, uint32_t buffer_bytes);

/* Bytes of shared memory for `locals` processes, to be 0 at first. */
size_t myr_nic_data_bytes(uint32_t locals, uint32_t unit_most);

/* The node's block of `epoch`, if it was built: its bytes, or UINT32_MAX. */
uint32_t myr_nic_data_built(const struct myr_nic_data *data, uint32_t epoch, const uint8_t **block);

#endif
