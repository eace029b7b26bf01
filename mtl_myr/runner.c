/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runner: a thread that runs the endpoint while its host computes, so that messages are matched
 * and long ones move (the gain of Zhang's MPI-NP II+ over host-based matching).
 *
 * It needs a processor, and not its host's: it leaves the one that the process is bound to. While
 * the host makes calls itself, the runner only looks now and then whether it still does. While
 * nothing comes it sleeps between two looks. It tells Open MPI nothing: requests that are done wait
 * for the host.
 */
#include "mtl_myr/mtl_myr.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    LOOKS = 2000,         /* in vain, before it sleeps between two */
    SLEEP_NS = 20 * 1000, /* between two looks */
};

static pthread_t thread;
static atomic_bool ending;
static bool runs;

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    (void)nanosleep(&pause, NULL);
}

/* One look. Returns whether there was anything, or will be. */
static bool look(void)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    mca_mtl_myr_lock();
    const bool any =
        0 != myr_tagged_run(component->endpoint) || myr_tagged_busy(component->endpoint);
    mca_mtl_myr_unlock();
    return any;
}

/* Any processor that the kernel lets this process have; and sleeps that end on time. */
static void settle(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof(all));
    (void)sched_setaffinity(0, sizeof(all), &all); /* else it stays where its host is */
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

static void *run(void *context)
{
    (void)context;
    settle();
    const mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    uint32_t calls = 0, in_vain = 0;
    while (!atomic_load_explicit(&ending, memory_order_relaxed)) {
        const uint32_t now = atomic_load_explicit(&component->calls, memory_order_relaxed);
        if (now != calls) {
            calls = now;
            rest();
            continue;
        }
        in_vain = look() ? 0 : in_vain + 1;
        if (in_vain > LOOKS) {
            rest();
        } else {
            (void)sched_yield();
        }
    }
    return NULL;
}

int mca_mtl_myr_runner_start(void)
{
    atomic_store(&ending, false);
    runs = 0 == pthread_create(&thread, NULL, run, NULL);
    return runs ? OMPI_SUCCESS : OMPI_ERROR;
}

void mca_mtl_myr_runner_stop(void)
{
    if (runs) {
        atomic_store(&ending, true);
        (void)pthread_join(thread, NULL);
        runs = false;
    }
}
