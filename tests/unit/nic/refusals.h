/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What cannot be had is refused, with a line that says so, to all alike.
 */
#ifndef TESTS_UNIT_NIC_REFUSALS_H
#define TESTS_UNIT_NIC_REFUSALS_H

#include "libmyr/node/segment.h"
#include "libmyr/soft/nic.h"

/* No NIC in this segment: with this status, and a line that has this text. */
void expect_refusal(struct myr_segment *segment, const struct myr_soft_options *options,
                    enum myr_status status, const char *text);

#endif
