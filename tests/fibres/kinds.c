/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of coll_nicbarr/kinds.c: the soft NIC, and the double. */
#include "coll_nicbarr/nics.h"
#include "tests/unit/nic_double.h"

const struct myr_nic_kind *const nicbarr_kinds[] = {&myr_soft_kind, &myr_double_kind, NULL};
