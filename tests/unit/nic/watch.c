/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a watch, which runs the NIC on behalf of sleeping processes, receives their packets,
 * because otherwise their peers wait in vain.
 */
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libmyr/soft/nic_inspect.h"
#include "libmyr/soft/nic_thread.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/machine.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/strangers.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

static uint64_t received_by(const struct myr_soft_nic *nic)
{
    struct mcp_counters counters;
    myr_soft_count(nic, &counters);
    return counters.packets_received;
}

/* A NIC with a watch that sleeps until the test wakes it, and an unknown sender of packets. */
struct watched {
    struct world *world;
    struct member member;
    struct myr_nic_name name;
    struct myr_soft_watch *watch;
    int stranger;
};

static void begin_watched(struct watched *w)
{
    w->world = make_world(1, 1, 0);
    sem_init(&watch_time.asleep, 0, 0);
    sem_init(&watch_time.go, 0, 0);
    open_nic(&w->member, w->world, 0);
    myr_soft_get_name(w->member.nic, &w->name);
    w->stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    watch_time.held = true;
    assert_int_equal(myr_soft_watch_start(w->member.nic, 1, &w->watch, NULL), MYR_OK);
    sem_wait(&watch_time.asleep);
}

/* Let the watch sleep as usual from now on. */
static void let_watch_run(void)
{
    watch_time.held = false;
    sem_post(&watch_time.go);
}

static void end_watched(struct watched *w)
{
    myr_soft_watch_stop(w->watch);
    close(w->stranger);
    close_nic(&w->member);
    end_world(w->world);
}

/* A watch polls the NIC only if no process has polled it since the watch's last check. It does
 * not count as a polling process. */
TEST(a_watch_polls_if_no_process_does)
{
    struct watched w;
    struct myr_soft_view view;
    struct myr_soft_thread *thread;
    begin_watched(&w);
    assert_true(myr_soft_watch_is_here(w.watch));
    for (uint64_t round = 1; round <= 3; ++round) {
        const uint64_t before = received_by(w.member.nic);
        assert_int_equal(myr_soft_poll(w.member.nic), 0);
        send_forged_ask(w.stranger, &w.name);
        send_forged_ask(w.stranger, &w.name);
        wake_watch_once(); /* the NIC was polled just now */
        assert_int_equal(received_by(w.member.nic), before);
        wake_watch_once();
        assert_int_equal(received_by(w.member.nic), before + 2);
    }
    assert_int_equal(myr_inspect_nic(myr_segment_fd(w.member.segment), &view, NULL), MYR_OK);
    assert_int_equal(view.runs_as, MYR_SOFT_POLLED);
    myr_soft_view_free(&view);
    let_watch_run();
    assert_int_equal(myr_soft_thread_start(w.member.nic, MYR_SOFT_THREAD, &thread, NULL), MYR_OK);
    assert_non_null(thread);
    myr_soft_thread_stop(thread);
    end_watched(&w);
}

/* A watch receives all packets that are in the socket each time it wakes up. */
static void one_poll_takes(void (*send)(int socket, const struct myr_nic_name *name, uint32_t p),
                           uint32_t packets)
{
    struct watched w;
    begin_watched(&w);
    for (uint32_t p = 0; p < packets; ++p) {
        send(w.stranger, &w.name, p);
    }
    wake_watch_once();
    const uint64_t received = received_by(w.member.nic);
    let_watch_run();
    end_watched(&w);
    assert_int_equal(received, packets);
}

/* Every second datagram is empty. */
static void send_empty_or_ask(int socket, const struct myr_nic_name *name, uint32_t p)
{
    if (0 == p % 2) {
        send_to(socket, name, NULL, 0);
    } else {
        send_forged_ask(socket, name);
    }
}

/* An empty datagram is a damaged packet, and not the end of the queue. */
TEST(an_empty_datagram_does_not_end_a_poll)
{
    one_poll_takes(send_empty_or_ask, 8);
}

static void send_ask(int socket, const struct myr_nic_name *name, uint32_t p)
{
    (void)p;
    send_forged_ask(socket, name);
}

/* However many packets unknown senders send, the peers' packets queued behind them do not wait
 * for the next wake-up. (The socket buffer of root holds twice as many as this; other users' may
 * drop some.) */
TEST(a_flood_does_not_end_a_poll)
{
    if (0 != geteuid()) {
        skip();
    }
    one_poll_takes(send_ask, 5000);
}

/* A process that keeps a thread in reserve becomes the watch although it makes no call. */
TEST(a_watch_that_stays_takes_over)
{
    struct world *world = make_world(1, 1, 0);
    struct member first, other;
    struct myr_nic_name name;
    struct myr_soft_watch *watch, *stays;
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    open_nic(&first, world, 0);
    open_nic(&other, world, 0);
    myr_soft_get_name(other.nic, &name);
    assert_int_equal(myr_soft_watch_start(first.nic, 1000, &watch, NULL), MYR_OK);
    assert_int_equal(myr_soft_watch_start(other.nic, 1000, &stays, NULL), MYR_OK);
    assert_false(myr_soft_watch_is_here(stays));
    myr_soft_watch_stay(stays);
    assert_true(myr_soft_watch_is_here(stays));
    myr_soft_watch_stop(watch);
    const uint64_t before = received_by(other.nic);
    send_forged_ask(stranger, &name);
    while (before == received_by(other.nic)) {
        usleep(1000);
    }
    myr_soft_watch_stop(stays);
    close(stranger);
    close_nic(&other);
    close_nic(&first);
    end_world(world);
}

/* Be the watch until the test permits to go on, or the process is killed. */
static void has_a_watch(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct myr_soft_watch *watch;
    open_nic(&member, world, rank);
    CREW_CHECK(MYR_OK == myr_soft_watch_start(member.nic, 1000000, &watch, NULL), "no watch");
    CREW_CHECK(myr_soft_watch_is_here(watch), "another process has the watch");
    atomic_store(&world->come[10], 1);
    await_go(world, 1);
    myr_soft_watch_stop(watch);
    close_nic(&member);
}

/* When the process with the watch has exited, a process that goes to sleep takes the watch over.
 * From then on packets are received although no process polls. */
static void another_has_the_watch(bool politely)
{
    struct world *world = make_world(1, 2, 0);
    struct member member;
    struct myr_nic_name name;
    struct myr_soft_watch *watch;
    myr_word word[2] = {0, 0};
    open_nic(&member, world, 0);
    myr_soft_get_name(member.nic, &name);
    const pid_t other = crew_fork(has_a_watch, 1, world);
    await_come(world, 10, 1);
    assert_int_equal(myr_soft_watch_start(member.nic, 1000000, &watch, NULL), MYR_OK);
    assert_false(myr_soft_watch_is_here(watch));
    myr_soft_sleep(member.nic, &word[0], &word[1], 0, 1);
    assert_false(myr_soft_watch_is_here(watch));
    if (politely) {
        atomic_store(&world->go, 1);
    } else {
        kill(other, SIGKILL);
    }
    assert_int_equal(crew_join(other), politely);
    myr_soft_sleep(member.nic, &word[0], &word[1], 0, 1);
    assert_true(myr_soft_watch_is_here(watch));
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    send_forged_ask(stranger, &name);
    while (0 == received_by(member.nic)) {
        usleep(200);
    }
    close(stranger);
    myr_soft_watch_stop(watch);
    /* No process has the watch now: the next one to start it gets it. */
    assert_int_equal(myr_soft_watch_start(member.nic, 1000000, &watch, NULL), MYR_OK);
    assert_true(myr_soft_watch_is_here(watch));
    myr_soft_watch_stop(watch);
    close_nic(&member);
    end_world(world);
}

TEST(the_watch_leaves)
{
    another_has_the_watch(true);
}

TEST(the_watch_is_killed)
{
    another_has_the_watch(false);
}
