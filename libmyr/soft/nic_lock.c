/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the lock under which a process runs the soft NIC's control program, and detects
 * holders of the lock that have died or are stopped; see nic_parts.h. (Model:
 * tests/litmus/lock.pml.)
 */
#include "libmyr/soft/nic_parts.h"

#include <stdio.h>

#include "os/calls.h"
#include "os/clock.h"

enum {
    LOCK_SPINS = 50,     /* attempts before the CPU is yielded */
    THOROUGH_EVERY = 64, /* one liveness check in so many is thorough */
    OBSERVER_TRIES = 200 /* attempts of an observer, with a yield after each */
};

/* The default timeouts. The control program runs for microseconds, but a debugger may stop the
 * process that runs it for minutes. */
#define USUAL_WARN_NS (UINT64_C(30) * 1000 * 1000 * 1000)
#define USUAL_GIVE_UP_NS (UINT64_C(900) * 1000 * 1000 * 1000)

/* The maximum time between two checks that is counted as time for which the holder was stopped. If
 * more time has passed, the waiting process itself was stopped, or the machine was suspended. */
#define CHECK_NS (UINT64_C(1000) * 1000 * 1000)

/* Takes the lock of a broken NIC. */
static bool try_lock_broken(struct myr_soft_nic *nic)
{
    uint32_t nobody = MYR_SOFT_BROKEN;
    if (MYR_SOFT_BROKEN == myr_load_relaxed(&nic->shared->lock) &&
        atomic_compare_exchange_strong(&nic->shared->lock, &nobody, MYR_SOFT_BROKEN | nic->self)) {
        nic->vacant = MYR_SOFT_BROKEN;
        return true;
    }
    return false;
}

/* Returns whether the next liveness check is thorough. */
static bool is_thorough(struct myr_soft_nic *nic)
{
    const uint32_t checks =
        myr_load_relaxed(&nic->checks); /* unsynchronized: a lost increment does no harm */
    myr_store_release(&nic->checks, checks + 1);
    return 0 == checks % THOROUGH_EVERY;
}

bool myr_soft_gone(struct myr_soft_nic *nic, uint32_t process)
{
    return 0 != process && nic->self != process &&
           myr_segment_gone(nic->segment, process, is_thorough(nic));
}

bool myr_soft_ended(struct myr_soft_nic *nic, uint32_t pid)
{
    return myr_segment_ended(nic->segment, pid, is_thorough(nic));
}

/* Marks the lock as broken if the dead process `process` holds it. If that process has released the
 * lock after it was found to be the holder, the exchange fails, because no other process has the
 * same number. */
static void break_lock_of(struct myr_shared_nic *shared, uint32_t process)
{
    uint32_t sound = process, broken = MYR_SOFT_BROKEN | process;
    if (!atomic_compare_exchange_strong(&shared->lock, &sound, MYR_SOFT_BROKEN)) {
        (void)atomic_compare_exchange_strong(&shared->lock, &broken, MYR_SOFT_BROKEN);
    }
}

/* ---- a holder that makes no progress ---- */

void myr_soft_lock_init(struct myr_soft_nic *nic)
{
    static const struct myr_soft_bounds usual = {0};
    pthread_mutex_init(&nic->stuck.mutex, NULL);
    myr_soft_set_bounds(nic, &usual);
}

void myr_soft_lock_end(struct myr_soft_nic *nic)
{
    pthread_mutex_destroy(&nic->stuck.mutex);
}

void myr_soft_set_bounds(struct myr_soft_nic *nic, const struct myr_soft_bounds *bounds)
{
    nic->bounds = *bounds;
    if (0 == bounds->warn_ns) {
        nic->bounds.warn_ns = USUAL_WARN_NS;
    }
    if (0 == bounds->give_up_ns) {
        nic->bounds.give_up_ns = USUAL_GIVE_UP_NS;
    }
}

uint32_t myr_soft_given_up(const struct myr_soft_nic *nic)
{
    return myr_load_acquire(&nic->given_up);
}

static void report_stuck_process(const struct myr_soft_nic *nic, uint32_t pid)
{
    char line[200];
    snprintf(line, sizeof(line),
             "process %u of this node has held the soft NIC's lock for %u s and does not continue "
             "(is it stopped, or in a debugger?): other processes cannot use that NIC meanwhile",
             (unsigned)pid, (unsigned)(nic->stuck.waited_ns / 1000000000));
    nic->bounds.print(line);
}

/* Accounts for the time that this process has waited for `holder`. Called with `stuck.mutex`. */
static void count_wait(struct myr_soft_nic *nic, uint32_t holder)
{
    struct myr_soft_stuck *stuck = &nic->stuck;
    const uint32_t polls = myr_soft_polls(nic);
    const uint64_t now = os_now_ns();
    if (holder != myr_load_relaxed(&stuck->holder) || polls != stuck->polls) {
        myr_store_release(&stuck->holder, holder);
        stuck->polls = polls;
        stuck->waited_ns = 0;
        stuck->reported = false;
    } else {
        const uint64_t passed = now - stuck->checked_ns;
        stuck->waited_ns += passed < CHECK_NS ? passed : CHECK_NS;
    }
    stuck->checked_ns = now;
    const bool end = stuck->waited_ns >= nic->bounds.give_up_ns;
    if (!end && (stuck->reported || stuck->waited_ns < nic->bounds.warn_ns)) {
        return;
    }
    const uint32_t pid = myr_segment_pid_of(nic->segment, holder);
    if (0 == pid) {
        return; /* the holder has left meanwhile */
    }
    if (!stuck->reported && NULL != nic->bounds.print) {
        report_stuck_process(nic, pid);
    }
    stuck->reported = true;
    if (end) {
        myr_store_release(&nic->given_up, pid);
    }
}

/* Checks whether `holder`, a living process that holds the lock, makes progress. If the lock is
 * free (`holder` is 0) or is held by this process, the holder that was observed before has released
 * it. */
static void check_holder(struct myr_soft_nic *nic, uint32_t holder)
{
    struct myr_soft_stuck *stuck = &nic->stuck;
    if (0 != pthread_mutex_trylock(&stuck->mutex)) {
        return;
    }
    if (0 == holder || nic->self == holder) {
        myr_store_release(&stuck->holder, 0);
    } else {
        count_wait(nic, holder);
    }
    pthread_mutex_unlock(&stuck->mutex);
}

void myr_soft_check_lock(struct myr_soft_nic *nic)
{
    const uint32_t holder = myr_load_acquire(&nic->shared->lock) & ~MYR_SOFT_BROKEN;
    if (myr_soft_gone(nic, holder)) {
        break_lock_of(nic->shared, holder);
    } else if (0 != holder || 0 != myr_load_relaxed(&nic->stuck.holder)) {
        check_holder(nic, holder);
    }
}

/* ---- acquiring it ---- */

bool myr_soft_lock(struct myr_soft_nic *nic)
{
    for (uint32_t i = 0; !myr_soft_try_lock(nic); ++i) {
        if (try_lock_broken(nic)) {
            return true;
        }
        if (i < LOCK_SPINS) {
            myr_cpu_relax();
        } else {
            os_yield();
        }
        if (0 == (i + 1) % MYR_SOFT_LOCK_YIELDS) {
            myr_soft_check_lock(nic);
            if (0 != myr_soft_given_up(nic)) {
                return false;
            }
        }
    }
    return true;
}

struct mcp_nic *myr_soft_enter(struct myr_soft_nic *nic, struct mcp_board **board)
{
    pthread_mutex_lock(&nic->mutex);
    *board = &nic->board;
    nic->entered = myr_soft_lock(nic);
    return nic->entered && myr_soft_sound(nic) ? &nic->shared->mcp : NULL;
}

bool myr_soft_entered(const struct myr_soft_nic *nic)
{
    return nic->entered;
}

void myr_soft_leave(struct myr_soft_nic *nic)
{
    if (nic->entered) {
        myr_soft_unlock(nic);
        myr_soft_flush(nic);
    }
    pthread_mutex_unlock(&nic->mutex);
}

/* Tries to take the mutex a limited number of times, because another thread may hold the mutex
 * while it waits for the lock. */
struct mcp_nic *myr_soft_enter_to_inspect(struct myr_soft_nic *nic)
{
    for (uint32_t i = 0; i < OBSERVER_TRIES; ++i) {
        if (0 == pthread_mutex_trylock(&nic->mutex)) {
            if (myr_soft_try_lock(nic)) {
                nic->entered = true;
                return &nic->shared->mcp;
            }
            pthread_mutex_unlock(&nic->mutex);
        }
        os_yield();
    }
    return NULL;
}

enum myr_status myr_soft_is_broken(const struct myr_soft_nic *nic, struct myr_error *error)
{
    const uint32_t pid = myr_soft_given_up(nic);
    if (0 != pid) {
        return myr_fail(error, MYR_ERR_GONE, 0,
                        "the node's NIC cannot be used: process %u holds its lock and does not "
                        "continue (is it stopped, or in a debugger?)",
                        (unsigned)pid);
    }
    return myr_fail(
        error, MYR_ERR_GONE, 0,
        "the node's NIC is unusable: a process was killed while it held the NIC's lock");
}

bool myr_soft_broken(struct myr_soft_nic *nic)
{
    /* A process that waits without receiving packets never takes the lock, so the lock is checked
     * here. */
    myr_soft_check_lock(nic);
    return 0 != (myr_load_acquire(&nic->shared->lock) & MYR_SOFT_BROKEN) ||
           0 != myr_soft_given_up(nic);
}

void myr_soft_reap(struct myr_soft_nic *nic, uint32_t pid)
{
    struct myr_shared_nic *shared = nic->shared;
    const uint32_t dead = myr_segment_number_of(nic->segment, pid);
    uint32_t runner = dead, sleeper = dead, watch = dead;
    if (0 == dead) {
        return; /* it has not opened the NIC yet */
    }
    break_lock_of(shared, dead);
    (void)atomic_compare_exchange_strong(&shared->runner, &runner, 0);
    (void)atomic_compare_exchange_strong(&shared->sleeper, &sleeper, 0);
    (void)atomic_compare_exchange_strong(&shared->watch, &watch, 0);
}
