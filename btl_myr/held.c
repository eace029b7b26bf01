/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of osc/rdma that this process holds: so that it does not wait for itself.
 *
 * A lock is a word. A process takes it exclusively by setting its highest bit with a
 * compare-and-swap, and shared by adding 1. If the highest bit was set by then, it subtracts 1 and
 * tries again. osc/rdma of 4.1.1 to 4.1.4 takes the lock of a dynamic window's list of memory
 * alone, and then wants to share it before it gives it back. On one node it has other ways, but
 * across nodes it would try for ever. So a process that tries again while it holds the lock alone
 * is not told of the highest bit. Nobody else can have that lock meanwhile, so nothing is lost.
 *
 * One word is remembered: the last that was taken. It is forgotten when it is given back, which is
 * an addition of the highest bit, or when anything else is added.
 */
#include "btl_myr/btl_myr.h"

static const uint64_t ALONE = UINT64_C(1) << 63;

enum step { TAKEN, TRIED, WITHDRAWN };

static struct {
    const struct mca_btl_base_endpoint_t *endpoint; /* NULL: none is held */
    uint64_t address;
    enum step step;
} held; /* the component's `lock` is for it, too */

/* The next step of who holds it, who adds `operand`. Is it another try? Locked. */
static bool tries_again(uint64_t operand)
{
    if (TAKEN == held.step && 1 == operand) {
        held.step = TRIED;
    } else if (TRIED == held.step && UINT64_MAX == operand) {
        held.step = WITHDRAWN;
    } else if (WITHDRAWN == held.step && 1 == operand) {
        return true;
    } else if (WITHDRAWN != held.step || UINT64_MAX != operand) {
        held.endpoint = NULL;
    }
    return false;
}

bool mca_btl_myr_waits_for_itself(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                                  const struct mca_btl_myr_atomic *atomic)
{
    bool does = false;
    OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
    if (held.endpoint == endpoint && held.address == address && !atomic->swaps) {
        does = tries_again(atomic->operand);
    }
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    return does;
}

uint64_t mca_btl_myr_found(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                           const struct mca_btl_myr_atomic *atomic, uint64_t found)
{
    if (atomic->swaps && 0 == found && 0 == atomic->compare && ALONE == atomic->operand) {
        OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
        held.endpoint = endpoint;
        held.address = address;
        held.step = TAKEN;
        OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    }
    return atomic->waits_for_itself ? found & ~ALONE : found;
}
