/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares the kind of the fake NIC that nic_fake.c implements for tests. */
#ifndef TESTS_UNIT_NIC_FAKE_H
#define TESTS_UNIT_NIC_FAKE_H

#include "libmyr/nic_kind.h"

extern const struct myr_nic_kind myr_fake_kind;

#endif
