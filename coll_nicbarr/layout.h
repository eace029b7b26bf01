/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a choice to a plan: which of libmyr's layouts plays which algorithm, where in a record.
 *
 * Called by setup.c (room, the plan of what is chosen), tune.c (those of all candidates) and
 * limits.c. All members of a communicator come to the same layout. Any thread, each for a module of
 * its own.
 */
#ifndef NICBARR_LAYOUT_H
#define NICBARR_LAYOUT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Bytes of slots that `choice` needs in a communicator of `shape`, counters apart from the rest. */
struct nicbarr_bytes {
    size_t counters, others;
};
struct nicbarr_bytes nicbarr_layout_bytes(const struct nicbarr_shape *shape,
                                          struct nicbarr_choice choice);

/* Where the slots behind the counters begin. */
void *nicbarr_layout_slots(const mca_coll_nicbarr_module_t *module);

/* Make `plan` for the module's group over the record's slots. False when out of memory. */
bool nicbarr_layout_plan(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         struct myr_plan *plan);

#endif
