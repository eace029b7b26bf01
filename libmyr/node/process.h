/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a process alive, and is it still the same one?
 *
 * Linux reuses a pid after the parent has reaped the process. Two processes with one pid differ in
 * their start times, so shared memory must hold both to identify a process, as a segment's table of
 * processes does.
 *
 * Threads: any. */
#ifndef MYR_PROCESS_H
#define MYR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* This process's start time, in the system's own units. 0: unknown, because there is no /proc or it
 * is another container's. */
uint64_t myr_process_began(void);

/* Has the process with pid `pid` and start time `began` ended? One system call detects most cases
 * (0.1 us). Two cases are detected only with `thoroughly` (30 us) and if `began` is not 0: a reused
 * pid, and a zombie. */
bool myr_process_ended(uint32_t pid, uint64_t began, bool thoroughly);

/* Is the first thread of process `pid` runnable? False if it sleeps, is stopped or has ended, or if
 * that is unknown. (30 us.) */
bool myr_process_runs(uint32_t pid);

#endif
