/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines whether nicbarr can serve a communicator. All members check this during setup, and get
 * the same answer without a message. If nicbarr cannot serve it, the reason is returned as a text,
 * which is valid until the next call. */
#ifndef NICBARR_MEMBERS_H
#define NICBARR_MEMBERS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Check that all members of a communicator on one node share this process's segment. If they do,
 * sets the digest, homes and shape of `module`, and returns NULL; otherwise returns the reason. */
const char *nicbarr_members_check(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Returns the key of a record of the communicator; sequence 0 is the record of its barriers. */
struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence);

/* Check that there is a NIC that all members of a communicator across nodes have. If so, sets the
 * nodes and shape of `module`, and returns NULL; otherwise returns the reason. */
const char *nicbarr_nodes_determine(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Returns whether a second exchange of hellos is needed, because all members can participate, but
 * some of them had not opened all NICs when they started. All members get the same answer, because
 * it depends only on the first hellos. */
bool nicbarr_members_lack_nics(ompi_communicator_t *comm);

/* Returns whether a member belongs to another job than this process. */
bool nicbarr_has_other_jobs(ompi_communicator_t *comm);

/* Returns whether the communicator is on several nodes. All members get the same answer.
 *
 * Open MPI provides the nodes of all processes of the same job. However, it provides the node of a
 * process in another job only if the two processes have communicated. Therefore, if a member
 * belongs to another job, the hellos of the members decide: a process that does not share this
 * process's segment is considered to be on another node. */
bool nicbarr_is_across(ompi_communicator_t *comm);

#endif
