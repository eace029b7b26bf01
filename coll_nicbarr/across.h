/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up communicators across nodes; see across.c. Called within MPI_Barrier, by all
 * members. */
#ifndef NICBARR_ACROSS_H
#define NICBARR_ACROSS_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_joining; /* groups.h */

/* Determine the NICs that can play, and what is known of the shape; collective over `comm`.
 * Installs MPI_Barrier's next function. */
int nicbarr_across_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* For collectives that carry data: determine the NICs that can play, and draw a new secret for the
 * module's future groups. `left_out` becomes true if this communicator must not try any NIC,
 * because no NIC's packets got through for an earlier one. If no NIC can play, the communicator is
 * declined (module->declined). Collective over `comm`, with module->tuning set. Returns Open MPI's
 * error. */
int nicbarr_across_acquaint(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            bool *left_out);

/* Install the choice: the NICs' barrier over module->nic, or Open MPI's own. Collective. */
int nicbarr_across_install(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Install the choice, on one node or several. If MPI_Ibarrier has its group already, only
 * MPI_Barrier changes. */
int nicbarr_install_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Join one more group, for a persistent collective. All members go without it if one of them has no
 * room for it. Collective. */
int nicbarr_across_join_one(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_joining *joining);

/* All NICs are suspect: fall back to Open MPI's own, on all members. */
void nicbarr_across_leave_out(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Fall back to Open MPI's own functions, as all members do, because of an `error` on this member,
 * or, if that is NULL or empty, because packets do not get through. (MPI_Ibarrier's group stays,
 * since requests may be outstanding on it.) */
void nicbarr_across_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct myr_error *error);

#endif
