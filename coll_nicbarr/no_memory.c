/* SPDX-License-Identifier: BSD-3-Clause */
/* See no_memory.h. */
#include "coll_nicbarr/no_memory.h"

#include <stdlib.h>

void nicbarr_end_without_memory(ompi_communicator_t *comm)
{
    char name[NICBARR_COMM_TEXT];
    opal_output(0, "nicbarr: out of memory in a collective on %s. The job is aborted.",
                nicbarr_comm_name(comm, name));
    ompi_mpi_abort(comm, OMPI_ERR_OUT_OF_RESOURCE);
    abort(); /* not reached, but Open MPI does not declare that its function does not return */
}
