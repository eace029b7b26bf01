/* SPDX-License-Identifier: BSD-3-Clause */
/* Data across nodes: groups (nic_group.h) in which each node contributes a block to each epoch, and
 * all processes get the blocks of all nodes.
 *
 * The processes of a node write their parts side by side into shared memory. The process that finds
 * all parts complete builds the block of the node and rings the NIC's doorbell. The NICs exchange
 * the blocks along with the messages of a barrier (engine.h). The caller defines the contents of a
 * block.
 *
 *     memcpy(myr_nic_data_part(group), mine, bytes);
 *     epoch = myr_nic_data_arrive(group, unit, build, context);
 *     myr_nic_group_wait(group, epoch, ...);
 *     read myr_nic_data_block(group, epoch, unit, node) of all nodes;
 *
 * A process may begin an epoch when the previous epoch is complete and the process no longer reads
 * the blocks of that epoch. All processes of the group must pass the same `unit`. If a program
 * violates this, processes read wrong blocks, so each block should contain its epoch and length.
 *
 * Only one thread at a time may use a group. */
#ifndef MYR_NIC_DATA_H
#define MYR_NIC_DATA_H

#include "libmyr/groups/carry.h"
#include "libmyr/groups/group_member.h"

/* State that the processes of a node share. The blocks of the node and the parts of its processes
 * follow. */
struct myr_node_data {
    myr_word building; /* the last epoch whose block is being built */
    myr_word built;    /* the last epoch whose block was built and announced to the NIC */
    uint32_t unit[2];  /* size of the blocks of the last even and odd epoch */
};

/* A process's side of the data: `data` of struct myr_nic_group. */
struct myr_nic_data {
    const uint8_t *buffers[2]; /* received in the last even and odd epoch; written by the NIC */
    struct myr_node_data *shared;
    uint32_t unit_most; /* size of a block, and of a process's part */
    struct myr_carry carry;
};

/* ---- for users of groups ---- */

/* Returns the size of the largest block (bytes). */
static inline uint32_t myr_nic_data_most(const struct myr_nic_group *group)
{
    return group->data->unit_most;
}

/* Returns the memory for the part that process `local` of this node contributes to the next epoch.
 * Process `local` writes it, and the process that builds the node's block reads it. */
uint8_t *myr_nic_data_part_of(const struct myr_nic_group *group, uint32_t local);

static inline uint8_t *myr_nic_data_part(const struct myr_nic_group *group)
{
    return myr_nic_data_part_of(group, group->local);
}

/* Builds the node's block from all parts. */
typedef void (*myr_build_fn)(void *context, uint32_t epoch, uint8_t *block);

/* Arrives in the next epoch, and returns its number. `unit` is the size of a block in bytes, a
 * multiple of MCP_BLOCK_UNIT and at most myr_nic_data_most(). */
uint32_t myr_nic_data_arrive(struct myr_nic_group *group, uint32_t unit, myr_build_fn build,
                             void *context);

/* Returns a node's block of a complete epoch, which is valid until this process arrives in the next
 * one. */
static inline const uint8_t *myr_nic_data_block(const struct myr_nic_group *group, uint32_t epoch,
                                                uint32_t unit, uint32_t node)
{
    return group->data->buffers[epoch % 2] + (size_t)group->data->carry.position_of[node] * unit;
}

/* ---- for kinds of NICs ---- */

/* Creates the state that a group needs to carry data. The kind of NIC supplies the memory for the
 * data. *data becomes NULL if `members` does not request data. Returns MYR_ERR_TOO_LONG if no
 * useful block fits into buffers of `buffer_bytes`, or into packets. */
enum myr_status myr_nic_data_new(const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                                 const void *context, uint32_t buffer_bytes,
                                 struct myr_nic_data **data, struct myr_error *error);
void myr_nic_data_free(struct myr_nic_data *data);

/* Returns the maximum size of a block in a group whose NICs have buffers of `buffer_bytes` and
 * whose user requests blocks of up to `unit_most` bytes. Returns 0 if no block of a useful size
 * fits. */
uint32_t myr_nic_data_fit(const struct myr_carry *carry, uint32_t unit_most, uint32_t buffer_bytes);

/* Returns the size of the shared memory for `locals` processes (bytes), which must be initially
 * 0. */
size_t myr_nic_data_bytes(uint32_t locals, uint32_t unit_most);

/* Returns the size of the node's block of `epoch` (bytes), or UINT32_MAX if it has not been
 * built. */
uint32_t myr_nic_data_built(const struct myr_nic_data *data, uint32_t epoch, const uint8_t **block);

#endif
