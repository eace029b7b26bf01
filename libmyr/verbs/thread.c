/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that advances the groups of the process while the process computes; see verbs.h.
 *
 * Incoming RDMA writes raise no event, so the thread has to poll. It polls continuously while there
 * is progress; when there is none, it sleeps between polls, for increasing times. */
#include <stdatomic.h>
#include <stdlib.h>

#include "libmyr/verbs/verbs.h"
#include "os/calls.h"
#include "os/clock.h"
#include "os/thread.h"

enum {
    IDLE_POLLS = 100,  /* idle polls before the first sleep */
    FIRST_NAP_US = 20, /* duration of the first sleep, which is doubled each time */
    LAST_NAP_US = 1000 /* duration of the longest sleep */
};

struct myr_verbs_thread {
    struct myr_verbs *nic;
    pthread_t id;
    _Atomic bool stopping;
};

static void *run_groups(void *opaque)
{
    struct myr_verbs_thread *thread = opaque;
    uint64_t moves = myr_verbs_moves(thread->nic);
    uint32_t vain = 0, nap_us = FIRST_NAP_US;
    while (!atomic_load(&thread->stopping)) {
        const uint64_t before = moves;
        myr_verbs_poll(thread->nic);
        moves = myr_verbs_moves(thread->nic);
        if (before != moves) {
            vain = 0;
            nap_us = FIRST_NAP_US;
        } else if (++vain < IDLE_POLLS) {
            os_yield();
        } else {
            const struct timespec nap = os_timespec_of_us(nap_us);
            (void)nanosleep(&nap, NULL);
            nap_us = 2 * nap_us < LAST_NAP_US ? 2 * nap_us : LAST_NAP_US;
        }
    }
    return NULL;
}

enum myr_status myr_verbs_thread_start(struct myr_verbs *nic, struct myr_error *error)
{
    struct myr_verbs_thread *thread = calloc(1, sizeof(*thread));
    if (NULL == thread) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    thread->nic = nic;
    const int rc = os_thread_create(&thread->id, run_groups, thread);
    if (0 != rc) {
        free(thread);
        return myr_fail(error, MYR_ERR_SYSTEM, rc, "cannot create the RDMA NIC's thread");
    }
    nic->thread = thread;
    return MYR_OK;
}

void myr_verbs_thread_stop(struct myr_verbs *nic)
{
    if (NULL != nic->thread) {
        atomic_store(&nic->thread->stopping, true);
        pthread_join(nic->thread->id, NULL);
        free(nic->thread);
        nic->thread = NULL;
    }
}
