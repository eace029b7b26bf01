/* SPDX-License-Identifier: BSD-3-Clause */
/* Can a communicator be served? All its members check that during setup, and get the same answer
 * without a message. If it cannot, the reason is a line of text, which is valid until the next
 * call. */
#ifndef NICBARR_MEMBERS_H
#define NICBARR_MEMBERS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* For communicators on one node: check that all members of `comm` share this process's segment.
 * Returns NULL if they do, and sets the digest, homes and shape of `module`; otherwise returns the
 * reason. */
const char *nicbarr_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The key of a record of the communicator; sequence 0 is that of its barriers. */
struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence);

/* For communicators across nodes: check that there is a NIC that all members have. If so, sets the
 * nodes and shape of `module`. */
bool nicbarr_nodes_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const char **why);

/* Is a second exchange of hellos needed? It is if all members can take part, but some had not
 * opened all NICs at their start. All members get the same answer, because it depends only on the
 * hellos of the start. */
bool nicbarr_members_later(ompi_communicator_t *comm);

/* Is the communicator on several nodes? All members get the same answer. Within a job, each process
 * knows the nodes of all. It knows the node of another job's process only if it has communicated
 * with that, so for these the members' hellos decide: a process that is not in this process's
 * segment is on another node. */
bool nicbarr_is_across(ompi_communicator_t *comm);

#endif
