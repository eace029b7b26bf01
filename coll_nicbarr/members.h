/* SPDX-License-Identifier: BSD-3-Clause */
/* Can a communicator be served? All its members check that during setup, and come to the same
 * answer without a message. `why` is the reason in a line if not; valid until the next call. */
#ifndef NICBARR_MEMBERS_H
#define NICBARR_MEMBERS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* On one node: can all members of `comm` share this process's segment? NULL: yes, and `module` has
 * its digest, homes and shape; else the reason. */
const char *nicbarr_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The key of a record of the communicator; sequence 0 is that of its barriers. */
struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence);

/* For communicators across nodes: is there a NIC that all have? If so, sets the nodes and shape of
 * `module`. */
bool nicbarr_nodes_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const char **why);

/* Can all take part, and did some of them open no NICs at their start? Then a second exchange of
 * hellos is needed. All members give the same answer, because it depends only on the hellos of the
 * start. */
bool nicbarr_members_later(ompi_communicator_t *comm);

/* Are members on several nodes? All of them come to the same answer. Within a job, each process
 * knows the nodes of all. It knows that of another job's processes only if it has met them itself,
 * so for these the hellos of all members decide: a process without this process's segment is on
 * another node. */
bool nicbarr_is_across(ompi_communicator_t *comm);

#endif
