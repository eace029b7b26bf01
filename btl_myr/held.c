/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects that osc/rdma waits for a lock that the same process already holds.
 *
 * A lock is a word. A process acquires it in exclusive mode by setting its highest bit with a
 * compare-and-swap, and in shared mode by adding 1. If the highest bit was already set, it
 * subtracts 1 and tries again. osc/rdma of 4.1.1 to 4.1.4 protects the list of memory of a dynamic
 * window by such a lock. It acquires this lock exclusively, and then acquires it in shared mode
 * before it has released it. Within a node it takes another path, but across nodes it would retry
 * forever. Therefore, if a process retries while it holds the lock exclusively, the highest bit is
 * removed from the result that it gets. This is safe, because no other process can hold the lock
 * meanwhile.
 *
 * Processes whose peers are all on the same node are exempt. For windows within a node, osc/rdma
 * passes atomic operations of the program to the BTL, and the program may modify its own words in
 * the same way.
 *
 * Only the lock that was acquired last is recorded. The record is deleted when the lock is
 * released, by adding the highest bit, or when any other value is added. */
#include "btl_myr/btl_myr.h"

static const uint64_t ALONE = UINT64_C(1) << 63;

enum step { TAKEN, TRIED, WITHDRAWN };

static struct {
    const struct mca_btl_base_endpoint_t *endpoint; /* NULL: no lock is held */
    uint64_t address;
    enum step step;
} held; /* protected by the component's `lock` */

/* Tracks an addition of `operand` by the holder of the lock. Returns true if this is another
 * attempt to acquire the same lock. Called with the component's lock held. */
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
