/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into nicbarr_bench, this library corrupts some of MPI's results, to test that
 * nicbarr_bench detects wrong results. bench.sh runs it.
 *
 * Each result is wrong by as little as possible, and only in calls that nicbarr_bench measures; its
 * own bookkeeping uses other types. Sums of floats become maxima; broadcasts, gathers and scatters
 * of bytes lack the last byte; and duplicates of communicators other than MPI_COMM_WORLD have their
 * members in reverse order.
 */
#include <mpi.h>

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    return PMPI_Allreduce(send, receive, count, type, type == MPI_FLOAT ? MPI_MAX : op, comm);
}

int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Iallreduce(send, receive, count, type, type == MPI_FLOAT ? MPI_MAX : op, comm,
                           request);
}

int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    return PMPI_Reduce(send, receive, count, type, type == MPI_FLOAT ? MPI_MAX : op, root, comm);
}

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                  int count, MPI_Datatype type, MPI_Comm comm)
{
    int less = type == MPI_BYTE ? 1 : 0;
    return PMPI_Allgather(send, send_count - less, send_type, receive, count - less, type, comm);
}

int MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *receive, int count,
               MPI_Datatype type, int root, MPI_Comm comm)
{
    int less = type == MPI_BYTE ? 1 : 0;
    return PMPI_Gather(send, send_count - less, send_type, receive, count - less, type, root, comm);
}

int MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive, int count,
                MPI_Datatype type, int root, MPI_Comm comm)
{
    int less = type == MPI_BYTE ? 1 : 0;
    return PMPI_Scatter(send, send_count - less, send_type, receive, count - less, type, root,
                        comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return PMPI_Bcast(buffer, type == MPI_BYTE ? count - 1 : count, type, root, comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *duplicate)
{
    int rank;
    if (comm == MPI_COMM_WORLD)
        return PMPI_Comm_dup(comm, duplicate);
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Comm_split(comm, 0, -rank, duplicate);
}
