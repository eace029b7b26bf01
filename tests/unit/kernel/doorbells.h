/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends doorbells to the NIC in the same format as hosts.
 */
#ifndef TESTS_UNIT_KERNEL_DOORBELLS_H
#define TESTS_UNIT_KERNEL_DOORBELLS_H

#include <stdint.h>

#include "firmware/kernel/kernel.h"

struct mcp_doorbell make_doorbell(uint64_t key, uint8_t what, uint32_t epoch);

/* Ring the bell with a message that is followed by `bytes` bytes of `carried` (frames.h). */
void ring_with(int bell, uint64_t key, uint8_t what, uint32_t epoch, uint32_t bytes);

void ring(int bell, uint64_t key, uint8_t what, uint32_t epoch);

#endif
