/* SPDX-License-Identifier: BSD-3-Clause */
/* See exits.h. A process that has left the segment before it ends (in MPI_Finalize) is not
 * considered failed. */
#include "ompi/exits.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ompi/survival.h"
#include "os/clock.h"

enum { POLL_EVERY_US = 1000 };

struct watched {
    opal_process_name_t name;
    uint32_t number; /* number in the segment */
    int pidfd;       /* -1: the process has ended, or cannot be monitored */
};

static struct myr_segment *segment;                      /* NULL: not open */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the table */
static struct watched *table;
static uint32_t count, room;
static int deaths; /* the epoll set of the pidfds; its data are indices of the table */
static _Atomic uint64_t poll_us;

/* Returns the first descriptor that must not be used: half of the process's limit, because the
 * program needs descriptors, too. */
static int descriptor_limit(void)
{
    struct rlimit limit;
    return 0 != getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > INT32_MAX
               ? INT32_MAX
               : (int)(limit.rlim_cur / 2);
}

static void report_death(const struct watched *process)
{
    if (0 != myr_segment_pid_of(segment, process->number)) {
        nicbarr_process_failed(&process->name);
    }
}

/* Removes a process from the set, because its pidfd is readable. Returns false if another thread
 * has done so already. */
static bool remove_watched(uint32_t index, struct watched *process)
{
    pthread_mutex_lock(&lock);
    *process = table[index];
    table[index].pidfd = -1;
    pthread_mutex_unlock(&lock);
    if (process->pidfd >= 0) {
        /* Otherwise the set would keep the entry if a forked child holds a duplicate of the
         * pidfd. */
        (void)epoll_ctl(deaths, EPOLL_CTL_DEL, process->pidfd, NULL);
        close(process->pidfd);
    }
    return process->pidfd >= 0;
}

static int poll_deaths(void)
{
    const uint64_t now_us = os_now_us();
    uint64_t due_us = atomic_load_explicit(&poll_us, memory_order_relaxed);
    int found = 0;
    if (now_us < due_us ||
        !atomic_compare_exchange_strong(&poll_us, &due_us, now_us + POLL_EVERY_US)) {
        return 0;
    }
    for (struct epoll_event event; 1 == epoll_wait(deaths, &event, 1, 0);) {
        struct watched process;
        if (remove_watched(event.data.u32, &process)) {
            report_death(&process);
            ++found;
        }
    }
    return found;
}

void nicbarr_exits_open(struct myr_segment *joined)
{
    deaths = epoll_create1(EPOLL_CLOEXEC);
    if (deaths >= 0) {
        segment = joined;
        (void)opal_progress_register_lp(poll_deaths);
    }
}

void nicbarr_exits_close(void)
{
    if (NULL == segment) {
        return;
    }
    (void)opal_progress_unregister(poll_deaths);
    for (uint32_t i = 0; i < count; ++i) {
        if (table[i].pidfd >= 0) {
            close(table[i].pidfd);
        }
    }
    free(table);
    table = NULL;
    count = room = 0;
    close(deaths);
    segment = NULL;
}

/* Returns whether the process is in the table. Called with the lock held. */
static bool is_known(uint32_t number)
{
    uint32_t i = 0;
    while (i < count && table[i].number != number) {
        ++i;
    }
    return i < count;
}

static bool make_room(void)
{
    if (count == room) {
        const uint32_t more = 0 == room ? 16 : 2 * room;
        void *grown = realloc(table, more * sizeof(*table));
        if (NULL == grown) {
            return false;
        }
        table = grown;
        room = more;
    }
    return true;
}

/* Opens a pidfd for a process, and adds it to the epoll set. Returns -1 if the process cannot be
 * monitored, and sets `*ended` if the reason is that the process has ended. */
static int open_pidfd(uint32_t pid, uint32_t index, bool *ended)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
    const int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    *ended = pidfd < 0 && ESRCH == errno;
    if (pidfd >= 0 &&
        (pidfd >= descriptor_limit() || 0 != epoll_ctl(deaths, EPOLL_CTL_ADD, pidfd, &event))) {
        close(pidfd);
        return -1;
    }
    return pidfd;
}

void nicbarr_exits_watch(const opal_process_name_t *name, uint32_t number)
{
    const uint32_t pid = NULL == segment ? 0 : myr_segment_pid_of(segment, number);
    struct watched process = {*name, number, -1};
    bool ended = false;
    if (0 == pid || myr_segment_number(segment) == number) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (!is_known(number) && make_room()) {
        process.pidfd = open_pidfd(pid, count, &ended);
        table[count++] = process;
    }
    pthread_mutex_unlock(&lock);
    if (ended) {
        report_death(&process);
    }
}
