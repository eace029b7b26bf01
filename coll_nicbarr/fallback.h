/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator's table of functions: what lies below this component, and what this component puts
 * there. Nothing else writes into it.
 *
 * A slot is only written while its module is ours. A component above (coll/monitoring, or any that
 * wraps) has saved our function and calls it for ever; so each of our functions still has to do the
 * right thing after it has been replaced or declined.
 */
#ifndef NICBARR_FALLBACK_H
#define NICBARR_FALLBACK_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Remember the functions of `comm`, whose slots are not ours yet; they are from now on, where it is
 * a module that fills them (nicbarr_modules_fill_tables()). False: a function is missing, so there
 * is nothing to fall back on. */
bool nicbarr_fallback_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
/* The communicator ends: there, put back what was remembered. */
void nicbarr_fallback_restore(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
void nicbarr_fallback_forget(mca_coll_nicbarr_module_t *module);

/* MPI_Barrier in each of its states; barrier.c has them. */
extern const mca_coll_base_module_barrier_fn_t nicbarr_barrier_functions[NICBARR_BARRIER_STATES];

/* Have MPI_Barrier be in `state` from now on. In NICBARR_BARRIER_OWN Open MPI's own is put back.
 * For barrier_state.c alone. */
void nicbarr_set_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_barrier_state state);

/* Put back Open MPI's own functions of a collective that carries data: the blocking one, and the
 * one that makes persistent ones. The non-blocking one stays, as Open MPI may call it from within
 * progress, on each process at another moment of the program. */
void nicbarr_put_back_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective);

/* Put back all of Open MPI's own but MPI_Barrier. */
void nicbarr_put_back_others(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
