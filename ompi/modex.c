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

#if OMPI_MAJOR_VERSION == 4

static int receive(const mca_base_component_t *component, const opal_process_name_t *peer,
                   uint8_t **data, size_t *bytes)
{
    int rc;
    OPAL_MODEX_RECV(rc, component, peer, data, bytes);
    return rc;
}

#else

/* PMIx_Get() asks the peer's server, which waits until the peer publishes the data: for ever, where
 * the peer lacks the component. What the peer has was published before MPI_Init's fence, so a time
 * after which it cannot come any more can be a generous one. (With PMIX_IMMEDIATE some processes
 * are told that there is no data a moment before others receive it.) */
static int receive(const mca_base_component_t *component, const opal_process_name_t *peer,
                   uint8_t **data, size_t *bytes)
{
    int seconds = 30;
    char *key = mca_base_component_to_string(component);
    pmix_proc_t process;
    pmix_info_t timeout;
    pmix_value_t *value = NULL;
    OPAL_PMIX_CONVERT_NAME(&process, peer);
    PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &seconds, PMIX_INT);
    const pmix_status_t rc =
        NULL == key ? PMIX_ERR_NOMEM : PMIx_Get(&process, key, &timeout, 1, &value);
    PMIX_INFO_DESTRUCT(&timeout);
    free(key);
    if (PMIX_SUCCESS == rc && NULL != value) {
        *data = (uint8_t *)value->data.bo.bytes;
        *bytes = value->data.bo.size;
        value->data.bo.bytes = NULL; /* the caller's now */
    }
    if (NULL != value) {
        PMIX_VALUE_RELEASE(value);
    }
    return rc;
}

#endif

size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room)
{
    uint8_t *got = NULL;
    size_t bytes = 0;
    const int rc = receive(component, peer, &got, &bytes);
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
