/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers of libmyr among the processes of an MPI job, without MPI's collectives.
 *
 * Called by overhead.c. A group synchronises through shared memory on one node, and through the
 * nodes' soft NICs otherwise. coll/nicbarr uses the same code, but the segment, the NIC and the
 * groups here are separate from its own. MPI is only used to exchange addresses and keys. On errors
 * the job ends with a message. */
#ifndef BENCH_EXPERIMENTS_LIBRARY_H
#define BENCH_EXPERIMENTS_LIBRARY_H

#include <mpi.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/nic_group.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "settings.h"

/* The state of a process; `nic` is NULL on one node. */
struct library {
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_waiter waiter;
};

/* Collective over MPI_COMM_WORLD. */
void library_open(struct library *library, const struct settings *settings);
void library_close(struct library *library);

struct library_group {
    struct library *library;
    bool across; /* the group spans several nodes */
    struct myr_group here;
    struct myr_nic_group nics;
};

/* Joins a group that consists of the team and runs the algorithm `choice`. Collective over the
 * team. */
void library_join(struct library_group *group, struct library *library, MPI_Comm team,
                  struct nicbarr_choice choice);
void library_leave(struct library_group *group);

void library_barrier(struct library_group *group);

/* Performs a barrier of `comm` during which both the library's NIC and MPI make progress. Other
 * members may still need messages to be retransmitted, which would not happen in a blocking
 * MPI_Barrier. Does nothing if all members are on one node. */
void library_meet(struct library *library, MPI_Comm comm);

#endif
