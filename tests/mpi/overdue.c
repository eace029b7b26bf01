/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers that somebody is missing from. overdue.sh holds this program up from outside.
 *
 * All processes do barriers on one communicator, until there is a file "stop" in the folder, or a
 * barrier fails. A process that has seen one fail makes a file "failed.RANK", and waits for a file
 * "resume". Then it does barriers on another communicator, which must be what they should be.
 * Nothing here knows of time, but for the watchdog.
 */
#include "common.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder = ".";
static long nonblocking, fails, apart;

static const struct test_option options[] = {
    {"--folder", OPTION_TEXT, &folder, "where the files are by which it talks to its script"},
    {"--ibarrier", OPTION_FLAG, &nonblocking, "MPI_Ibarrier instead of MPI_Barrier"},
    {"--fails", OPTION_FLAG, &fails, "a barrier has to fail, in all processes"},
    {"--apart", OPTION_FLAG, &apart, "the other communicator is without the last process"},
};

enum { BETWEEN_LOOKS = 20, AFTERWARDS = 30 };

static void name_file(char *path, size_t bytes, const char *what, int rank)
{
    if (rank < 0)
        snprintf(path, bytes, "%s/%s", folder, what);
    else
        snprintf(path, bytes, "%s/%s.%d", folder, what, rank);
}

static void say(const char *what, int rank, long value)
{
    char path[600], final[500];
    name_file(final, sizeof(final), what, rank);
    snprintf(path, sizeof(path), "%s.new", final);
    FILE *file = fopen(path, "w");
    TEST_CHECK(file && fprintf(file, "%ld\n", value) > 0 && fclose(file) == 0 &&
                   rename(path, final) == 0,
               "files", "cannot write %s", final);
}

static bool heard(const char *what)
{
    char path[500];
    name_file(path, sizeof(path), what, -1);
    return access(path, F_OK) == 0;
}

static int one_barrier(MPI_Comm comm)
{
    MPI_Request request;
    if (!nonblocking)
        return MPI_Barrier(comm);
    int rc = MPI_Ibarrier(comm, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

/* Stop (SIGSTOP), if there is a file "halt.RANK". Between two barriers nobody runs the node's NIC.
 * A process that is stopped while it does keeps all others of the node from it. */
static void halt_if_asked(void)
{
    char path[500];
    name_file(path, sizeof(path), "halt", test.rank);
    if (unlink(path) == 0)
        raise(SIGSTOP);
}

/* The barrier before which all stop, once rank 0 has heard that they shall; -1: not yet. */
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

/* Is barrier i the one? Nobody hears of it by a message of MPI's. Such a one may be lost with the
 * host that is cut off, and who waits for it is in no barrier: late, not silent, and nobody gives
 * it up. Rank 0 writes it down BETWEEN_LOOKS barriers before, so all who have come that far can
 * read it. */
static bool all_stop(long i)
{
    if (i % BETWEEN_LOOKS != 0)
        return false;
    halt_if_asked();
    long last = last_one();
    if (test.rank == 0 && last < 0 && heard("stop"))
        say("last", -1, i + BETWEEN_LOOKS);
    return last == i;
}

/* Barriers on the other communicator, of those that are in it. */
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
    MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* what MPI_Wait goes by in 4.1 */
    others(&other, 1);
    say("pid", test.rank, (long)getpid());

    int rc = MPI_SUCCESS;
    test_phase("barriers that somebody may be missing from");
    for (long i = 0; rc == MPI_SUCCESS && !all_stop(i); i++)
        rc = one_barrier(first);
    if (rc != MPI_SUCCESS) {
        int class;
        MPI_Error_class(rc, &class);
        say("failed", test.rank, class);
        test_phase("a barrier has failed");
        while (!heard("resume"))
            usleep(20000);
        TEST_CHECK(one_barrier(first) != MPI_SUCCESS, "the first", "it works again");
    }
    TEST_CHECK((rc != MPI_SUCCESS) == (fails != 0), "the first", "MPI_Barrier returned %d", rc);
    test_phase("another communicator");
    others(&other, AFTERWARDS);
    if (second != MPI_COMM_NULL)
        MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    return test_end("");
}
