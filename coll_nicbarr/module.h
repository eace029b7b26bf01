/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates a communicator's module; see module.c. Called by component.c. */
#ifndef NICBARR_MODULE_H
#define NICBARR_MODULE_H

#include "coll_nicbarr/coll_nicbarr.h"

mca_coll_base_module_t *nicbarr_comm_query(ompi_communicator_t *comm, int *priority);

#endif
