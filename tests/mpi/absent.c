/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provides jobs that hang, for which `nicbarr status` must name the missing ranks:
 *
 *   absent FILE     the last rank enters MPI_Barrier only once FILE exists
 *   absent --wrong  even ranks call MPI_Allreduce, odd ones MPI_Barrier: an error that hangs for
 *                   ever
 *
 * In further jobs processes are killed and the launcher does not end the job:
 *
 *   absent --dies     rank 1 is killed, and the others wait for it in MPI_Barrier
 *   absent --idies    rank 1 is killed, and the others wait for it in MPI_Ibarrier
 *   absent --twodies  ranks 1 and 2 are killed, and the others wait for both in MPI_Ibarriers of
 * two communicators, each with one of the dead processes
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

static void die_in_two(int rank)
{
    MPI_Comm comm[2];
    MPI_Request request[2];
    for (int c = 0; c < 2; c++) {
        MPI_Comm_split(MPI_COMM_WORLD, rank == 2 - c ? MPI_UNDEFINED : 0, rank, &comm[c]);
        if (comm[c] != MPI_COMM_NULL)
            MPI_Barrier(comm[c]);
    }
    if (rank == 1 || rank == 2)
        kill(getpid(), SIGKILL);
    for (int c = 0; c < 2; c++)
        MPI_Ibarrier(comm[c], &request[c]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
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
    else if (strcmp(argv[1], "--twodies") == 0)
        die_in_two(rank);
    else if (strstr(argv[1], "dies") != NULL)
        die(rank, argv[1]);
    else
        arrive_late(argv[1], rank, size);
    MPI_Finalize();
    return 0;
}
