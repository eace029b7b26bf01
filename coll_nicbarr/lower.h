/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies below a module: the functions of the components that Open MPI would use without this
 * one. A communicator's collectives go back to them where they are not served.
 *
 * Called by module.c, and by all that decline.
 */
#ifndef NICBARR_LOWER_H
#define NICBARR_LOWER_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Remember the functions of `comm`, whose slots are not ours yet. False: one is missing, so there
 * is nothing to fall back on. */
bool nicbarr_lower_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
void nicbarr_lower_forget(mca_coll_nicbarr_module_t *module);

/* Put back Open MPI's own MPI_Barrier; the others stay as they are. */
void nicbarr_put_back_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Put back Open MPI's own functions of a collective that carries data. */
void nicbarr_put_back_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective);

/* Give all collectives back to what lies below; `why` is explained and reported. */
void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why);

#endif
