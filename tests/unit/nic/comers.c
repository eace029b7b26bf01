/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that all processes of a node attach to the same NIC, even if the process that opened it
 * first exits or is killed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

static void open_and_compare(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    open_nic(&member, world, rank);
    meet(world, 0, size_of(world));
    struct myr_nic_name name;
    myr_soft_get_name(member.nic, &name);
    if (0 == rank) {
        world->name[0] = name;
    }
    meet(world, 1, size_of(world));
    CREW_CHECK(0 == memcmp(&name, &world->name[0], sizeof(name)), "another NIC");
    CREW_CHECK(1 == name.count && htonl(INADDR_LOOPBACK) == mcp_ip_to_4(&name.address[0].ip) &&
                   MCP_IP_BEFORE_4 + 8 == name.address[0].prefix && 0 != name.address[0].port &&
                   0 != name.key,
               "a wrong name");
    meet(world, 2, size_of(world));
    close_nic(&member);
}

TEST(all_open_one_nic)
{
    struct world *world = make_world(1, 8, 0);
    assert_true(crew_run(8, open_and_compare, world));
    end_world(world);
}

/* Rank 0 opens its node's NIC before the others do. Then it leaves, or waits to be killed. */
static void creator(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    open_nic(&member, world, rank);
    atomic_store(&world->come[10], 1);
    await_come(world, 11, size_of(world) + 1); /* the others have attached */
    if (world->thread) {                       /* this flag means that the creator closes the NIC */
        close_nic(&member);
        return;
    }
    for (;;) {
        pause();
    }
}

static void after_the_creator(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    await_come(world, 10, 1);
    /* The creator's node has one process more than the group. */
    open_nic(&member, world, rank);
    atomic_fetch_add(&world->come[11], 1);
    if (0 == member.local) {
        myr_soft_get_name(member.nic, &world->name[member.node]);
    }
    await_go(world, 1); /* the creator has exited */
    join_group(&member, 0);
    for (uint32_t e = 0; e < world->epochs; ++e) {
        one_barrier(&member);
    }
    await_come(world, 12, 1); /* the latecomer has got the socket from one of these processes */
    end(&member, 1);
}

/* Open the NIC after its creator has exited, so that another process must provide the socket. */
static void latecomer(uint32_t rank, void *context)
{
    struct world *world = context;
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_nic_name name;
    struct myr_error error = {0};
    (void)rank;
    await_come(world, 10, 1);
    CREW_CHECK(MYR_OK == myr_segment_join(world->dir[0], 0, &segment, &error), "%s", error.text);
    atomic_fetch_add(&world->come[11], 1);
    await_go(world, 1);
    CREW_CHECK(MYR_OK == myr_soft_open(segment, &loopback, &nic, &error), "%s", error.text);
    atomic_store(&world->come[12], 1);
    myr_soft_get_name(nic, &name);
    await_come(world, 0, size_of(world));
    CREW_CHECK(name.key == world->name[0].key, "another NIC");
    myr_soft_close(nic);
    myr_segment_leave(segment);
}

static void the_creator_exits(bool politely)
{
    struct world *world = make_world(2, 2, 100);
    pid_t pids[4];
    world->thread = politely;
    const pid_t first = crew_fork(creator, 0, world);
    for (uint32_t r = 0; r < 4; ++r) {
        pids[r] = crew_fork(after_the_creator, r, world);
    }
    const pid_t late = crew_fork(latecomer, 0, world);
    await_come(world, 11, size_of(world) + 1);
    if (!politely) {
        kill(first, SIGKILL);
    }
    assert_int_equal(crew_join(first), politely);
    atomic_store(&world->go, 1);
    for (uint32_t r = 0; r < 4; ++r) {
        assert_true(crew_join(pids[r]));
    }
    assert_true(crew_join(late));
    end_world(world);
}

TEST(the_creator_leaves)
{
    the_creator_exits(true);
}

TEST(the_creator_is_killed)
{
    the_creator_exits(false);
}

/* A process of one generation. Ranks 0 and 1 are on different nodes. */
static void one_generation(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    begin(&member, world, rank);
    for (uint32_t e = 0; e < world->epochs; ++e) {
        one_barrier(&member);
    }
    meet(world, 1, size_of(world));
    myr_nic_group_leave(&member.group);
    if (!world->thread) {
        raise(SIGKILL);
    }
    close_nic(&member);
}

/* The segments outlive all processes that have their NICs open. The next processes create the NICs
 * again, with other names. */
TEST(the_next_generation_creates_it_again)
{
    enum { GENERATIONS = 6 };
    struct world *world = make_world(2, 1, 20);
    struct myr_segment *segment[2];
    struct myr_error error = {0};
    uint64_t before = 0;
    for (uint32_t n = 0; n < 2; ++n) {
        assert_int_equal(myr_segment_join(world->dir[n], 4 << 20, &segment[n], &error), MYR_OK);
    }
    for (uint32_t g = 0; g < GENERATIONS; ++g) {
        pid_t pids[2];
        world->thread = 0 == g % 2; /* whether they close the NIC, or are killed */
        for (uint32_t r = 0; r < 2; ++r) {
            pids[r] = crew_fork(one_generation, r, world);
        }
        for (uint32_t r = 0; r < 2; ++r) {
            assert_int_equal(crew_join(pids[r]), world->thread);
        }
        assert_int_not_equal(world->name[0].key, before);
        before = world->name[0].key;
        atomic_store(&world->come[0], 0);
        atomic_store(&world->come[1], 0);
    }
    for (uint32_t n = 0; n < 2; ++n) {
        myr_segment_leave(segment[n]);
    }
    end_world(world);
}

/* Many processes open the NIC one after the other, and all but the last one close it again. */
enum { MANY = 20 };

static void one_of_many(uint32_t rank, void *context)
{
    struct world *world = context;
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_error error = {0};
    await_go(world, rank > 0); /* until the newcomer has found the segment */
    await_come(world, 10, rank);
    CREW_CHECK(MYR_OK == myr_segment_join(world->dir[0], 4 << 20, &segment, &error), "%s",
               error.text);
    CREW_CHECK(MYR_OK == myr_soft_open(segment, &loopback, &nic, &error), "%s", error.text);
    atomic_fetch_add(&world->come[10], 1);
    await_come(world, 10, MANY);
    await_go(world, MANY - 1 == rank ? 2 : 0);
    myr_soft_close(nic);
    myr_segment_leave(segment);
}

/* Only the remaining process has the socket, and a newcomer gets it from that process. */
TEST(the_last_of_many_has_the_socket)
{
    struct world *world = make_world(1, 1, 0);
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_error error = {0};
    pid_t pids[MANY];
    for (uint32_t r = 0; r < MANY; ++r) {
        pids[r] = crew_fork(one_of_many, r, world);
    }
    await_come(world, 10, 1);
    assert_int_equal(myr_segment_join(world->dir[0], 4 << 20, &segment, &error), MYR_OK);
    atomic_store(&world->go, 1);
    for (uint32_t r = 0; r < MANY - 1; ++r) {
        assert_true(crew_join(pids[r]));
    }
    const enum myr_status status = myr_soft_open(segment, &loopback, &nic, &error);
    atomic_store(&world->go, 2);
    assert_true(crew_join(pids[MANY - 1]));
    if (MYR_OK != status) {
        fail_msg("%s", error.text);
    }
    myr_soft_close(nic);
    myr_segment_leave(segment);
    end_world(world);
}
