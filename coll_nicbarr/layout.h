/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines where the slots of each algorithm are in a record, and turns a choice into a plan that
 * uses these slots.
 *
 * All members of a communicator compute the same layout. setup.c uses it to allocate the record,
 * and to create the first plan; tune.c, watch.c and limits.c create further plans. Threads may call
 * these functions concurrently for different modules. */
#ifndef NICBARR_LAYOUT_H
#define NICBARR_LAYOUT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The number of bytes for the slots that `choice` needs in a communicator of `shape`, separately
 * for counters and for all other algorithms. */
struct nicbarr_bytes {
    size_t counters, others;
};
struct nicbarr_bytes nicbarr_layout_bytes(const struct nicbarr_shape *shape,
                                          struct nicbarr_choice choice);

/* Returns whether the module's record, which was allocated for the choices known at setup, has
 * enough space for the slots of `choice`. The result is the same on all members. */
bool nicbarr_layout_fits(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice);

/* Returns the slots that follow the counters. */
void *nicbarr_layout_slots(const mca_coll_nicbarr_module_t *module);

/* Create `plan` for the module's group over the record's slots. Returns false if out of memory. */
bool nicbarr_layout_plan(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         struct myr_plan *plan);

#endif
