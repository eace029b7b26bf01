/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of NICs that the component uses: the only place that names any.
 *
 * Where a choice is made among them they are in this order: what comes first is taken where nothing
 * else is said or measured. Tests build the component with another list.
 */
#include "coll_nicbarr/nics.h"

const struct myr_nic_kind *const nicbarr_kinds[] = {
    &myr_soft_kind,
    &myr_kernel_kind,
    &myr_verbs_kind,
    NULL,
};
