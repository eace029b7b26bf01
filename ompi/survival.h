/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed processes as Open MPI reports them, in programs that survive failures (mpirun --with-ft
 * ulfm, since Open MPI 5.0). Threads: any. */
#ifndef NICBARR_SURVIVAL_H
#define NICBARR_SURVIVAL_H

#include "ompi/release.h"

#include <stdbool.h>

/* Does the program survive failures? */
bool nicbarr_failures_are_survived(void);

/* The error of all collectives on `comm` if a member of it has failed (MPI_ERR_PROC_FAILED) or it
 * was revoked (MPI_ERR_REVOKED). OMPI_SUCCESS if this process knows of neither; it learns of them
 * in opal_progress(). */
int nicbarr_comm_failure(ompi_communicator_t *comm);

/* Report to this process's Open MPI that `process` has failed. May be called from progress; calls
 * no progress itself. */
void nicbarr_process_failed(const opal_process_name_t *process);

#endif
