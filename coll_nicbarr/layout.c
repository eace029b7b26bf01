/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a choice to a plan; see layout.h.
 *
 * Behind the arrivals come the counters, then all other slots. The two never share memory. Slots
 * leave epochs behind, but counters begin at 0.
 */
#include "coll_nicbarr/layout.h"

#include <stdlib.h>

/* A tree's way down is one common release word: on one node all can read it, and nobody needs a
 * message. */
static bool releases(struct nicbarr_choice choice)
{
    return NICBARR_TREE == choice.algorithm;
}

/* The most messages any rank waits for: an upper bound, the same for all ranks. */
static uint32_t most_waits(struct nicbarr_choice choice, uint32_t size)
{
    uint32_t log2 = 0;
    while ((UINT64_C(1) << log2) < size) {
        ++log2;
    }
    const uint32_t most = nicbarr_parameter_max(choice.algorithm, size);
    const uint32_t parameter = choice.parameter < most ? choice.parameter : most;
    switch (choice.algorithm) {
    case NICBARR_TREE:
        return parameter + 1; /* the children, the parent */
    case NICBARR_DISSEMINATION: {
        uint32_t steps = 0;
        for (uint64_t reach = 1; reach < size; reach *= (uint64_t)parameter + 1) {
            ++steps;
        }
        return steps * parameter;
    }
    default:
        return log2 + 2; /* the exchanges, the partner before and after */
    }
}

struct nicbarr_bytes nicbarr_layout_bytes(const struct nicbarr_shape *shape,
                                          struct nicbarr_choice choice)
{
    struct nicbarr_bytes bytes = {0, 0};
    const uint32_t size = shape->processes;
    switch (choice.algorithm) {
    case NICBARR_COUNTER:
        bytes.counters = myr_plan_counter_bytes(choice.parameter < size ? choice.parameter : size);
        break;
    case NICBARR_FLAGS:
        bytes.others = myr_plan_flags_bytes(size, choice.parameter);
        break;
    case NICBARR_TREE:
    case NICBARR_DISSEMINATION:
    case NICBARR_PAIRWISE:
        bytes.others = myr_plan_messages_bytes(size, most_waits(choice, size));
        break;
    case NICBARR_OPENMPI:
    case NICBARR_ROOTED:
    case NICBARR_EXCHANGE:
    case NICBARR_RING:
    case NICBARR_ALGORITHMS:
        break;
    }
    return bytes;
}

void *nicbarr_layout_slots(const mca_coll_nicbarr_module_t *module)
{
    return (uint8_t *)myr_group_slots(&module->group) + module->counter_bytes;
}

/* Bound processes count where their neighbours on the same processors do; others in turn. */
static bool plan_counter(const mca_coll_nicbarr_module_t *module, uint32_t leaves,
                         struct myr_plan *plan)
{
    const struct myr_group *group = &module->group;
    leaves = leaves < group->size ? leaves : group->size;
    uint32_t *leaf_of = malloc(group->size * sizeof(*leaf_of));
    if (NULL == leaf_of) {
        return false;
    }
    for (uint32_t r = 0; r < group->size; ++r) {
        leaf_of[r] = (module->shape.homes > 1 ? module->homes[r] : r) % leaves;
    }
    const bool made =
        myr_plan_counter(plan, myr_group_slots(group), group->size, group->rank, leaves, leaf_of);
    free(leaf_of);
    return made;
}

bool nicbarr_layout_plan(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         struct myr_plan *plan)
{
    const struct myr_group *group = &module->group;
    void *slots = nicbarr_layout_slots(module);
    const struct nicbarr_among among = {choice, group->size};
    switch (choice.algorithm) {
    case NICBARR_COUNTER:
        return plan_counter(module, choice.parameter, plan);
    case NICBARR_FLAGS:
        return myr_plan_flags(plan, slots, group->size, group->rank, choice.parameter);
    case NICBARR_TREE:
    case NICBARR_DISSEMINATION:
    case NICBARR_PAIRWISE:
        return myr_plan_messages(plan, slots, group->rank, most_waits(choice, group->size),
                                 releases(choice), nicbarr_schedule_of, &among);
    case NICBARR_OPENMPI:
    case NICBARR_ROOTED:
    case NICBARR_EXCHANGE:
    case NICBARR_RING:
    case NICBARR_ALGORITHMS:
        break;
    }
    return false;
}
