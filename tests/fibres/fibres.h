/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs ranks as fibres of one thread, with a scheduler that derives every interleaving from a seed,
 * so that a test can explore many interleavings and reproduce a failure from its seed alone.
 *
 * Code compiled with -fsanitize-coverage=trace-pc calls the scheduler at each basic block. A rank
 * can therefore be preempted between any two branches or calls of the code under test, including
 * its inline functions. Memory accesses are sequentially consistent; tests/litmus tests weak memory
 * orders.
 *
 * All functions are called by one thread.
 */
#ifndef TESTS_FIBRES_FIBRES_H
#define TESTS_FIBRES_FIBRES_H

#include <stdbool.h>
#include <stdint.h>

enum { FIBRES_MOST = 8 };

typedef void (*fibre_fn)(uint32_t rank, void *context);

/* Run `fn` in `count` fibres until all have returned. A time slice is a random number of basic
 * blocks: up to `grain`, or up to a random multiple of that, as the seed determines. Returns
 * false if the program has not ended after `blocks` basic blocks, so that its ranks presumably
 * wait for each other for ever. */
bool fibres_run(uint64_t seed, uint32_t count, uint32_t grain, uint64_t blocks, fibre_fn fn,
                void *context);

/* The running rank; FIBRES_MOST outside of fibres_run(). */
uint32_t fibres_rank(void);

/* Schedule another rank while the running one waits. Has no effect outside of fibres_run(). */
void fibres_yield(void);

/* End `rank` as if its process were killed: after this many further basic blocks, as soon as
 * `may_die` permits. */
void fibres_doom(uint32_t rank, uint64_t blocks, bool (*may_die)(uint32_t rank));

/* Returns the number of programs to run: NICBARR_PROGRAMS, in which case this process has no
 * watchdog, or else `usual`. */
uint64_t fibres_programs(uint64_t usual);

/* Returns the number of switches to another rank since the process started. */
uint64_t fibres_switches(void);

#endif
