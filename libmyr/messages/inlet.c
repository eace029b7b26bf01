/* SPDX-License-Identifier: BSD-3-Clause */
/* Short messages that bypass the NIC; see inlet.h.
 *
 * A sender draws a ticket, a number that determines the slot of its message. The receiver takes the
 * messages in the order of the tickets, and publishes their number (`taken`) from time to time.
 *
 * Invariants: the tickets from `taken` up to `next` are in use, and there are never more of them
 * than slots. Each ticket that a sender has drawn is completed, either by a message or as void, and
 * belongs to the port that was open when it was drawn.
 *
 * Each sender has a cached copy of `taken`. An old copy is safe, because `taken` only grows; if no
 * slot appears to be free, the sender loads `taken` again. */
#include "libmyr/messages/inlet.h"

#include "os/futex.h"

enum { TAKEN_AT_ONCE = MYR_INLET_SLOTS / 4 /* messages received before `taken` is published */ };

/* Returns whether all messages with tickets below `next` have been completed. Only the last ticket
 * of each slot has to be checked, because a sender can draw it only after the previous message in
 * this slot has been completed and taken. */
static bool all_ended(const struct myr_inlet *inlet, uint64_t next)
{
    for (uint64_t back = 1; back <= MYR_INLET_SLOTS && back <= next; ++back) {
        const uint64_t ticket = next - back;
        if (myr_load_acquire(&inlet->slot[ticket % MYR_INLET_SLOTS].sequence) !=
            (uint32_t)ticket + 1) {
            return false;
        }
    }
    return true;
}

/* An atomic addition of 0 reads the next ticket, and orders this read with respect to the
 * operations by which senders draw tickets. If a sender with an earlier ticket has not completed
 * its message, the inlet cannot be opened yet. A sender that draws a later ticket finds that the
 * former port is closed. Messages to the former port are treated as received. */
bool myr_inlet_open(struct myr_inlet *inlet, uint32_t key)
{
    const uint64_t next = atomic_fetch_add_explicit(&inlet->next, 0, memory_order_acq_rel);
    if (!all_ended(inlet, next)) {
        return false;
    }
    atomic_store_explicit(&inlet->taken, next, memory_order_release);
    myr_store_release(&inlet->napping, 0);
    myr_store_release(&inlet->key, key);
    return true;
}

struct myr_intake myr_intake_of(struct myr_inlet *inlet)
{
    return (struct myr_intake){inlet, atomic_load_explicit(&inlet->taken, memory_order_relaxed)};
}

void myr_inlet_close(struct myr_inlet *inlet)
{
    myr_store_release(&inlet->key, 0);
}

/* ---- senders ---- */

/* Returns whether the slot of the ticket is free. The difference is signed, because the cached
 * count may be greater than this ticket if other senders have drawn tickets meanwhile. */
static bool has_room(struct myr_outlet *outlet, uint64_t ticket)
{
    if ((int64_t)(ticket - outlet->taken) >= MYR_INLET_SLOTS) {
        outlet->taken = atomic_load_explicit(&outlet->inlet->taken, memory_order_acquire);
    }
    return (int64_t)(ticket - outlet->taken) < MYR_INLET_SLOTS;
}

void *myr_outlet_take(struct myr_outlet *outlet)
{
    struct myr_inlet *inlet = outlet->inlet;
    uint64_t ticket = atomic_load_explicit(&inlet->next, memory_order_relaxed);
    do {
        if (!has_room(outlet, ticket)) {
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&inlet->next, &ticket, ticket + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    outlet->ticket = ticket;
    if (outlet->key != myr_load_relaxed(&inlet->key)) { /* the port has just been closed */
        myr_outlet_end(outlet, MYR_INLET_VOID);
        return NULL;
    }
    return inlet->slot[ticket % MYR_INLET_SLOTS].message;
}

void myr_outlet_end(struct myr_outlet *outlet, uint32_t bytes)
{
    struct myr_inlet_slot *slot = &outlet->inlet->slot[outlet->ticket % MYR_INLET_SLOTS];
    slot->bytes = bytes;
    myr_store_release(&slot->sequence, (uint32_t)outlet->ticket + 1);
}

/* ---- the receiver ---- */

const void *myr_intake_check(struct myr_intake *intake, uint32_t *bytes)
{
    if (NULL == intake->inlet) {
        return NULL;
    }
    const struct myr_inlet_slot *slot;
    for (;;) {
        slot = &intake->inlet->slot[intake->taken % MYR_INLET_SLOTS];
        if (myr_load_acquire(&slot->sequence) != (uint32_t)intake->taken + 1) {
            return NULL;
        }
        if (MYR_INLET_VOID != slot->bytes) {
            break;
        }
        myr_intake_done(intake);
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

/* ---- the receiver's thread ---- */

/* Both sides modify `asleep` by an atomic exchange. Therefore either the waker finds that the
 * thread is about to sleep, or the thread finds the waker's message when it polls afterwards. */
void myr_inlet_nap(struct myr_inlet *inlet)
{
    myr_store_release(&inlet->napping, 1);
    (void)atomic_exchange(&inlet->asleep, 1);
}

bool myr_inlet_sleep(struct myr_inlet *inlet, uint32_t timeout_us)
{
    os_futex_wait((const void *)&inlet->asleep, 1, timeout_us);
    return 0 == atomic_exchange(&inlet->asleep, 0);
}

void myr_inlet_wake_sleeper(struct myr_inlet *inlet)
{
    if (0 != atomic_exchange(&inlet->asleep, 0)) {
        os_futex_wake((const void *)&inlet->asleep);
    }
}
