/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's operations as contestants: how long they take, and how much of it computation can hide.
 *
 * Called by nicbarr_bench and nicbarr_experiments, once for each of two communicators. Open MPI
 * chooses the component of a communicator when it is created. So each contestant has a duplicate of
 * its own, created with its coll preference. Opening and closing are collective over what is
 * duplicated. MPI errors end the job (MPI_ERRORS_ARE_FATAL).
 */
#ifndef BENCH_MPI_SIDE_H
#define BENCH_MPI_SIDE_H

#include <mpi.h>
#include <stdbool.h>

#include "contest.h"
#include "mpi_operation.h"

struct mpi_side {
    struct mpi_operation operation;
    bool overlaps;    /* computation is put between start and wait, too */
    unsigned tests;   /* MPI_Test calls while computing */
    double work_rate; /* steps per microsecond; only if it overlaps */
};

/* On a duplicate of `parent`. preference: value of ompi_comm_coll_preference, or NULL for a plain
 * duplicate. */
void mpi_side_open(struct mpi_side *side, MPI_Comm parent, enum operation kind,
                   const char *preference, unsigned tests);
void mpi_side_close(struct mpi_side *side);

/* The contestant that plays this side, which must stay open as long. */
struct contestant mpi_side_contestant(struct mpi_side *side, const char *name, bool tails);

/* Open MPI passes over unknown names in a preference in silence; this tells of those in A's and B's
 * that this process has not loaded. */
void mpi_side_warn_of_missing(const char *const preference[2], int rank);

/* A preference for people. */
const char *mpi_side_preference_text(const char *preference);

extern const char *const mpi_side_names[2]; /* "A", "B" */

#endif
