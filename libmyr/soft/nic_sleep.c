/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping on the soft NIC, and the roles of processes that run it on behalf of others: the runner
 * runs the NIC continuously, and the watch periodically. Only one process, the runner or any other
 * process of the node, sleeps on the socket; all others sleep on the words that they wait for.
 *
 * Invariant: a role is held by the process whose number is in the word of the role; 0 means that
 * the role is free. A process that finds that the holder of a role is dead clears the word. */
#include "libmyr/soft/nic_parts.h"

#include <poll.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/futex.h"

/* Returns whether a live process has a thread that runs the NIC. */
static bool has_runner(struct myr_soft_nic *nic)
{
    uint32_t runner = myr_load_acquire(&nic->shared->runner);
    if (myr_soft_gone(nic, runner)) {
        (void)atomic_compare_exchange_strong(&nic->shared->runner, &runner, 0);
        return false;
    }
    return 0 != runner;
}

static bool sleep_on_socket(struct myr_soft_nic *nic, uint32_t timeout_us)
{
    uint32_t sleeper = 0;
    if (has_runner(nic)) {
        return false;
    }
    if (!atomic_compare_exchange_strong(&nic->shared->sleeper, &sleeper, nic->self)) {
        if (myr_soft_gone(nic, sleeper)) {
            (void)atomic_compare_exchange_strong(&nic->shared->sleeper, &sleeper, 0);
        }
        return false;
    }
    struct pollfd socket = {.fd = nic->udp.socket, .events = POLLIN};
    const struct timespec timeout = os_timespec_of_us(timeout_us);
    (void)ppoll(&socket, 1, &timeout, NULL);
    myr_store_release(&nic->shared->sleeper, 0);
    return true;
}

/* Calls the callback, unless it is being replaced at the moment. */
static void call_sleeping(struct myr_soft_nic *nic)
{
    if (0 == pthread_mutex_trylock(&nic->sleeping_mutex)) {
        if (NULL != nic->sleeping) {
            nic->sleeping(nic->sleeping_context);
        }
        pthread_mutex_unlock(&nic->sleeping_mutex);
    }
}

void myr_soft_when_sleeping(struct myr_soft_nic *nic, void (*call)(void *context), void *context)
{
    pthread_mutex_lock(&nic->sleeping_mutex);
    nic->sleeping = call;
    nic->sleeping_context = context;
    pthread_mutex_unlock(&nic->sleeping_mutex);
}

void myr_soft_sleep(struct myr_soft_nic *nic, myr_word *word, myr_word *sleepers, uint32_t seen,
                    uint32_t timeout_us)
{
    myr_store_release(&nic->slept, 1);
    call_sleeping(nic);
    if (sleep_on_socket(nic, timeout_us)) {
        return;
    }
    atomic_fetch_add(sleepers, 1);
    os_futex_wait((const void *)word, seen, timeout_us);
    atomic_fetch_sub(sleepers, 1);
}

/* ---- runner and watch ---- */

bool myr_soft_become_runner(struct myr_soft_nic *nic, enum myr_soft_runner as)
{
    uint32_t nobody = 0;
    if (has_runner(nic) ||
        !atomic_compare_exchange_strong(&nic->shared->runner, &nobody, nic->self)) {
        return false;
    }
    nic->shared->runs_as = as;
    nic->shared->runner_pid = (uint32_t)getpid();
    return true;
}

void myr_soft_resign_runner(struct myr_soft_nic *nic)
{
    myr_store_release(&nic->shared->runner, 0);
}

bool myr_soft_become_watch(struct myr_soft_nic *nic)
{
    uint32_t watch = myr_load_acquire(&nic->shared->watch);
    return (0 == watch || myr_soft_gone(nic, watch)) &&
           atomic_compare_exchange_strong(&nic->shared->watch, &watch, nic->self);
}

void myr_soft_resign_watch(struct myr_soft_nic *nic)
{
    myr_store_release(&nic->shared->watch, 0);
}

void myr_soft_await(struct myr_soft_nic *nic, int other, uint64_t most_ns)
{
    const uint64_t deadline = mcp_deadline_ns(&nic->shared->mcp), now = os_now_ns();
    uint64_t left = most_ns;
    if (0 != deadline && deadline < now + most_ns) {
        left = deadline > now ? deadline - now : 0;
    }
    struct pollfd watched[] = {{.fd = nic->udp.socket, .events = POLLIN},
                               {.fd = other, .events = POLLIN}};
    const struct timespec timeout = os_timespec_of_ns(left);
    (void)ppoll(watched, 2, &timeout, NULL);
    myr_store_release(&nic->slept, 1);
}
