/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernel_nic.c, which talks to the daemon, does for kernel_group.c. Several threads may ask at
 * once: one asks, the others wait. */
#ifndef MYR_KERNEL_INSIDE_H
#define MYR_KERNEL_INSIDE_H

#include <stdbool.h>

#include "libmyr/kernel/kernel_nic.h"
#include "libmyr/kernel/kernel_words.h"

/* Have a group opened. `question` is filled in but for magic and ask. `seen` gets descriptors that
 * the caller owns. Close each group that was opened. */
enum myr_status myr_kernel_nic_ask_open(struct myr_kernel_nic *nic,
                                        struct myr_kernel_question *question,
                                        struct mcp_kernel_seen *seen, struct myr_error *error);
void myr_kernel_nic_ask_close(struct myr_kernel_nic *nic, uint64_t key);

/* The number of the interface that it stands at. */
uint32_t myr_kernel_nic_interface(const struct myr_kernel_nic *nic);

/* Whom does the group wait for? False if the daemon does not say. */
bool myr_kernel_nic_ask_missing(struct myr_kernel_nic *nic, uint64_t key,
                                struct myr_kernel_missing *missing);

/*
 * Is the daemon there? AWAY: it has gone, and the next one is looked for, now and then; that one
 * takes over what this process has open. LOST: none has come for MYR_KERNEL_AWAY_US, though one may
 * still come. GONE: what this process had open is no more. A system call where it is there. Any
 * thread may ask.
 */
enum myr_kernel_daemon {
    MYR_KERNEL_HERE,
    MYR_KERNEL_AWAY,
    MYR_KERNEL_LOST,
    MYR_KERNEL_GONE,
};
enum { MYR_KERNEL_AWAY_US = 30000000 };
enum myr_kernel_daemon myr_kernel_nic_daemon(struct myr_kernel_nic *nic);

#endif
