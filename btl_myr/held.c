/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects that osc/rdma waits for a lock that this process holds itself.
 *
 * A lock is a word. A process acquires it exclusively by setting its highest bit with a
 * compare-and-swap, and shared by adding 1. If it then finds that the highest bit was set, it
 * subtracts 1 and tries again. osc/rdma of 4.1.1 to 4.1.4 acquires the lock of a dynamic window's
 * list of memory exclusively, and acquires it shared before releasing it. Within a node it takes
 * another path, but across nodes it would retry forever. Therefore, if a process retries while it
 * holds the lock exclusively, the highest bit is removed from the result that it gets. This is
 * safe, because no other process can have the lock meanwhile.
 *
 * A process whose peers are all on its node is left out: for windows within a node, osc/rdma passes
 * the program's own atomic operations to the BTL, and the program may do the same with its words.
 *
 * Only the lock that was acquired last is remembered. It is forgotten when it is released, which is
 * an addition of the highest bit, or when anything else is added. */
#include "btl_myr/btl_myr.h"

static const uint64_t ALONE = UINT64_C(1) << 63;

enum step { TAKEN, TRIED, WITHDRAWN };

static struct {
    const struct mca_btl_base_endpoint_t *endpoint; /* NULL: no lock is held */
    uint64_t address;
    enum step step;
} held; /* protected by the component's `lock` */

/* Tracks an addition of `operand` by the holder of the lock. Returns true if this is a further
 * attempt to acquire that lock. Called with the component's lock held. */
static bool is_repeated_attempt(uint64_t operand)
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
        does = is_repeated_attempt(atomic->operand);
    }
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    return does;
}

uint64_t mca_btl_myr_found(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                           const struct mca_btl_myr_atomic *atomic, uint64_t found)
{
    const bool near = MYR_DRAIN_THIS_NODE == mca_btl_myr_component.peers;
    if (!near && atomic->swaps && 0 == found && 0 == atomic->compare && ALONE == atomic->operand) {
        OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
        held.endpoint = endpoint;
        held.address = address;
        held.step = TAKEN;
        OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    }
    return atomic->waits_for_itself ? found & ~ALONE : found;
}
