/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that survives the failure of a process (mpirun --with-ft ulfm, from Open MPI 5.0 on):
 * the last rank dies in the middle of collectives. All others are to get MPI_ERR_PROC_FAILED (or,
 * once one of them has revoked the communicator, MPI_ERR_REVOKED), and go on without it.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#if OMPI_MAJOR_VERSION > 4
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI
enum { BEFORE = 300, AFTER = 300 /* collectives */ };

static int both(MPI_Comm comm, int size)
{
    int one = 1, sum = 0;
    const int rc = MPI_Barrier(comm);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    const int reduced = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return MPI_SUCCESS == reduced && sum != size ? MPI_ERR_OTHER : reduced;
}

int main(int argc, char **argv)
{
    MPI_Comm left;
    int rank, size, rc = MPI_SUCCESS, class = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (long i = 0; MPI_SUCCESS == rc; ++i) {
        if (rank == size - 1 && BEFORE == i) {
            raise(SIGKILL);
        }
        rc = both(MPI_COMM_WORLD, size);
    }
    MPI_Error_class(rc, &class);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &left);
    rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < AFTER; ++i) {
        rc = both(left, size - 1);
    }
    const int good =
        (MPIX_ERR_PROC_FAILED == class || MPIX_ERR_REVOKED == class) && MPI_SUCCESS == rc;
    printf("%s: rank %d got error class %d, and then %d\n", good ? "survived" : "FAIL", rank, class,
           rc);
    MPI_Comm_free(&left);
    MPI_Finalize();
    return !good;
}
#else
int main(void)
{
    fprintf(stderr, "this Open MPI has no fault tolerance\n");
    return 77;
}
#endif
