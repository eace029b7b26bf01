/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator's module: what lies below it, and what it is set up with.
 *
 * Called by component.c (the query), by the collectives (setting up) and by tuning (installing).
 */
#ifndef NICBARR_MODULE_H
#define NICBARR_MODULE_H

#include "coll_nicbarr/coll_nicbarr.h"

mca_coll_base_module_t *nicbarr_comm_query(ompi_communicator_t *comm, int *priority);

/* A choice and where it comes from, as one word that processes can pass on; never 0. */
uint64_t nicbarr_pack(struct nicbarr_choice choice, enum nicbarr_source source);
enum nicbarr_source nicbarr_unpack(uint64_t word, struct nicbarr_choice *choice);

/* What keeps the forced choice from being played there, in words; NULL: nothing. All members come
 * to the same answer. */
const char *nicbarr_forced_in_vain(const struct nicbarr_shape *shape);

/* What this process would have a communicator of `shape` use. */
enum nicbarr_source nicbarr_propose(const struct nicbarr_shape *shape,
                                    struct nicbarr_choice *choice);

/* Give all collectives back to what lies below; `why` is explained and reported. */
void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why);

/* Put back Open MPI's own functions of a collective that carries data. */
void nicbarr_put_back_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective);

/* Find out whether the members of a communicator on one node can be served, and its shape. NULL:
 * yes; else why not. All members come to the same answer. */
const char *nicbarr_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Set up at the first collective. False: this communicator's collectives stay Open MPI's own, and
 * its function pointers have been put back. No communication. */
bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence);

/* What the job knows about a shape, as one word that processes can pass on; 0: nothing measured. */
uint64_t nicbarr_recall(const struct nicbarr_shape *shape);
void nicbarr_remember(const struct nicbarr_shape *shape, struct nicbarr_choice choice);

/* Go by what another communicator has found out. False when out of memory. */
bool nicbarr_adopt(mca_coll_nicbarr_module_t *module, uint64_t known);

/* Have MPI_Barrier call the function of `module->choice` from now on. */
void nicbarr_install_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
