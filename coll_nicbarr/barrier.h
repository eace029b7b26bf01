/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI calls: MPI_Barrier in each of its states (barrier.c), MPI_Ibarrier and persistent
 * barriers (ibarrier.c). Whoever changes a communicator's state installs the function that goes
 * with it.
 */
#ifndef NICBARR_BARRIER_H
#define NICBARR_BARRIER_H

#include "coll_nicbarr/coll_nicbarr.h"

/* ---- barrier.c: on one node ---- */

int nicbarr_barrier_first(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_slots(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_counter(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_watched_slots(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_watched_counter(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* ---- barrier.c: on one node or on several ---- */

int nicbarr_barrier_provisional(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_watched_own(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_dueling(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* ---- barrier.c: on several ---- */

int nicbarr_barrier_across_first(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_across_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_across_known(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_nic(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_watched_nic(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_failed(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* ---- ibarrier.c ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int nicbarr_ibarrier_failed(ompi_communicator_t *comm, ompi_request_t **request,
                            mca_coll_base_module_t *module);
int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                         mca_coll_base_module_t *module);

#endif
