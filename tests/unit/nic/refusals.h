/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that users get a message with the reason why there is no NIC, and that it is the same in
 * all processes of a node.
 */
#ifndef TESTS_UNIT_NIC_REFUSALS_H
#define TESTS_UNIT_NIC_REFUSALS_H

#include "libmyr/node/segment.h"
#include "libmyr/soft/nic.h"

/* Check that opening the NIC fails with this status, and a message that contains `text`. */
void expect_refusal(struct myr_segment *segment, const struct myr_soft_options *options,
                    enum myr_status status, const char *text);

#endif
