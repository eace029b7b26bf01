/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI calls: MPI_Barrier in each of its states (barrier.c), MPI_Ibarrier and persistent
 * barriers (ibarrier.c). Each state has a function of its own; nicbarr_set_barrier() (lower.h)
 * enters it.
 */
#ifndef NICBARR_BARRIER_H
#define NICBARR_BARRIER_H

#include "coll_nicbarr/coll_nicbarr.h"

/* ---- barrier.c ---- */

/* What is installed first, and what a component that wraps this one always calls: it goes to the
 * function of the present state. */
int nicbarr_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* Before anything is set up, on one node and on several: */
int nicbarr_barrier_first(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_across_first(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* On several, when it is known what Open MPI's own competes with, and what is best: */
int nicbarr_barrier_across_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_across_known(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* While a duel is under way (watch.h): */
int nicbarr_barrier_dueling(ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* MPI_Ibarrier and MPI_Barrier_init across nodes need a group of their own: enter the state that
 * has one, unless this cannot be. Collective, within a blocking call; Open MPI's error. */
int nicbarr_barrier_get_split(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Have MPI_Barrier call the function of `module->choice` from now on. */
void nicbarr_install_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* ---- ibarrier.c ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                         mca_coll_base_module_t *module);

#endif
