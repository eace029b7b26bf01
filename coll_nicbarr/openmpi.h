/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls Open MPI's own blocking collectives of a communicator, which belong to the components below
 * this one.
 *
 * Some of these functions use the communicator's table of functions, and some change it. For
 * example, coll/basic calls other functions through the table. coll/han executes an MPI_Allreduce
 * to find out whether any node has two processes of the communicator. If none has, coll/han is of
 * no use, and replaces its own entries of the table by the functions of the components below. If
 * the table contains nicbarr's functions instead, there is nothing to replace, and coll/han repeats
 * the MPI_Allreduce in each call. With Open MPI 4.1 it even recurses without end: it continues by
 * calling the collective through the table, which leads to nicbarr, and from there back to
 * coll/han. coll/xhc and coll/acoll of Open MPI 6.0 also change entries that are not their own.
 *
 * Therefore a second table replaces the communicator's table while nicbarr calls one of Open MPI's
 * own functions. The second table never contains blocking functions of nicbarr or of a component
 * above it. If Open MPI's function changes this table, the changes persist until the next call.
 *
 * nicbarr calls Open MPI's own blocking functions only by means of this file. Therefore, while one
 * of nicbarr's blocking functions is being executed on a communicator, Open MPI never calls another
 * one on the same communicator.
 *
 * The entries of non-blocking functions are the same in both tables. Open MPI calls some of these
 * functions from within progress (MPI_Comm_idup), which may happen while one process uses the
 * second table, and another process the communicator's own one; both must then call the same
 * function. nicbarr calls the non-blocking functions of the components below without replacing the
 * table, because in Open MPI 4.1, 5.0 and 6.0 these functions do not use it. */
#ifndef NICBARR_OPENMPI_H
#define NICBARR_OPENMPI_H

#include "ompi/release.h"

#include <stdbool.h>

/* All blocking collectives. */
#define NICBARR_BLOCKING(each)                                                                     \
    each(allgather) each(allgatherv) each(allreduce) each(alltoall) each(alltoallv)                \
        each(alltoallw) each(barrier) each(bcast) each(exscan) each(gather) each(gatherv)          \
            each(reduce) each(reduce_scatter) each(reduce_scatter_block) each(scan) each(scatter)  \
                each(scatterv)

struct nicbarr_openmpi {
    mca_coll_base_comm_coll_t *table; /* the communicator's */
    mca_coll_base_comm_coll_t below;  /* replaces it during calls of Open MPI's functions */
    bool complete;                    /* `below` has all functions that are not blocking */
};

/* Save the blocking functions in the table of `comm`, before the functions of this component are
 * installed. Returns false if one is missing. */
bool nicbarr_openmpi_save(struct nicbarr_openmpi *openmpi, ompi_communicator_t *comm);
/* Release the saved functions. */
void nicbarr_openmpi_release(struct nicbarr_openmpi *openmpi);

/* Copy the entries of all non-blocking functions into the second table. This is postponed until the
 * first call, by which time all components have installed their functions. */
void nicbarr_openmpi_complete(struct nicbarr_openmpi *openmpi);

/* The first function replaces the table of `comm` by the second table; the caller then calls one of
 * Open MPI's functions through it. The second function restores the communicator's own table, and
 * returns `rc`. For one communicator, these calls cannot be nested. */
static inline void nicbarr_openmpi_begin(struct nicbarr_openmpi *openmpi, ompi_communicator_t *comm)
{
    if (__builtin_expect(!openmpi->complete, 0)) {
        nicbarr_openmpi_complete(openmpi);
    }
    comm->c_coll = &openmpi->below;
}

static inline int nicbarr_openmpi_end(const struct nicbarr_openmpi *openmpi,
                                      ompi_communicator_t *comm, int rc)
{
    comm->c_coll = openmpi->table;
    return rc;
}

/* Define nicbarr_openmpi_COLLECTIVE(), which has MPI's arguments. */
#define NICBARR_OPENMPI_CALL(collective, parameters, ...)                                          \
    static inline int nicbarr_openmpi_##collective parameters                                      \
    {                                                                                              \
        nicbarr_openmpi_begin(openmpi, comm);                                                      \
        return nicbarr_openmpi_end(openmpi, comm,                                                  \
                                   comm->c_coll->coll_##collective(                                \
                                       __VA_ARGS__, comm->c_coll->coll_##collective##_module));    \
    }

NICBARR_OPENMPI_CALL(barrier, (ompi_communicator_t * comm, struct nicbarr_openmpi *openmpi), comm)

NICBARR_OPENMPI_CALL(allreduce,
                     (const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                      ompi_op_t *op, ompi_communicator_t *comm, struct nicbarr_openmpi *openmpi),
                     from, to, count, type, op, comm)

NICBARR_OPENMPI_CALL(reduce,
                     (const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                      ompi_op_t *op, int root, ompi_communicator_t *comm,
                      struct nicbarr_openmpi *openmpi),
                     from, to, count, type, op, root, comm)

NICBARR_OPENMPI_CALL(bcast,
                     (void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                      ompi_communicator_t *comm, struct nicbarr_openmpi *openmpi),
                     buffer, count, type, root, comm)

NICBARR_OPENMPI_CALL(allgather,
                     (const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                      void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                      ompi_communicator_t *comm, struct nicbarr_openmpi *openmpi),
                     from, from_count, from_type, to, to_count, to_type, comm)

NICBARR_OPENMPI_CALL(allgatherv,
                     (const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                      void *to, nicbarr_counts_t counts, nicbarr_displs_t displs,
                      ompi_datatype_t *to_type, ompi_communicator_t *comm,
                      struct nicbarr_openmpi *openmpi),
                     from, from_count, from_type, to, counts, displs, to_type, comm)

NICBARR_OPENMPI_CALL(gather,
                     (const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                      void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                      ompi_communicator_t *comm, struct nicbarr_openmpi *openmpi),
                     from, from_count, from_type, to, to_count, to_type, root, comm)

NICBARR_OPENMPI_CALL(scatter,
                     (const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                      void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                      ompi_communicator_t *comm, struct nicbarr_openmpi *openmpi),
                     from, from_count, from_type, to, to_count, to_type, root, comm)

#endif
