/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers played by many processes that are simulated in one thread, one store or look at a time,
 * in an order drawn at random.
 *
 * Called by layout_test.c. It reads plans (libmyr/node/plan.h) as node_group.h does, but
 * sees all of them at once. So it can tell that somebody left a barrier too early, that nobody will
 * ever leave one, or that a word is ahead of its time. It takes interleavings that real processors
 * take once in a year.
 */
#ifndef TESTS_UNIT_STEPPER_H
#define TESTS_UNIT_STEPPER_H

#include <stddef.h>
#include <stdint.h>

#include "libmyr/node/plan.h"

/*
 * Play `barriers` consecutive ones of `size` processes, plans[rank] each, from `*epoch` on (the
 * last one that is over), which is advanced. NULL: all went well; else what did not, in static
 * memory.
 */
const char *stepper_play(const struct myr_plan *plans, uint32_t size, uint32_t *epoch,
                         uint32_t barriers, uint64_t *random);

/*
 * Look at the plans of all ranks: do their words lie on multiples of 4 within `bytes` from `slots`,
 * and does each have one writer? NULL, or what is wrong.
 */
const char *stepper_inspect(const struct myr_plan *plans, uint32_t size, const void *slots,
                            size_t bytes);

/* Have the plans' words say that barriers up to `epoch` are over. */
void stepper_preset(const struct myr_plan *plans, uint32_t size, uint32_t epoch);

#endif
