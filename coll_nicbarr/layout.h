/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays out the slots of each algorithm in a record, and turns a choice into a plan over these
 * slots.
 *
 * Called by setup.c (space for all candidates, the plan of the choice), tune.c (the plans of all
 * candidates, or of an adopted choice) and limits.c. All members of a communicator compute the same
 * layout. Any thread, each for a module of its own. */
#ifndef NICBARR_LAYOUT_H
#define NICBARR_LAYOUT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Bytes of slots that `choice` needs in a communicator of `shape`, separately for counters and for
 * all other algorithms. */
struct nicbarr_bytes {
    size_t counters, others;
};
struct nicbarr_bytes nicbarr_layout_bytes(const struct nicbarr_shape *shape,
                                          struct nicbarr_choice choice);

/* Returns whether the module's record, which was allocated for the choices known at setup, has
 * enough space for this one. The result is the same on all members. */
bool nicbarr_layout_fits(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice);

/* Returns the slots that follow the counters. */
void *nicbarr_layout_slots(const mca_coll_nicbarr_module_t *module);

/* Create `plan` for the module's group over the record's slots. Returns false if out of memory. */
bool nicbarr_layout_plan(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         struct myr_plan *plan);

#endif
