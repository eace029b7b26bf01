/* SPDX-License-Identifier: BSD-3-Clause */
/* Process failures in programs that survive them (mpirun --with-ft ulfm): determines which error a
 * collective on one node returns, and when it stops waiting.
 *
 * Open MPI's progress engine detects that a process has failed or that a communicator was revoked.
 * A member that is waiting then abandons its wait, and the collective runs to its end without the
 * missing values. Since this member may publish wrong values from then on, it first sets a flag in
 * the shared record. Each member checks the flag at the end of its collective, and returns an error
 * if its result may depend on an abandoned wait. Therefore the code that moves data needs no error
 * paths, and barriers have no overhead.
 *
 * Any thread may call these functions. */
#ifndef NICBARR_FAILURES_H
#define NICBARR_FAILURES_H

#include "coll_nicbarr/coll_nicbarr.h"

/* nicbarr_comm_failure(), or NULL if the program does not survive failures. */
extern int (*nicbarr_failure)(ompi_communicator_t *comm);

/* Returns the error that collectives on `comm` return at present, or OMPI_SUCCESS if there is none.
 * A collective of several steps checks this before each call of one of Open MPI's own functions. A
 * member that has abandoned a wait must no longer call such a function, because the other members
 * may already be executing a later one. */
static inline int nicbarr_known_failure(ompi_communicator_t *comm)
{
    return NULL == nicbarr_failure ? OMPI_SUCCESS : nicbarr_failure(comm);
}

/* Implements abandons() of struct myr_waiter, for waits whose owner is a communicator. */
bool nicbarr_abandons(const struct myr_watch *watch);

/* Returns the error of the communicator's collectives on one node, while none is in progress:
 * OMPI_SUCCESS, MPI_ERR_PROC_FAILED or MPI_ERR_REVOKED. Returns NICBARR_FAILURE_UNKNOWN if another
 * member has given up waiting, and this process does not know the reason yet. */
enum { NICBARR_FAILURE_UNKNOWN = -1 };
int nicbarr_failure_of(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Returns the error of a blocking collective that would otherwise return `rc`. Waits until the
 * error is known. */
int nicbarr_survive(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, int rc);

#endif
