/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed processes as Open MPI reports them, in programs that survive failures (mpirun --with-ft
 * ulfm, since Open MPI 5.0). Any thread may call these functions. */
#ifndef NICBARR_SURVIVAL_H
#define NICBARR_SURVIVAL_H

#include "ompi/release.h"

#include <stdbool.h>

/* Returns whether the program survives failures. */
bool nicbarr_failures_are_survived(void);

/* Returns the error of all collectives on `comm`: MPI_ERR_REVOKED if the communicator was revoked,
 * MPI_ERR_PROC_FAILED if a member has failed, OMPI_SUCCESS if this process knows of neither. Open
 * MPI learns of both in opal_progress(). */
int nicbarr_comm_failure(ompi_communicator_t *comm);

/* Reports to this process's Open MPI that `process` has failed. May be called from progress
 * functions, and does not call progress itself. */
void nicbarr_process_failed(const opal_process_name_t *process);

#endif
