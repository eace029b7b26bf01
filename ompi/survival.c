/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed processes as Open MPI reports them; see survival.h. */
#include "ompi/survival.h"

#if OMPI_MAJOR_VERSION > 4 && OPAL_ENABLE_FT_MPI
bool nicbarr_failures_are_survived(void)
{
    return ompi_ftmpi_enabled;
}

int nicbarr_comm_failure(ompi_communicator_t *comm)
{
    return ompi_comm_is_revoked(comm)     ? MPI_ERR_REVOKED
           : ompi_comm_coll_revoked(comm) ? MPI_ERR_PROC_FAILED
                                          : OMPI_SUCCESS;
}

/* Each process detects failures on its own node, and PRRTE notifies other nodes. Therefore this
 * process does not forward the failure. */
void nicbarr_process_failed(const opal_process_name_t *process)
{
    (void)ompi_errhandler_proc_failed_internal((ompi_proc_t *)ompi_proc_for_name(*process),
                                               PMIX_ERR_PROC_TERM_WO_SYNC, false);
}
#else
bool nicbarr_failures_are_survived(void)
{
    return false;
}

int nicbarr_comm_failure(ompi_communicator_t *comm)
{
    (void)comm;
    return OMPI_SUCCESS;
}

void nicbarr_process_failed(const opal_process_name_t *process)
{
    (void)process;
}
#endif
