/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress thread (the runner) drives the endpoint while its host, the MPI process, computes.
 * Messages are thus matched, and long messages transferred, during the computation, which is the
 * advantage of Zhang's MPI-NP II+ over matching by the host.
 *
 * The thread should not run on the core of its host, so it removes the CPU binding that it has
 * inherited. It sleeps until another process of the node wakes it, or until the host leaves a long
 * message to it. Since other nodes cannot wake the thread, it also wakes up from time to time to
 * poll. If it finds that the host itself makes calls, it goes back to sleep, each time for longer.
 * The thread does not call Open MPI; requests that it has finished are completed by the host. */
#include "mtl_myr/mtl_myr.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "os/thread.h"

enum {
    GLANCES = 40,       /* checks for calls of the host, 1 us in all */
    NAP_US = 20,        /* duration of the first sleep */
    NAP_MOST_US = 5000, /* maximum duration of a sleep, which is doubled each time */
    NAP_FAR_US = 50,    /* maximum duration if messages may arrive from other nodes */
};

static pthread_t thread;
static atomic_bool ending;
static bool runs;
static uint32_t calls; /* the host's calls at the last check */

static bool host_is_away(void)
{
    const mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    return calls == atomic_load_explicit(&component->calls, memory_order_relaxed) &&
           0 == atomic_load_explicit(&component->readers, memory_order_relaxed);
}

/* Returns whether the host makes no calls for about 1 us. A host that waits makes several calls per
 * microsecond. */
static bool host_stays_away(void)
{
    calls = atomic_load_explicit(&mca_mtl_myr_component.calls, memory_order_relaxed);
    bool away = host_is_away();
    for (int glance = 0; away && glance < GLANCES; ++glance) {
        myr_cpu_relax();
        away = host_is_away();
    }
    return away;
}

/* Polls the endpoint once. Returns true if there was anything to do, or if there soon will be. */
static bool poll_endpoint(void)
{
    struct myr_tagged *endpoint = mca_mtl_myr_component.endpoint;
    mca_mtl_myr_lock();
    const uint32_t steps = myr_tagged_run(endpoint);
    const uint64_t bytes = mca_mtl_myr_read_chunks(host_is_away);
    const bool any = 0 != steps || 0 != bytes || myr_tagged_expects(endpoint);
    mca_mtl_myr_component.runner_bytes += bytes;
    mca_mtl_myr_unlock();
    return any;
}

/* Lets the thread run on any core that the kernel permits, and makes sleeps end on time. */
static void set_up_thread(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof(all));
    (void)sched_setaffinity(0, sizeof(all), &all); /* otherwise it inherits its host's binding */
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

static void *run_endpoint(void *context)
{
    (void)context;
    set_up_thread();
    const mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    uint32_t nap = NAP_US;
    while (!atomic_load_explicit(&ending, memory_order_relaxed)) {
        myr_tagged_nap(component->endpoint);
        if (host_stays_away() && poll_endpoint()) {
            nap = NAP_US;
            (void)sched_yield();
        } else if (myr_tagged_sleep(component->endpoint, nap)) {
            nap = NAP_US;
        } else {
            const bool far = MYR_DRAIN_THIS_NODE != component->peers;
            const uint32_t most = far ? NAP_FAR_US : NAP_MOST_US;
            nap = 2 * nap < most ? 2 * nap : most;
        }
    }
    return NULL;
}

int mca_mtl_myr_runner_start(void)
{
    atomic_store(&ending, false);
    runs = 0 == os_thread_create(&thread, run_endpoint, NULL);
    return runs ? OMPI_SUCCESS : OMPI_ERROR;
}

void mca_mtl_myr_runner_stop(void)
{
    if (runs) {
        atomic_store(&ending, true);
        myr_tagged_wake(mca_mtl_myr_component.endpoint);
        (void)pthread_join(thread, NULL);
        runs = false;
    }
}
