/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that programs can use one session of MPI 4 after the other without leaking memory. With the
 * last session of a process Open MPI closes all of its components, and the next session opens them
 * again. Each time barriers of all kinds must work, and no shared memory may stay open (memfd; Open
 * MPI 5.0.7 itself leaves some pipes and events open each time).
 *
 * A process that has not finished after WATCHDOG_S seconds prints its stack, and does not exit.
 *
 * The program does not call MPI_Init, which would keep the components open, and therefore uses
 * nothing of common.h except its exit status.
 */
#include "common.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Open MPI 5.0 has sessions, but reports that it is MPI 3. */
#if MPI_VERSION < 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
int main(void)
{
    puts("skip sessions: this MPI has none");
    return TEST_SKIPPED;
}
#else

enum { SESSIONS = 5, BARRIERS = 50, DESCRIPTORS = 4096, WATCHDOG_S = 100, FRAMES = 64 };

static pthread_t main_thread;

/* The signal may be delivered to a thread of Open MPI. */
static void print_stack(int signal)
{
    static const char line[] = "sessions: a process is stuck here:\n";
    void *frames[FRAMES];
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, signal);
        return;
    }
    if (write(STDOUT_FILENO, line, sizeof(line) - 1) > 0)
        backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDOUT_FILENO);
}

static int open_memfds(void)
{
    static const char prefix[] = "/memfd:";
    char path[32], target[sizeof(prefix)];
    int count = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(path, target, sizeof(prefix) - 1);
        count += length == sizeof(prefix) - 1 && memcmp(target, prefix, sizeof(prefix) - 1) == 0;
    }
    return count;
}

static void barriers(MPI_Comm comm)
{
    MPI_Request request;
    for (int i = 0; i < BARRIERS; i++)
        MPI_Barrier(comm);
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

/* Run one session. Returns this process's rank. */
static int one_session(void)
{
    MPI_Session session;
    MPI_Group all;
    MPI_Comm comm;
    int rank, size, sum;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, "tests/mpi/sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    barriers(comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != size * (size - 1) / 2) {
        printf("FAIL sessions: rank %d: the sum is %d\n", rank, sum);
        MPI_Abort(comm, 1);
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    MPI_Session_finalize(&session);
    return rank;
}

int main(void)
{
    main_thread = pthread_self();
    signal(SIGALRM, print_stack);
    alarm(WATCHDOG_S);
    for (int s = 1; s <= SESSIONS; s++) {
        const int rank = one_session(), open = open_memfds();
        if (open != 0) {
            printf("FAIL sessions: rank %d: %d memfds are open after session %d\n", rank, open, s);
            return 1;
        }
        if (rank == 0 && s == SESSIONS)
            printf("ok sessions: %d of them\n", SESSIONS);
    }
    return 0;
}
#endif
