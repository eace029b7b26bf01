/* SPDX-License-Identifier: BSD-3-Clause */
/* See nics_fake.h. */
#include "tests/unit/nics_fake.h"

#include <sched.h>

#include "libmyr/node/process.h"
#include "libmyr/node/segment.h"
#include "libmyr/seal.h"
#include "libmyr/soft/nic_thread.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { MEMORY = 64 << 20 };

struct mcp_nic *myr_soft_enter(struct myr_soft_nic *nic, struct mcp_board **board)
{
    uint32_t nobody = 0;
    while (!atomic_compare_exchange_strong(nic->lock, &nobody, 1)) {
        nobody = 0;
        sched_yield();
    }
    ++nic->entries;
    *board = &nic->below->board;
    return nic->below->mcp;
}

void myr_soft_leave(struct myr_soft_nic *nic)
{
    CREW_CHECK(1 == myr_load_acquire(nic->lock), "left without being entered");
    myr_store_release(nic->lock, 0);
}

bool myr_soft_entered(const struct myr_soft_nic *nic)
{
    return 1 == myr_load_acquire(nic->lock);
}

enum myr_status myr_soft_is_broken(const struct myr_soft_nic *nic, struct myr_error *error)
{
    (void)nic;
    return myr_fail(error, MYR_ERR_GONE, 0, "the NIC is broken");
}

void myr_soft_expect_messages(struct myr_soft_nic *nic)
{
    (void)nic;
}

struct myr_segment *myr_soft_segment(const struct myr_soft_nic *nic)
{
    return nic->segment;
}

void myr_soft_get_name(const struct myr_soft_nic *nic, struct myr_nic_name *name)
{
    *name = (struct myr_nic_name){.key = nic->below->mcp->key, .count = 1};
    name->address[0].ip = mcp_ip_of_4(nic->below->link);
}

mcp_link myr_soft_link(struct myr_soft_nic *nic, const struct myr_nic_name *name)
{
    assert_int_not_equal(myr_load_acquire(nic->lock), 0);
    return 0 == name->count ? MCP_LINK_SENDER
                            : wire_hold(nic->below, mcp_ip_to_4(&name->address[0].ip));
}

void myr_soft_address_of(const struct myr_soft_nic *nic, mcp_link link, char text[MCP_ADDRESS_TEXT])
{
    assert_int_equal(myr_load_acquire(nic->lock), 1);
    snprintf(text, MCP_ADDRESS_TEXT, "link %u", link);
}

uint32_t myr_soft_mtu(const struct myr_soft_nic *nic, const struct myr_nic_name *name)
{
    void (*meanwhile)(void *) = nic->meanwhile;
    (void)name;
    assert_int_equal(myr_load_acquire(nic->lock), 0);
    ((struct myr_soft_nic *)(uintptr_t)nic)->meanwhile = NULL;
    if (NULL != meanwhile) {
        meanwhile(nic->context);
    }
    return 0;
}

uint32_t myr_soft_poll(struct myr_soft_nic *nic)
{
    assert_int_equal(myr_load_acquire(nic->lock), 0);
    ++nic->polls;
    return wire_next(nic->below->wire);
}

uint32_t myr_soft_poll_now_and_then(struct myr_soft_nic *nic)
{
    return myr_soft_poll(nic);
}

/* There is no watch, because ports of these tests do not ask for one. */
enum myr_status myr_soft_watch_start(struct myr_soft_nic *nic, uint64_t every_ns,
                                     struct myr_soft_watch **watch, struct myr_error *error)
{
    (void)nic;
    (void)every_ns;
    *watch = NULL;
    return myr_fail(error, MYR_ERR_NOT_THERE, 0, "there is no watch");
}

void myr_soft_watch_stay(struct myr_soft_watch *watch)
{
    (void)watch;
}

void myr_soft_watch_stop(struct myr_soft_watch *watch)
{
    (void)watch;
}

/* ---- set-up ---- */

static bool has_ended(struct mcp_board *board, uint32_t process)
{
    (void)board;
    return myr_process_ended(process, 0, false);
}

struct nics_fake *nics_begin(uint64_t seed)
{
    struct nics_fake *w = calloc(1, sizeof(*w));
    wire_begin(&w->wire, NICS, MEMORY, seed);
    for (int n = 0; n < NICS; ++n) {
        struct myr_soft_nic *nic = &w->nics[n];
        struct wire_nic *below = &w->wire.nics[n];
        *nic = (struct myr_soft_nic){.below = below, .memory = below->board.memory};
        below->board.ops.has_ended = has_ended;
        nic->lock = crew_memory(sizeof(*nic->lock));
        assert_int_equal(myr_segment_join(NULL, MEMORY, &nic->segment, NULL), MYR_OK);
        below->board.memory = myr_segment_base(nic->segment);
        below->board.memory_bytes = (uint32_t)myr_segment_size(nic->segment);
        const uint64_t key = below->mcp->key;
        const size_t bytes = mcp_nic_bytes(WIRE_PORTS, WIRE_CONNECTIONS);
        below->mcp = myr_segment_alloc(nic->segment, bytes);
        memset(below->mcp, 0, bytes);
        mcp_init(below->mcp, key, WIRE_PORTS, WIRE_CONNECTIONS);
        struct myr_key_pair pair;
        myr_key_pair_of(nic->segment, &pair);
        below->mcp->messages.known_only = myr_has_key(&pair.public);
    }
    return w;
}

void nics_end(struct nics_fake *w)
{
    for (int n = 0; n < NICS; ++n) {
        w->nics[n].below->board.memory = w->nics[n].memory;
        myr_segment_leave(w->nics[n].segment);
        crew_memory_free(w->nics[n].lock, sizeof(*w->nics[n].lock));
    }
    wire_end(&w->wire);
    free(w);
}

bool myr_soft_broken(struct myr_soft_nic *nic)
{
    (void)nic;
    return false;
}
