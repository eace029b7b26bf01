/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that MPI calls: MPI_Barrier in each of its states (barrier.c), MPI_Ibarrier and
 * persistent barriers (ibarrier.c). Each state has a function of its own, which
 * nicbarr_barrier_event() (barrier_state.h) installs. */
#ifndef NICBARR_BARRIER_H
#define NICBARR_BARRIER_H

#include "coll_nicbarr/coll_nicbarr.h"

/* ---- barrier.c ---- */

/* The function that is installed first, and that a component which wraps this one calls always: it
 * calls the function of the present state. */
int nicbarr_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* ---- ibarrier.c ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                         mca_coll_base_module_t *module);

#endif
