/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates barriers of many processes in one thread. Each step is one load or store of one
 * process, and the interleaving is random.
 *
 * layout_test.c calls it. It reads plans (libmyr/node/plan.h) as node_group.h does, but has access
 * to the state of all processes. Therefore it detects that a process left a barrier too early, that
 * a barrier deadlocks, or that a word has a future epoch. It covers interleavings that are
 * extremely rare on real CPUs.
 */
#ifndef TESTS_UNIT_STEPPER_H
#define TESTS_UNIT_STEPPER_H

#include <stddef.h>
#include <stdint.h>

#include "libmyr/node/plan.h"

/*
 * Run `barriers` consecutive barriers of `size` processes with plans[rank]. `*epoch` is the last
 * completed epoch, and is advanced. Returns NULL, or in static memory a description of the
 * failure.
 */
const char *stepper_play(const struct myr_plan *plans, uint32_t size, uint32_t *epoch,
                         uint32_t barriers, uint64_t *random);

/*
 * Check the plans of all ranks: each word is aligned, lies within `bytes` from `slots`, and has
 * one writer. Returns NULL, or a description of the error.
 */
const char *stepper_inspect(const struct myr_plan *plans, uint32_t size, const void *slots,
                            size_t bytes);

/* Set the plans' words to the state after epoch `epoch`. */
void stepper_preset(const struct myr_plan *plans, uint32_t size, uint32_t epoch);

#endif
