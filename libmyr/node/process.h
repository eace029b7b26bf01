/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests whether a process is alive, and still the same process.
 *
 * Linux reuses a pid after the parent has reaped the process. Two processes with the same pid
 * differ in their start times. To identify a process, shared memory must therefore contain both
 * values, as the process table of a segment does.
 *
 * Threads: any. */
#ifndef MYR_PROCESS_H
#define MYR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the start time of this process, in the units of the system. Returns 0 if it is unknown,
 * because there is no /proc, or /proc belongs to another container. */
uint64_t myr_process_began(void);

/* Returns whether the process with pid `pid` and start time `began` has ended. A single system call
 * detects most cases (0.1 us). Reused pids and zombies are detected only with `thoroughly` (30 us),
 * and if `began` is not 0. */
bool myr_process_ended(uint32_t pid, uint64_t began, bool thoroughly);

/* Returns whether the first thread of process `pid` is runnable, which takes 30 us. Returns false
 * if the thread sleeps, is stopped or has ended, or if its state is unknown. */
bool myr_process_runs(uint32_t pid);

#endif
