/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeouts of collectives across nodes. A node that is late, but still answers, is distinguished
 * from a node that is silent.
 *
 * Being late is not a failure. If a NIC receives a retransmission request for a message that its
 * host has not sent yet, it replies LATER, so the host may be late for hours without any report. A
 * node that does not answer is handled in two steps:
 *
 * - After coll_nicbarr_warn without an answer the user gets a warning, once for each barrier.
 * - After coll_nicbarr_timeout the group fails on all nodes, and the communicator's error handler
 *   is called. Other communicators continue. If they also wait for this node, they fail at their
 *   first check, unless the node has answered since.
 *
 * A node counts as silent only while this process is able to receive its answers. After the process
 * was suspended, or has computed without calling MPI, it therefore measures the silence of all
 * nodes from the beginning again.
 *
 * Every wait for a group of NICs that has lasted a second calls these functions, about once a
 * second from then on. */
#ifndef NICBARR_OVERDUE_H
#define NICBARR_OVERDUE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The time before the first check, and between two checks. */
enum { NICBARR_CHECK_US = 1000000, NICBARR_CHECK_MS = NICBARR_CHECK_US / 1000 };

/* The state of a wait for one epoch, or for a broadcast's block. Times are those of
 * nicbarr_now_ms(). */
struct nicbarr_wait {
    uint32_t began_ms;    /* start of the wait */
    uint32_t listened_ms; /* since when this process has looked for missing nodes without a pause */
    uint32_t checked_ms;  /* when it last did so */
    uint32_t epoch;
    bool warned;
    bool block; /* the wait is for a block; `epoch` is unused */
};

/* Returns the time of CLOCK_MONOTONIC in milliseconds, which wraps around. */
uint32_t nicbarr_now_ms(void);

/* Begin a wait, which has lasted since `began_ms`. The caller sets the other fields. */
static inline void nicbarr_overdue_begin(struct nicbarr_wait *wait, uint32_t began_ms)
{
    wait->began_ms = wait->listened_ms = wait->checked_ms = began_ms;
}

/* Returns the longest time (milliseconds) for which one of the missing nodes has been silent, or 0
 * if no node is missing; `*node` becomes the number of that node. */
uint32_t nicbarr_overdue_silence(struct myr_nic_group *group, struct nicbarr_wait *wait,
                                 uint32_t *node);

/* Wait for at most NICBARR_CHECK_US. Returns true if the wait is over. */
bool nicbarr_overdue_more(struct myr_nic_group *group, const struct nicbarr_wait *wait);

/* Check the missing nodes. Returns OMPI_SUCCESS if the caller is to continue waiting. Otherwise the
 * collective will not complete, and the function returns an MPI error. The reason is reported once
 * per communicator. */
int nicbarr_overdue_check(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct myr_nic_group *group, struct nicbarr_wait *wait);

/* Report that the wait is over, if there was a warning about it. */
void nicbarr_overdue_end(ompi_communicator_t *comm, const struct myr_nic_group *group,
                         const struct nicbarr_wait *wait);

/* Continue to wait for `epoch`, which has not been completed within the first NICBARR_CHECK_US.
 * Returns OMPI_SUCCESS or an MPI error. */
int nicbarr_overdue_wait(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, uint32_t epoch);

/* Continue to wait for the block of the latest broadcast that this process has begun, which has not
 * arrived within the first NICBARR_CHECK_US. Returns OMPI_SUCCESS or an MPI error. */
int nicbarr_overdue_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct myr_nic_group *group);

/* Arrive in `group`, and wait for all other members. Returns OMPI_SUCCESS or an MPI error. */
static inline int nicbarr_nic_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                      struct myr_nic_group *group)
{
    const uint32_t epoch = myr_nic_group_arrive(group);
    return __builtin_expect(myr_nic_group_wait(group, epoch, NICBARR_CHECK_US), 1)
               ? OMPI_SUCCESS
               : nicbarr_overdue_wait(module, comm, group, epoch);
}

#endif
