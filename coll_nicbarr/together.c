/* SPDX-License-Identifier: BSD-3-Clause */
/* See together.h. */
#include "coll_nicbarr/together.h"

#include <string.h>

#include "os/clock.h"

double nicbarr_now_us(void)
{
    return (double)os_now_ns() * 1e-3;
}

int nicbarr_meet(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    return module->barrier.function(comm, module->barrier.module);
}

int nicbarr_maximum(ompi_communicator_t *comm, double *values, int count)
{
    double own[NICBARR_MOST_VALUES];
    memcpy(own, values, (size_t)count * sizeof(*own));
    return comm->c_coll->coll_allreduce(own, values, count, MPI_DOUBLE, MPI_MAX, comm,
                                        comm->c_coll->coll_allreduce_module);
}
