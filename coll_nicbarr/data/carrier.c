/* SPDX-License-Identifier: BSD-3-Clause */
/* See carrier.h. */
#include "coll_nicbarr/data/carrier.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/groups.h"

/* The head of a block, which its readers verify. */
struct head {
    uint32_t epoch, unit;
};

/* ---- blocks ---- */

/* Returns the space of a partial result within a block, a multiple of MCP_BLOCK_UNIT. */
static uint32_t partial_space(uint32_t bytes)
{
    return (bytes + MCP_BLOCK_UNIT - 1) / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT;
}

uint32_t nicbarr_carrier_unit(uint32_t partials, uint32_t bytes)
{
    return (uint32_t)sizeof(struct head) + partials * partial_space(bytes);
}

static uint32_t bytes_of(const struct nicbarr_carried *carried)
{
    return carried->count * (uint32_t)carried->extent;
}

bool nicbarr_carrier_open(struct nicbarr_carrier *carrier, const struct myr_nic_group *group,
                          struct nicbarr_choice choice, const struct nicbarr_order *order)
{
    if (NULL == order) {
        *carrier = (struct nicbarr_carrier){.group = *group, .choice = choice};
        return true;
    }
    const uint32_t most = (myr_nic_data_most(group) - (uint32_t)sizeof(struct head)) / order->most;
    *carrier = (struct nicbarr_carrier){
        .group = *group,
        .choice = choice,
        .order = order,
        .stack_bytes = myr_whole_lines(most),
        .vector_most = most / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT,
    };
    if (carrier->vector_most >= NICBARR_ELEMENT_MOST) {
        carrier->stack = aligned_alloc(MYR_LINE, (size_t)(order->depth + 1) * carrier->stack_bytes);
    }
    if (NULL == carrier->stack) {
        nicbarr_carrier_close(carrier);
        return false;
    }
    return true;
}

void nicbarr_carrier_close(struct nicbarr_carrier *carrier)
{
    nicbarr_group_leave(&carrier->group);
    if (NULL != carrier->back) {
        nicbarr_carrier_close(carrier->back);
        free(carrier->back);
    }
    free(carrier->stack);
    carrier->stack = NULL;
    carrier->back = NULL;
}

/* ---- combining ---- */

/* The stack on which values are combined; upper values belong to higher ranks. */
struct stack {
    uint8_t *value[34]; /* sufficient for 2^32 ranks, and one behind the upper value for results */
    uint32_t count;
};

static void stack_begin(const struct nicbarr_carrier *carrier, struct stack *stack)
{
    stack->count = 0;
    for (uint32_t v = 0; v <= carrier->order->depth; ++v) {
        stack->value[v] = carrier->stack + (size_t)v * carrier->stack_bytes;
    }
}

/* Combine two values into a third one, for the reason that reduction.c states. Packing cannot fail
 * here, because MPI has checked the type already. */
static void combine_values(const struct nicbarr_carried *carried, uint8_t *left, uint8_t *right,
                           uint8_t *result)
{
    const struct nicbarr_operands *gaps = carried->gaps;
    const int count = (int)carried->count;
    if (NULL != gaps) {
        (void)nicbarr_unpack_elements(left, bytes_of(carried), gaps->left, count, carried->type);
        (void)nicbarr_unpack_elements(right, bytes_of(carried), gaps->right, count, carried->type);
        ompi_op_reduce(carried->op, gaps->left, gaps->right, count, carried->type);
        (void)nicbarr_pack_elements(gaps->right, count, carried->type, result, bytes_of(carried));
    } else if (nicbarr_is_user_defined(carried->op)) {
        memcpy(result, right, bytes_of(carried)); /* the other function exchanges the operands */
        ompi_op_reduce(carried->op, left, result, count, carried->type);
    } else {
        ompi_3buff_op_reduce(carried->op, left, right, result, count, carried->type);
    }
}

/* Push the value of a term, then combine the upper two values `merges` times. */
static void stack_push(struct stack *stack, const struct nicbarr_carried *carried,
                       const uint8_t *value, uint32_t merges)
{
    memcpy(stack->value[stack->count++], value, bytes_of(carried));
    for (; merges > 0; --merges) {
        uint8_t **top = &stack->value[stack->count--];
        uint8_t *result = top[0];
        combine_values(carried, top[-2], top[-1], result);
        top[0] = top[-2];
        top[-2] = result;
    }
}

struct building {
    const struct nicbarr_carrier *carrier;
    const struct nicbarr_carried *carried;
    uint32_t unit;
};

/* Combine the parts of the node's processes into the partial results of its block. */
static void build_block(void *context, uint32_t epoch, uint8_t *block)
{
    const struct building *b = context;
    const struct nicbarr_order *order = b->carrier->order;
    const struct head head = {epoch, b->unit};
    const uint32_t room = partial_space(bytes_of(b->carried));
    struct stack stack;
    memcpy(block, &head, sizeof(head));
    stack_begin(b->carrier, &stack);
    for (uint32_t t = 0; t < order->nown; ++t) {
        const struct nicbarr_term *term = &order->own[t];
        stack_push(&stack, b->carried, myr_nic_data_part_of(&b->carrier->group, term->source),
                   term->merges);
        if (t + 1 == order->nown || order->own[t + 1].partial != term->partial) {
            memcpy(block + sizeof(head) + (size_t)term->partial * room, stack.value[0],
                   bytes_of(b->carried));
            stack.count = 0;
        }
    }
}

/* ---- operations ---- */

void nicbarr_carrier_begin(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                           const void *from, void *to, bool reads, nicbarr_count_t count,
                           ompi_datatype_t *type, ompi_op_t *op,
                           const struct nicbarr_operands *gaps)
{
    ptrdiff_t lower, extent;
    (void)ompi_datatype_get_extent(type, &lower, &extent);
    *carried = (struct nicbarr_carried){
        .from = MPI_IN_PLACE == from ? to : from,
        .to = to,
        .reads = reads,
        .op = op,
        .type = type,
        .gaps = gaps,
        .extent = NULL == gaps ? (size_t)extent : nicbarr_packed_bytes(1, type),
        .left = (uint32_t)count,
        .ticket = carrier->begun++,
    };
}

void nicbarr_carrier_begin_gathering(struct nicbarr_carrier *carrier,
                                     struct nicbarr_carried *carried, const void *from, void *to,
                                     bool reads, size_t bytes)
{
    *carried = (struct nicbarr_carried){
        .from = from,
        .to = to,
        .reads = reads,
        .stride = bytes,
        .extent = 1,
        .left = (uint32_t)bytes,
        .ticket = carrier->begun++,
    };
}

void nicbarr_carrier_arrive(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried)
{
    const uint32_t most = carrier->vector_most / (uint32_t)carried->extent;
    carried->count = carried->left < most ? carried->left : most;
    struct building building = {carrier, carried,
                                nicbarr_carrier_unit(carrier->order->most, bytes_of(carried))};
    memcpy(myr_nic_data_part(&carrier->group), carried->from, bytes_of(carried));
    carried->epoch = myr_nic_data_arrive(&carrier->group, building.unit, build_block, &building);
}

/* Returns whether all blocks belong to this epoch and have the expected length. If they do not, the
 * program is erroneous, because its processes passed vectors of different lengths. */
static bool blocks_match(const struct nicbarr_carrier *carrier,
                         const struct nicbarr_carried *carried, uint32_t unit)
{
    const struct head expected = {carried->epoch, unit};
    const struct nicbarr_order *order = carrier->order;
    for (uint32_t t = 0; t < order->npartials; ++t) {
        const uint8_t *block =
            myr_nic_data_block(&carrier->group, carried->epoch, unit, order->partials[t].source);
        if (0 == order->partials[t].partial && 0 != memcmp(block, &expected, sizeof(expected))) {
            return false;
        }
    }
    return true;
}

/* Returns the value of a term in the completed epoch. */
static const uint8_t *value_of(const struct nicbarr_carrier *carrier,
                               const struct nicbarr_carried *carried,
                               const struct nicbarr_term *term, uint32_t unit)
{
    return myr_nic_data_block(&carrier->group, carried->epoch, unit, term->source) +
           sizeof(struct head) + (size_t)term->partial * partial_space(bytes_of(carried));
}

static uint32_t unit_of(const struct nicbarr_carrier *carrier,
                        const struct nicbarr_carried *carried)
{
    return nicbarr_carrier_unit(carrier->order->most, bytes_of(carried));
}

uint8_t *nicbarr_carrier_combine(const struct nicbarr_carrier *carrier,
                                 const struct nicbarr_carried *carried)
{
    const struct nicbarr_order *order = carrier->order;
    const uint32_t unit = unit_of(carrier, carried);
    struct stack stack;
    if (!blocks_match(carrier, carried, unit)) {
        return NULL;
    }
    stack_begin(carrier, &stack);
    for (uint32_t t = 0; t < order->npartials; ++t) {
        stack_push(&stack, carried, value_of(carrier, carried, &order->partials[t], unit),
                   order->partials[t].merges);
    }
    return stack.value[0];
}

static void concatenate_vectors(const struct nicbarr_carrier *carrier,
                                const struct nicbarr_carried *carried, uint32_t unit)
{
    for (uint32_t rank = 0; rank < carrier->order->npartials; ++rank) {
        memcpy(carried->to + rank * carried->stride,
               value_of(carrier, carried, &carrier->order->partials[rank], unit),
               bytes_of(carried));
    }
}

void nicbarr_carrier_finish(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried)
{
    const uint32_t unit = unit_of(carrier, carried);
    if (!blocks_match(carrier, carried, unit)) {
        carried->rc = MPI_ERR_TRUNCATE;
    } else if (carried->reads && 0 != carried->stride) {
        concatenate_vectors(carrier, carried, unit);
    } else if (carried->reads) {
        memcpy(carried->to, nicbarr_carrier_combine(carrier, carried), bytes_of(carried));
    }
    nicbarr_carrier_next(carrier, carried);
}

void nicbarr_carrier_next(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried)
{
    const uint32_t bytes = bytes_of(carried);
    carried->to += carried->reads ? bytes : 0;
    carried->from += bytes;
    carried->left -= carried->count;
    carried->count = 0;
    carrier->served += 0 == carried->left;
}

bool nicbarr_carrier_progress(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried)
{
    if (carried->ticket != carrier->served) {
        return false;
    }
    while (0 != carried->left) {
        if (0 == carried->count) {
            nicbarr_carrier_arrive(carrier, carried);
        }
        if (!myr_nic_group_test(&carrier->group, carried->epoch)) {
            return false;
        }
        nicbarr_carrier_finish(carrier, carried);
    }
    return true;
}
