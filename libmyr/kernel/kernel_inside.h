/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that kernel_nic.c sends to the daemon on behalf of kernel_group.c. Several threads may
 * make requests concurrently; they are serialised. */
#ifndef MYR_KERNEL_INSIDE_H
#define MYR_KERNEL_INSIDE_H

#include <stdbool.h>

#include "libmyr/kernel/kernel_nic.h"
#include "libmyr/kernel/kernel_words.h"

/* Asks the daemon to open a group. The caller has filled in all fields of `question` except `magic`
 * and `ask`. On success the caller owns the descriptors in `seen`, and must later close the group
 * with myr_kernel_nic_ask_close(). */
enum myr_status myr_kernel_nic_ask_open(struct myr_kernel_nic *nic,
                                        struct myr_kernel_question *question,
                                        struct mcp_kernel_seen *seen, struct myr_error *error);
void myr_kernel_nic_ask_close(struct myr_kernel_nic *nic, uint64_t key);

/* Returns the index of the NIC's network interface. */
uint32_t myr_kernel_nic_interface(const struct myr_kernel_nic *nic);

/* Gets the nodes that the group waits for. Returns false if the daemon does not answer. */
bool myr_kernel_nic_ask_missing(struct myr_kernel_nic *nic, uint64_t key,
                                struct myr_kernel_missing *missing);

/* Returns the state of the daemon. May be called by any thread, and takes a system call while the
 * daemon is alive.
 *
 * AWAY means that the daemon has exited, and that this process checks from time to time for a
 * successor, which would take over the groups of this process. LOST means that no successor has
 * appeared for MYR_KERNEL_AWAY_US, though one still may. GONE means that the groups of this process
 * no longer exist. */
enum myr_kernel_daemon {
    MYR_KERNEL_HERE,
    MYR_KERNEL_AWAY,
    MYR_KERNEL_LOST,
    MYR_KERNEL_GONE,
};
enum { MYR_KERNEL_AWAY_US = 30000000 };
enum myr_kernel_daemon myr_kernel_nic_daemon(struct myr_kernel_nic *nic);

#endif
