/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a barrier from which a process or host is missing fails after the timeout, and that
 * other communicators continue to work. overdue.sh causes the fault from outside.
 *
 * All processes call barriers on one communicator until a file "stop" exists in the directory, or a
 * barrier fails. A process whose barrier has failed creates a file "failed.RANK", and waits for a
 * file "resume". Then it calls barriers on another communicator, which must be correct. Nothing
 * here depends on time, except for the watchdog. With --iallreduce reductions take the place of the
 * barriers.
 */
#include "common.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir = ".";
static long nonblocking, reductions, fails, apart;

static const struct test_option options[] = {
    {"--directory", OPTION_TEXT, &dir, "of the files by which it communicates with its script"},
    {"--ibarrier", OPTION_FLAG, &nonblocking, "MPI_Ibarrier instead of MPI_Barrier"},
    {"--iallreduce", OPTION_FLAG, &reductions,
     "some MPI_Iallreduce at a time instead of one MPI_Barrier"},
    {"--fails", OPTION_FLAG, &fails, "a barrier has to fail, in all processes"},
    {"--apart", OPTION_FLAG, &apart, "the other communicator is without the last process"},
};

enum { CHECK_INTERVAL = 20, AFTERWARDS = 30 };

static void name_file(char *path, size_t bytes, const char *what, int rank)
{
    if (rank < 0)
        snprintf(path, bytes, "%s/%s", dir, what);
    else
        snprintf(path, bytes, "%s/%s.%d", dir, what, rank);
}

static void write_file(const char *what, int rank, long value)
{
    char path[600], final[500];
    name_file(final, sizeof(final), what, rank);
    snprintf(path, sizeof(path), "%s.new", final);
    FILE *file = fopen(path, "w");
    TEST_CHECK(file && fprintf(file, "%ld\n", value) > 0 && fclose(file) == 0 &&
                   rename(path, final) == 0,
               "files", "cannot write %s", final);
}

static bool file_exists(const char *what)
{
    char path[500];
    name_file(path, sizeof(path), what, -1);
    return access(path, F_OK) == 0;
}

/* Returns the error of the first reduction that fails. */
static int some_reductions(MPI_Comm comm)
{
    enum { REDUCTIONS = 3 };
    MPI_Request request[REDUCTIONS];
    double one = 1, sum[REDUCTIONS];
    int rc = MPI_SUCCESS;
    for (int r = 0; r < REDUCTIONS; r++)
        MPI_Iallreduce(&one, &sum[r], 1, MPI_DOUBLE, MPI_SUM, comm, &request[r]);
    for (int r = 0; r < REDUCTIONS; r++) {
        const int own = MPI_Wait(&request[r], MPI_STATUS_IGNORE);
        TEST_CHECK(own != MPI_SUCCESS || sum[r] == test.size, "a reduction", "sum %g", sum[r]);
        rc = rc == MPI_SUCCESS ? own : rc;
    }
    return rc;
}

static int one_blocking(MPI_Comm comm)
{
    double one = 1, sum;
    return reductions ? MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) : MPI_Barrier(comm);
}

static int one_barrier(MPI_Comm comm)
{
    MPI_Request request;
    if (reductions)
        return some_reductions(comm);
    if (!nonblocking)
        return MPI_Barrier(comm);
    int rc = MPI_Ibarrier(comm, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

/* Stop (SIGSTOP) if a file "halt.RANK" exists. Between two barriers this process does not run
 * the node's NIC; if it were stopped while it does, all other processes of the node could not
 * run the NIC. */
static void stop_if_requested(void)
{
    char path[500];
    name_file(path, sizeof(path), "halt", test.rank);
    if (unlink(path) == 0)
        raise(SIGSTOP);
}

/* Returns the barrier before which all stop, or -1 if rank 0 has not decided on it yet. */
static long last_one(void)
{
    char path[500];
    long last = -1;
    name_file(path, sizeof(path), "last", -1);
    FILE *file = fopen(path, "r");
    if (file) {
        TEST_CHECK(fscanf(file, "%ld", &last) == 1, "files", "cannot read %s", path);
        fclose(file);
    }
    return last;
}

/* Returns whether all processes stop before barrier i. This is not communicated by MPI messages,
 * because a message may be lost with the host that is cut off. A process that waits for it is in
 * no barrier, so that it would count as late instead of silent, and its barriers would never
 * fail. Therefore rank 0 writes the number to a file CHECK_INTERVAL barriers before, so that all
 * processes that get there can read it. */
static bool stops_before(long i)
{
    if (i % CHECK_INTERVAL != 0)
        return false;
    stop_if_requested();
    long last = last_one();
    if (test.rank == 0 && last < 0 && file_exists("stop"))
        write_file("last", -1, i + CHECK_INTERVAL);
    return last == i;
}

/* Execute barriers on the other communicator, by its members. */
static void others(struct ledger *other, int count)
{
    for (int i = 0; i < count && other->comm != MPI_COMM_NULL; i++)
        checked_barrier(other);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "overdue", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    struct arena arena;
    struct ledger on, other = {.comm = MPI_COMM_NULL};
    arena_open(&arena, MPI_COMM_WORLD, 2);
    MPI_Comm first, second;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_split(MPI_COMM_WORLD, apart && test.rank == test.size - 1 ? MPI_UNDEFINED : 0, 0,
                   &second);
    MPI_Comm_set_name(first, "the first");
    ledger_open(&on, &arena, 0, first, "the first");
    if (second != MPI_COMM_NULL)
        ledger_open(&other, &arena, 1, second, "the second");
    for (int i = 0; i < AFTERWARDS; i++) {
        checked_barrier(&on);
        others(&other, 1);
    }
    one_blocking(first); /* sets up what reductions need */
    MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* which MPI_Wait uses in 4.1 */
    others(&other, 1);
    write_file("pid", test.rank, (long)getpid());

    int rc = MPI_SUCCESS;
    test_phase("barriers with a process missing");
    for (long i = 0; rc == MPI_SUCCESS && !stops_before(i); i++)
        rc = one_barrier(first);
    if (rc != MPI_SUCCESS) {
        int class;
        MPI_Error_class(rc, &class);
        write_file("failed", test.rank, class);
        test_phase("a barrier has failed");
        while (!file_exists("resume"))
            usleep(20000);
        TEST_CHECK(one_barrier(first) != MPI_SUCCESS, "the first", "it works again");
        TEST_CHECK(one_blocking(first) != MPI_SUCCESS, "the first", "a blocking call works again");
    }
    TEST_CHECK((rc != MPI_SUCCESS) == (fails != 0), "the first", "MPI_Barrier returned %d", rc);
    test_phase("another communicator");
    others(&other, AFTERWARDS);
    if (second != MPI_COMM_NULL)
        MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    return test_end("");
}
