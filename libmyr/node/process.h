/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests whether a process is alive, and still the same process.
 *
 * Linux reuses a pid after the parent has reaped the process. Two processes with the same pid
 * differ in their start times, so shared memory must contain both to identify a process, as a
 * segment's table of processes does.
 *
 * Threads: any. */
#ifndef MYR_PROCESS_H
#define MYR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns this process's start time, in the system's own units, or 0 if it is unknown, because
 * there is no /proc or it belongs to another container. */
uint64_t myr_process_began(void);

/* Returns whether the process with pid `pid` and start time `began` has ended. One system call
 * detects most cases (0.1 us). Two cases are detected only with `thoroughly` (30 us) and if `began`
 * is not 0: a reused pid, and a zombie. */
bool myr_process_ended(uint32_t pid, uint64_t began, bool thoroughly);

/* Returns whether the first thread of process `pid` is runnable: false if it sleeps, is stopped or
 * has ended, or if that is unknown (30 us). */
bool myr_process_runs(uint32_t pid);

#endif
