/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that have lasted more than a second, for `nicbarr status`: this process, the MPI
 * call, the code that made it, the communicator and its members. Together with those of the node's
 * other processes (libmyr/node/waits.h) this shows who is missing in which call.
 *
 * Everything here happens in a wait that is long already. Threads: any. */
#ifndef NICBARR_LONG_WAITS_H
#define NICBARR_LONG_WAITS_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "libmyr/node/waits.h"

/* The outermost MPI function that the calling thread is in, and the code that called it, as in
 * struct myr_shown_wait; "": not found. */
enum {
    NICBARR_CALL_TEXT = sizeof(((struct myr_shown_wait *)0)->call),
    NICBARR_CALLER_TEXT = sizeof(((struct myr_shown_wait *)0)->caller)
};
void nicbarr_find_call(char *call, char *caller);

/* Publish that the calling thread has been waiting for the other members of `comm` for
 * MYR_LONG_WAIT_US. Returns the argument for myr_wait_hide(). */
struct myr_shown_wait *nicbarr_wait_show(ompi_communicator_t *comm, const struct myr_key *key);

/* The same for waits on one node, and a look for dead members: long_wait() of struct myr_waiter.
 * Their owner is the communicator. */
struct myr_shown_wait *nicbarr_long_wait(const struct myr_watch *watch, uint32_t times);

#endif
