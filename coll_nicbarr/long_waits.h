/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes collectives that have lasted more than a second, so that `nicbarr status` can show
 * which member is missing in which call. A published wait names this process, the MPI call, the
 * code that made it, the communicator and its members. `nicbarr status` combines it with the waits
 * of the node's other processes (libmyr/node/waits.h).
 *
 * All of this runs only in waits that are already long, so its cost does not matter. May be called
 * by any thread. */
#ifndef NICBARR_LONG_WAITS_H
#define NICBARR_LONG_WAITS_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "libmyr/node/waits.h"

/* Find the outermost MPI function that the calling thread is in, and the code that called it, in
 * the form of struct myr_shown_wait. A text that cannot be determined becomes "". */
enum {
    NICBARR_CALL_TEXT = sizeof(((struct myr_shown_wait *)0)->call),
    NICBARR_CALLER_TEXT = sizeof(((struct myr_shown_wait *)0)->caller)
};
void nicbarr_find_call(char *call, char *caller);

/* Publish that the calling thread has been waiting for the other members of `comm` for
 * MYR_LONG_WAIT_US. Returns the argument for myr_wait_hide(). */
struct myr_shown_wait *nicbarr_wait_show(ompi_communicator_t *comm, const struct myr_key *key);

/* Implements long_wait() of struct myr_waiter, for waits on one node whose owner is a communicator.
 * The first call during a wait publishes the wait like nicbarr_wait_show(); later calls check for
 * dead members. */
struct myr_shown_wait *nicbarr_long_wait(const struct myr_watch *watch, uint32_t times);

#endif
