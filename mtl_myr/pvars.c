/* SPDX-License-Identifier: BSD-3-Clause */
/* Performance variables of MPI's tools interface (MPI_T_pvar_...): mtl_myr_<counter> for each
 * counter of this process's endpoint (MYR_TAGGED_COUNTERS), and mtl_myr_runner_bytes. They are 0
 * while there is no endpoint. */
#include "mtl_myr/mtl_myr.h"

#include <stddef.h>

#include "ompi/pvars.h"

static int read_counter(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    static const struct myr_tagged_counters none;
    const struct myr_tagged *endpoint = mca_mtl_myr_component.endpoint;
    (void)object;
    return nicbarr_pvar_give(NULL == endpoint ? &none : myr_tagged_count(endpoint), pvar, value);
}

static int read_runner_bytes(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)pvar;
    (void)object;
    *(unsigned long long *)value = mca_mtl_myr_component.runner_bytes;
    return OPAL_SUCCESS;
}

static void register_pvar(const char *name, const char *text, nicbarr_pvar_fn read, size_t *offset)
{
    nicbarr_pvar_add(&mca_mtl_myr_component.super.mtl_version, name, text, read, offset);
}

void mca_mtl_myr_pvars_register(void)
{
#define COUNTER(name, text)                                                                        \
    static size_t name = offsetof(struct myr_tagged_counters, name);                               \
    register_pvar(#name, text, read_counter, &name);
    MYR_TAGGED_COUNTERS(COUNTER)
#undef COUNTER
    register_pvar("runner_bytes",
                  "bytes of long messages transferred by the progress thread (mtl_myr_runner)",
                  read_runner_bytes, NULL);
}
