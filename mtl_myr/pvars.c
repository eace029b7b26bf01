/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance variables of MPI's tools interface (MPI_T_pvar_...): mtl_myr_<counter>, what this
 * process's endpoint counts (MYR_TAGGED_COUNTERS), and mtl_myr_runner_bytes. They are 0 as long as
 * there is no endpoint.
 */
#include "mtl_myr/mtl_myr.h"

#include <stddef.h>
#include <string.h>

static int give(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)object;
    const mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    unsigned long long count = 0;
    if (NULL != component->endpoint) {
        const uint8_t *counted = (const uint8_t *)myr_tagged_count(component->endpoint);
        memcpy(&count, counted + *(const size_t *)pvar->ctx, sizeof(count));
    }
    *(unsigned long long *)value = count;
    return OPAL_SUCCESS;
}

static int give_runner_bytes(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)pvar;
    (void)object;
    *(unsigned long long *)value = mca_mtl_myr_component.runner_bytes;
    return OPAL_SUCCESS;
}

static void add(const char *name, const char *text,
                int (*read)(const struct mca_base_pvar_t *pvar, void *value, void *object),
                size_t *offset)
{
    (void)mca_base_component_pvar_register(
        &mca_mtl_myr_component.super.mtl_version, name, text, OPAL_INFO_LVL_4,
        MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
        read, NULL, NULL, offset);
}

void mca_mtl_myr_pvars_register(void)
{
#define COUNTER(name, text)                                                                        \
    static size_t name = offsetof(struct myr_tagged_counters, name);                               \
    add(#name, text, give, &name);
    MYR_TAGGED_COUNTERS(COUNTER)
#undef COUNTER
    add("runner_bytes", "bytes of long messages that the runner has moved", give_runner_bytes,
        NULL);
}
