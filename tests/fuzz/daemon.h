/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon (myrd/owner.h) in the fuzzer's own process and thread. Called by soft_server_fuzz.c and
 * kernel_server_fuzz.c.
 *
 * The daemon runs as it is, over real sockets. Each time it would wait in poll(), the fuzzer takes
 * its next step in place of its clients instead. So what happens follows from the input alone. The
 * linker puts this file's functions in place of poll(), clock_gettime() and myr_talk_peer()
 * (--wrap, see run.sh). Other threads see the system's.
 */
#ifndef TESTS_FUZZ_DAEMON_H
#define TESTS_FUZZ_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "myrd/owner.h"

/* Where a daemon may listen; the folder is removed at the end. */
const char *daemon_path(void);

/* A connection to it. The daemon will take it for one of this user's and process's. */
int daemon_connect(uid_t uid, pid_t pid);

/* Have the daemon serve until `step` says false and there is nothing more to do. */
void daemon_serve(const struct myrd_owner *owner, void *serving, bool (*step)(void *context),
                  void *context);

/* In a step: let the daemon's clock go on. */
void daemon_pass_ms(uint64_t ms);

/* How many descriptors this process has open. */
uint32_t daemon_descriptors(void);

#endif
