/* SPDX-License-Identifier: BSD-3-Clause */
/* See carriers.h. */
#include "coll_nicbarr/data/carriers.h"

#include <stdlib.h>

#include "coll_nicbarr/choice/measuring.h"

struct nicbarr_carrier *nicbarr_data_carrier(const mca_coll_nicbarr_module_t *module,
                                             enum nicbarr_collective collective,
                                             uint32_t size_class)
{
    struct nicbarr_carrier *carrier =
        NULL == module->carriers || size_class >= NICBARR_ACROSS_CLASSES
            ? NULL
            : &module->carriers->of[collective][size_class];
    return NULL != carrier && myr_nic_group_joined(&carrier->group) ? carrier : NULL;
}

static void free_carriers(struct nicbarr_carriers *carriers)
{
    if (NULL != carriers) {
        nicbarr_order_free(&carriers->order);
        nicbarr_order_free(&carriers->gather_order);
        free(carriers);
    }
}

void nicbarr_carriers_free(mca_coll_nicbarr_module_t *module)
{
    if (NULL == module->carriers) {
        return;
    }
    for (int c = 0; c < NICBARR_COLLECTIVES * NICBARR_ACROSS_CLASSES; ++c) {
        nicbarr_carrier_close(
            &module->carriers->of[c / NICBARR_ACROSS_CLASSES][c % NICBARR_ACROSS_CLASSES]);
    }
    free_carriers(module->carriers);
    module->carriers = NULL;
}

int nicbarr_carriers_make(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const struct nicbarr_nodes *nodes = &module->nodes;
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    struct nicbarr_carriers *carriers = calloc(1, sizeof(*carriers));
    double failed =
        NULL == carriers ||
        !nicbarr_order_make(nodes->of, size, nodes->nodes, nodes->node, &carriers->order) ||
        !nicbarr_order_make_gather(nodes->of, size, nodes->nodes, nodes->node,
                                   &carriers->gather_order);
    int rc = nicbarr_maximum(module, comm, &failed, 1);
    rc = OMPI_SUCCESS == rc && 0 != failed ? OMPI_ERR_OUT_OF_RESOURCE : rc;
    if (OMPI_SUCCESS != rc) {
        free_carriers(carriers);
        carriers = NULL;
    }
    module->carriers = carriers;
    return rc;
}
