/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries and reports failures of processes, in programs that survive them (mpirun --with-ft ulfm,
 * since Open MPI 5.0). Any thread may call these functions. */
#ifndef NICBARR_SURVIVAL_H
#define NICBARR_SURVIVAL_H

#include "ompi/release.h"

#include <stdbool.h>

/* Returns whether the program survives failures. */
bool nicbarr_failures_are_survived(void);

/* Returns MPI_ERR_REVOKED if the communicator was revoked, MPI_ERR_PROC_FAILED if one of its
 * members has failed, and OMPI_SUCCESS if this process knows of neither. Every collective on the
 * communicator must return this error. Open MPI learns of both events in opal_progress(). */
int nicbarr_comm_failure(ompi_communicator_t *comm);

/* Reports to this process's Open MPI that `process` has failed. May be called from progress
 * functions, and does not call progress itself. */
void nicbarr_process_failed(const opal_process_name_t *process);

#endif
