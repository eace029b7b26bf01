/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that barriers across nodes neither hang nor release a process early: for all sizes, over
 * IPv4 and IPv6, with waiting processes that sleep, and with one that is stopped.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libmyr/groups/group_ops.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/machine.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

static void run(uint32_t nodes, uint32_t locals, uint32_t epochs,
                const struct myr_wait_policy *policy)
{
    struct world *world = make_world(nodes, locals, epochs);
    world->policy = policy;
    if (!crew_run(size_of(world), do_barriers, world)) {
        fail_msg("%u nodes with %u processes each", nodes, locals);
    }
    end_world(world);
}

TEST(barriers_across_nodes)
{
    for (uint32_t nodes = 2; nodes <= MOST_NODES; ++nodes) {
        for (uint32_t locals = 1; locals <= MOST_LOCALS; ++locals) {
            run(nodes, locals, 2000 / locals, &yielding);
        }
    }
}

/* All nodes use IPv6 only, or some have IPv4 only and others both. */
TEST(barriers_over_ipv6)
{
    need_ipv6();
    for (uint32_t four = 0; four <= 2; ++four) {
        struct world *world = make_world(MOST_NODES, 2, 500);
        for (uint32_t n = 0; n < MOST_NODES; ++n) {
            world->network[n] = n < four ? "127.0.0.1" : 0 == four ? "::1" : "::1,127.0.0.1";
        }
        assert_true(crew_run(size_of(world), do_barriers, world));
        end_world(world);
    }
}

TEST(barriers_asleep)
{
    run(2, 1, 500, &sleeping);
    run(2, 3, 300, &sleeping);
    run(4, 2, 200, &sleeping);
}

/* A node arrives in an epoch only when its last process has reached it. */
TEST(a_node_arrives_with_its_last_process)
{
    enum { AHEAD = 50 };
    uint64_t random = crew_seed();
    myr_word arrivals[MOST_LOCALS];
    for (uint32_t round = 0; round < 20000; ++round) {
        struct myr_nic_group group = {.arrivals = arrivals, .locals = 1 + round % MOST_LOCALS};
        const uint32_t first = round % 2 ? (uint32_t)crew_random(&random) : UINT32_MAX - AHEAD / 2;
        uint32_t least = AHEAD;
        for (uint32_t i = 0; i < group.locals; ++i) {
            const uint32_t ahead = crew_below(&random, AHEAD);
            atomic_init(&arrivals[i], first + ahead);
            least = ahead < least ? ahead : least;
        }
        group.local = crew_below(&random, group.locals);
        group.epoch = arrivals[group.local];
        assert_int_equal(myr_group_arrived(&group), first + least);
        assert_true(myr_group_all_arrived(&group, first + least));
        assert_true(group.epoch == first + least ||
                    !myr_group_all_arrived(&group, first + least + 1));
    }
}

TEST(one_is_stopped)
{
    enum { STOPS = 5 };
    struct world *world = make_world(3, 2, UINT32_MAX);
    pid_t pids[MOST];
    uint64_t random = world->seed;
    for (uint32_t r = 0; r < size_of(world); ++r) {
        pids[r] = crew_fork(do_barriers, r, world);
    }
    for (uint32_t stop = 1; stop <= STOPS; ++stop) {
        const uint32_t victim = crew_below(&random, size_of(world));
        while (atomic_load(&world->ledger[victim]) < 100 * stop) {
            usleep(100);
        }
        int status;
        kill(pids[victim], SIGSTOP);
        assert_int_equal(waitpid(pids[victim], &status, WUNTRACED), pids[victim]);
        assert_true(WIFSTOPPED(status));
        const uint32_t there = atomic_load(&world->ledger[victim]);
        usleep(20000); /* others may reach their next barrier meanwhile */
        for (uint32_t r = 0; r < size_of(world); ++r) {
            assert_true(atomic_load(&world->ledger[r]) <= there + 1);
        }
        if (STOPS == stop) {
            atomic_store(&world->epochs, there + 100); /* none can have got so far */
        }
        kill(pids[victim], SIGCONT);
    }
    for (uint32_t r = 0; r < size_of(world); ++r) {
        assert_true(crew_join(pids[r]));
    }
    end_world(world);
}
