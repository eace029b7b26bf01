/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces coll_nicbarr/kinds.c: the fake NIC (nic_fake.h) is the only kind of NIC. */
#include "coll_nicbarr/nics.h"
#include "tests/unit/nic_fake.h"

const struct myr_nic_kind *const nicbarr_kinds[] = {&myr_fake_kind, NULL};
