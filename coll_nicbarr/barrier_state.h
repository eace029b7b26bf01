/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a communicator's MPI_Barrier. Changes are reported as events; the next state follows
 * from barrier_transitions.h and the module's choice, and is installed here. */
#ifndef NICBARR_BARRIER_STATE_H
#define NICBARR_BARRIER_STATE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Local. After NICBARR_EVENT_CHOSEN, MPI_Barrier uses `module->choice`; if that is watched, the
 * count of barriers until the next duel starts. */
void nicbarr_barrier_event(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_barrier_event event);

#endif
