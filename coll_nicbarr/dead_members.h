/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects members that have died although the launcher has not ended the job. By default, srun does
 * not end a job when a process dies, and mpirun --enable-recovery never does. In a program that
 * does not survive failures (failures.h), the other members would wait for the dead member forever.
 * Therefore a process that waits for long checks for dead members once a second.
 *
 * A process detects only dead processes on its own node; those on other nodes are detected by the
 * processes there. A process that has left MPI (MPI_Finalize) is not considered dead. May be called
 * by any thread. */
#ifndef NICBARR_DEAD_MEMBERS_H
#define NICBARR_DEAD_MEMBERS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Returns the rank of a dead member, or -1 if there is none. Also returns -1 during the first
 * second after this process has detected a death, because the launcher may still end the job. Takes
 * 0.1 us for each member on this node. */
int nicbarr_dead_member(ompi_communicator_t *comm);

/* If a member has died, report that `call` on `comm` cannot complete, and end the job, as Open MPI
 * does when a connection breaks. */
void nicbarr_end_if_member_died(ompi_communicator_t *comm, const char *call);

#endif
