/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting up communicators on several nodes; see across.c. Called within MPI_Barrier, by all
 * members.
 */
#ifndef NICBARR_ACROSS_H
#define NICBARR_ACROSS_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_joining; /* groups.h */

/* Find out who can play, and what is known of the shape; collective over `comm`. Afterwards
 * MPI_Barrier has its next function. */
int nicbarr_across_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/*
 * For collectives that carry data: find out who can play, and have a new secret of the module's for
 * groups to come. `left_out`: packets of no NIC came through for an earlier communicator, so this
 * one is not to try. Collective over `comm`, with module->tuning set. Where nobody can play, all is
 * declined: module->declined. Returns Open MPI's error.
 */
int nicbarr_across_acquaint(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            bool *left_out);

/* Install what was chosen: the NICs' barrier over module->nic, or Open MPI's own. Collective. */
int nicbarr_across_install(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The same on one node or on several; where MPI_Ibarrier has its group already, only MPI_Barrier
 * changes. */
int nicbarr_install_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Join one more group, for a persistent collective. Not joined on all members where somebody has no
 * room for it. Collective. */
int nicbarr_across_join_one(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_joining *joining);

/* No NIC is left that is not in doubt: it goes back to Open MPI's own, on all members. */
void nicbarr_across_leave_out(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Go back to Open MPI's own, as all members do. There was an `error` here (else NULL or empty), or
 * packets do not come through. (MPI_Ibarrier's group stays, as requests may be outstanding on it.)
 */
void nicbarr_across_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct myr_error *error);

#endif
