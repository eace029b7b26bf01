/* SPDX-License-Identifier: BSD-3-Clause */
/* The modex by way of PMIx; see modex.h. */
#include "ompi/modex.h"

#include <stdlib.h>
#include <string.h>

int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes)
{
    int rc;
    OPAL_MODEX_SEND(rc, NICBARR_MODEX_GLOBAL, component, (void *)data, bytes);
    return 0 == rc ? OMPI_SUCCESS : OMPI_ERROR;
}

size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room)
{
    uint8_t *got = NULL;
    size_t bytes = 0;
    int rc;
    OPAL_MODEX_RECV(rc, component, peer, (uint8_t **)&got, &bytes);
    if (0 != rc || NULL == got || bytes > room) {
        bytes = 0;
    }
    if (0 != bytes) {
        memcpy(data, got, bytes);
    }
    free(got);
    return bytes;
}

bool nicbarr_next_process(uint32_t *walked, opal_process_name_t *name)
{
    if (*walked >= ompi_process_info.num_procs) {
        return false;
    }
    *name = *OMPI_PROC_MY_NAME;
    name->vpid = (*walked)++;
    return true;
}
