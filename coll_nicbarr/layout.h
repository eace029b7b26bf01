/* SPDX-License-Identifier: BSD-3-Clause */
/* From a choice to a plan: libmyr's layout for each algorithm, and its place in a record.
 *
 * Called by setup.c (room, the plan of the choice), tune.c (those of all candidates, or of an
 * adopted choice) and limits.c. All members of a communicator compute the same layout. Any thread,
 * each for a module of its own. */
#ifndef NICBARR_LAYOUT_H
#define NICBARR_LAYOUT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Bytes of slots that `choice` needs in a communicator of `shape`, separately for counters and for
 * the rest. */
struct nicbarr_bytes {
    size_t counters, others;
};
struct nicbarr_bytes nicbarr_layout_bytes(const struct nicbarr_shape *shape,
                                          struct nicbarr_choice choice);

/* Does the module's record, whose memory is that of the choices known at setup, have room for this
 * one? The same on all members. */
bool nicbarr_layout_fits(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice);

/* The slots behind the counters. */
void *nicbarr_layout_slots(const mca_coll_nicbarr_module_t *module);

/* Make `plan` for the module's group over the record's slots. False if out of memory. */
bool nicbarr_layout_plan(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         struct myr_plan *plan);

#endif
