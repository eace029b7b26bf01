/* SPDX-License-Identifier: BSD-3-Clause */
/* See pair.h. */
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/pair.h"
#include "tests/unit/test.h"

uint32_t buffer_bytes(const struct pair *pair)
{
    return pair->plan.buffer_blocks * pair->plan.unit_most;
}

bool broadcasts(const struct pair *pair)
{
    return 0 != pair->plan.window;
}

bool has_buffer(const struct pair *pair)
{
    return 0 != pair->plan.buffer_blocks || broadcasts(pair);
}

struct mcp_bcast_slot *slot_in(const struct pair *pair, const void *window, uint32_t number)
{
    return (struct mcp_bcast_slot *)((uintptr_t)window + mcp_bcast_offset(pair->plan.window,
                                                                          pair->plan.slot_bytes,
                                                                          number));
}

struct mcp_bcast_slot *slot_here(const struct pair *pair, uint32_t number)
{
    return slot_in(pair, mcp_group_window(pair->group), number);
}

/* Open the buffers of both groups. The kernel's buffer still has the data of the user's earlier
 * group, which the reference copies. In a group that broadcasts it is cleared. */
static void open_buffers(struct pair *pair, int buffer)
{
    static const struct mcp_kernel_buffer empty;
    pair->group->buffer_blocks = pair->plan.buffer_blocks;
    pair->group->unit_most = pair->plan.unit_most;
    pair->group->window = pair->plan.window;
    pair->group->slot_bytes = pair->plan.slot_bytes;
    pair->buffer = NULL;
    pair->buffer_map = buffer;
    assert_int_equal(buffer >= 0, has_buffer(pair));
    if (buffer >= 0) {
        pair->buffer = mmap(NULL, sizeof(*pair->buffer), PROT_READ, MAP_SHARED, buffer, 0);
        assert_ptr_not_equal(pair->buffer, MAP_FAILED);
        for (uint32_t e = 0; e < 2; ++e) {
            memcpy(mcp_group_buffer(pair->group, e), pair->buffer->word[e], buffer_bytes(pair));
        }
    }
    if (broadcasts(pair)) {
        assert_memory_equal(pair->buffer, &empty, sizeof(empty));
    }
}

void open_pair(struct pair *pair, uint32_t uid, uint64_t *random)
{
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel_plan *plan = &pair->plan;
    plan->key = pair->key = crew_random(random) | 1;
    plan->secret.word[0] = crew_random(random);
    plan->secret.word[1] = crew_random(random);
    plan->uid = uid;
    plan->nodes = 0 == plan->nodes ? MOST_NODES : plan->nodes;
    struct mcp_kernel_seen seen;
    if (mcp_kernel_group_open(kernel, plan, &seen, why) < 0) {
        fail_msg("%s", why);
    }
    pair->page_map = seen.page;
    pair->page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, seen.page, 0);
    assert_ptr_not_equal(pair->page, MAP_FAILED);
    pair->line = &pair->page[seen.line];
    pair->bell = make_socket(0, peer_ip(crew_below(random, MOST_NODES)), PORT);
    pair->sleeps = false;
    pair->last = 0;
    memset(pair->room, 0, sizeof(pair->room));
    pair->group = (struct mcp_group *)pair->room;
    assert_true(mcp_group_bytes(plan->nsteps, plan->nsends, plan->nwaits) + sizeof(*pair->buffer) <=
                ROOM);
    mcp_group_init(pair->group, plan->key, plan->nodes, plan->node, plan->nsteps, plan->nsends,
                   plan->nwaits, 0);
    pair->group->secret = plan->secret;
    memcpy(mcp_group_steps(pair->group), plan->steps, plan->nsteps * sizeof(plan->steps[0]));
    /* an IP address serves as link here */
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const struct mcp_kernel_peer *peer = &plan->peers[p];
        mcp_group_sends(pair->group)[p] =
            (struct mcp_peer){peer->ip.word[3], peer->node, peer->slot, peer->blocks, peer->at};
    }
    open_buffers(pair, seen.buffer);
}

void close_pair(struct pair *pair)
{
    assert_true(mcp_kernel_group_close(kernel, pair->key, false));
    munmap(pair->page, PAGE);
    if (NULL != pair->buffer) {
        munmap(pair->buffer, sizeof(*pair->buffer));
    }
    close(pair->bell);
}

uint32_t done(const struct pair *pair)
{
    return myr_load_relaxed(&pair->group->done);
}

void expect_done(struct pair *pair)
{
    uint32_t inside = 0;
    while (done(pair) != myr_load_acquire(&pair->line->done)) {
        assert_true(myr_epoch_reached(done(pair), myr_load_acquire(&pair->line->done)));
        sched_yield();
    }
    assert_int_equal(mcp_kernel_group_waits(kernel, pair->key, &inside),
                     mcp_group_waits_now(pair->group));
    assert_int_equal(inside, done(pair));
    assert_int_equal(pair->line->failed, 0);
    for (uint32_t e = 0; NULL != pair->buffer && e < 2; ++e) {
        assert_memory_equal(pair->buffer->word[e], mcp_group_buffer(pair->group, e),
                            buffer_bytes(pair));
    }
    for (uint32_t n = 0; n < pair->plan.window; ++n) {
        struct mcp_bcast_slot *slot = slot_in(pair, pair->buffer, n), *here = slot_here(pair, n);
        assert_int_equal(slot->number, here->number);
        assert_int_equal(slot->sleepers, 0);
        assert_int_equal(0 != slot->heard_ms, 0 != here->heard_ms);
        assert_int_equal(slot->bytes, here->bytes);
        assert_memory_equal(slot + 1, here + 1, pair->plan.slot_bytes - sizeof(*slot));
    }
}
