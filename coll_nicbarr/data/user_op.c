/* SPDX-License-Identifier: BSD-3-Clause */
/* See user_op.h. If elements have no gaps, their packed form equals the memory layout, and values
 * are copied to and from slots directly. */
#include "coll_nicbarr/data/user_op.h"

#include "coll_nicbarr/no_memory.h"

/* ---- levels ---- */

static uint32_t level_count(const struct nicbarr_user_op *user)
{
    return 32 - (uint32_t)__builtin_clz(user->processes - 1);
}

static uint32_t first_of_block(uint32_t rank, uint32_t level)
{
    return rank >> level << level;
}

/* Returns the first rank of the neighbouring block at this level. */
static uint32_t neighbour_block(const struct nicbarr_user_op *user)
{
    return first_of_block(user->rank, user->level) ^ 1U << user->level;
}

/* Returns whether this process combines the value of its block with the value of the neighbouring
 * block. */
static bool combines_here(const struct nicbarr_user_op *user)
{
    const uint32_t block = first_of_block(user->rank, user->level + 1);
    if (neighbour_block(user) >= user->processes) {
        return false;
    }
    return NICBARR_NO_ROOT == user->root || user->root == (int)user->rank ||
           (block == user->rank && block != first_of_block((uint32_t)user->root, user->level + 1));
}

/* Returns the rank from which the value of the neighbouring block is read. The ranks of a block
 * read from different ranks, to distribute the load. */
static uint32_t source_rank(const struct nicbarr_user_op *user)
{
    const uint32_t opposite = user->rank ^ 1U << user->level;
    if (NICBARR_NO_ROOT != user->root) {
        return neighbour_block(user);
    }
    return opposite < user->processes ? opposite : user->processes - 1;
}

/* Prepare the rounds of a level; `first` is the number of the first round. */
static void prepare_level(struct nicbarr_user_op *user, uint32_t first)
{
    const bool dense = nicbarr_is_dense(user->type);
    const uint32_t chunk = user->rounds.chunk;
    user->consumer = nicbarr_consumer_of(source_rank(user), dense ? user->other : user->packed);
    nicbarr_reduction_init_consumer(&user->rounds, dense ? user->value : user->packed, user->bytes,
                                    &user->consumer, combines_here(user));
    user->rounds.first = first;
    user->rounds.chunk = chunk;
}

/* Combine the value of this process's block with that of the neighbouring block, which has been
 * received. The result is the value of the next level. */
static void combine_pair(struct nicbarr_user_op *user)
{
    const bool dense = nicbarr_is_dense(user->type);
    uint8_t *value = user->value, *other = user->other;
    if (!dense) {
        (void)nicbarr_unpack_elements(user->packed, user->bytes, other, user->count, user->type);
    }
    if (NULL != user->held) {
        OPAL_THREAD_UNLOCK(user->held);
    }
    if (neighbour_block(user) < user->rank) {
        ompi_op_reduce(user->op, other, value, (size_t)user->count, user->type);
    } else {
        ompi_op_reduce(user->op, value, other, (size_t)user->count, user->type);
        user->value = other;
        user->other = value;
    }
    if (NULL != user->held) {
        OPAL_THREAD_LOCK(user->held);
    }
    if (!dense) {
        (void)nicbarr_pack_elements(user->value, user->count, user->type, user->packed,
                                    user->bytes);
    }
}

/* Finish a level whose rounds are complete. Returns whether it was the last level. */
static bool finish_level(struct nicbarr_user_op *user)
{
    if (user->rounds.reads) {
        combine_pair(user);
    }
    if (++user->level < level_count(user)) {
        prepare_level(user, user->rounds.first + user->rounds_each);
        return false;
    }
    if (NICBARR_NO_ROOT == user->root || user->root == (int)user->rank) {
        (void)ompi_datatype_copy_content_same_ddt(user->type, (size_t)user->count, user->to,
                                                  (char *)user->value);
    }
    return true;
}

/* ---- memory ---- */

void nicbarr_user_op_open(struct nicbarr_user_op *user, ompi_communicator_t *comm, void *to,
                          nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op, int root,
                          opal_mutex_t *held)
{
    *user = (struct nicbarr_user_op){
        .op = op,
        .type = type,
        .to = to,
        .count = count,
        .root = root,
        .processes = (uint32_t)ompi_comm_size(comm),
        .rank = (uint32_t)ompi_comm_rank(comm),
        .held = held,
    };
    user->bytes = nicbarr_packed_bytes(count, type);
    if (!nicbarr_operands_open(&user->operands, count, type, user->bytes)) {
        nicbarr_end_without_memory(comm);
    }
    user->value = user->operands.left;
    user->other = user->operands.right;
    user->packed = user->operands.more;
}

/* Packing cannot fail here, because MPI has checked the type already. */
void nicbarr_user_op_load(struct nicbarr_user_op *user, const void *from)
{
    (void)nicbarr_pack_elements(MPI_IN_PLACE == from ? user->to : from, user->count, user->type,
                                user->packed, user->bytes);
    (void)nicbarr_unpack_elements(user->packed, user->bytes, user->value, user->count, user->type);
    user->level = 0;
    prepare_level(user, 0);
}

void nicbarr_user_op_close(struct nicbarr_user_op *user)
{
    nicbarr_operands_close(&user->operands);
}

/* ---- progress ---- */

void nicbarr_user_op_begin(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user)
{
    user->rounds_each = nicbarr_reduction_begin(reducer, &user->rounds);
    reducer->begun += (level_count(user) - 1) * user->rounds_each;
}

bool nicbarr_user_op_progress(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user)
{
    while (nicbarr_reduction_progress(reducer, &user->rounds)) {
        if (finish_level(user)) {
            return true;
        }
    }
    return false;
}

void nicbarr_user_op_finish(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user)
{
    do {
        nicbarr_reduction_finish(reducer, &user->rounds);
    } while (!reducer->exchange.watch.abandoned && !finish_level(user));
}
