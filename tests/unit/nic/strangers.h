/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that packets of other programs neither stop a NIC nor change a group, whatever they
 * contain.
 */
#ifndef TESTS_UNIT_NIC_STRANGERS_H
#define TESTS_UNIT_NIC_STRANGERS_H

#include <stddef.h>

#include "libmyr/soft/nic.h"

void send_to(int socket, const struct myr_nic_name *name, const void *packet, size_t bytes);

/* Send an ASK that is sealed with a wrong secret. */
void send_forged_ask(int stranger, const struct myr_nic_name *name);

#endif
