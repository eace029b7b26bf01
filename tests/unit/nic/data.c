/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that data of collectives across nodes arrive whole, and stay unchanged until the process's
 * next arrival.
 */
#include <stdatomic.h>

#include "tests/unit/crew.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/play.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

static void one_epoch(struct member *member)
{
    const uint32_t epoch = arrive_with_data(member);
    if (0 == crew_below(&member->random, 3)) {
        crew_dawdle(&member->random);
        while (!myr_nic_group_test(&member->group, epoch)) {
            (void)myr_soft_poll(member->nic);
            sched_yield();
        }
    } else {
        CREW_CHECK(myr_nic_group_wait(&member->group, epoch, 0), "epoch %u does not complete",
                   epoch);
    }
    expect_blocks(member, epoch);
    crew_dawdle(&member->random);
    expect_blocks(member, epoch); /* they stay until the next arrival */
}

static void do_data(uint32_t rank, void *context)
{
    play_groups(context, rank, one_epoch);
}

static void run_data(uint32_t nodes, uint32_t locals, uint32_t generations, uint32_t epochs)
{
    struct world *world = make_world(nodes, locals, epochs);
    world->unit_most = UNIT_MOST;
    world->generations = generations;
    if (!crew_run(size_of(world), do_data, world)) {
        fail_msg("%u nodes with %u processes each", nodes, locals);
    }
    for (uint32_t n = 0; n < nodes; ++n) { /* one process builds each block */
        assert_int_equal(atomic_load(&world->built[n]), generations * epochs);
    }
    end_world(world);
}

TEST(data_across_nodes)
{
    for (uint32_t nodes = 1; nodes <= MOST_NODES; ++nodes) {
        for (uint32_t locals = 1; locals <= MOST_LOCALS; ++locals) {
            run_data(nodes, locals, 10, 30 / locals);
        }
    }
    run_data(2, 2, 150, 1);
}
