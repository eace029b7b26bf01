/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmyr without MPI's collectives: its barriers among the processes of an MPI job.
 *
 * Called by overhead.c. On one node a group is one of processes in shared memory. On several it is
 * one of the nodes' soft NICs. That is what coll/nicbarr has underneath; here it stands beside
 * that, with a segment, NIC and groups of its own. MPI only carries what has to be told before.
 * Errors end the job, after a line.
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

/* This process's side of the library; nic is NULL on one node. */
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

/* The group of a team that plays `choice`. Collective over the team. */
void library_join(struct library_group *group, struct library *library, MPI_Comm team,
                  struct nicbarr_choice choice);
void library_leave(struct library_group *group);

void library_barrier(struct library_group *group);

/* Across nodes all of `comm` meet, while the library's NIC and MPI are kept going: somebody may
 * still miss what this process has sent by either. */
void library_meet(struct library *library, MPI_Comm comm);

#endif
