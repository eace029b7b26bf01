/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can a communicator be served? All its members ask when it is set up. They come to the same answer
 * without a message. `why` says in a line what keeps it from being served. It is valid until the
 * next call.
 */
#ifndef NICBARR_MEMBERS_H
#define NICBARR_MEMBERS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* On one node: can all members of `comm` share this process's segment? NULL: yes, and `module` has
 * its digest, homes and shape; else why not. */
const char *nicbarr_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The name of a record of the communicator; 0 is the number of its barriers' own. */
struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence);

/* For communicators on several nodes: is there a NIC that all have one of? When yes, `module`
 * learns its nodes and shape. */
bool nicbarr_nodes_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const char **why);

/* Could all take part, and did some of them open no NICs when they started? Then words are to be
 * exchanged anew. All members give the same answer: it depends only on what was said at the start.
 */
bool nicbarr_members_later(ompi_communicator_t *comm);

/*
 * Are members on several nodes? All of them come to the same answer. Within a job, each process
 * knows that of all. Of processes of another job it knows it only where it has met them itself, so
 * with such ones the words of all members say it: what does not share this process's segment is on
 * another node.
 */
bool nicbarr_is_across(ompi_communicator_t *comm);

#endif
