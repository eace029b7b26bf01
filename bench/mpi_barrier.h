/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI barriers as contestants: blocking, non-blocking with overlap, persistent.
 *
 * Called by nicbarr_bench and nicbarr_experiments, once for each of two communicators. Open MPI
 * chooses the component of a communicator when it is created. So each contestant has a duplicate of
 * its own, created with its coll preference. Opening and closing are collective over what is
 * duplicated. MPI errors end the job (MPI_ERRORS_ARE_FATAL).
 */
#ifndef BENCH_MPI_BARRIER_H
#define BENCH_MPI_BARRIER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "contest.h"
#include "options.h"

struct mpi_barrier {
    enum mode mode;
    MPI_Comm comm;
    MPI_Request request; /* persistent: the barrier; else unused */
    unsigned tests;      /* MPI_Test calls while computing */
    double work_rate;    /* steps per microsecond; ibarrier only */
};

/* Whether this MPI has what the mode needs. */
bool mpi_barrier_supports(enum mode mode);

/* A duplicate of `parent`. preference: value of ompi_comm_coll_preference, or NULL for a plain
 * duplicate. */
void mpi_barrier_open(struct mpi_barrier *barrier, MPI_Comm parent, enum mode mode,
                      const char *preference, unsigned tests);
void mpi_barrier_close(struct mpi_barrier *barrier);

/* The contestant that plays this barrier, which must stay open as long. */
struct contestant mpi_barrier_contestant(struct mpi_barrier *barrier, const char *name, bool tails);

/* Open MPI passes over unknown names in a preference in silence; this tells of those in A's and B's
 * that this process has not loaded. */
void mpi_barrier_warn_of_missing(const char *const preference[2], int rank);

/* A preference for people. */
const char *mpi_barrier_preference_text(const char *preference);

extern const char *const mpi_barrier_names[2]; /* "A", "B" */

#endif
