/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that processes get an error instead of hanging if another process is killed or stopped
 * while it holds the NIC's lock.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libmyr/messages/port.h"
#include "libmyr/soft/nic_inside.h"
#include "libmyr/soft/nic_inspect.h"
#include "libmyr/soft/nic_parts.h"
#include "libmyr/soft/nic_thread.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/machine.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/play.h"
#include "tests/unit/nic/refusals.h"
#include "tests/unit/nic/strangers.h"
#include "tests/unit/nic/world.h"
#include "libmyr/soft/soft_group.h"
#include "tests/unit/test.h"

static void expect_wait_fails(struct member *member)
{
    struct world *world = member->world;
    atomic_fetch_add(&world->come[9], 1);
    CREW_CHECK(!myr_nic_group_wait(&member->group, myr_nic_group_arrive(&member->group), 0),
               "a barrier without all members");
    world->unfit[member->rank] = myr_soft_broken(member->nic);
}

/* Ranks 0 and 1 are on one node. Rank 1 dies while it holds the NIC's lock. */
static void with_the_lock(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_board *board;
    begin(&member, world, rank);
    if (1 == rank) {
        await_come(world, 9, 1);
        (void)myr_soft_enter(member.nic, &board);
        atomic_store(&world->come[10], 1);
        raise(SIGKILL);
    }
    expect_wait_fails(&member);
}

/* Rank 1 dies while it holds the lock, but rank 0 starts to wait only when the test permits it. */
static void holds_on(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    begin(&member, world, rank);
    atomic_fetch_add(&world->come[9], 1);
    await_go(world, 1);
    expect_wait_fails(&member);
}

TEST(killed_with_the_lock)
{
    static const struct myr_wait_policy polling = {0, -1, 1000};
    const struct myr_wait_policy *const ways[] = {&yielding, &sleeping, &polling};
    for (int w = 0; w < 3; ++w) {
        struct world *world = make_world(1, 2, 0);
        world->policy = ways[w];
        const pid_t survivor = crew_fork(with_the_lock, 0, world);
        const pid_t victim = crew_fork(with_the_lock, 1, world);
        assert_false(crew_join(victim));
        assert_true(crew_join(survivor));
        assert_true(world->unfit[0]);
        assert_int_equal(atomic_load(&world->come[10]), 1);
        end_world(world);
    }
}

/* Hold the lock until the test permits to go on, then release it and exit. */
static void holds_and_leaves(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_board *board;
    open_nic(&member, world, rank);
    CREW_CHECK(NULL != myr_soft_enter(member.nic, &board), "it is broken");
    atomic_store(&world->come[10], 1);
    await_go(world, 1);
    myr_soft_leave(member.nic);
    close_nic(&member);
}

struct holder {
    struct world *world;
    pid_t pid;
    bool well;
};

static void let_it_end(void *context)
{
    struct holder *holder = context;
    atomic_store(&holder->world->go, 1);
    holder->well = crew_join(holder->pid);
}

/* After a process has read the lock's holder and before it checks whether the holder is alive,
 * the holder releases the lock and exits. The check then finds a dead process, but the NIC is
 * not broken. */
TEST(the_holder_leaves_in_between)
{
    struct world *world = make_world(1, 2, 0);
    struct holder holder = {.world = world};
    struct member member;
    struct mcp_board *board;
    open_nic(&member, world, 0);
    holder.pid = crew_fork(holds_and_leaves, 1, world);
    await_come(world, 10, 1);
    before_kill_context = &holder;
    before_kill = let_it_end;
    assert_false(myr_soft_broken(member.nic));
    assert_null(before_kill); /* the check was made */
    assert_true(holder.well);
    assert_false(myr_soft_broken(member.nic));
    assert_non_null(myr_soft_enter(member.nic, &board));
    myr_soft_leave(member.nic);
    close_nic(&member);
    end_world(world);
}

static void waits(uint32_t rank, void *context)
{
    (void)rank;
    (void)context;
    for (;;) {
        pause();
    }
}

/* Create another process with this PID, if that is permitted. Otherwise the dead process's entry
 * in the segment's table gets the PID of this process, which is older. Returns the PID, or 0. */
static pid_t reuse_pid(pid_t pid, struct myr_segment *segment)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
            set_tid_size;
    } arguments = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    usleep(20000); /* start times of processes have a resolution of 10 ms */
    const pid_t reused = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (0 == reused) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        waits(0, NULL);
    }
    if (reused > 0) {
        assert_int_equal(reused, pid);
        return reused;
    }
    struct myr_sram *sram = (struct myr_sram *)myr_segment_base(segment);
    for (uint32_t i = 0; i < sram->processes; ++i) {
        if ((uint32_t)pid == myr_load_acquire(&sram->process[i].pid)) {
            myr_store_release(&sram->process[i].pid, (uint32_t)getpid());
        }
    }
    return 0;
}

static void end_reused(pid_t reused)
{
    if (reused > 0) {
        kill(reused, SIGKILL);
        (void)crew_join(reused);
    }
}

/* A process dies while it holds the lock, and its PID is reused, or it remains a zombie. Waiting
 * processes get an error all the same. */
static void killed_but_seems_alive(bool zombie)
{
    struct world *world = make_world(1, 2, 0);
    struct myr_segment *segment;
    pid_t reused = 0;
    siginfo_t about;
    world->policy = &sleeping;
    assert_int_equal(myr_segment_join(world->dir[0], 1 << 20, &segment, NULL), MYR_OK);
    const pid_t victim = crew_fork(with_the_lock, 1, world);
    const pid_t survivor = crew_fork(holds_on, 0, world);
    await_come(world, 9, 1); /* the survivor is about to wait; the victim continues, and dies */
    assert_int_equal(waitid(P_PID, (id_t)victim, &about, WEXITED | WNOWAIT), 0);
    if (!zombie) {
        assert_false(crew_join(victim));
        reused = reuse_pid(victim, segment);
    }
    if (zombie || 0 != reused) {
        assert_false(myr_segment_ended(segment, (uint32_t)victim, false));
        assert_true(myr_segment_ended(segment, (uint32_t)victim, true));
    }
    atomic_store(&world->go, 1);
    assert_true(crew_join(survivor));
    assert_true(world->unfit[0]);
    if (zombie) {
        assert_false(crew_join(victim));
    }
    end_reused(reused);
    myr_segment_leave(segment);
    end_world(world);
}

TEST(a_dead_holders_pid_is_reused)
{
    killed_but_seems_alive(false);
}

TEST(a_dead_holder_is_a_zombie)
{
    killed_but_seems_alive(true);
}

/* Run the NIC by a thread until the process is killed. */
static void has_a_thread(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct myr_soft_thread *thread;
    open_nic(&member, world, rank);
    CREW_CHECK(MYR_OK == myr_soft_thread_start(member.nic, MYR_SOFT_THREAD, &thread, NULL) &&
                   NULL != thread,
               "no thread");
    atomic_store(&world->come[10], 1);
    waits(rank, context);
}

TEST(a_dead_runners_pid_is_reused)
{
    struct world *world = make_world(1, 2, 0);
    struct member member;
    struct myr_soft_thread *thread = NULL;
    open_nic(&member, world, 0);
    const pid_t victim = crew_fork(has_a_thread, 1, world);
    await_come(world, 10, 1);
    assert_int_equal(myr_soft_thread_start(member.nic, MYR_SOFT_THREAD, &thread, NULL), MYR_OK);
    assert_null(thread);
    kill(victim, SIGKILL);
    assert_false(crew_join(victim));
    const pid_t reused = reuse_pid(victim, member.segment);
    for (uint32_t i = 0; i < 1000 && NULL == thread;
         ++i) { /* not every check tests whether the PID was reused */
        assert_int_equal(myr_soft_thread_start(member.nic, MYR_SOFT_THREAD, &thread, NULL), MYR_OK);
    }
    assert_non_null(thread);
    myr_soft_thread_stop(thread);
    end_reused(reused);
    close_nic(&member);
    end_world(world);
}

/* Rank 1 dies in the same way with a NIC that is already broken. */
static void with_the_broken_lock(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_board *board;
    open_nic(&member, world, rank);
    atomic_store(&world->come[8], 1);
    await_go(world, 2);
    (void)myr_soft_enter(member.nic, &board);
    atomic_store(&world->come[11], myr_soft_entered(member.nic));
    raise(SIGKILL);
}

/* No process runs the control program of a broken NIC any more. All processes can release their
 * resources, and opening the NIC fails with a message. */
TEST(a_broken_nic_is_left_alone)
{
    struct world *world = make_world(1, 2, 0);
    struct member member;
    struct mcp_board *board;
    struct mcp_counters counters;
    struct myr_soft_view view;
    struct myr_port *port;
    const struct myr_port_options any = {.number = MYR_ANY_PORT, .inlet = true};
    struct myr_error error = {0};
    const pid_t victim = crew_fork(with_the_lock, 1, world);
    const pid_t another_victim = crew_fork(with_the_broken_lock, 1, world);
    begin(&member, world, 0);
    assert_int_equal(myr_port_open(member.nic, &any, &port, &error), MYR_OK);
    await_come(world, 8, 1);
    atomic_fetch_add(&world->come[9], 1);
    assert_false(crew_join(victim));
    assert_true(myr_soft_broken(member.nic));
    atomic_store(&world->go, 2);
    assert_false(crew_join(another_victim));
    assert_int_equal(atomic_load(&world->come[11]), 1);
    assert_true(myr_soft_broken(member.nic));
    assert_int_equal(myr_load_acquire(&member.nic->shared->lock),
                     MYR_SOFT_BROKEN); /* without a holder */

    struct mcp_board *own_board = &member.nic->board;
    assert_true(own_board->ops.has_ended(own_board, (uint32_t)victim));
    assert_false(own_board->ops.has_ended(own_board, (uint32_t)getpid()));
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    send_forged_ask(stranger, &world->name[0]);
    assert_int_equal(myr_soft_poll(member.nic), 0);
    myr_soft_count(member.nic, &counters);
    assert_int_equal(counters.packets_received, 0);
    assert_null(myr_soft_enter(member.nic, &board));
    myr_soft_leave(member.nic);
    expect_refusal(member.segment, &loopback, MYR_ERR_GONE, "unusable");
    assert_int_equal(myr_inspect_nic(myr_segment_fd(member.segment), &view, &error), MYR_OK);
    assert_true(view.broken);
    myr_soft_view_free(&view);
    struct myr_port *another;
    assert_int_equal(myr_port_open(member.nic, &any, &another, &error), MYR_ERR_GONE);
    assert_non_null(strstr(error.text, "unusable"));

    const uint32_t epoch = myr_nic_group_arrive(&member.group);
    assert_false(myr_nic_group_wait(&member.group, epoch, 0));
    myr_port_close(port);
    myr_soft_groups_reap(member.nic, (uint32_t)victim);
    assert_int_equal(myr_ports_reap(member.nic, (uint32_t)victim), 0);
    myr_nic_group_leave(&member.group);
    close(stranger);
    close_nic(&member);
    end_world(world);
}

/* ---- a process is stopped while it holds the lock ---- */

/* Rank 1 is stopped while it holds the lock. After it has been continued, it can use the NIC. */
static void stopped_inside(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_board *board;
    begin(&member, world, rank);
    await_come(world, 9, 1);
    CREW_CHECK(NULL != myr_soft_enter(member.nic, &board), "it is broken");
    raise(SIGSTOP);
    myr_soft_leave(member.nic);
    CREW_CHECK(!myr_soft_broken(member.nic), "the NIC is broken");
    CREW_CHECK(NULL != myr_soft_enter(member.nic, &board), "cannot run the NIC");
    myr_soft_leave(member.nic);
    myr_nic_group_leave(&member.group);
    close_nic(&member);
}

static char stopped_line[200];
static uint32_t stopped_lines;

static void add_stopped_line(const char *line)
{
    snprintf(stopped_line, sizeof(stopped_line), "%s", line);
    ++stopped_lines;
}

/* Check that messages name the stopped process, and that no operation waits for it for ever. */
static void expect_refusals(struct member *member, pid_t stopped)
{
    struct myr_error error = {0};
    struct myr_port *port;
    const struct myr_port_options any = {.number = MYR_ANY_PORT};
    char pid[40];
    snprintf(pid, sizeof(pid), "process %d ", (int)stopped);
    CREW_CHECK((uint32_t)stopped == myr_soft_given_up(member->nic), "another process was given up");
    CREW_CHECK(1 == stopped_lines && NULL != strstr(stopped_line, pid), "%u lines: %s",
               stopped_lines, stopped_line);
    CREW_CHECK(MYR_ERR_GONE == myr_port_open(member->nic, &any, &port, &error),
               "a port was opened");
    CREW_CHECK(NULL != strstr(error.text, pid), "%s", error.text);
    myr_soft_groups_reap(member->nic, (uint32_t)stopped);
    (void)myr_ports_reap(member->nic, (uint32_t)stopped);
    myr_nic_group_leave(&member->group);
    close_nic(member);
}

static void begin_beside_stopped(struct member *member, struct world *world)
{
    begin(member, world, 0);
    myr_soft_set_bounds(member->nic, &(struct myr_soft_bounds){
                                         .warn_ns = 30 * 1000 * 1000,
                                         .give_up_ns = 300 * 1000 * 1000,
                                         .print = add_stopped_line,
                                     });
    atomic_fetch_add(&world->come[9], 1);
    await_go(world, 1);
}

/* Wait for a barrier. */
static void waits_beside_stopped(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_missing missing;
    (void)rank;
    begin_beside_stopped(&member, world);
    CREW_CHECK(0 == myr_nic_group_missing(&member.group, &missing, 1), "a node is missing");
    CREW_CHECK(0 == myr_soft_given_up(member.nic),
               "myr_nic_group_missing() has waited for the lock");
    CREW_CHECK(!myr_nic_group_wait(&member.group, myr_nic_group_arrive(&member.group), 0),
               "a barrier without all members");
    expect_refusals(&member, (pid_t)atomic_load(&world->pid[1]));
}

/* Try to run the NIC. */
static void enters_beside_stopped(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_board *board;
    (void)rank;
    begin_beside_stopped(&member, world);
    CREW_CHECK(NULL == myr_soft_enter(member.nic, &board),
               "entered while another process holds the lock");
    CREW_CHECK(!myr_soft_entered(member.nic), "entered while another process holds the lock");
    myr_soft_leave(member.nic);
    expect_refusals(&member, (pid_t)atomic_load(&world->pid[1]));
}

/* Run the NIC by a thread, and call nothing else. */
static void runs_beside_stopped(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct myr_soft_thread *thread;
    (void)rank;
    begin_beside_stopped(&member, world);
    CREW_CHECK(MYR_OK == myr_soft_thread_start(member.nic, MYR_SOFT_THREAD, &thread, NULL) &&
                   NULL != thread,
               "no thread");
    while (0 == myr_soft_given_up(member.nic)) {
        usleep(1000);
    }
    CREW_CHECK(myr_soft_broken(member.nic), "the NIC is not broken");
    myr_soft_thread_stop(thread);
    expect_refusals(&member, (pid_t)atomic_load(&world->pid[1]));
}

TEST(stopped_with_the_lock)
{
    static const struct myr_wait_policy polling = {0, -1, 1000};
    const struct {
        crew_fn survivor;
        const struct myr_wait_policy *policy;
    } ways[] = {{waits_beside_stopped, &yielding},
                {waits_beside_stopped, &sleeping},
                {waits_beside_stopped, &polling},
                {enters_beside_stopped, &yielding},
                {runs_beside_stopped, &yielding}};
    for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); ++w) {
        struct world *world = make_world(1, 2, 0);
        int status;
        world->policy = ways[w].policy;
        const pid_t survivor = crew_fork(ways[w].survivor, 0, world);
        const pid_t stopped = crew_fork(stopped_inside, 1, world);
        assert_int_equal(waitpid(stopped, &status, WUNTRACED), stopped);
        assert_true(WIFSTOPPED(status));
        atomic_store(&world->pid[1], (uint32_t)stopped);
        atomic_store(&world->go, 1);
        assert_true(crew_join(survivor));
        kill(stopped, SIGCONT);
        assert_true(crew_join(stopped));
        end_world(world);
    }
}

/* Rank 1 dies as a member of a group. The test reaps it, as myrd does. */
static void as_a_member(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    begin(&member, world, rank);
    if (1 == rank) {
        meet(world, 10, 2);
        raise(SIGKILL);
    }
    meet(world, 10, 2);
    expect_wait_fails(&member);
    meet(world, 8, 1);
    myr_nic_group_leave(&member.group);
    await_go(world, 1);
}

static void one_is_killed_as_a_member(uint32_t unit_most)
{
    struct world *world = make_world(1, 2, 0);
    world->unit_most = unit_most;
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    /* The process that dies must not be the one through which others find the segment. */
    assert_int_equal(myr_segment_join(world->dir[0], 1 << 20, &segment, NULL), MYR_OK);
    const pid_t survivor = crew_fork(as_a_member, 0, world);
    const pid_t victim = crew_fork(as_a_member, 1, world);
    assert_false(crew_join(victim));
    await_come(world, 9, 1);
    assert_int_equal(myr_soft_open(segment, &loopback, &nic, NULL), MYR_OK);
    assert_int_equal(groups_in(segment), 1);
    myr_soft_reap(nic, (uint32_t)victim);
    myr_soft_groups_reap(nic, (uint32_t)victim);
    myr_segment_reap(segment, (uint32_t)victim);
    await_come(world, 8, 1); /* the survivor has got the error, and leaves the group */
    while (0 != groups_in(segment)) {
        usleep(200);
    }
    atomic_store(&world->go, 1);
    assert_true(crew_join(survivor));
    assert_false(world->unfit[0]); /* the NIC still serves others */
    assert_false(myr_soft_broken(nic));
    myr_soft_close(nic);
    myr_segment_leave(segment);
    end_world(world);
}

TEST(killed_as_a_member)
{
    one_is_killed_as_a_member(0);
    one_is_killed_as_a_member(UNIT_MOST);
}
