/* SPDX-License-Identifier: BSD-3-Clause */
/* What Open MPI knows of failed processes, in programs that survive them (mpirun --with-ft ulfm,
 * from Open MPI 5.0 on). Threads: any. */
#ifndef NICBARR_SURVIVAL_H
#define NICBARR_SURVIVAL_H

#include "ompi/release.h"

#include <stdbool.h>

/* Does the program survive failures? */
bool nicbarr_failures_are_survived(void);

/* The error of all collectives on `comm`, of which a member has failed, or which is revoked:
 * MPI_ERR_PROC_FAILED or MPI_ERR_REVOKED. OMPI_SUCCESS: there is none that this process knows of;
 * it learns of one in opal_progress(). */
int nicbarr_comm_failure(ompi_communicator_t *comm);

/* Report to this process's Open MPI that `process` has failed. May be called from progress; calls
 * no progress itself. */
void nicbarr_process_failed(const opal_process_name_t *process);

#endif
