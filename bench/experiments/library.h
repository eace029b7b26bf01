/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers of libmyr among the processes of an MPI job, without MPI's collectives.
 *
 * Called by overhead.c. On one node a group synchronises through shared memory, on several nodes
 * through their soft NICs. coll/nicbarr uses the same code; this has a segment, a NIC and groups of
 * its own. MPI only carries the addresses and keys. Errors end the job, after a message.
 */
#ifndef BENCH_EXPERIMENTS_LIBRARY_H
#define BENCH_EXPERIMENTS_LIBRARY_H

#include <mpi.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/nic_group.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "settings.h"

/* A process's state; nic is NULL on one node. */
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
    bool across; /* several nodes */
    struct myr_group here;
    struct myr_nic_group nics;
};

/* Join a group of the team that plays `choice`. Collective over the team. */
void library_join(struct library_group *group, struct library *library, MPI_Comm team,
                  struct nicbarr_choice choice);
void library_leave(struct library_group *group);

void library_barrier(struct library_group *group);

/* Across nodes: a barrier of `comm` during which the library's NIC and MPI both make progress, so
 * that messages that others still miss are retransmitted. Does nothing on one node. */
void library_meet(struct library *library, MPI_Comm comm);

#endif
