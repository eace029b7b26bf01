/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a process alive, and is it still the same one?
 *
 * Linux gives a process number again once its owner has been waited for. What tells two processes
 * of one number apart is when they began. So whoever remembers a process in shared memory remembers
 * both; called by the table of a segment's processes.
 *
 * Threads: any.
 */
#ifndef MYR_PROCESS_H
#define MYR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* When this process began, in the system's own units. 0: that cannot be told, as /proc is not
 * there, or is another container's. */
uint64_t myr_process_began(void);

/*
 * Has the process ended that had number `pid` and had begun at `began`? One system call finds most
 * (0.1 us). A number that was given again, or a dead process that its parent has not waited for
 * yet, is found only `thoroughly` (30 us), and only where `began` is not 0.
 */
bool myr_process_ended(uint32_t pid, uint64_t began, bool thoroughly);

#endif
