/* SPDX-License-Identifier: BSD-3-Clause */
/* A test double of a NIC, as a kind of its own; see nic_double.c. */
#ifndef TESTS_UNIT_NIC_DOUBLE_H
#define TESTS_UNIT_NIC_DOUBLE_H

#include "libmyr/nic_kind.h"

extern const struct myr_nic_kind myr_double_kind;

#endif
