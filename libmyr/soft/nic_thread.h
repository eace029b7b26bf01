/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous progress by a thread that runs the NIC, so that barriers advance while all hosts
 * compute.
 *
 * The component starts the thread if the user requests it; the daemon always does. One thread
 * serves all processes of the node. It sleeps on the network until a packet arrives or a timer
 * expires, while the processes that wait for a barrier sleep on the release word of their group.
 * When the process with the thread leaves or dies, waiting processes run the NIC themselves, as
 * they do without a thread.
 *
 * A watch does much less than a thread that always runs the NIC. It is needed because all processes
 * of a node may compute for hours without making a call. Meanwhile lost messages must be
 * retransmitted, and peers must be able to find out that these processes are not dead but late.
 * Therefore one process of the node has a thread, the watch, that wakes up periodically. If no
 * process has run the NIC since the last time, the watch runs it until another process does.
 * Waiting processes poll the NIC as they do without a watch.
 *
 * When the process with the watch leaves or dies, another process that has requested a watch takes
 * over when it is next about to sleep. A process may also keep a thread in reserve, which takes
 * over within one interval (myr_soft_watch_stay()). */
#ifndef MYR_SOFT_THREAD_H
#define MYR_SOFT_THREAD_H

#include "libmyr/soft/nic.h"

struct myr_soft_thread;

/* Starts a thread that runs the NIC until it is stopped. *thread is NULL if another process of the
 * node already has such a thread. The thread must be stopped before the NIC is closed. */
enum myr_status myr_soft_thread_start(struct myr_soft_nic *nic, enum myr_soft_runner as,
                                      struct myr_soft_thread **thread, struct myr_error *error);
void myr_soft_thread_stop(struct myr_soft_thread *thread); /* may be NULL */

struct myr_soft_watch;

/* The default interval: how long a packet may wait while all processes of the node compute. */
#define MYR_SOFT_WATCH_NS (UINT64_C(1000) * 1000 * 1000)

/* Registers this process as a candidate for the watch of the NIC. One candidate of each node runs
 * the watch, a thread that checks the NIC every `every_ns` (more than 0). If this process leaves or
 * dies, another candidate takes over. A process registers at most once per NIC that it has opened,
 * and must stop the watch before it closes the NIC. */
enum myr_status myr_soft_watch_start(struct myr_soft_nic *nic, uint64_t every_ns,
                                     struct myr_soft_watch **watch, struct myr_error *error);
void myr_soft_watch_stop(struct myr_soft_watch *watch); /* may be NULL */

/* Keeps a thread in this process, so that the process becomes the watch within `every_ns` after the
 * previous watch has ended, even if it makes no calls meanwhile. `watch` may be NULL. */
void myr_soft_watch_stay(struct myr_soft_watch *watch);

/* Returns whether the watch's thread is in this process. */
bool myr_soft_watch_is_here(struct myr_soft_watch *watch);

#endif
