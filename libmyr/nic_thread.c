/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that runs a NIC; see nic_thread.h.
 *
 * Invariant: a thread exists only in the process that the NIC knows as its runner.
 */
#include "libmyr/nic_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libmyr/nic_inside.h"

enum {
    STACK = 256 << 10, /* bytes; the thread-local memory of all libraries is in it */
    /* A host that arrives sets a deadline without waking the thread. It is 1 ms at the earliest,
     * and does not matter unless a packet was lost; so this much later is not too late. */
    LONGEST_NS = 20 * 1000 * 1000,
};

struct myr_nic_thread {
    struct myr_nic *nic;
    pthread_t id;
    int stop; /* eventfd */
    _Atomic bool stopping;
};

static void *run(void *opaque)
{
    struct myr_nic_thread *thread = opaque;
    while (!atomic_load(&thread->stopping)) {
        myr_nic_await(thread->nic, thread->stop, LONGEST_NS);
        (void)myr_nic_poll(thread->nic);
    }
    return NULL;
}

/* No signal of the program's is handled on this thread. */
static int create(struct myr_nic_thread *thread)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&thread->id, &attributes, run, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (0 == rc) {
        (void)pthread_setname_np(thread->id, "nicbarr");
    }
    return rc;
}

enum myr_status myr_nic_thread_start(struct myr_nic *nic, enum myr_nic_runner as,
                                     struct myr_nic_thread **thread, struct myr_error *error)
{
    *thread = NULL;
    struct myr_nic_thread *starting = calloc(1, sizeof(*starting));
    if (NULL == starting) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    starting->nic = nic;
    starting->stop = eventfd(0, EFD_CLOEXEC);
    if (starting->stop < 0) {
        const int err = errno;
        free(starting);
        return myr_fail(error, MYR_ERR_SYSTEM, err, "no descriptor for the NIC's thread");
    }
    int rc = 0;
    const bool ours = myr_nic_become_runner(nic, as);
    if (ours) {
        rc = create(starting);
    }
    if (ours && 0 == rc) {
        *thread = starting;
        return MYR_OK;
    }
    if (ours) {
        myr_nic_resign_runner(nic);
    }
    close(starting->stop);
    free(starting);
    return 0 == rc ? MYR_OK : myr_fail(error, MYR_ERR_SYSTEM, rc, "no thread for the NIC");
}

void myr_nic_thread_stop(struct myr_nic_thread *thread)
{
    if (NULL != thread) {
        atomic_store(&thread->stopping, true);
        (void)eventfd_write(thread->stop, 1);
        pthread_join(thread->id, NULL);
        myr_nic_resign_runner(thread->nic);
        close(thread->stop);
        free(thread);
    }
}
