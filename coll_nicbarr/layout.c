/* SPDX-License-Identifier: BSD-3-Clause */
/* See layout.h.
 *
 * A record consists of the arrival words, the counters, and all other slots. Counters do not share
 * memory with other slots, because slots contain the epochs of earlier plans, whereas counters must
 * start at 0. */
#include "coll_nicbarr/layout.h"

#include <stdlib.h>

/* Returns whether the barrier is released by a common word that all processes read, instead of by
 * messages. On one node, this is the case for a tree. */
static bool has_release_word(struct nicbarr_choice choice)
{
    return NICBARR_TREE == choice.algorithm;
}

/* Returns whether the layout follows from the messages of the schedule. This is the case for all
 * algorithms except counters and flags. */
static bool has_messages(struct nicbarr_choice choice)
{
    return nicbarr_algorithm_messages(choice.algorithm) &&
           nicbarr_algorithm_barrier(choice.algorithm);
}

struct nicbarr_bytes nicbarr_layout_bytes(const struct nicbarr_shape *shape,
                                          struct nicbarr_choice choice)
{
    struct nicbarr_bytes bytes = {0, 0};
    const uint32_t size = shape->processes;
    if (NICBARR_COUNTER == choice.algorithm) {
        bytes.counters = myr_plan_counter_bytes(choice.parameter < size ? choice.parameter : size);
    } else if (NICBARR_FLAGS == choice.algorithm) {
        bytes.others = myr_plan_flags_bytes(size, choice.parameter);
    } else if (has_messages(choice)) {
        bytes.others = myr_plan_messages_bytes(size, nicbarr_most_waits(choice, size));
    }
    return bytes;
}

bool nicbarr_layout_fits(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice)
{
    const struct myr_group *group = &module->group;
    const struct nicbarr_bytes bytes = nicbarr_layout_bytes(&module->shape, choice);
    return bytes.counters <= module->counter_bytes &&
           myr_group_arrival_bytes(group->size) + module->counter_bytes + bytes.others <=
               myr_record_bytes(group->record);
}

void *nicbarr_layout_slots(const mca_coll_nicbarr_module_t *module)
{
    return (uint8_t *)myr_group_slots(&module->group) + module->counter_bytes;
}

/* Create the plan of a counter. Processes that are bound to the same processors use the same leaf;
 * unbound ones are distributed over the leaves. */
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
    if (NICBARR_COUNTER == choice.algorithm) {
        return plan_counter(module, choice.parameter, plan);
    }
    if (NICBARR_FLAGS == choice.algorithm) {
        return myr_plan_flags(plan, slots, group->size, group->rank, choice.parameter);
    }
    return has_messages(choice) &&
           myr_plan_messages(plan, slots, group->rank, nicbarr_most_waits(choice, group->size),
                             has_release_word(choice), nicbarr_schedule_of, &among);
}
