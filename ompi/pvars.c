/* SPDX-License-Identifier: BSD-3-Clause */
/* See pvars.h. */
#include "ompi/pvars.h"

#include <string.h>

void nicbarr_pvar_add(const mca_base_component_t *component, const char *name, const char *text,
                      nicbarr_pvar_fn read, void *context)
{
    (void)mca_base_component_pvar_register(
        component, name, text, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read, NULL, NULL, context);
}

int nicbarr_pvar_give(const void *counted, const struct mca_base_pvar_t *pvar, void *value)
{
    memcpy(value, (const uint8_t *)counted + *(const size_t *)pvar->ctx,
           sizeof(unsigned long long));
    return OPAL_SUCCESS;
}
