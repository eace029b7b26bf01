/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares the kind of the fake NIC that nic_double.c implements for tests. */
#ifndef TESTS_UNIT_NIC_DOUBLE_H
#define TESTS_UNIT_NIC_DOUBLE_H

#include "libmyr/nic_kind.h"

extern const struct myr_nic_kind myr_double_kind;

#endif
