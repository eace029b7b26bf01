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
 *   absent --arrived FILE  rank 1 enters many MPI_Ibarriers and is killed, and rank 0 tests each of
 * them once when all others have entered it as well, which must complete it. The processes notify
 * each other by numbers in FILE, because MPI messages would also make progress.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/* The numbers of barriers that the first and the last rank and all others together have entered. */
struct entered {
    _Atomic int first, last, others;
};

static void wait_until(const _Atomic int *number, int least)
{
    while (atomic_load(number) < least)
        usleep(1000);
}

/* The pauses are so long that rank 0 checks at least twice for dead members, with more than a
 * second in between (requests.c does so in every 64th call). */
static void arrive_and_die(int rank, int size, const char *file)
{
    enum { BARRIERS = 200, PAUSE_US = 20000 };
    static MPI_Request request[BARRIERS];
    const int fd = open(file, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct entered)) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    struct entered *entered =
        mmap(NULL, sizeof(*entered), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int b = 0; b < BARRIERS; b++) {
        int complete = 0;
        if (rank == 0)
            wait_until(&entered->others, (size - 2) * BARRIERS);
        if (rank == size - 1)
            wait_until(&entered->first, b + 1);
        MPI_Ibarrier(MPI_COMM_WORLD, &request[b]);
        atomic_fetch_add(rank == 0          ? &entered->first
                         : rank == size - 1 ? &entered->last
                                            : &entered->others,
                         1);
        if (rank != 0)
            continue;
        wait_until(&entered->last, b + 1);
        usleep(PAUSE_US);
        MPI_Test(&request[b], &complete, MPI_STATUS_IGNORE);
        if (!complete)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 1)
        kill(getpid(), SIGKILL);
    if (rank == 0)
        printf("all barriers are complete\n");
    fflush(stdout);
    atomic_fetch_add(&entered->first, rank == 0);
    wait_until(&entered->first, BARRIERS + 1);
    _exit(0); /* MPI_Finalize might wait for the dead process */
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
    else if (strcmp(argv[1], "--arrived") == 0)
        arrive_and_die(rank, size, argv[2]);
    else if (strstr(argv[1], "dies") != NULL)
        die(rank, argv[1]);
    else
        arrive_late(argv[1], rank, size);
    MPI_Finalize();
    return 0;
}
