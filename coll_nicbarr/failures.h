/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed processes, in programs that survive them (mpirun --with-ft ulfm): which error a collective
 * on one node returns, and when it stops waiting.
 *
 * Open MPI learns in its progress that a process has failed or a communicator was revoked. A wait
 * of a member is then abandoned: the collective goes on without what it waited for, to its end. So
 * from there on it may publish wrong values, and therefore the shared record of the wait is marked
 * before. Each member looks for this mark when its collective has ended, and thus returns an error
 * wherever its result may depend on an abandoned wait. Hence no movement of data needs an error
 * path, and barriers pay nothing.
 *
 * Threads: any. */
#ifndef NICBARR_FAILURES_H
#define NICBARR_FAILURES_H

#include "coll_nicbarr/coll_nicbarr.h"

/* nicbarr_comm_failure(); NULL: programs do not survive failures. */
extern int (*nicbarr_failure)(ompi_communicator_t *comm);

/* The error that collectives on `comm` have by now; OMPI_SUCCESS. Within a collective that makes
 * several steps it is asked before each that plays one of Open MPI's own functions: whoever has
 * abandoned a wait must call none of these any more, as others may have gone on to their next. */
static inline int nicbarr_known_failure(ompi_communicator_t *comm)
{
    return NULL == nicbarr_failure ? OMPI_SUCCESS : nicbarr_failure(comm);
}

/* abandons() of struct myr_waiter, whose owner is the communicator. */
bool nicbarr_abandons(const struct myr_watch *watch);

/* The error of a collective on one node that has ended, or was not begun yet: OMPI_SUCCESS,
 * MPI_ERR_PROC_FAILED or MPI_ERR_REVOKED; NICBARR_FAILURE_UNKNOWN: another member has abandoned a
 * wait, and this process will learn why. */
enum { NICBARR_FAILURE_UNKNOWN = -1 };
int nicbarr_failure_of(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The same for a blocking collective that would return `rc`: waits until the error is known. */
int nicbarr_survive(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, int rc);

#endif
