/* SPDX-License-Identifier: BSD-3-Clause */
/* Members that have died without the launcher ending the job: srun does not by default, and mpirun
 * --enable-recovery never does. In a program that does not survive failures (failures.h), who waits
 * for such a member would wait for ever; so long waits look for them, once a second.
 *
 * Only processes of this node are seen, and for those of other nodes their neighbours look. A
 * process that has left MPI (MPI_Finalize) has not died. Threads: any. */
#ifndef NICBARR_DEAD_MEMBERS_H
#define NICBARR_DEAD_MEMBERS_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The rank of a member that died at least a second ago, which is time for a launcher to end the
 * job; -1: none is known. (0.1 us for each member of this node.) */
int nicbarr_dead_member(ompi_communicator_t *comm);

/* If there is one, report that `call` on `comm` cannot complete, and end the job, as Open MPI does
 * when a connection breaks. */
void nicbarr_end_if_member_died(ompi_communicator_t *comm, const char *call);

#endif
