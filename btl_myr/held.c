/* SPDX-License-Identifier: BSD-3-Clause */
/* Prevents osc/rdma from waiting for a lock that its process holds itself.
 *
 * A lock of osc/rdma is a word in memory. To acquire the lock exclusively, a process sets the
 * highest bit of the word by a compare-and-swap. To acquire it as shared, a process adds 1; if the
 * highest bit was set, it subtracts 1 and tries again.
 *
 * To access a dynamic window, osc/rdma of 4.1.1 to 4.1.4 first acquires exclusively the lock that
 * protects the target's list of attached memory. Before it releases this lock, it acquires it again
 * as shared, and would retry this forever. (If all members of the window are on one node, osc/rdma
 * does not use this lock.) Therefore, when a process adds 1 to a lock that it holds exclusively,
 * this file clears the highest bit in the value that is returned to osc/rdma, so that the attempt
 * succeeds. This is safe, because no other process can hold the lock meanwhile.
 *
 * However, osc/rdma also passes the program's own atomic operations to the BTL, and a program may
 * change its words in the same way as osc/rdma changes a lock. What distinguishes a lock is the
 * list of attached memory that follows it. Therefore the process that executes the compare-and-swap
 * checks whether such a list follows the word.
 *
 * Several threads of a process may access windows at the same time, and hold a lock each. The locks
 * that the process holds exclusively are therefore kept in a list. A lock is removed from the list
 * when the process acquires it as shared, that is, with the next addition of 1. */
#include "btl_myr/btl_myr.h"

#include <stdlib.h>

static const uint64_t ALONE = UINT64_C(1) << 63;

/* A lock that this process holds. */
struct held {
    struct held *next;
    const struct mca_btl_base_endpoint_t *endpoint;
    uint64_t address;
};
static struct held *first; /* the list is protected by the component's `lock` */

/* The beginning of osc/rdma's record of a process (ompi_osc_rdma_state_t), from the lock on. */
struct regions {
    uint64_t lock;
    int64_t unit;
    uint64_t count; /* in its lower half */
    struct {
        uint64_t base, bytes;
        struct mca_btl_base_registration_handle_t handle;
    } first;
};

bool mca_btl_myr_may_lock_regions(const struct mca_btl_myr_atomic *atomic, uint64_t address,
                                  const struct mca_btl_base_registration_handle_t *handle)
{
    return atomic->swaps && 0 == atomic->compare && ALONE == atomic->operand && NULL != handle &&
           address >= handle->base && address - handle->base <= handle->bytes &&
           handle->bytes - (address - handle->base) >= sizeof(struct regions);
}

/* If the word belongs to the program, the words behind it may belong to other objects, because
 * osc/rdma extends the memory that a program attaches to whole pages. They can be read, as
 * mca_btl_myr_may_lock_regions() has checked that they are in this memory, but AddressSanitizer
 * would report an overflow. */
__attribute__((no_sanitize("address"))) bool mca_btl_myr_locks_regions(uint64_t address)
{
    const struct regions *regions = (const struct regions *)(uintptr_t)address;
    /* The list of attached memory of a dynamic window is recognised by its contents. The
     * displacement unit is 0 (none) or 1 (bytes), and each range of memory is stored twice.
     * Requiring that the address of a range differs from its size excludes a program's array of
     * equal words. */
    return regions->unit >= 0 && regions->unit <= 1 && 0 != (uint32_t)regions->count &&
           0 != regions->first.bytes && regions->first.base != regions->first.bytes &&
           regions->first.base == regions->first.handle.base &&
           regions->first.bytes == regions->first.handle.bytes;
}

/* Removes a lock from the list. Returns false if it is not in the list. Called with the component's
 * `lock`. */
static bool forget_lock(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address)
{
    struct held **at = &first;
    while (NULL != *at && ((*at)->endpoint != endpoint || (*at)->address != address)) {
        at = &(*at)->next;
    }
    struct held *held = *at;
    if (NULL == held) {
        return false;
    }
    *at = held->next;
    free(held);
    return true;
}

/* If memory is exhausted, the lock is not remembered, so the process will wait for itself
 * forever. */
static void remember_lock(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address)
{
    struct held *held = malloc(sizeof(*held));
    if (NULL != held) {
        *held = (struct held){.next = first, .endpoint = endpoint, .address = address};
        first = held;
    }
}

bool mca_btl_myr_waits_for_itself(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                                  const struct mca_btl_myr_atomic *atomic)
{
    OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
    const bool waits = !atomic->swaps && forget_lock(endpoint, address) && 1 == atomic->operand;
    OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    return waits;
}

uint64_t mca_btl_myr_found(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                           bool waits_for_itself, const struct mca_btl_myr_atomic *result)
{
    if (result->locks_regions) {
        OPAL_THREAD_LOCK(&mca_btl_myr_component.lock);
        remember_lock(endpoint, address);
        OPAL_THREAD_UNLOCK(&mca_btl_myr_component.lock);
    }
    return waits_for_itself ? result->operand & ~ALONE : result->operand;
}
