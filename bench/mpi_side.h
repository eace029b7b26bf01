/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of MPI as contestants, to measure their duration, and how much of it is hidden by
 * computation.
 *
 * Called by nicbarr_bench and nicbarr_experiments for each side. Open MPI selects collective
 * components when a communicator is created. Therefore each contestant has a separate duplicate of
 * the parent, which is created with the contestant's preference of components. Opening and closing
 * are collective over the parent. MPI errors end the job (MPI_ERRORS_ARE_FATAL). */
#ifndef BENCH_MPI_SIDE_H
#define BENCH_MPI_SIDE_H

#include <mpi.h>
#include <stdbool.h>

#include "contest.h"
#include "mpi_operation.h"

struct mpi_side {
    struct mpi_operation operation;
    bool overlaps;    /* also measure computation between start and wait */
    unsigned tests;   /* MPI_Test calls while computing */
    double work_rate; /* iterations of work per microsecond; set if `overlaps` */
};

/* Opens a side on a duplicate of `parent`. `preference` is the value of ompi_comm_coll_preference.
 * NULL: no info key is set. */
void mpi_side_open(struct mpi_side *side, MPI_Comm parent, enum operation kind,
                   const char *preference, unsigned tests);
void mpi_side_close(struct mpi_side *side);

/* Returns the contestant of this side, which must stay open as long as the contestant is used. */
struct contestant mpi_side_contestant(struct mpi_side *side, const char *name, bool tails);

/* Prints a warning for components in the preferences of A and B that this process has not loaded,
 * because Open MPI silently ignores unknown names. */
void mpi_side_warn_of_missing(const char *const preference[2], int rank);

/* Returns a preference as text for the report. */
const char *mpi_side_preference_text(const char *preference);

extern const char *const mpi_side_names[2];

#endif
