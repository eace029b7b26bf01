/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that MPI calls for barriers: MPI_Barrier (barrier.c), and MPI_Ibarrier with
 * persistent barriers (ibarrier.c). A communicator's MPI_Barrier passes through several states,
 * each of which has its own function. nicbarr_barrier_event() (barrier_state.h) installs the
 * function of the current state. */
#ifndef NICBARR_BARRIER_H
#define NICBARR_BARRIER_H

#include "coll_nicbarr/coll_nicbarr.h"

/* ---- barrier.c ---- */

/* MPI_Barrier in any state: dispatches to the function of the current state. This function is
 * installed first. If a component with a higher priority wraps it, that component calls it for
 * every barrier, even after another function has been installed in its place. */
int nicbarr_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* ---- ibarrier.c ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                         mca_coll_base_module_t *module);

#endif
