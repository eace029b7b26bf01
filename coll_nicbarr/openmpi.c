/* SPDX-License-Identifier: BSD-3-Clause */
/* See openmpi.h. */
#include "coll_nicbarr/openmpi.h"

#include <stddef.h>

/* Up to Open MPI 5.0, an entry of a table holds a reference to its module. Functions that replace
 * an entry rely on that. */
#define RETAIN(collective)                                                                         \
    missing = missing || NULL == openmpi->below.coll_##collective##_module;                        \
    if (!nicbarr_modules_fill_tables() && NULL != openmpi->below.coll_##collective##_module) {     \
        OBJ_RETAIN(openmpi->below.coll_##collective##_module);                                     \
    }

bool nicbarr_openmpi_save(struct nicbarr_openmpi *openmpi, ompi_communicator_t *comm)
{
    bool missing = false;
    openmpi->table = comm->c_coll;
    openmpi->below = *comm->c_coll;
    NICBARR_BLOCKING(RETAIN)
    return !missing;
}

#define RELEASE(collective)                                                                        \
    if (!nicbarr_modules_fill_tables() && NULL != openmpi->below.coll_##collective##_module) {     \
        OBJ_RELEASE(openmpi->below.coll_##collective##_module);                                    \
    }

void nicbarr_openmpi_release(struct nicbarr_openmpi *openmpi)
{
    NICBARR_BLOCKING(RELEASE)
}

#define KEEP(collective)                                                                           \
    complete.coll_##collective = openmpi->below.coll_##collective;                                 \
    complete.coll_##collective##_module = openmpi->below.coll_##collective##_module;

void nicbarr_openmpi_complete(struct nicbarr_openmpi *openmpi)
{
    mca_coll_base_comm_coll_t complete = *openmpi->table;
    NICBARR_BLOCKING(KEEP)
    openmpi->below = complete;
    openmpi->complete = true;
}
