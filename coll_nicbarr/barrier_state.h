/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a communicator's MPI_Barrier. Whatever changes it says so by an event; the next
 * state, by barrier_transitions.h and the module's choice, is installed here.
 */
#ifndef NICBARR_BARRIER_STATE_H
#define NICBARR_BARRIER_STATE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Local. With NICBARR_EVENT_CHOSEN, MPI_Barrier goes by `module->choice` from now on; where that is
 * watched, barriers until the next duel are counted from now on. */
void nicbarr_barrier_event(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_barrier_event event);

#endif
