/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a thread that runs the NIC completes barriers without help of the processes, and that
 * threads of one process can share a NIC.
 */
#include <unistd.h>

#include "libmyr/soft/nic_inspect.h"
#include "libmyr/soft/nic_thread.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

/* All processes arrive, and only check the release without polling. */
static void arrive_and_inspect(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct myr_soft_thread *thread = NULL;
    struct myr_error error = {0};
    begin(&member, world, rank);
    if (world->thread) {
        CREW_CHECK(MYR_OK == myr_soft_thread_start(member.nic, MYR_SOFT_THREAD, &thread, &error),
                   "%s", error.text);
        world->unfit[rank] = NULL != thread; /* this flag means that the process has the thread */
    }
    for (uint32_t e = 1; e <= world->epochs; ++e) {
        (void)myr_nic_group_arrive(&member.group);
        while (world->thread && !myr_nic_group_test(&member.group, e)) {
            usleep(100);
        }
    }
    meet(world, 2, size_of(world));
    if (!world->thread) {
        /* All have arrived and all messages are sent, but no process has received them. */
        CREW_CHECK(!myr_nic_group_test(&member.group, 1), "the NIC was run");
    }
    meet(world, 3, size_of(world));
    while (!myr_nic_group_test(&member.group, world->epochs)) {
        (void)myr_soft_poll(member.nic);
    }
    meet(world, 4, size_of(world));
    myr_soft_thread_stop(thread);
    meet(world, 5, size_of(world));
    end(&member, 6);
}

TEST(a_thread_runs_the_nic)
{
    for (uint32_t locals = 1; locals <= 2; ++locals) {
        struct world *world = make_world(2, locals, 1);
        assert_true(crew_run(size_of(world), arrive_and_inspect, world));
        end_world(world);

        world = make_world(2, locals, 200);
        world->thread = true;
        assert_true(crew_run(size_of(world), arrive_and_inspect, world));
        for (uint32_t n = 0; n < 2; ++n) { /* one thread on each node */
            uint32_t threads = 0;
            for (uint32_t l = 0; l < locals; ++l) {
                threads += world->unfit[n * locals + l];
            }
            assert_int_equal(threads, 1);
        }
        end_world(world);
    }
}

TEST(threads_come_and_go)
{
    struct member member;
    struct myr_soft_thread *thread, *another;
    struct myr_error error = {0};
    struct myr_soft_view view;
    open_alone(&member, 1 << 20);
    const enum myr_soft_runner kinds[] = {MYR_SOFT_THREAD, MYR_SOFT_DAEMON};
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(myr_soft_thread_start(member.nic, kinds[k], &thread, &error), MYR_OK);
        assert_non_null(thread);
        assert_int_equal(myr_soft_thread_start(member.nic, MYR_SOFT_THREAD, &another, &error),
                         MYR_OK);
        assert_null(another); /* there is one already */
        assert_int_equal(myr_inspect_nic(myr_segment_fd(member.segment), &view, &error), MYR_OK);
        assert_int_equal(view.runs_as, kinds[k]);
        assert_int_equal(view.runner, getpid());
        myr_soft_view_free(&view);
        myr_soft_thread_stop(another);
        myr_soft_thread_stop(thread);
        assert_int_equal(myr_inspect_nic(myr_segment_fd(member.segment), &view, &error), MYR_OK);
        assert_int_equal(view.runs_as, MYR_SOFT_POLLED);
        myr_soft_view_free(&view);
    }
    close_nic(&member);
}

static void poll_now_and_then(uint32_t rank, void *context)
{
    const struct member *member = context;
    uint64_t random = member->random + rank;
    for (uint32_t i = 0; i < 2000; ++i) {
        (void)myr_soft_poll_now_and_then(member->nic);
        crew_dawdle(&random);
    }
}

/* Progress functions of several threads share a NIC; ThreadSanitizer checks this. */
TEST(threads_poll)
{
    struct member member;
    open_alone(&member, 1 << 20);
    member.random = crew_seed();
    assert_true(crew_run(4, poll_now_and_then, &member));
    close_nic(&member);
}
