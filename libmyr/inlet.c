/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages past the NIC; see inlet.h.
 *
 * Invariant: tickets from `taken` on and below `next` are under way, never more than there are
 * slots. Senders keep the receiver's count as they last saw it, as it only grows, and read it again
 * when it seems that there is no room; the receiver writes it now and then.
 */
#include "libmyr/inlet.h"

#include <stddef.h>

enum { TAKEN_AT_ONCE = MYR_INLET_SLOTS / 4 /* messages, before senders are told */ };

void myr_inlet_open(struct myr_inlet *inlet, uint32_t key)
{
    myr_publish(&inlet->key, key);
}

void myr_inlet_close(struct myr_inlet *inlet)
{
    myr_publish(&inlet->key, 0);
}

/* ---- senders ---- */

/* (What was taken may be more than a ticket that others have had meanwhile.) */
static bool has_room(struct myr_outlet *outlet, uint64_t ticket)
{
    if ((int64_t)(ticket - outlet->taken) >= MYR_INLET_SLOTS) {
        outlet->taken = atomic_load_explicit(&outlet->inlet->taken, memory_order_acquire);
    }
    return (int64_t)(ticket - outlet->taken) < MYR_INLET_SLOTS;
}

void *myr_outlet_begin(struct myr_outlet *outlet)
{
    struct myr_inlet *inlet = outlet->inlet;
    if (NULL == inlet || outlet->key != myr_glance(&inlet->key)) {
        return NULL;
    }
    uint64_t ticket = atomic_load_explicit(&inlet->next, memory_order_relaxed);
    do {
        if (!has_room(outlet, ticket)) {
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&inlet->next, &ticket, ticket + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    outlet->ticket = ticket;
    return inlet->slot[ticket % MYR_INLET_SLOTS].message;
}

void myr_outlet_end(struct myr_outlet *outlet, uint32_t bytes)
{
    struct myr_slot *slot = &outlet->inlet->slot[outlet->ticket % MYR_INLET_SLOTS];
    slot->bytes = bytes;
    myr_publish(&slot->turn, (uint32_t)outlet->ticket + 1);
}

/* ---- the receiver ---- */

const void *myr_intake_look(const struct myr_intake *intake, uint32_t *bytes)
{
    if (NULL == intake->inlet) {
        return NULL;
    }
    const struct myr_slot *slot = &intake->inlet->slot[intake->taken % MYR_INLET_SLOTS];
    if (myr_observe(&slot->turn) != (uint32_t)intake->taken + 1) {
        return NULL;
    }
    *bytes = slot->bytes < MYR_SHORT_BYTES ? slot->bytes : MYR_SHORT_BYTES;
    return slot->message;
}

void myr_intake_done(struct myr_intake *intake)
{
    ++intake->taken;
    if (0 == intake->taken % TAKEN_AT_ONCE) {
        atomic_store_explicit(&intake->inlet->taken, intake->taken, memory_order_release);
    }
}
