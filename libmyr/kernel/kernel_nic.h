/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel as the NIC of the node: the interface for processes that use it. The NIC belongs to
 * the daemon myrd --kernel. The daemon opens groups on behalf of processes of any user, and passes
 * to them a descriptor of the page that contains the release.
 *
 * Groups on this NIC are used like those of other kinds, and the rules for threads in nic_group.h
 * apply to them as well. No process has to run the NIC. A single thread opens and closes it. */
#ifndef MYR_KERNEL_NIC_H
#define MYR_KERNEL_NIC_H

#include <stdbool.h>

#include "libmyr/groups/nic_group.h"
#include "libmyr/soft/nic.h"
#include "libmyr/status.h"

struct myr_kernel_nic;
struct myr_kernel_report; /* kernel_words.h */

/* Requests the NIC from the daemon. Returns MYR_ERR_NOT_THERE if no daemon runs on this node. With
 * `hurry`, returns MYR_ERR_NOT_YET if the daemon has not answered within a tenth of a second. */
enum myr_status myr_kernel_nic_open(bool hurry, struct myr_kernel_nic **nic,
                                    struct myr_error *error);
void myr_kernel_nic_close(struct myr_kernel_nic *nic);

/* Returns its name, with one address. Its key identifies the NIC and is not a secret. */
void myr_kernel_nic_get_name(const struct myr_kernel_nic *nic, struct myr_nic_name *name);

/* Gets its present state, as far as this user may see it. */
enum myr_status myr_kernel_nic_report(struct myr_kernel_nic *nic, struct myr_kernel_report *report,
                                      struct myr_error *error);

/* Joins a group, like myr_soft_group_join(), with the names of the kernel NICs in `members->names`.
 * The processes of the node share `segment`. Returns MYR_ERR_TOO_LONG if the schedule has more
 * steps or messages than a kernel NIC supports (engine.h). */
enum myr_status myr_kernel_group_join(struct myr_nic_group *group, struct myr_kernel_nic *nic,
                                      struct myr_segment *segment, struct myr_waiter *waiter,
                                      const struct myr_nic_members *members,
                                      myr_schedule_fn schedule_of, const void *context,
                                      struct myr_error *error);

#endif
