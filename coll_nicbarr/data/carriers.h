/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's carriers (carrier.h): one for each size class of each collective that NICs
 * execute.
 *
 * Created by data_across.c, and read by the collectives and the report. */
#ifndef NICBARR_CARRIERS_H
#define NICBARR_CARRIERS_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/carrier.h"
#include "coll_nicbarr/data/classes.h"

struct nicbarr_carriers {
    struct nicbarr_order order,
        gather_order; /* `order` for reductions, `gather_order` for allgathers */
    struct nicbarr_carrier of[NICBARR_COLLECTIVES][NICBARR_ACROSS_CLASSES];
};

/* Create the state that all classes need, without carriers. Collective; returns an error on all
 * members if one of them is out of memory. */
int nicbarr_carriers_make(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
void nicbarr_carriers_free(mca_coll_nicbarr_module_t *module);

/* Returns the carrier of a class, or NULL if nicbarr does not serve this class. */
struct nicbarr_carrier *nicbarr_data_carrier(const mca_coll_nicbarr_module_t *module,
                                             enum nicbarr_collective collective,
                                             uint32_t size_class);

#endif
