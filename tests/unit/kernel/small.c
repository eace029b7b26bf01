/* SPDX-License-Identifier: BSD-3-Clause */
/* See small.h. */
#include <errno.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/plans.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

struct pair pair;

void plan_small(struct mcp_kernel_plan *plan)
{
    memset(plan, 0, sizeof(*plan));
    plan->nsteps = plan->nsends = plan->nwaits = 1;
    plan->steps[0] = (struct mcp_step){1, 1};
    plan->peers[0] = peer_at(1, 0);
    plan->peers[1] = plan->peers[0];
}

void open_small(uint32_t uid)
{
    uint64_t random = crew_seed() + 2;
    plan_small(&pair.plan);
    open_pair(&pair, uid, &random);
}

void open_small_with_data(uint32_t bytes)
{
    uint64_t random = crew_seed() + 13;
    plan_small(&pair.plan);
    pair.plan.buffer_blocks = 2;
    pair.plan.unit_most = bytes;
    pair.plan.peers[0].blocks = pair.plan.peers[1].blocks = pair.plan.peers[1].at = 1;
    open_pair(&pair, geteuid(), &random);
}

void open_small_with_window(uint32_t bytes)
{
    uint64_t random = crew_seed() + 17;
    plan_small(&pair.plan);
    pair.plan.nodes = 2;
    pair.plan.slot_bytes = mcp_bcast_slot_bytes(bytes);
    pair.plan.window = mcp_bcast_window(pair.plan.slot_bytes);
    pair.plan.peers[0].at = pair.plan.peers[1].at = 1;
    open_pair(&pair, geteuid(), &random);
}

struct mcp_header make_block(uint32_t number, uint32_t bytes, uint64_t *random)
{
    struct mcp_header header = make_header(&pair, MCP_BCAST, number, 1, 1);
    fill_carried(bytes, random);
    mcp_seal(&header, &pair.plan.secret, carried, bytes);
    return header;
}

void expect_untouched(void)
{
    expect_same(&pair);
    expect_nothing_more();
}

void start_epoch(uint32_t epoch)
{
    mcp_group_start(pair.group, epoch);
    play_here(&pair);
    ring(pair.bell, pair.key, MCP_RING_START, epoch);
    expect_same(&pair);
}

struct bell_of {
    uint32_t uid;
    uint8_t ring;
};

static void ring_as(uint32_t rank, void *context)
{
    const struct bell_of *of = context;
    (void)rank;
    CREW_CHECK(0 == setresuid(of->uid, of->uid, of->uid), "%s", strerror(errno));
    ring(make_socket(0, peer_ip(1), PORT), pair.key, of->ring, 1);
}

void ring_by(uint32_t uid, uint8_t what)
{
    struct bell_of of = {uid, what};
    assert_true(crew_join(crew_fork(ring_as, 0, &of)));
}
