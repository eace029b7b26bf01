/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces coll_nicbarr/kinds.c with the soft NIC and the test NIC (nic_fake.h) as kinds. */
#include "coll_nicbarr/nics.h"
#include "tests/unit/nic_fake.h"

const struct myr_nic_kind *const nicbarr_kinds[] = {&myr_soft_kind, &myr_fake_kind, NULL};
