/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel as the node's NIC, for its users. The NIC belongs to the daemon myrd --kernel. The
 * daemon opens groups for processes of any user, and passes them the page with the release to map.
 *
 * Groups on it are used like any other (nic_group.h), and no host has to run it. Threads: as there;
 * one thread opens and closes. */
#ifndef MYR_KERNEL_NIC_H
#define MYR_KERNEL_NIC_H

#include <stdbool.h>

#include "libmyr/groups/nic_group.h"
#include "libmyr/soft/nic.h"
#include "libmyr/status.h"

struct myr_kernel_nic;
struct myr_kernel_report; /* kernel_words.h */

/* Ask the daemon for its NIC. MYR_ERR_NOT_THERE: no daemon runs on this node. MYR_ERR_NOT_YET, only
 * in a `hurry`: it has not answered within a tenth of a second. */
enum myr_status myr_kernel_nic_open(bool hurry, struct myr_kernel_nic **nic,
                                    struct myr_error *error);
void myr_kernel_nic_close(struct myr_kernel_nic *nic);

/* Its name, with one address. Its key identifies the NIC and is no secret. */
void myr_kernel_nic_get_name(const struct myr_kernel_nic *nic, struct myr_nic_name *name);

/* Its present state, as far as this user may see it. */
enum myr_status myr_kernel_nic_report(struct myr_kernel_nic *nic, struct myr_kernel_report *report,
                                      struct myr_error *error);

/* Join a group, like myr_soft_group_join(), with the names of the kernel's NICs in
 * `members->names`. The node's processes share `segment`. MYR_ERR_TOO_LONG if the schedule has more
 * steps or messages than such a NIC has room for (engine.h). */
enum myr_status myr_kernel_group_join(struct myr_nic_group *group, struct myr_kernel_nic *nic,
                                      struct myr_segment *segment, struct myr_waiter *waiter,
                                      const struct myr_nic_members *members,
                                      myr_schedule_fn schedule_of, const void *context,
                                      struct myr_error *error);

#endif
