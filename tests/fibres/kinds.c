/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces coll_nicbarr/kinds.c with the soft NIC and the test NIC (nic_double.h) as kinds, and
 * provides access to the state of a component copy for the tests.
 */
#include "coll_nicbarr/data/classes.h"
#include "coll_nicbarr/nics.h"
#include "tests/unit/nic_double.h"

const struct myr_nic_kind *const nicbarr_kinds[] = {&myr_soft_kind, &myr_double_kind, NULL};

/* Returns the cached choice for a size class in the segment of this copy's node. */
__attribute__((visibility("default"))) uint64_t
double_copy_note(const mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                 uint32_t size_class);
uint64_t double_copy_note(const mca_coll_nicbarr_module_t *module,
                          enum nicbarr_collective collective, uint32_t size_class)
{
    return myr_note_get(mca_coll_nicbarr_component.segment,
                        nicbarr_data_note_key(module, collective, size_class));
}
