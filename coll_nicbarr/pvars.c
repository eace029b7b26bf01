/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft NIC's counters as performance variables of MPI's tools interface (MPI_T_pvar_...), named
 * coll_nicbarr_<counter>. One list says which there are: firmware/counters.h.
 *
 * They count since the NIC was opened, for all processes of the node that share it; without a
 * soft NIC they stay 0.
 */
#include "coll_nicbarr/coll_nicbarr.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *text;
    size_t offset; /* in struct mcp_counters */
} variables[] = {
#define VARIABLE(name, text) {#name, text, offsetof(struct mcp_counters, name)},
    MCP_COUNTERS(VARIABLE)
#undef VARIABLE
};

static int read_counter(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    const size_t offset = *(const size_t *)pvar->ctx;
    struct mcp_counters counters = {0};
    uint64_t count;
    (void)object;
    if (NULL != mca_coll_nicbarr_component.nic) {
        myr_nic_count(mca_coll_nicbarr_component.nic, &counters);
    }
    memcpy(&count, (const uint8_t *)&counters + offset, sizeof(count));
    *(unsigned long long *)value = count;
    return OPAL_SUCCESS;
}

void nicbarr_pvars_register(void)
{
    const mca_base_component_t *component = &mca_coll_nicbarr_component.super.collm_version;
    for (size_t v = 0; v < sizeof(variables) / sizeof(variables[0]); ++v) {
        (void)mca_base_component_pvar_register(
            component, variables[v].name, variables[v].text, OPAL_INFO_LVL_4,
            MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
            MCA_BASE_VAR_BIND_NO_OBJECT,
            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL, NULL,
            (void *)&variables[v].offset);
    }
}
