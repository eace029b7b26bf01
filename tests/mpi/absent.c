/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provides jobs that hang, for which `nicbarr status` must name the missing ranks:
 *
 *   absent FILE     the last rank enters MPI_Barrier only once FILE exists
 *   absent --wrong  even ranks call MPI_Allreduce, odd ones MPI_Barrier: an error that hangs for
 *                   ever
 *
 * In two further jobs rank 1 is killed and the launcher does not end the job:
 *
 *   absent --dies   the others wait for it in MPI_Barrier
 *   absent --idies  the others wait for it in MPI_Ibarrier
 */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void arrive_late(const char *file, int rank, int size)
{
    while (rank == size - 1 && access(file, F_OK) != 0)
        usleep(10000);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_wrongly(int rank)
{
    double one = 1, sum;
    if (rank % 2 == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void die(int rank, const char *option)
{
    MPI_Request request;
    if (rank == 1)
        kill(getpid(), SIGKILL);
    if (strcmp(option, "--dies") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(argv[1], "--wrong") == 0)
        call_wrongly(rank);
    else if (strstr(argv[1], "dies") != NULL)
        die(rank, argv[1]);
    else
        arrive_late(argv[1], rank, size);
    MPI_Finalize();
    return 0;
}
