/* SPDX-License-Identifier: BSD-3-Clause */
/* Declines a communicator: Open MPI's own functions serve all of its collectives from then on. */
#ifndef NICBARR_DECLINING_H
#define NICBARR_DECLINING_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Restore the saved functions of all collectives; `why` appears in a message and in the report. All
 * members must decline the communicator in the same call of the program. */
void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why);

#endif
