/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes the state of a communicator's MPI_Barrier. Callers report an event; barrier_transitions.h
 * determines the next state from it and from the module's choice, and this file installs that
 * state. */
#ifndef NICBARR_BARRIER_STATE_H
#define NICBARR_BARRIER_STATE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Change the state of `module` according to `event`. After NICBARR_EVENT_CHOSEN, MPI_Barrier uses
 * `module->choice`; if that choice is to be re-evaluated periodically, the count of barriers until
 * the next comparison starts. Local. */
void nicbarr_barrier_event(mca_coll_nicbarr_module_t *module, enum nicbarr_barrier_event event);

#endif
