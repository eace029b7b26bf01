/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up communicators across nodes; see across.c. All members call these functions, within a
 * blocking collective. */
#ifndef NICBARR_ACROSS_H
#define NICBARR_ACROSS_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_joining; /* groups.h */

/* Determine which NICs can execute this communicator's barriers, and look up the best known
 * algorithm for its shape (shape.h). The next state of MPI_Barrier (barrier_state.h) depends on the
 * result. Collective over `comm`. */
int nicbarr_across_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Prepare a communicator for collectives that carry data: determine which NICs can execute them,
 * and draw a new random secret, from which the keys of the communicator's future groups are
 * derived. If no NIC can execute them, all members use Open MPI's own functions from now on
 * (module->declined).
 *
 * `*all_suspect` becomes true if this communicator must not try any NIC, because the packets of all
 * of its NICs were lost on earlier communicators (suspect_nics.h). Collective over `comm`. Returns
 * Open MPI's error. */
int nicbarr_across_prepare_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                bool *all_suspect);

/* Install the choice across nodes: the NICs' barrier over module->nic, or Open MPI's own function.
 * Collective. */
int nicbarr_across_install(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Install the choice, on one node or across nodes. If MPI_Ibarrier already has a group, it keeps
 * that group, and only MPI_Barrier changes. */
int nicbarr_install_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Join one more group, for a persistent collective. If any member lacks memory for the group, no
 * member joins it. Collective. */
int nicbarr_across_join_one(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_joining *joining);

/* Fall back to Open MPI's own functions on all members, because all NICs are suspect
 * (suspect_nics.h). */
void nicbarr_across_decline_suspect(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Fall back to Open MPI's own functions, and print a warning. All members must do so in the same
 * call. The warning gives this member's `error` as the reason; if `error` is NULL or empty, the
 * reason is that packets do not get through. The group of MPI_Ibarrier is kept, because
 * non-blocking barriers may still be outstanding on it. */
void nicbarr_across_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct myr_error *error);

#endif
