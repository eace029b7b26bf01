/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects members that have died although the launcher has not ended the job: srun does not by
 * default, and mpirun --enable-recovery never does. In a program that does not survive failures
 * (failures.h), the other members would wait for such a member for ever. Therefore long waits check
 * for dead members, once a second.
 *
 * A process detects only the dead processes of its own node; those of other nodes are detected by
 * their neighbours there. A process that has left MPI (MPI_Finalize) does not count as dead.
 * Threads: any. */
#ifndef NICBARR_DEAD_MEMBERS_H
#define NICBARR_DEAD_MEMBERS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Returns the rank of a dead member, or -1 if there is none, or if this process has known of dead
 * processes for less than a second, in which the launcher may end the job. Takes 0.1 us for each
 * member of this node. */
int nicbarr_dead_member(ompi_communicator_t *comm);

/* If a member has died, report that `call` on `comm` cannot complete, and end the job, as Open MPI
 * does when a connection breaks. */
void nicbarr_end_if_member_died(ompi_communicator_t *comm, const char *call);

#endif
