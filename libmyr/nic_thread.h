/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous progress: a thread that runs the NIC, so that barriers go on while all hosts
 * compute.
 *
 * Called by the component (coll_nicbarr_thread) and by the daemon. One thread serves all processes
 * of the node; it sleeps on the network until something comes or is due, and who waits for a
 * barrier meanwhile sleeps on the release instead. Where the thread's process leaves or dies, those
 * who wait run the NIC, as they do without a thread.
 */
#ifndef MYR_NIC_THREAD_H
#define MYR_NIC_THREAD_H

#include "libmyr/nic.h"

struct myr_nic_thread;

/* Have a thread run the NIC, until it is stopped. *thread is NULL when another process of the node
 * has one already. The NIC must not be closed before. */
enum myr_status myr_nic_thread_start(struct myr_nic *nic, enum myr_nic_runner as,
                                     struct myr_nic_thread **thread, struct myr_error *error);
void myr_nic_thread_stop(struct myr_nic_thread *thread); /* may be NULL */

#endif
