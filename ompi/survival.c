/* SPDX-License-Identifier: BSD-3-Clause */
/* Failed processes as Open MPI reports them; see survival.h. */
#include "ompi/release.h"

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
#endif
