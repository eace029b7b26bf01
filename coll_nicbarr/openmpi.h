/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls Open MPI's own blocking collectives of a communicator, which belong to the components below
 * this one.
 *
 * Some of these functions use the communicator's table of functions, and some change it. coll/basic
 * calls other functions through the table. coll/han executes an MPI_Allreduce to find out whether
 * any node has two processes of the communicator. If none has, it restores the functions of the
 * components below. However, it only replaces entries of the table that are its own. If nicbarr's
 * functions are there, it therefore repeats the MPI_Allreduce in each call; with Open MPI 4.1 it
 * even recurses without end, because it continues by calling the collective through the table,
 * which leads to nicbarr and back to coll/han. coll/xhc and coll/acoll of 6.0 also change entries
 * that are not their own.
 *
 * Therefore a second table takes the place of the communicator's table while one of Open MPI's own
 * functions is called. It never contains blocking functions of this component or of a component
 * above, and changes that a function makes in it persist until the next call. As all calls of own
 * blocking functions go through this file, Open MPI never calls a blocking function of this
 * component while another one is executed on the same communicator, for example to measure.
 *
 * The entries of non-blocking functions are the same in both tables. Open MPI calls some of these
 * functions from within progress (MPI_Comm_idup), which may happen on one process while the second
 * table is in use, and on another process while the first one is; both must then call the same
 * function. nicbarr calls the non-blocking functions of the components below directly; in 4.1, 5.0
 * and 6.0 they do not use the table. */
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

/* Copy the entries of all functions that are not blocking. This is postponed until the first call,
 * because all components have installed their functions by then. */
void nicbarr_openmpi_complete(struct nicbarr_openmpi *openmpi);

/* One of Open MPI's functions is called between these two functions, through the table of `comm`.
 * The second function returns `rc`. Such calls cannot be nested for one communicator. */
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
