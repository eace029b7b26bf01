/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a daemon (myrd/owner.h) in the fuzzer's process and thread, so that its behaviour depends
 * only on the input. soft_server_fuzz.c and kernel_server_fuzz.c call it.
 *
 * The daemon is unchanged and uses real sockets. Whenever it calls poll(), the fuzzer takes its
 * next step on behalf of the clients instead of waiting. The linker substitutes this file's
 * functions for poll(), clock_gettime() and myr_talk_peer() (--wrap, see run.sh); in other threads
 * they call the original functions.
 */
#ifndef TESTS_FUZZ_DAEMON_H
#define TESTS_FUZZ_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "myrd/owner.h"

/* Returns a path at which a daemon may listen. Its directory is removed at exit. */
const char *daemon_path(void);

/* Connect to the daemon as this user and process. */
int daemon_connect(uid_t uid, pid_t pid);

/* Run the daemon until `step` returns false and the daemon has no work left. */
void daemon_serve(const struct myrd_owner *owner, void *serving, bool (*step)(void *context),
                  void *context);

/* Advance the daemon's clock. To be called in a step. */
void daemon_pass_ms(uint64_t ms);

/* Returns the number of descriptors that this process has open. */
uint32_t daemon_descriptors(void);

#endif
