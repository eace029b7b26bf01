/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that run a NIC; see nic_thread.h.
 *
 * Invariant: a process has a thread of this kind only if it is the runner or the watch of the NIC,
 * or must become the watch as soon as there is none (myr_soft_watch_stay()). */
#include "libmyr/soft/nic_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libmyr/soft/nic_inside.h"
#include "os/clock.h"
#include "os/thread.h"

enum {
    /* The longest sleep of the thread. A host that arrives sets a deadline for retransmission
     * requests without waking the thread, so the thread may miss the deadline by up to this time.
     * This is acceptable, because the deadline matters only after a packet loss. */
    LONGEST_NS = 20 * 1000 * 1000,
    CHECK_EVERY = 16 /* wake-ups between two checks whether a process is stopped inside the NIC */
};

struct myr_soft_thread {
    struct myr_soft_nic *nic;
    pthread_t id;
    int stop; /* eventfd */
    _Atomic bool stopping;
};

static void pause_until_stopped(int stop, uint64_t most_ns)
{
    struct pollfd event = {.fd = stop, .events = POLLIN};
    const struct timespec most = os_timespec_of_ns(most_ns);
    (void)ppoll(&event, 1, &most, NULL);
}

static void *run_soft_nic(void *opaque)
{
    struct myr_soft_thread *thread = opaque;
    for (uint32_t iteration = 1; !atomic_load(&thread->stopping); ++iteration) {
        /* Do not wait for packets: they would never be read, and therefore never let the thread
         * sleep. */
        if (0 != myr_soft_given_up(thread->nic)) {
            pause_until_stopped(thread->stop, LONGEST_NS);
        } else {
            myr_soft_await(thread->nic, thread->stop, LONGEST_NS);
        }
        (void)myr_soft_poll(thread->nic);
        if (0 == iteration % CHECK_EVERY) {
            (void)myr_soft_broken(thread->nic);
        }
    }
    return NULL;
}

enum myr_status myr_soft_thread_start(struct myr_soft_nic *nic, enum myr_soft_runner as,
                                      struct myr_soft_thread **thread, struct myr_error *error)
{
    *thread = NULL;
    struct myr_soft_thread *starting = calloc(1, sizeof(*starting));
    if (NULL == starting) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    starting->nic = nic;
    starting->stop = eventfd(0, EFD_CLOEXEC);
    if (starting->stop < 0) {
        const int err = errno;
        free(starting);
        return myr_fail(error, MYR_ERR_SYSTEM, err,
                        "cannot create an eventfd for the NIC's thread");
    }
    int rc = 0;
    const bool ours = myr_soft_become_runner(nic, as);
    if (ours) {
        rc = os_thread_create(&starting->id, run_soft_nic, starting);
    }
    if (ours && 0 == rc) {
        *thread = starting;
        return MYR_OK;
    }
    if (ours) {
        myr_soft_resign_runner(nic);
    }
    close(starting->stop);
    free(starting);
    return 0 == rc ? MYR_OK : myr_fail(error, MYR_ERR_SYSTEM, rc, "cannot create the NIC's thread");
}

void myr_soft_thread_stop(struct myr_soft_thread *thread)
{
    if (NULL != thread) {
        atomic_store(&thread->stopping, true);
        (void)eventfd_write(thread->stop, 1);
        pthread_join(thread->id, NULL);
        myr_soft_resign_runner(thread->nic);
        close(thread->stop);
        free(thread);
    }
}

/* ---- the watch ---- */

struct myr_soft_watch {
    struct myr_soft_nic *nic;
    uint64_t every_ns;
    pthread_mutex_t mutex; /* protects `id`, `here` and `stays` */
    pthread_t id;
    bool here;  /* whether the thread is in this process */
    bool stays; /* whether the thread remains even if this process is not the watch */
    bool holds; /* whether this process is the watch; written by the thread once there is one */
    int stop;   /* eventfd */
    _Atomic bool stopping;
};

/* Waits for the next check: for the interval or, while the watch runs the NIC, for a packet or a
 * timer. */
static void wait_for_check(struct myr_soft_watch *watch, bool runs)
{
    /* The packets of a NIC that is given up are never read, and would never let the thread
     * sleep. */
    if (runs && 0 == myr_soft_given_up(watch->nic)) {
        myr_soft_await(watch->nic, watch->stop, watch->every_ns);
    } else {
        pause_until_stopped(watch->stop, watch->every_ns);
    }
}

static void *keep_watch(void *opaque)
{
    struct myr_soft_watch *watch = opaque;
    uint32_t polls = myr_soft_polls(watch->nic);
    bool runs = false;
    for (;;) {
        wait_for_check(watch, runs);
        if (atomic_load(&watch->stopping)) {
            return NULL;
        }
        watch->holds = watch->holds || myr_soft_become_watch(watch->nic);
        runs = watch->holds && polls == myr_soft_polls(watch->nic);
        if (runs) {
            while (!myr_soft_catch_up(watch->nic) && !atomic_load(&watch->stopping)) {
            }
            /* If the NIC has not been polled here either, its lock cannot be taken. The thread must
             * not wait for packets then, because it could not read them, and they would wake it
             * again and again. */
            runs = polls != myr_soft_polls(watch->nic);
        }
        polls = myr_soft_polls(watch->nic);
    }
}

static void resign_watch(struct myr_soft_watch *watch)
{
    if (watch->holds) {
        myr_soft_resign_watch(watch->nic);
        watch->holds = false;
    }
}

/* Becomes the watch if there is none, and starts the thread if necessary. Returns 0 or an error
 * number. */
static int start_thread_if_needed(struct myr_soft_watch *watch, bool stays)
{
    int rc = 0;
    pthread_mutex_lock(&watch->mutex);
    watch->stays = watch->stays || stays;
    if (!watch->here) {
        watch->holds = myr_soft_become_watch(watch->nic);
        if (watch->holds || watch->stays) {
            rc = os_thread_create(&watch->id, keep_watch, watch);
            watch->here = 0 == rc;
        }
        if (!watch->here) {
            resign_watch(watch);
        }
    }
    pthread_mutex_unlock(&watch->mutex);
    return rc;
}

/* Becomes the watch if there is none. If the thread cannot be created, another process may become
 * the watch, or this process tries again when it next sleeps. */
static void about_to_sleep(void *opaque)
{
    (void)start_thread_if_needed(opaque, false);
}

enum myr_status myr_soft_watch_start(struct myr_soft_nic *nic, uint64_t every_ns,
                                     struct myr_soft_watch **watch, struct myr_error *error)
{
    *watch = NULL;
    struct myr_soft_watch *starting = calloc(1, sizeof(*starting));
    if (NULL == starting) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    starting->nic = nic;
    starting->every_ns = every_ns;
    starting->stop = eventfd(0, EFD_CLOEXEC);
    if (starting->stop < 0) {
        const int err = errno;
        free(starting);
        return myr_fail(error, MYR_ERR_SYSTEM, err,
                        "cannot create an eventfd for the NIC's monitoring thread");
    }
    pthread_mutex_init(&starting->mutex, NULL);
    const int rc = start_thread_if_needed(starting, false);
    if (0 != rc) {
        pthread_mutex_destroy(&starting->mutex);
        close(starting->stop);
        free(starting);
        return myr_fail(error, MYR_ERR_SYSTEM, rc, "cannot create the NIC's monitoring thread");
    }
    myr_soft_when_sleeping(nic, about_to_sleep, starting);
    *watch = starting;
    return MYR_OK;
}

void myr_soft_watch_stay(struct myr_soft_watch *watch)
{
    if (NULL != watch) {
        (void)start_thread_if_needed(watch, true);
    }
}

void myr_soft_watch_stop(struct myr_soft_watch *watch)
{
    if (NULL == watch) {
        return;
    }
    myr_soft_when_sleeping(watch->nic, NULL, NULL);
    if (watch->here) {
        atomic_store(&watch->stopping, true);
        (void)eventfd_write(watch->stop, 1);
        pthread_join(watch->id, NULL);
        resign_watch(watch);
    }
    pthread_mutex_destroy(&watch->mutex);
    close(watch->stop);
    free(watch);
}

bool myr_soft_watch_is_here(struct myr_soft_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    const bool here = watch->here;
    pthread_mutex_unlock(&watch->mutex);
    return here;
}
