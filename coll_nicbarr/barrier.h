/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI calls: MPI_Barrier in each of its states (barrier.c), MPI_Ibarrier and persistent
 * barriers (ibarrier.c). Each state has a function of its own; nicbarr_barrier_event()
 * (barrier_state.h) enters it.
 */
#ifndef NICBARR_BARRIER_H
#define NICBARR_BARRIER_H

#include "coll_nicbarr/coll_nicbarr.h"

/* ---- barrier.c ---- */

/* What is installed first, and what a component that wraps this one always calls: it goes to the
 * function of the present state. */
int nicbarr_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* ---- ibarrier.c ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                         mca_coll_base_module_t *module);

#endif
