/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective across nodes that takes long: is a node missing that gives no sign of life?
 *
 * Late is not dead. A NIC that is asked for what its host has not sent yet says so, and its host
 * may be late for hours without a word. After coll_nicbarr_warn without a sign of a node the user
 * is told, once for each barrier. After coll_nicbarr_timeout the group fails on all nodes, and the
 * communicator's error handler is called. Other communicators go on. Where they wait for the same
 * node, they give it up at the first look, unless there was a sign of it since.
 *
 * Called by all who wait for a group of NICs, about once in a second of waiting; what is over
 * sooner never comes here.
 */
#ifndef NICBARR_OVERDUE_H
#define NICBARR_OVERDUE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* How long to wait before looking, and between two looks. */
enum { NICBARR_LOOK_US = 1000000, NICBARR_LOOK_MS = NICBARR_LOOK_US / 1000 };

/* What is known of a wait for one epoch, or for a broadcast's block. */
struct nicbarr_wait {
    uint32_t began_ms; /* as nicbarr_now_ms() */
    uint32_t epoch;
    bool warned;
    bool block; /* that is waited for; `epoch` is of no meaning */
};

/* Milliseconds of CLOCK_MONOTONIC; wraps around. */
uint32_t nicbarr_now_ms(void);

/* For how long has the most silent of the missing nodes been silent (milliseconds; 0: none is
 * missing)? `*node` becomes its number. */
uint32_t nicbarr_overdue_silence(struct myr_nic_group *group, const struct nicbarr_wait *wait,
                                 uint32_t *node);

/* Look at who is missing. OMPI_SUCCESS: go on waiting; else an error of MPI's: nothing more will
 * come of it, and the user has been told why, once for the communicator. */
int nicbarr_overdue_look(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, struct nicbarr_wait *wait);

/* It is over after all: say so, if there was a warning. */
void nicbarr_overdue_end(ompi_communicator_t *comm, const struct myr_nic_group *group,
                         const struct nicbarr_wait *wait);

/* Go on waiting for `epoch` after a first NICBARR_LOOK_US; OMPI_SUCCESS, or an error of MPI's. */
int nicbarr_overdue_wait(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct myr_nic_group *group, uint32_t epoch);

/* The same for the block of the broadcast that this process has begun last. */
int nicbarr_overdue_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct myr_nic_group *group);

/* Arrive in `group` and wait for all others. */
static inline int nicbarr_nic_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                      struct myr_nic_group *group)
{
    const uint32_t epoch = myr_nic_group_arrive(group);
    return __builtin_expect(myr_nic_group_wait(group, epoch, NICBARR_LOOK_US), 1)
               ? OMPI_SUCCESS
               : nicbarr_overdue_wait(module, comm, group, epoch);
}

#endif
