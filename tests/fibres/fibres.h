/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks as fibres of one thread, under a scheduler that chooses every interleaving by a seed.
 *
 * What is compiled with -fsanitize-coverage=trace-pc calls the scheduler at each basic block. So a
 * rank can be preempted between any two branches or calls of the code under test, also within its
 * inline functions, and a failure is repeated by its seed alone. The order of memory accesses is
 * the program's own (sequentially consistent): weak orders are tests/litmus' matter.
 *
 * One thread calls all of these.
 */
#ifndef TESTS_FIBRES_FIBRES_H
#define TESTS_FIBRES_FIBRES_H

#include <stdbool.h>
#include <stdint.h>

enum { FIBRES_MOST = 8 };

typedef void (*fibre_fn)(uint32_t rank, void *context);

/* Have `count` fibres run `fn`, until all have returned. Each runs for a random number of basic
 * blocks at a time: up to `grain`, or up to a random multiple of that, as the seed draws. False:
 * the program has not ended after `blocks` basic blocks, so its ranks wait for one another for
 * ever. */
bool fibres_run(uint64_t seed, uint32_t count, uint32_t grain, uint64_t blocks, fibre_fn fn,
                void *context);

/* The rank that runs; FIBRES_MOST outside of fibres_run(). */
uint32_t fibres_rank(void);

/* Let another rank go on, as the running one waits; nothing outside of fibres_run(). */
void fibres_yield(void);

/* From now on `rank` may end at any basic block, as if its process were killed: after so many of
 * them, and when `may_die` allows it. */
void fibres_doom(uint32_t rank, uint64_t blocks, bool (*may_die)(uint32_t rank));

/* How many programs a test is to play: NICBARR_PROGRAMS, which may take longer than any watchdog of
 * this process waits, or else `usual`. */
uint64_t fibres_programs(uint64_t usual);

/* How often another rank has gone on since the process began. */
uint64_t fibres_switches(void);

#endif
