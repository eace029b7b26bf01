/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaving a communicator to Open MPI after all. */
#ifndef NICBARR_DECLINING_H
#define NICBARR_DECLINING_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Restore the saved functions of all collectives; `why` is explained and reported. Members decline
 * in the same call of the program. */
void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why);

#endif
