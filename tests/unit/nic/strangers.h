/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other people's packets, whatever is in them.
 */
#ifndef TESTS_UNIT_NIC_STRANGERS_H
#define TESTS_UNIT_NIC_STRANGERS_H

#include <stddef.h>

#include "libmyr/soft/nic.h"

/* Send these bytes to a NIC. */
void send_to(int socket, const struct myr_nic_name *name, const void *packet, size_t bytes);

/* A packet in our format, of somebody who knows no secret. */
void send_a_question(int stranger, const struct myr_nic_name *name);

#endif
