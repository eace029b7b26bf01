/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who runs the soft NIC's control program, and what becomes of the NIC when such a process has
 * died; see nic_parts.h. (Model: tests/litmus/lock.pml.)
 */
#include "libmyr/soft/nic_parts.h"

#include "os/calls.h"

enum {
    LOCK_SPINS = 50, /* looks at the lock before the processor is given up */
    DOUBTS = 64      /* of so many looks at who is alive, one is thorough */
};

/* Take the lock of a NIC that is broken. */
static bool try_lock_broken(struct myr_nic *nic)
{
    uint32_t nobody = MYR_NIC_BROKEN;
    if (MYR_NIC_BROKEN == myr_glance(&nic->shared->lock) &&
        atomic_compare_exchange_strong(&nic->shared->lock, &nobody, MYR_NIC_BROKEN | nic->self)) {
        nic->vacant = MYR_NIC_BROKEN;
        return true;
    }
    return false;
}

bool myr_nic_gone(struct myr_nic *nic, uint32_t process)
{
    if (0 == process || nic->self == process) {
        return false;
    }
    const uint32_t doubts = myr_glance(&nic->doubts); /* (a count that is lost does no harm) */
    myr_publish(&nic->doubts, doubts + 1);
    return myr_segment_gone(nic->segment, process, 0 == doubts % DOUBTS);
}

/* `process` is dead: if it has the lock, break the lock. If it had it when somebody looked, and has
 * given it back meanwhile, nothing happens: nobody else has its number. */
static void break_lock_of(struct myr_shared_nic *shared, uint32_t process)
{
    uint32_t sound = process, broken = MYR_NIC_BROKEN | process;
    if (!atomic_compare_exchange_strong(&shared->lock, &sound, MYR_NIC_BROKEN)) {
        (void)atomic_compare_exchange_strong(&shared->lock, &broken, MYR_NIC_BROKEN);
    }
}

void myr_nic_inherit(struct myr_nic *nic)
{
    const uint32_t holder = myr_observe(&nic->shared->lock) & ~MYR_NIC_BROKEN;
    if (myr_nic_gone(nic, holder)) {
        break_lock_of(nic->shared, holder);
    }
}

bool myr_nic_lock(struct myr_nic *nic)
{
    for (uint32_t i = 0; !myr_nic_try_lock(nic); ++i) {
        if (try_lock_broken(nic)) {
            return false;
        }
        if (i < LOCK_SPINS) {
            myr_relax();
        } else {
            os_give_way();
        }
        if (0 == (i + 1) % MYR_NIC_LOCK_YIELDS) {
            myr_nic_inherit(nic);
        }
    }
    return true;
}

struct mcp_nic *myr_nic_enter(struct myr_nic *nic, struct mcp_board **board)
{
    pthread_mutex_lock(&nic->mutex);
    *board = &nic->board;
    return myr_nic_lock(nic) ? &nic->shared->mcp : NULL;
}

void myr_nic_leave(struct myr_nic *nic)
{
    myr_nic_unlock(nic);
    myr_nic_flush(nic);
    pthread_mutex_unlock(&nic->mutex);
}

enum myr_status myr_nic_is_broken(struct myr_error *error)
{
    return myr_fail(error, MYR_ERR_GONE, 0,
                    "the node's NIC is broken: a process was killed while it ran it");
}

bool myr_nic_broken(struct myr_nic *nic)
{
    myr_nic_inherit(nic); /* those who wait may have no packet to take the lock for */
    return 0 != (myr_observe(&nic->shared->lock) & MYR_NIC_BROKEN);
}

void myr_nic_bury(struct myr_nic *nic, uint32_t pid)
{
    struct myr_shared_nic *shared = nic->shared;
    const uint32_t dead = myr_segment_number_of(nic->segment, pid);
    uint32_t runner = dead, sleeper = dead, watch = dead;
    if (0 == dead) {
        return; /* it had not come in yet */
    }
    break_lock_of(shared, dead);
    (void)atomic_compare_exchange_strong(&shared->runner, &runner, 0);
    (void)atomic_compare_exchange_strong(&shared->sleeper, &sleeper, 0);
    (void)atomic_compare_exchange_strong(&shared->watch, &watch, 0);
}
