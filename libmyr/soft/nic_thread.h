/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous progress: a thread that runs the NIC, so that barriers advance while all hosts
 * compute.
 *
 * The component starts it if the user asks for a thread, and so does the daemon. One thread serves
 * all processes of the node. It sleeps on the network until a packet arrives or a timer expires.
 * Processes that wait for a barrier meanwhile sleep on the release instead. When the thread's
 * process leaves or dies, waiting processes run the NIC, as they do without a thread.
 *
 * A watch is much less. A node's processes may all compute for hours without a call. Their peers
 * must learn that they are late and not dead. So one thread of one process of the node wakes up
 * periodically. If no process has run the NIC since then, it processes and answers the received
 * packets. The watch is no runner: waiting processes poll as they do without it. When its process
 * leaves or dies, another one that has asked for a watch takes over as soon as it asks again or is
 * about to sleep. */
#ifndef MYR_SOFT_THREAD_H
#define MYR_SOFT_THREAD_H

#include "libmyr/soft/nic.h"

struct myr_soft_thread;

/* Start a thread that runs the NIC, until it is stopped. *thread is NULL if another process of the
 * node has one already. Stop it before closing the NIC. */
enum myr_status myr_soft_thread_start(struct myr_soft_nic *nic, enum myr_soft_runner as,
                                      struct myr_soft_thread **thread, struct myr_error *error);
void myr_soft_thread_stop(struct myr_soft_thread *thread); /* may be NULL */

struct myr_soft_watch;

/* Register this process as a candidate for the watch of the NIC. One candidate of each node runs
 * the watch, a thread that checks the NIC every `every_ns` (more than 0); if that process leaves or
 * dies, another candidate takes over. A process registers at most once per NIC that it has opened,
 * and must stop the watch before closing the NIC. */
enum myr_status myr_soft_watch_start(struct myr_soft_nic *nic, uint64_t every_ns,
                                     struct myr_soft_watch **watch, struct myr_error *error);
void myr_soft_watch_stop(struct myr_soft_watch *watch); /* may be NULL */

/* Does this process have the thread? */
bool myr_soft_watch_is_here(struct myr_soft_watch *watch);

#endif
