/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a process alive, and is it still the same one?
 *
 * Linux gives a process number again once the parent has waited for its owner. Two processes of one
 * number differ in when they began. So to remember a process in shared memory, remember both. The
 * table of a segment's processes calls this.
 *
 * Threads: any.
 */
#ifndef MYR_PROCESS_H
#define MYR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* When this process began, in the system's own units. 0: unknown, as /proc is not there, or is
 * another container's. */
uint64_t myr_process_began(void);

/*
 * Has the process ended that had number `pid` and began at `began`? One system call finds most (0.1
 * us). Only `thoroughly` (30 us), and only where `began` is not 0, finds two more: a number that
 * was given again, and a dead process that its parent has not waited for yet.
 */
bool myr_process_ended(uint32_t pid, uint64_t began, bool thoroughly);

/* Does the first thread of process `pid` run, or would it if it got a processor? False where it
 * sleeps, is stopped or has ended, or if that cannot be known. (30 us.) */
bool myr_process_runs(uint32_t pid);

#endif
