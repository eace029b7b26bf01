/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the kinds of NICs that the component uses. No other file of coll_nicbarr/ names a kind.
 *
 * The kinds are listed in order of preference: the first one is used unless the user or a
 * measurement decides otherwise. Tests build the component with another list. */
#include "coll_nicbarr/nics.h"

const struct myr_nic_kind *const nicbarr_kinds[] = {
    &myr_soft_kind,
    &myr_kernel_kind,
    &myr_verbs_kind,
    NULL,
};
