/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's NIC, among real processes and over real UDP on the loopback interface. Invariants. All
 * processes of a node have the same NIC, whoever of them comes, goes or is killed. Nobody leaves a
 * barrier across nodes before all have come to it, whatever else comes over the wire and whoever is
 * stopped for a while. When a process is killed while it runs the control program, or as a member
 * of a group, those who wait hear that it will never be. With a thread, barriers complete while
 * nobody polls. What cannot be had is refused with a line that says so, to all alike.
 *
 * Where groups carry data, each process finds all nodes' blocks of an epoch; one process of a node
 * makes its block, of all parts. Groups whose processes have left stay as long as others may miss
 * something, up to a number, and then nothing of them stays. Where they broadcast, each process
 * reads each root's block, whatever barriers are in between.
 *
 * A "node" is a segment with a NIC in it. Processes are forked before they join.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "coll_nicbarr/schedule.h"
#include "firmware/soft/addresses.h"
#include "firmware/wire.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/messages/port.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic_inside.h"
#include "libmyr/soft/nic_look.h"
#include "libmyr/soft/nic_thread.h"
#include "tests/unit/crew.h"
#include "tests/unit/ip_of.h"

enum {
    MOST_NODES = 4,
    MOST_LOCALS = 3,
    MOST = MOST_NODES * MOST_LOCALS,
    POINTS = 13, /* where processes meet */
    UNIT_MOST = 384,
};

static const struct myr_nic_options loopback = {.network = "lo"};
static const struct myr_patience sleeping = {0, 0, 1000}, yielding = {0, 5000, 1000};

/* ---- a machine other than this one: interfaces ---- */

/* Addresses that getifaddrs() is to tell of instead of the real ones; NULL: the real ones. */
static const struct pretended {
    const char *name, *address, *mask;
    unsigned flags;
} * pretended;

int __real_getifaddrs(struct ifaddrs **list);
void __real_freeifaddrs(struct ifaddrs *list);
int __wrap_getifaddrs(struct ifaddrs **list);
void __wrap_freeifaddrs(struct ifaddrs *list);

static struct sockaddr *as_address(const char *text)
{
    const struct mcp_ip ip = ip_of(text);
    struct mcp_address *address = malloc(sizeof(*address));
    *address = mcp_address_of(&ip, 0);
    return &address->at.any;
}

int __wrap_getifaddrs(struct ifaddrs **list)
{
    if (NULL == pretended) {
        return __real_getifaddrs(list);
    }
    for (const struct pretended *one = pretended; NULL != one->name; ++one) {
        *list = calloc(1, sizeof(**list));
        (*list)->ifa_name = (char *)one->name;
        (*list)->ifa_flags = one->flags;
        (*list)->ifa_addr = as_address(one->address);
        (*list)->ifa_netmask = as_address(one->mask);
        list = &(*list)->ifa_next;
    }
    *list = NULL;
    return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
    if (NULL == pretended) {
        __real_freeifaddrs(list);
        return;
    }
    while (NULL != list) {
        struct ifaddrs *next = list->ifa_next;
        free(list->ifa_addr);
        free(list->ifa_netmask);
        free(list);
        list = next;
    }
}

/* ---- the moment before somebody is asked whether it lives ---- */

static void (*before_kill)(void *context); /* called once */
static void *before_kill_context;

/* In place of the C library's. */
int kill(pid_t pid, int signal)
{
    void (*const call)(void *) = before_kill;
    before_kill = NULL;
    if (NULL != call) {
        call(before_kill_context);
    }
    return (int)syscall(SYS_kill, pid, signal);
}

/* ---- time, for a watch ---- */

static struct {
    bool held;        /* the watch sleeps until it may go on, whatever the time */
    sem_t asleep, go; /* it is about to sleep; it may wake up */
} watch_time;

int __real_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask)
{
    if (!watch_time.held) {
        return __real_ppoll(fds, count, timeout, mask);
    }
    sem_post(&watch_time.asleep);
    sem_wait(&watch_time.go);
    return 0;
}

/* Have it wake up, do what it does, and go to sleep again. */
static void one_watch_turn(void)
{
    sem_post(&watch_time.go);
    sem_wait(&watch_time.asleep);
}

/* ---- memory that runs out ---- */

static int allocations_left = -1; /* of malloc() and calloc(); -1: any number */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static bool allocation_fails(void)
{
    const bool fails = 0 == allocations_left;
    allocations_left -= allocations_left > 0;
    return fails;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

/* ---- what the processes of a test share ---- */

struct world {
    char folder[MOST_NODES][200];
    const char *network[MOST_NODES]; /* that its NIC may use */
    uint32_t nodes, locals; /* processes: nodes * locals; process r is on node r / locals */
    uint32_t epochs;
    uint64_t seed, key;
    const struct myr_patience *patience;
    uint32_t unit_most;           /* of a node's block; 0: groups carry no data */
    bool broadcasts;              /* they broadcast instead */
    uint32_t generations;         /* of groups, one after the other */
    _Atomic uint32_t built[MOST]; /* how many blocks of a node were made */
    bool thread;
    bool unfit[MOST]; /* who did not get what it should */
    struct myr_nic_name name[MOST_NODES];
    _Atomic uint32_t come[POINTS];
    _Atomic uint32_t ledger[MOST]; /* the epoch each has come to */
    _Atomic uint32_t pid[MOST];
    _Atomic uint32_t go; /* the test lets them go on */
};

static uint32_t size_of(const struct world *world)
{
    return world->nodes * world->locals;
}

static struct world *make_world(uint32_t nodes, uint32_t locals, uint32_t epochs)
{
    static uint64_t worlds;
    struct world *world = crew_memory(sizeof(*world));
    world->nodes = nodes;
    world->locals = locals;
    world->epochs = epochs;
    world->seed = crew_seed() + 1000 * ++worlds;
    world->key = world->seed | 1;
    world->patience = &yielding;
    for (uint32_t n = 0; n < nodes; ++n) {
        crew_folder_make(world->folder[n], sizeof(world->folder[n]));
        world->network[n] = loopback.network;
    }
    return world;
}

static void end_world(struct world *world)
{
    for (uint32_t n = 0; n < world->nodes; ++n) {
        crew_folder_remove(world->folder[n]);
    }
    crew_memory_free(world, sizeof(*world));
}

/* Wait until `count` processes have come here, without running any NIC. */
static void meet(struct world *world, int point, uint32_t count)
{
    atomic_fetch_add(&world->come[point], 1);
    while (atomic_load(&world->come[point]) < count) {
        usleep(200);
    }
}

static void await_go(struct world *world, uint32_t go)
{
    while (atomic_load(&world->go) < go) {
        usleep(200);
    }
}

static void await_come(struct world *world, int point, uint32_t count)
{
    while (atomic_load(&world->come[point]) < count) {
        usleep(200);
    }
}

/* ---- a process ---- */

struct member {
    struct world *world;
    uint32_t rank, node, local;
    uint64_t random;
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_waiter waiter;
    struct myr_nic_group group;
    uint32_t generation;
};

static void no_progress(void) {}

static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    const struct world *world = context;
    static const char *const choices[] = {"dissemination:1", "pairwise", "tree:2"};
    struct nicbarr_choice choice = {NICBARR_DISSEMINATION, 1 + world->seed % 3, 0};
    return (world->broadcasts || nicbarr_choice_parse(choices[world->seed % 3], &choice)) &&
           nicbarr_schedule_create(choice, world->nodes, node, schedule);
}

static void open_nic(struct member *member, struct world *world, uint32_t rank)
{
    struct myr_error error = {0};
    const struct myr_nic_options options = {.network = world->network[rank / world->locals]};
    *member = (struct member){
        .world = world,
        .rank = rank,
        .node = rank / world->locals,
        .local = rank % world->locals,
        .random = world->seed ^ rank * 0x10001,
    };
    atomic_store(&world->pid[rank], (uint32_t)getpid());
    CREW_CHECK(MYR_OK ==
                   myr_segment_join(world->folder[member->node], 4 << 20, &member->segment, &error),
               "%s", error.text);
    myr_waiter_init(&member->waiter, member->segment, no_progress, world->patience);
    CREW_CHECK(MYR_OK == myr_nic_open(member->segment, &options, &member->nic, &error), "%s",
               error.text);
}

/* All have NICs; whoever is the first of its node tells the others its name. */
static void exchange_names(struct member *member, int point)
{
    struct world *world = member->world;
    if (0 == member->local) {
        myr_nic_get_name(member->nic, &world->name[member->node]);
    }
    meet(world, point, size_of(world));
}

/* Join the group of this key: with the node's others, or alone. */
static void join_one(struct member *member, uint64_t key, uint32_t unit_most, bool alone,
                     struct myr_nic_group *group)
{
    const struct world *world = member->world;
    struct myr_error error = {0};
    const struct myr_nic_name *names[MOST_NODES];
    for (uint32_t n = 0; n < world->nodes; ++n) {
        names[n] = &world->name[n];
    }
    const struct myr_nic_members members = {
        .key = key,
        .secret = {{key, ~key}},
        .nodes = world->nodes,
        .node = member->node,
        .locals = alone ? 1 : world->locals,
        .local = alone ? 0 : member->local,
        .names = names,
        .unit_most = unit_most,
        .broadcasts = 0 != unit_most && world->broadcasts,
    };
    CREW_CHECK(MYR_OK == myr_nic_group_join(group, member->nic, &member->waiter, &members,
                                            schedule_of, world, &error),
               "%s", error.text);
}

static void join_group(struct member *member, int point)
{
    exchange_names(member, point);
    join_one(member, member->world->key, member->world->unit_most, false, &member->group);
}

static void begin(struct member *member, struct world *world, uint32_t rank)
{
    open_nic(member, world, rank);
    join_group(member, 0);
}

/* One at a time may be in its last barrier when others are through: their NIC must still answer, so
 * all stay until all are done. */
static void end(struct member *member, int point)
{
    struct world *world = member->world;
    atomic_fetch_add(&world->come[point], 1);
    while (atomic_load(&world->come[point]) < size_of(world)) {
        (void)myr_nic_poll(member->nic);
        sched_yield();
    }
    myr_nic_group_leave(&member->group);
    myr_nic_close(member->nic);
    myr_segment_leave(member->segment);
}

/* Come to the next barrier; after it all must have come to it. */
static void one_barrier(struct member *member)
{
    struct world *world = member->world;
    const uint32_t epoch = member->group.epoch + 1;
    atomic_store_explicit(&world->ledger[member->rank], epoch, memory_order_relaxed);
    CREW_CHECK(epoch == myr_nic_group_arrive(&member->group), "another epoch");
    if (0 == crew_below(&member->random, 3)) { /* come back for it later */
        crew_dawdle(&member->random);
        while (!myr_nic_group_test(&member->group, epoch)) {
            (void)myr_nic_poll(member->nic);
            sched_yield();
        }
    } else {
        CREW_CHECK(myr_nic_group_wait(&member->group, epoch, 0), "barrier %u never completes",
                   epoch);
    }
    for (uint32_t r = 0; r < size_of(world); ++r) {
        const uint32_t seen = atomic_load_explicit(&world->ledger[r], memory_order_relaxed);
        CREW_CHECK(seen == epoch || seen == epoch + 1, "rank %u is at %u after barrier %u", r, seen,
                   epoch);
    }
}

static void do_barriers(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    begin(&member, world, rank);
    for (uint32_t e = 0; e < world->epochs; ++e) {
        crew_dawdle(&member.random);
        one_barrier(&member);
    }
    end(&member, 1);
}

/* ---- barriers ---- */

static void run(uint32_t nodes, uint32_t locals, uint32_t epochs,
                const struct myr_patience *patience)
{
    struct world *world = make_world(nodes, locals, epochs);
    world->patience = patience;
    if (!crew_run(size_of(world), do_barriers, world)) {
        fail_msg("%u nodes with %u processes each", nodes, locals);
    }
    end_world(world);
}

static void barriers_across_nodes(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= MOST_NODES; ++nodes) {
        for (uint32_t locals = 1; locals <= MOST_LOCALS; ++locals) {
            run(nodes, locals, 2000 / locals, &yielding);
        }
    }
}

static void need_ipv6(void)
{
    const int s = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct mcp_ip ip = ip_of("::1");
    const struct mcp_address address = mcp_address_for(AF_INET6, &ip, 0);
    const bool there = s >= 0 && 0 == bind(s, &address.at.any, mcp_address_bytes(&address));
    close(s);
    if (!there) {
        print_message("this machine has no IPv6\n");
        skip();
    }
}

/* Over IPv6 alone; and some have IPv4 alone, others both. */
static void barriers_over_ipv6(void **state)
{
    (void)state;
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

static void barriers_asleep(void **state)
{
    (void)state;
    run(2, 1, 500, &sleeping);
    run(2, 3, 300, &sleeping);
    run(4, 2, 200, &sleeping);
}

/* ---- data ---- */

struct tally {
    uint32_t groups;
};

static void count_groups(struct myr_record *record, void *context)
{
    const struct myr_key key = myr_nic_group_record_key(0);
    ((struct tally *)context)->groups += key.id == record->key[1];
}

static uint32_t groups_in(struct myr_segment *segment)
{
    struct tally tally = {0};
    myr_records_each(segment, count_groups, &tally);
    return tally.groups;
}

/* Bytes of a process's part: for some epochs nobody has data. */
static uint32_t part_of(const struct member *member, uint32_t epoch)
{
    const struct world *world = member->world;
    uint64_t random = world->seed + 1000 * member->generation + epoch;
    const uint32_t most = myr_nic_data_most(&member->group) / world->locals / MCP_BLOCK_UNIT;
    return MCP_BLOCK_UNIT * crew_below(&random, (most < 5 ? most : 5) + 1);
}

/* No two parts are alike. */
static void make_part(const struct member *member, uint32_t rank, uint32_t epoch, uint8_t *part)
{
    uint64_t random =
        member->world->seed ^ ((uint64_t)member->generation << 48 | (uint64_t)rank << 32 | epoch);
    for (uint32_t i = 0; i < part_of(member, epoch); i += MCP_BLOCK_UNIT) {
        const uint64_t word = crew_random(&random);
        memcpy(part + i, &word, sizeof(word));
    }
}

/* Parts stand side by side in a block. */
static void build(void *context, uint32_t epoch, uint8_t *block)
{
    const struct member *member = context;
    const uint32_t bytes = part_of(member, epoch);
    for (uint32_t l = 0; l < member->world->locals; ++l) {
        memcpy(block + l * bytes, myr_nic_data_part_of(&member->group, l), bytes);
    }
    atomic_fetch_add(&member->world->built[member->node], 1);
}

static void expect_blocks(const struct member *member, uint32_t epoch)
{
    const struct world *world = member->world;
    const uint32_t bytes = part_of(member, epoch), unit = world->locals * bytes;
    for (uint32_t r = 0; r < size_of(world); ++r) {
        const uint8_t *block = myr_nic_data_block(&member->group, epoch, unit, r / world->locals);
        uint8_t part[UNIT_MOST];
        make_part(member, r, epoch, part);
        CREW_CHECK(0 == memcmp(part, block + r % world->locals * bytes, bytes),
                   "the part of rank %u in epoch %u", r, epoch);
    }
}

static uint32_t arrive_with_data(struct member *member)
{
    const uint32_t epoch = member->group.epoch + 1, bytes = part_of(member, epoch);
    make_part(member, member->rank, epoch, myr_nic_data_part(&member->group));
    CREW_CHECK(
        epoch == myr_nic_data_arrive(&member->group, member->world->locals * bytes, build, member),
        "another epoch");
    return epoch;
}

static void one_epoch(struct member *member)
{
    const uint32_t epoch = arrive_with_data(member);
    if (0 == crew_below(&member->random, 3)) {
        crew_dawdle(&member->random);
        while (!myr_nic_group_test(&member->group, epoch)) {
            (void)myr_nic_poll(member->nic);
            sched_yield();
        }
    } else {
        CREW_CHECK(myr_nic_group_wait(&member->group, epoch, 0), "epoch %u never completes", epoch);
    }
    expect_blocks(member, epoch);
    crew_dawdle(&member->random);
    expect_blocks(member, epoch); /* until it arrives again */
}

static void turn_nic(struct member *member)
{
    (void)myr_nic_poll(member->nic);
    usleep(50);
}

/* Come and go, so that groups that are through are closed. Not too often: of groups that are closed
 * a NIC remembers MCP_LATE. */
enum { TURNS = 16 };

static void pass_by(struct member *member, uint64_t key)
{
    struct myr_nic_group group;
    join_one(member, key, 0, true, &group);
    myr_nic_group_leave(&group);
}

/* Run the NIC until all groups have said farewell, on all nodes. */
static void see_groups_off(struct member *member)
{
    struct world *world = member->world;
    uint64_t key = UINT64_MAX / 2 + member->rank;
    for (uint32_t turn = 0; 0 != groups_in(member->segment); ++turn) {
        turn_nic(member);
        if (0 == member->local && 0 == turn % TURNS) {
            pass_by(member, key += MOST);
        }
    }
    atomic_fetch_add(&world->come[1], 1);
    while (atomic_load(&world->come[1]) < size_of(world)) { /* until then their NICs must answer */
        turn_nic(member);
    }
    myr_nic_close(member->nic);
    myr_segment_leave(member->segment);
}

/* Groups follow one another at once: nobody waits for the others to leave. */
static void play_groups(struct world *world, uint32_t rank, void (*turn)(struct member *member))
{
    struct member member;
    open_nic(&member, world, rank);
    exchange_names(&member, 0);
    for (; member.generation < world->generations; ++member.generation) {
        join_one(&member, world->key + member.generation, world->unit_most, false, &member.group);
        for (uint32_t e = 0; e < world->epochs; ++e) {
            turn(&member);
        }
        myr_nic_group_leave(&member.group);
    }
    see_groups_off(&member);
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
    for (uint32_t n = 0; n < nodes; ++n) { /* each block by one process */
        assert_int_equal(atomic_load(&world->built[n]), generations * epochs);
    }
    end_world(world);
}

static void data_across_nodes(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= MOST_NODES; ++nodes) {
        for (uint32_t locals = 1; locals <= MOST_LOCALS; ++locals) {
            run_data(nodes, locals, 10, 30 / locals);
        }
    }
    run_data(2, 2, 150, 1);
}

/* ---- broadcasts ---- */

/* All processes draw the same: who the root is, how long the block is, and what is in it. */
static uint32_t draw_block(struct member *member, uint32_t *bytes, uint8_t *block)
{
    const struct world *world = member->world;
    uint64_t random =
        world->seed ^ ((uint64_t)member->generation << 32 | member->group.bcast->number);
    const uint32_t root = crew_below(&random, size_of(world));
    *bytes = crew_below(&random, myr_nic_bcast_most(&member->group) + 1);
    for (uint32_t i = 0; i < *bytes; ++i) {
        block[i] = (uint8_t)crew_random(&random);
    }
    return root;
}

static void send_block(struct member *member, const uint8_t *block, uint32_t bytes)
{
    struct myr_nic_group *group = &member->group;
    CREW_CHECK(myr_nic_bcast_room(group) || myr_nic_group_wait(group, group->epoch - 1, 0),
               "the window of broadcast %u never has room", group->bcast->number);
    memcpy(myr_nic_bcast_data(group), block, bytes);
    myr_nic_bcast_send(group, bytes);
}

static void read_block(struct member *member, const uint8_t *block, uint32_t bytes)
{
    struct myr_nic_group *group = &member->group;
    uint32_t came;
    CREW_CHECK(myr_nic_bcast_wait(group, 0), "broadcast %u never comes", group->bcast->number);
    if (0 == crew_below(&member->random, 4)) {
        crew_dawdle(&member->random);
    }
    const void *data = myr_nic_bcast_look(group, &came);
    CREW_CHECK(came == bytes && 0 == memcmp(data, block, bytes), "broadcast %u",
               group->bcast->number);
}

static void one_broadcast(struct member *member)
{
    uint8_t block[UNIT_MOST];
    uint32_t bytes, root;
    uint64_t random = member->world->seed + member->generation + member->group.bcast->number;
    if (0 == crew_below(&random, 20)) { /* a barrier in between */
        CREW_CHECK(myr_nic_group_wait(&member->group, myr_nic_group_arrive(&member->group), 0),
                   "a barrier never completes");
    }
    root = draw_block(member, &bytes, block);
    myr_nic_bcast_begin(&member->group, root / member->world->locals);
    if (root == member->rank) {
        send_block(member, block, bytes);
    } else {
        read_block(member, block, bytes);
    }
    myr_nic_bcast_end(&member->group);
    if (0 == crew_below(&member->random, 8)) {
        crew_dawdle(&member->random);
    }
}

static void do_broadcasts(uint32_t rank, void *context)
{
    play_groups(context, rank, one_broadcast);
}

static void broadcasts_across_nodes(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= MOST_NODES; ++nodes) {
        for (uint32_t locals = 1; locals <= MOST_LOCALS; ++locals) {
            struct world *world = make_world(nodes, locals, 200 / locals);
            world->unit_most = UNIT_MOST - MCP_BLOCK_UNIT * (uint32_t)(world->seed % 40);
            world->broadcasts = true;
            world->generations = 4;
            world->patience = 0 == locals % 2 ? &sleeping : &yielding;
            if (!crew_run(size_of(world), do_broadcasts, world)) {
                fail_msg("%u nodes with %u processes each", nodes, locals);
            }
            end_world(world);
        }
    }
}

/* Two nodes with one process each, both of which are this process. */
struct pair {
    struct world *world;
    struct member member[2];
};

static void begin_pair(struct pair *pair)
{
    pair->world = make_world(2, 1, 0);
    pair->world->unit_most = UNIT_MOST;
    for (uint32_t n = 0; n < 2; ++n) {
        open_nic(&pair->member[n], pair->world, n);
        myr_nic_get_name(pair->member[n].nic, &pair->world->name[n]);
    }
}

static void end_pair(struct pair *pair)
{
    for (uint32_t n = 0; n < 2; ++n) {
        myr_nic_close(pair->member[n].nic);
        myr_segment_leave(pair->member[n].segment);
    }
    end_world(pair->world);
}

/* Both join a group of this number, and exchange blocks once. */
static void meet_in_group(struct pair *pair, uint32_t number, struct myr_nic_group group[2])
{
    for (uint32_t n = 0; n < 2; ++n) {
        struct member *member = &pair->member[n];
        join_one(member, pair->world->key + number, UNIT_MOST, false, &member->group);
        do { /* so that there are data */
            ++member->generation;
        } while (0 == part_of(member, 1));
        (void)arrive_with_data(member);
    }
    while (!myr_nic_group_test(&pair->member[0].group, 1) ||
           !myr_nic_group_test(&pair->member[1].group, 1)) {
        (void)myr_nic_poll(pair->member[0].nic);
        (void)myr_nic_poll(pair->member[1].nic);
    }
    for (uint32_t n = 0; n < 2; ++n) {
        expect_blocks(&pair->member[n], 1);
        group[n] = pair->member[n].group;
    }
}

/* Until no more than so many groups are left on each node. */
static void let_them_go(struct pair *pair, uint32_t left0, uint32_t left1)
{
    static uint64_t key = UINT64_MAX / 2;
    for (uint32_t turn = 0;
         groups_in(pair->member[0].segment) > left0 || groups_in(pair->member[1].segment) > left1;
         ++turn) {
        for (uint32_t n = 0; n < 2; ++n) {
            (void)myr_nic_poll(pair->member[n].nic);
            if (0 == turn % TURNS) {
                pass_by(&pair->member[n], ++key);
            }
        }
    }
    assert_int_equal(groups_in(pair->member[0].segment), left0);
    assert_int_equal(groups_in(pair->member[1].segment), left1);
}

/* The oldest ones give way. */
static void more_farewells_than_fit(void **state)
{
    (void)state;
    enum { GROUPS = MYR_NIC_LINGERING + 8 };
    static struct myr_nic_group group[GROUPS][2];
    struct pair pair;
    begin_pair(&pair);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        meet_in_group(&pair, g, group[g]);
        assert_int_equal(groups_in(pair.member[1].segment), g + 1);
        myr_nic_group_leave(&group[g][0]);
        assert_int_equal(groups_in(pair.member[0].segment),
                         g < MYR_NIC_LINGERING ? g + 1 : MYR_NIC_LINGERING);
    }
    for (uint32_t g = 0; g < GROUPS; ++g) {
        myr_nic_group_leave(&group[g][1]);
    }
    let_them_go(&pair, 0, 0); /* all had said so before */
    end_pair(&pair);
}

/* One whose peer is late stays, however many come and go meanwhile. */
static void one_long_farewell(void **state)
{
    (void)state;
    struct myr_nic_group late[2], quick[2];
    struct pair pair;
    begin_pair(&pair);
    meet_in_group(&pair, 0, late);
    myr_nic_group_leave(&late[0]);
    for (uint32_t g = 1; g < 2 * MYR_NIC_LINGERING; ++g) {
        meet_in_group(&pair, g, quick);
        myr_nic_group_leave(&quick[g % 2]);
        myr_nic_group_leave(&quick[1 - g % 2]);
        let_them_go(&pair, 1, 1);
    }
    myr_nic_group_leave(&late[1]);
    let_them_go(&pair, 0, 0);
    end_pair(&pair);
}

/* A block that is too short to be of use, and more nodes than there is a plan for. */
static void data_that_cannot_be(void **state)
{
    (void)state;
    struct pair pair;
    struct myr_error error = {0};
    struct myr_nic_group group;
    begin_pair(&pair);
    const struct myr_nic_name *const names[] = {&pair.world->name[0], &pair.world->name[1]};
    struct myr_nic_members members = {
        .key = 5, .nodes = 2, .locals = 1, .names = names, .unit_most = MCP_BLOCK_UNIT};
    assert_int_equal(myr_nic_group_join(&group, pair.member[0].nic, &pair.member[0].waiter,
                                        &members, schedule_of, pair.world, &error),
                     MYR_ERR_TOO_LONG);
    assert_false(myr_nic_group_joined(&group));
    members = (struct myr_nic_members){
        .key = 6, .nodes = MYR_CARRY_NODES + 1, .locals = 1, .unit_most = UNIT_MOST};
    assert_int_equal(myr_nic_group_join(&group, pair.member[0].nic, &pair.member[0].waiter,
                                        &members, schedule_of, pair.world, &error),
                     MYR_ERR_TOO_LONG);
    assert_int_equal(groups_in(pair.member[0].segment), 0);
    end_pair(&pair);
}

/* ---- a thread ---- */

/* Nobody polls: all arrive, and look at the release only. */
static void arrive_and_look(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct myr_nic_thread *thread = NULL;
    struct myr_error error = {0};
    begin(&member, world, rank);
    if (world->thread) {
        CREW_CHECK(MYR_OK == myr_nic_thread_start(member.nic, MYR_NIC_THREAD, &thread, &error),
                   "%s", error.text);
        world->unfit[rank] = NULL != thread; /* here: who has the thread */
    }
    for (uint32_t e = 1; e <= world->epochs; ++e) {
        (void)myr_nic_group_arrive(&member.group);
        while (world->thread && !myr_nic_group_test(&member.group, e)) {
            usleep(100);
        }
    }
    meet(world, 2, size_of(world));
    if (!world->thread) {
        /* All have arrived everywhere, and all messages are sent: but nobody has taken them. */
        CREW_CHECK(!myr_nic_group_test(&member.group, 1), "something has run the NIC");
    }
    meet(world, 3, size_of(world));
    while (!myr_nic_group_test(&member.group, world->epochs)) {
        (void)myr_nic_poll(member.nic);
    }
    meet(world, 4, size_of(world));
    myr_nic_thread_stop(thread);
    meet(world, 5, size_of(world));
    end(&member, 6);
}

static void a_thread_runs_the_nic(void **state)
{
    (void)state;
    for (uint32_t locals = 1; locals <= 2; ++locals) {
        struct world *world = make_world(2, locals, 1);
        assert_true(crew_run(size_of(world), arrive_and_look, world));
        end_world(world);

        world = make_world(2, locals, 200);
        world->thread = true;
        assert_true(crew_run(size_of(world), arrive_and_look, world));
        for (uint32_t n = 0; n < 2; ++n) { /* one thread on a node */
            uint32_t threads = 0;
            for (uint32_t l = 0; l < locals; ++l) {
                threads += world->unfit[n * locals + l];
            }
            assert_int_equal(threads, 1);
        }
        end_world(world);
    }
}

static void threads_come_and_go(void **state)
{
    (void)state;
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_nic_thread *thread, *another;
    struct myr_error error = {0};
    struct myr_nic_view view;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, &error), MYR_OK);
    assert_int_equal(myr_nic_open(segment, &loopback, &nic, &error), MYR_OK);
    const enum myr_nic_runner kinds[] = {MYR_NIC_THREAD, MYR_NIC_DAEMON};
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(myr_nic_thread_start(nic, kinds[k], &thread, &error), MYR_OK);
        assert_non_null(thread);
        assert_int_equal(myr_nic_thread_start(nic, MYR_NIC_THREAD, &another, &error), MYR_OK);
        assert_null(another); /* there is one */
        assert_int_equal(myr_look_at_nic(myr_segment_fd(segment), &view, &error), MYR_OK);
        assert_int_equal(view.runs_as, kinds[k]);
        assert_int_equal(view.runner, getpid());
        myr_nic_view_free(&view);
        myr_nic_thread_stop(another);
        myr_nic_thread_stop(thread);
        assert_int_equal(myr_look_at_nic(myr_segment_fd(segment), &view, &error), MYR_OK);
        assert_int_equal(view.runs_as, MYR_NIC_POLLED);
        myr_nic_view_free(&view);
    }
    myr_nic_close(nic);
    myr_segment_leave(segment);
}

/* ---- who comes and goes ---- */

static void open_and_compare(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    open_nic(&member, world, rank);
    meet(world, 0, size_of(world));
    struct myr_nic_name name;
    myr_nic_get_name(member.nic, &name);
    if (0 == rank) {
        world->name[0] = name;
    }
    meet(world, 1, size_of(world));
    CREW_CHECK(0 == memcmp(&name, &world->name[0], sizeof(name)), "another NIC");
    CREW_CHECK(1 == name.count && htonl(INADDR_LOOPBACK) == mcp_ip_to_4(&name.address[0].ip) &&
                   MCP_IP_BEFORE_4 + 8 == name.address[0].prefix && 0 != name.address[0].port &&
                   0 != name.key,
               "a strange name");
    meet(world, 2, size_of(world));
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
}

static void all_open_one_nic(void **state)
{
    (void)state;
    struct world *world = make_world(1, 8, 0);
    assert_true(crew_run(8, open_and_compare, world));
    end_world(world);
}

/* Rank 0 has made its node's NIC before the others come; it leaves, or waits to be killed. */
static void creator(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    open_nic(&member, world, rank);
    atomic_store(&world->come[10], 1);
    await_come(world, 11, size_of(world) + 1); /* the others are there */
    if (world->thread) {                       /* here: leave politely */
        myr_nic_close(member.nic);
        myr_segment_leave(member.segment);
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
        myr_nic_get_name(member.nic, &world->name[member.node]);
    }
    await_go(world, 1); /* the creator is gone */
    join_group(&member, 0);
    for (uint32_t e = 0; e < world->epochs; ++e) {
        one_barrier(&member);
    }
    await_come(world, 12, 1); /* the latecomer has the socket from one of us */
    end(&member, 1);
}

/* Comes to the NIC when its creator is gone, and must have the socket from somebody else. */
static void latecomer(uint32_t rank, void *context)
{
    struct world *world = context;
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_nic_name name;
    struct myr_error error = {0};
    (void)rank;
    await_come(world, 10, 1);
    CREW_CHECK(MYR_OK == myr_segment_join(world->folder[0], 0, &segment, &error), "%s", error.text);
    atomic_fetch_add(&world->come[11], 1);
    await_go(world, 1);
    CREW_CHECK(MYR_OK == myr_nic_open(segment, &loopback, &nic, &error), "%s", error.text);
    atomic_store(&world->come[12], 1);
    myr_nic_get_name(nic, &name);
    await_come(world, 0, size_of(world));
    CREW_CHECK(name.key == world->name[0].key, "another NIC");
    myr_nic_close(nic);
    myr_segment_leave(segment);
}

static void the_creator_goes(bool politely)
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

static void the_creator_leaves(void **state)
{
    (void)state;
    the_creator_goes(true);
}

static void the_creator_is_killed(void **state)
{
    (void)state;
    the_creator_goes(false);
}

static void expect_refusal(struct myr_segment *segment, const struct myr_nic_options *options,
                           enum myr_status status, const char *text)
{
    struct myr_nic *nic;
    struct myr_error error = {0};
    assert_int_equal(myr_nic_open(segment, options, &nic, &error), status);
    if (NULL == strstr(error.text, text)) {
        fail_msg("\"%s\" is not in \"%s\"", text, error.text);
    }
}

static void send_to(int socket, const struct myr_nic_name *name, const void *packet, size_t bytes)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_addr = {mcp_ip_to_4(&name->address[0].ip)},
        .sin_port = name->address[0].port,
    };
    assert_int_equal(sendto(socket, packet, bytes, 0, (const struct sockaddr *)&to, sizeof(to)),
                     bytes);
}

/* ---- processes killed in the wrong moment ---- */

static void wait_in_vain(struct member *member)
{
    struct world *world = member->world;
    atomic_fetch_add(&world->come[9], 1);
    CREW_CHECK(!myr_nic_group_wait(&member->group, myr_nic_group_arrive(&member->group), 0),
               "a barrier without all members");
    world->unfit[member->rank] = myr_nic_broken(member->nic);
}

/* Ranks 0 and 1 are a node's; 1 dies with the lock of its NIC in its hand. */
static void with_the_lock(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_board *board;
    begin(&member, world, rank);
    if (1 == rank) {
        await_come(world, 9, 1);
        (void)myr_nic_enter(member.nic, &board);
        atomic_store(&world->come[10], 1);
        raise(SIGKILL);
    }
    wait_in_vain(&member);
}

/* The same, but rank 0 waits only when it may go on. */
static void holds_on(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    begin(&member, world, rank);
    atomic_fetch_add(&world->come[9], 1);
    await_go(world, 1);
    wait_in_vain(&member);
}

static void killed_with_the_lock(void **state)
{
    (void)state;
    static const struct myr_patience polling = {0, -1, 1000};
    const struct myr_patience *const ways[] = {&yielding, &sleeping, &polling};
    for (int w = 0; w < 3; ++w) {
        struct world *world = make_world(1, 2, 0);
        world->patience = ways[w];
        const pid_t survivor = crew_fork(with_the_lock, 0, world);
        const pid_t victim = crew_fork(with_the_lock, 1, world);
        assert_false(crew_join(victim));
        assert_true(crew_join(survivor));
        assert_true(world->unfit[0]);
        assert_int_equal(atomic_load(&world->come[10]), 1);
        end_world(world);
    }
}

/* ---- a watch ---- */

/* Strangers do not know any secret. */
static const struct mcp_secret nobodys = {{1, 2}};

static void send_a_question(int stranger, const struct myr_nic_name *name)
{
    struct mcp_header header = {.type = MCP_ASK, .key = 1};
    mcp_seal(&header, &nobodys, NULL, 0);
    send_to(stranger, name, &header, mcp_header_bytes(header.type));
}

static uint64_t received_by(const struct myr_nic *nic)
{
    struct mcp_counters counters;
    myr_nic_count(nic, &counters);
    return counters.packets_received;
}

/* It takes what has come, all of it, if nobody else has run the NIC since it last looked, and only
 * then; it is no runner. */
static void a_watch_takes_what_nobody_takes(void **state)
{
    (void)state;
    struct world *world = make_world(1, 1, 0);
    struct member member;
    struct myr_nic_name name;
    struct myr_nic_view view;
    struct myr_nic_watch *watch;
    struct myr_nic_thread *thread;
    sem_init(&watch_time.asleep, 0, 0);
    sem_init(&watch_time.go, 0, 0);
    open_nic(&member, world, 0);
    myr_nic_get_name(member.nic, &name);
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    watch_time.held = true;
    assert_int_equal(myr_nic_watch_start(member.nic, 1, &watch, NULL), MYR_OK);
    sem_wait(&watch_time.asleep);
    assert_true(myr_nic_watch_is_here(watch));
    for (uint64_t round = 1; round <= 3; ++round) {
        const uint64_t before = received_by(member.nic);
        assert_int_equal(myr_nic_poll(member.nic), 0);
        send_a_question(stranger, &name);
        send_a_question(stranger, &name);
        one_watch_turn(); /* somebody has just run the NIC */
        assert_int_equal(received_by(member.nic), before);
        one_watch_turn();
        assert_int_equal(received_by(member.nic), before + 2);
    }
    assert_int_equal(myr_look_at_nic(myr_segment_fd(member.segment), &view, NULL), MYR_OK);
    assert_int_equal(view.runs_as, MYR_NIC_POLLED);
    myr_nic_view_free(&view);
    watch_time.held = false;
    sem_post(&watch_time.go);
    assert_int_equal(myr_nic_thread_start(member.nic, MYR_NIC_THREAD, &thread, NULL), MYR_OK);
    assert_non_null(thread);
    myr_nic_thread_stop(thread);
    myr_nic_watch_stop(watch);
    close(stranger);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
    end_world(world);
}

/* Has the watch until it may go on: then leaves, or is killed before. */
static void has_a_watch(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct myr_nic_watch *watch;
    open_nic(&member, world, rank);
    CREW_CHECK(MYR_OK == myr_nic_watch_start(member.nic, 1000000, &watch, NULL), "no watch");
    CREW_CHECK(myr_nic_watch_is_here(watch), "it is another's");
    atomic_store(&world->come[10], 1);
    await_go(world, 1);
    myr_nic_watch_stop(watch);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
}

/* Who is about to sleep takes over; and nobody polls, but what comes is taken. */
static void another_has_the_watch(bool politely)
{
    struct world *world = make_world(1, 2, 0);
    struct member member;
    struct myr_nic_name name;
    struct myr_nic_watch *watch;
    myr_word word[2] = {0, 0};
    open_nic(&member, world, 0);
    myr_nic_get_name(member.nic, &name);
    const pid_t other = crew_fork(has_a_watch, 1, world);
    await_come(world, 10, 1);
    assert_int_equal(myr_nic_watch_start(member.nic, 1000000, &watch, NULL), MYR_OK);
    assert_false(myr_nic_watch_is_here(watch));
    myr_nic_sleep(member.nic, &word[0], &word[1], 0, 1);
    assert_false(myr_nic_watch_is_here(watch));
    if (politely) {
        atomic_store(&world->go, 1);
    } else {
        kill(other, SIGKILL);
    }
    assert_int_equal(crew_join(other), politely);
    myr_nic_sleep(member.nic, &word[0], &word[1], 0, 1);
    assert_true(myr_nic_watch_is_here(watch));
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    send_a_question(stranger, &name);
    while (0 == received_by(member.nic)) {
        usleep(200);
    }
    close(stranger);
    myr_nic_watch_stop(watch);
    /* It is nobody's now: who starts one has it. */
    assert_int_equal(myr_nic_watch_start(member.nic, 1000000, &watch, NULL), MYR_OK);
    assert_true(myr_nic_watch_is_here(watch));
    myr_nic_watch_stop(watch);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
    end_world(world);
}

static void the_watch_leaves(void **state)
{
    (void)state;
    another_has_the_watch(true);
}

static void the_watch_is_killed(void **state)
{
    (void)state;
    another_has_the_watch(false);
}

/* ---- two processes of a node, of which one fails ---- */

static enum myr_status join_as(struct member *member, uint32_t local,
                               const struct myr_nic_name names[2], uint64_t key,
                               struct myr_nic_group *group)
{
    const struct myr_nic_name *const by_node[] = {&names[0], &names[1]};
    const struct myr_nic_members members = {
        .key = key,
        .nodes = 2,
        .locals = 2,
        .local = local,
        .names = by_node,
        .unit_most = member->world->unit_most,
    };
    struct myr_error error = {0};
    return myr_nic_group_join(group, member->nic, &member->waiter, &members, schedule_of,
                              member->world, &error);
}

static void expect_no_group(struct member *member)
{
    struct myr_nic_view view;
    assert_int_equal(groups_in(member->segment), 0);
    assert_int_equal(myr_look_at_nic(myr_segment_fd(member->segment), &view, NULL), MYR_OK);
    assert_int_equal(view.groups, 0);
    myr_nic_view_free(&view);
}

/* The first finds no way to a node, or no memory: the second fails alike, though it would find
 * them, and the NIC knows of no group in memory that is free. */
static void fail_as_the_first(uint32_t unit_most)
{
    struct world *world = make_world(2, 2, 0);
    world->unit_most = unit_most;
    struct myr_nic_name good[2], bad[2];
    struct myr_nic_group group[2];
    struct member member;
    uint32_t failures = 0;
    open_nic(&member, world, 0);
    myr_nic_get_name(member.nic, &good[0]);
    good[1] = bad[0] = bad[1] = good[0];
    ++good[1].key;
    bad[1].count = 0;

    assert_int_equal(join_as(&member, 0, bad, 1, &group[0]), MYR_ERR_NOT_THERE);
    assert_int_equal(join_as(&member, 1, good, 1, &group[1]), MYR_ERR_NOT_THERE);
    expect_no_group(&member);

    enum myr_status status = MYR_ERR_OUT_OF_MEMORY;
    for (int enough = 0; MYR_OK != status; ++enough) { /* each allocation fails once */
        allocations_left = enough;
        status = join_as(&member, 0, good, 2 + (uint64_t)enough, &group[0]);
        allocations_left = -1;
        failures += MYR_OK != status;
        assert_int_equal(join_as(&member, 1, good, 2 + (uint64_t)enough, &group[1]), status);
        for (uint32_t local = 0; MYR_OK == status && local < 2; ++local) {
            myr_nic_group_leave(&group[local]);
        }
        expect_no_group(&member);
    }
    assert_true(failures > 0);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
    end_world(world);
}

static void the_first_of_two_fails(void **state)
{
    (void)state;
    fail_as_the_first(0);
    fail_as_the_first(UNIT_MOST);
}

/* The first has joined, and the second has no memory for it: when the first has left, before or
 * after that, nothing of the group stays. */
static void fail_as_the_second(uint32_t unit_most)
{
    struct world *world = make_world(2, 2, 0);
    world->unit_most = unit_most;
    struct myr_nic_name names[2];
    struct myr_nic_group group[2];
    struct member member;
    open_nic(&member, world, 0);
    myr_nic_get_name(member.nic, &names[0]);
    names[1] = names[0];
    ++names[1].key;
    enum myr_status status = MYR_ERR_OUT_OF_MEMORY;
    uint64_t key = 1;
    for (int enough = 0; MYR_OK != status; ++enough) { /* each allocation fails once */
        for (int before = 0; before < 2; ++before, ++key) {
            assert_int_equal(join_as(&member, 0, names, key, &group[0]), MYR_OK);
            if (before) {
                myr_nic_group_leave(&group[0]);
            }
            allocations_left = enough;
            status = join_as(&member, 1, names, key, &group[1]);
            allocations_left = -1;
            if (!before) {
                myr_nic_group_leave(&group[0]);
            }
            if (MYR_OK == status) {
                myr_nic_group_leave(&group[1]);
            }
            expect_no_group(&member);
        }
    }
    assert_true(key > 3); /* it has failed */
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
    end_world(world);
}

static void the_second_of_two_fails(void **state)
{
    (void)state;
    fail_as_the_second(0);
    fail_as_the_second(UNIT_MOST);
}

/* ---- who holds something, and is not who it seems ---- */

/* Holds the lock until it may go on, then gives it back and ends. */
static void holds_and_leaves(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct mcp_board *board;
    open_nic(&member, world, rank);
    CREW_CHECK(NULL != myr_nic_enter(member.nic, &board), "it is broken");
    atomic_store(&world->come[10], 1);
    await_go(world, 1);
    myr_nic_leave(member.nic);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
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

/* Who looks at the lock sees its holder; before it asks whether that lives, the holder gives the
 * lock back and ends. So it is gone, but has broken nothing. */
static void the_holder_leaves_in_between(void **state)
{
    (void)state;
    struct world *world = make_world(1, 2, 0);
    struct holder holder = {.world = world};
    struct member member;
    struct mcp_board *board;
    open_nic(&member, world, 0);
    holder.pid = crew_fork(holds_and_leaves, 1, world);
    await_come(world, 10, 1);
    before_kill_context = &holder;
    before_kill = let_it_end;
    assert_false(myr_nic_broken(member.nic));
    assert_null(before_kill); /* it was asked */
    assert_true(holder.well);
    assert_false(myr_nic_broken(member.nic));
    assert_non_null(myr_nic_enter(member.nic, &board));
    myr_nic_leave(member.nic);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
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

/* Have another process with this number, where that is permitted; else have the segment's table say
 * that the one who had it was another, older one: this process. Returns the former's number. */
static pid_t give_pid_again(pid_t pid, struct myr_segment *segment)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
            set_tid_size;
    } arguments = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    usleep(20000); /* processes tell apart when they began by the hundredth of a second */
    const pid_t again = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (0 == again) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        waits(0, NULL);
    }
    if (again > 0) {
        assert_int_equal(again, pid);
        return again;
    }
    struct myr_sram *sram = (struct myr_sram *)myr_segment_base(segment);
    for (uint32_t i = 0; i < sram->processes; ++i) {
        if ((uint32_t)pid == myr_observe(&sram->process[i].pid)) {
            myr_publish(&sram->process[i].pid, (uint32_t)getpid());
        }
    }
    return 0;
}

static void end_again(pid_t again)
{
    if (again > 0) {
        kill(again, SIGKILL);
        (void)crew_join(again);
    }
}

/* A process dies with the lock in its hand, and its number is given again, or it stays a zombie:
 * those who wait are told all the same. */
static void killed_and_not_what_it_seems(bool zombie)
{
    struct world *world = make_world(1, 2, 0);
    struct myr_segment *segment;
    pid_t again = 0;
    siginfo_t about;
    world->patience = &sleeping;
    assert_int_equal(myr_segment_join(world->folder[0], 1 << 20, &segment, NULL), MYR_OK);
    const pid_t victim = crew_fork(with_the_lock, 1, world);
    const pid_t survivor = crew_fork(holds_on, 0, world);
    await_come(world, 9, 1); /* the survivor is about to wait; the victim goes on, and dies */
    assert_int_equal(waitid(P_PID, (id_t)victim, &about, WEXITED | WNOWAIT), 0);
    if (!zombie) {
        assert_false(crew_join(victim));
        again = give_pid_again(victim, segment);
    }
    atomic_store(&world->go, 1);
    assert_true(crew_join(survivor));
    assert_true(world->unfit[0]);
    if (zombie) {
        assert_false(crew_join(victim));
    }
    end_again(again);
    myr_segment_leave(segment);
    end_world(world);
}

static void a_dead_holders_pid_is_given_again(void **state)
{
    (void)state;
    killed_and_not_what_it_seems(false);
}

static void a_dead_holder_is_a_zombie(void **state)
{
    (void)state;
    killed_and_not_what_it_seems(true);
}

/* The same of who had the thread. */
static void has_a_thread(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    struct myr_nic_thread *thread;
    open_nic(&member, world, rank);
    CREW_CHECK(MYR_OK == myr_nic_thread_start(member.nic, MYR_NIC_THREAD, &thread, NULL) &&
                   NULL != thread,
               "no thread");
    atomic_store(&world->come[10], 1);
    waits(rank, context);
}

static void a_dead_runners_pid_is_given_again(void **state)
{
    (void)state;
    struct world *world = make_world(1, 2, 0);
    struct member member;
    struct myr_nic_thread *thread = NULL;
    open_nic(&member, world, 0);
    const pid_t victim = crew_fork(has_a_thread, 1, world);
    await_come(world, 10, 1);
    assert_int_equal(myr_nic_thread_start(member.nic, MYR_NIC_THREAD, &thread, NULL), MYR_OK);
    assert_null(thread);
    kill(victim, SIGKILL);
    assert_false(crew_join(victim));
    const pid_t again = give_pid_again(victim, member.segment);
    for (uint32_t i = 0; i < 1000 && NULL == thread; ++i) { /* not each look is thorough */
        assert_int_equal(myr_nic_thread_start(member.nic, MYR_NIC_THREAD, &thread, NULL), MYR_OK);
    }
    assert_non_null(thread);
    myr_nic_thread_stop(thread);
    end_again(again);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
    end_world(world);
}

/* On a NIC that is broken nobody runs the control program any more, whoever tries; all can clear
 * up, and who comes is told. */
static void a_broken_nic_is_left_alone(void **state)
{
    (void)state;
    struct world *world = make_world(1, 2, 0);
    struct member member;
    struct mcp_board *board;
    struct mcp_counters counters;
    struct myr_nic_view view;
    struct myr_port *port;
    const struct myr_port_options any = {.number = MYR_ANY_PORT, .inlet = true};
    struct myr_error error = {0};
    const pid_t victim = crew_fork(with_the_lock, 1, world);
    begin(&member, world, 0);
    assert_int_equal(myr_port_open(member.nic, &any, &port, &error), MYR_OK);
    atomic_fetch_add(&world->come[9], 1);
    atomic_store(&world->go, 1);
    assert_false(crew_join(victim));
    assert_true(myr_nic_broken(member.nic));

    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    send_a_question(stranger, &world->name[0]);
    assert_int_equal(myr_nic_poll(member.nic), 0);
    myr_nic_count(member.nic, &counters);
    assert_int_equal(counters.packets_received, 0);
    assert_null(myr_nic_enter(member.nic, &board));
    myr_nic_leave(member.nic);
    expect_refusal(member.segment, &loopback, MYR_ERR_GONE, "broken");
    assert_int_equal(myr_look_at_nic(myr_segment_fd(member.segment), &view, &error), MYR_OK);
    assert_true(view.broken);
    myr_nic_view_free(&view);
    struct myr_port *another;
    assert_int_equal(myr_port_open(member.nic, &any, &another, &error), MYR_ERR_GONE);
    assert_non_null(strstr(error.text, "broken"));

    const uint32_t epoch = myr_nic_group_arrive(&member.group);
    assert_false(myr_nic_group_wait(&member.group, epoch, 0));
    myr_port_close(port);
    myr_nic_groups_bury(member.nic, (uint32_t)victim);
    assert_int_equal(myr_ports_bury(member.nic, (uint32_t)victim), 0);
    myr_nic_group_leave(&member.group);
    close(stranger);
    myr_nic_close(member.nic);
    myr_segment_leave(member.segment);
    end_world(world);
}

/* Rank 1 dies as a member of a group; who oversees the NIC buries it. */
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
    wait_in_vain(&member);
    meet(world, 8, 1);
    myr_nic_group_leave(&member.group);
    await_go(world, 1);
}

static void one_is_killed_as_a_member(uint32_t unit_most)
{
    struct world *world = make_world(1, 2, 0);
    world->unit_most = unit_most;
    struct myr_segment *segment;
    struct myr_nic *nic;
    /* Who dies must not be the one by whom others find the segment. */
    assert_int_equal(myr_segment_join(world->folder[0], 1 << 20, &segment, NULL), MYR_OK);
    const pid_t survivor = crew_fork(as_a_member, 0, world);
    const pid_t victim = crew_fork(as_a_member, 1, world);
    assert_false(crew_join(victim));
    await_come(world, 9, 1);
    assert_int_equal(myr_nic_open(segment, &loopback, &nic, NULL), MYR_OK);
    assert_int_equal(groups_in(segment), 1);
    myr_nic_bury(nic, (uint32_t)victim);
    myr_nic_groups_bury(nic, (uint32_t)victim);
    myr_segment_bury(segment, (uint32_t)victim);
    await_come(world, 8, 1); /* the survivor knows, and leaves */
    while (0 != groups_in(segment)) {
        usleep(200);
    }
    atomic_store(&world->go, 1);
    assert_true(crew_join(survivor));
    assert_false(world->unfit[0]); /* the NIC serves others */
    assert_false(myr_nic_broken(nic));
    myr_nic_close(nic);
    myr_segment_leave(segment);
    end_world(world);
}

static void killed_as_a_member(void **state)
{
    (void)state;
    one_is_killed_as_a_member(0);
    one_is_killed_as_a_member(UNIT_MOST);
}

/* ---- a process that is stopped ---- */

static void one_is_stopped(void **state)
{
    (void)state;
    struct world *world = make_world(3, 2, 600);
    pid_t pids[MOST];
    uint64_t random = world->seed;
    for (uint32_t r = 0; r < size_of(world); ++r) {
        pids[r] = crew_fork(do_barriers, r, world);
    }
    for (uint32_t stop = 1; stop <= 5; ++stop) {
        const uint32_t victim = crew_below(&random, size_of(world));
        while (atomic_load(&world->ledger[victim]) < 100 * stop) {
            usleep(100);
        }
        int status;
        kill(pids[victim], SIGSTOP);
        assert_int_equal(waitpid(pids[victim], &status, WUNTRACED), pids[victim]);
        assert_true(WIFSTOPPED(status));
        const uint32_t there = atomic_load(&world->ledger[victim]);
        usleep(20000); /* they may run into it, or not */
        for (uint32_t r = 0; r < size_of(world); ++r) {
            assert_true(atomic_load(&world->ledger[r]) <= there + 1);
        }
        kill(pids[victim], SIGCONT);
    }
    for (uint32_t r = 0; r < size_of(world); ++r) {
        assert_true(crew_join(pids[r]));
    }
    end_world(world);
}

/* ---- what cannot be had ---- */

static void no_network(void **state)
{
    (void)state;
    const struct myr_nic_options nowhere = {.network = "10.255.255.0/24,nosuch0"};
    struct myr_segment *segment;
    struct myr_nic_view view;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    expect_refusal(segment, &nowhere, MYR_ERR_NOT_THERE, "nosuch0");
    expect_refusal(segment, &loopback, MYR_ERR_NOT_THERE, "nosuch0"); /* all hear the same */
    assert_int_equal(myr_look_at_nic(myr_segment_fd(segment), &view, NULL), MYR_OK);
    assert_false(view.there);
    assert_non_null(strstr(view.why, "nosuch0"));
    myr_nic_view_free(&view);
    myr_segment_leave(segment);

    static const struct pretended loopback_only[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK}, {NULL, NULL, NULL, 0}};
    const struct myr_nic_options any = {.network = NULL};
    pretended = loopback_only;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    expect_refusal(segment, &any, MYR_ERR_NOT_THERE, "no interface but loopback");
    myr_segment_leave(segment);
    pretended = NULL;
}

static void port_in_use(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(address);
    const int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(other, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(other, (struct sockaddr *)&address, &bytes), 0);
    const struct myr_nic_options options = {.network = "lo", .port = ntohs(address.sin_port)};
    struct myr_segment *segment;
    char text[40];
    snprintf(text, sizeof(text), "UDP port %u", (unsigned)options.port);
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    expect_refusal(segment, &options, MYR_ERR_SYSTEM, text);
    expect_refusal(segment, &loopback, MYR_ERR_SYSTEM, text); /* all hear the same */
    myr_segment_leave(segment);
    close(other);

    /* Free again: it is the one that was asked for. */
    struct myr_nic *nic;
    struct myr_nic_name name;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    assert_int_equal(myr_nic_open(segment, &options, &nic, NULL), MYR_OK);
    myr_nic_get_name(nic, &name);
    assert_int_equal(name.address[0].port, address.sin_port);
    myr_nic_close(nic);
    myr_segment_leave(segment);
}

/* A process that nobody may look into has made the NIC. */
static void aloof(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    open_nic(&member, world, rank);
    prctl(PR_SET_DUMPABLE, 0);
    meet(world, 0, 2);
    await_come(world, 1, 1);
}

static void without_rights(uint32_t rank, void *context)
{
    struct world *world = context;
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_error error = {0};
    (void)rank;
    CREW_CHECK(MYR_OK == myr_segment_join(world->folder[0], 0, &segment, &error), "%s", error.text);
    meet(world, 0, 2);
    if (0 == geteuid()) {
        CREW_CHECK(0 == setresuid(65534, 65534, 65534), "setresuid");
    }
    const enum myr_status status = myr_nic_open(segment, &loopback, &nic, &error);
    CREW_CHECK(MYR_ERR_SYSTEM == status && NULL != strstr(error.text, "pidfd_getfd"), "%d: %s",
               (int)status, error.text);
    atomic_store(&world->come[1], 1);
}

static void the_socket_is_refused(void **state)
{
    (void)state;
    struct world *world = make_world(1, 1, 0);
    const pid_t first = crew_fork(aloof, 0, world);
    await_come(world, 0, 1);
    const pid_t second = crew_fork(without_rights, 1, world);
    assert_true(crew_join(second));
    assert_true(crew_join(first));
    end_world(world);
}

/* A given socket that the NIC does not get is still the giver's: nobody else closes it. (A number
 * that is closed twice may be another thread's descriptor by then.) */
static void a_given_socket_stays_the_givers(void **state)
{
    (void)state;
    struct myr_segment *segment;
    struct myr_nic *nic, *second = NULL;
    struct myr_error error = {0};
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, &error), MYR_OK);
    assert_int_equal(myr_nic_open(segment, &loopback, &nic, &error), MYR_OK);
    const int given = dup(myr_nic_socket(nic));
    assert_true(given >= 0);
    uint32_t refusals = 0;
    enum myr_status status;
    do { /* each allocation fails once */
        allocations_left = (int)refusals;
        status = myr_nic_open_given(segment, given, &second, &error);
        allocations_left = -1;
        assert_true(fcntl(given, F_GETFD) >= 0);
        refusals += MYR_OK != status;
    } while (MYR_ERR_OUT_OF_MEMORY == status);
    assert_int_equal(status, MYR_OK);
    assert_true(refusals >= 2);
    myr_nic_close(second);
    assert_int_equal(fcntl(given, F_GETFD), -1); /* now it was the NIC's */
    myr_nic_close(nic);
    myr_segment_leave(segment);
}

/* ---- threads of one process ---- */

struct pollers {
    struct myr_nic *nic;
    uint64_t seed;
};

static void poll_now_and_then(uint32_t rank, void *context)
{
    const struct pollers *pollers = context;
    uint64_t random = pollers->seed + rank;
    for (uint32_t i = 0; i < 2000; ++i) {
        (void)myr_nic_poll_now_and_then(pollers->nic);
        crew_dawdle(&random);
    }
}

/* For ThreadSanitizer: progress functions of several threads share a NIC. */
static void threads_poll(void **state)
{
    (void)state;
    struct myr_segment *segment;
    struct pollers pollers = {.seed = crew_seed()};
    struct myr_error error = {0};
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, &error), MYR_OK);
    assert_int_equal(myr_nic_open(segment, &loopback, &pollers.nic, &error), MYR_OK);
    assert_true(crew_run(4, poll_now_and_then, &pollers));
    myr_nic_close(pollers.nic);
    myr_segment_leave(segment);
}

/* ---- addresses ---- */

static void name_of(struct myr_nic_name *name, uint32_t count, const char *const *addresses)
{
    *name = (struct myr_nic_name){.key = 7, .count = count};
    for (uint32_t a = 0; a < count && a < MYR_NIC_ADDRESSES; ++a) {
        name->address[a].ip = ip_of(addresses[a]);
        name->address[a].port = htons((uint16_t)(1000 + a));
        name->address[a].prefix = MCP_IP_BEFORE_4 + 24;
    }
}

/* A NIC on a machine with such interfaces and no others. */
struct elsewhere {
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_nic_name name;
};

static struct elsewhere open_elsewhere(const struct pretended *interfaces, const char *network)
{
    const struct myr_nic_options options = {.network = network};
    struct elsewhere it;
    pretended = interfaces;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &it.segment, NULL), MYR_OK);
    assert_int_equal(myr_nic_open(it.segment, &options, &it.nic, NULL), MYR_OK);
    myr_nic_get_name(it.nic, &it.name);
    return it;
}

static void close_elsewhere(const struct elsewhere *it)
{
    myr_nic_close(it->nic);
    myr_segment_leave(it->segment);
    pretended = NULL;
}

static void expect_route(const struct elsewhere *it, uint32_t count, const char *const *addresses,
                         uint32_t chosen)
{
    struct myr_nic_name name;
    name_of(&name, count, addresses);
    assert_int_equal(myr_nic_route(it->nic, &name), chosen);
}

static void routes(void **state)
{
    (void)state;
    static const struct pretended interfaces[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK},
        {"docker0", "172.17.0.1", "255.255.0.0", IFF_UP},
        {"eth0", "10.1.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"tun0", "10.9.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING | IFF_POINTOPOINT},
        {"eth1", "10.2.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"eth2", "10.3.0.5", "255.255.255.0", 0},
        {"eth3", "10.4.0.5", "255.255.0.0", IFF_UP | IFF_RUNNING},
        {"eth3", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    const struct elsewhere it = open_elsewhere(interfaces, NULL);
    assert_int_equal(it.name.count, 3); /* eth0, eth1, eth3 */
    assert_int_equal(it.name.address[2].prefix, MCP_IP_BEFORE_4 + 16);
    assert_int_equal(it.name.address[0].port, it.name.address[2].port);

    const char
        *const second[] = {"192.168.0.1", "10.2.0.9"},
               *const far[] = {"10.8.0.1", "10.9.0.1"}, *const wide[] = {"10.8.0.1", "10.4.77.1"},
               *const both[] = {"10.2.0.9", "10.1.0.9"}, *const bridge[] = {"10.1.0.5", "10.2.0.9"},
               *const routed[] = {"10.1.0.5", "10.8.0.1"}, *const here[] = {"10.1.0.5", "10.2.0.5"},
               *const six_first[] = {"fd00::6", "10.8.0.1"}, *const six[] = {"fd00::6"};
    expect_route(&it, 2, second, 1);
    expect_route(&it, 2, far, 0);    /* none is near: the first */
    expect_route(&it, 2, wide, 1);   /* by our own prefix */
    expect_route(&it, 2, both, 1);   /* both are near: by our first */
    expect_route(&it, 2, bridge, 1); /* not by an address that is ours */
    expect_route(&it, 2, routed, 1);
    expect_route(&it, 2, here, 0);      /* all are: it is a NIC of this machine */
    expect_route(&it, 2, six_first, 1); /* it has IPv4 alone */
    expect_route(&it, 1, six, MYR_NIC_ADDRESSES);
    expect_route(&it, 0, second, MYR_NIC_ADDRESSES);
    expect_route(&it, MYR_NIC_ADDRESSES + 1,
                 (const char *const[]){"1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1"},
                 MYR_NIC_ADDRESSES);
    close_elsewhere(&it);
}

/* A card that has just been switched on does not run for a second. */
static void no_interface_runs(void **state)
{
    (void)state;
    static const struct pretended none[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_RUNNING | IFF_LOOPBACK},
        {"eth0", "10.1.0.5", "255.255.255.0", IFF_UP},
        {"eth1", "10.2.0.5", "255.255.255.0", 0},
        {NULL, NULL, NULL, 0},
    };
    struct mcp_local_address found[2];
    const struct mcp_ip ip = ip_of("10.1.0.5");
    pretended = none;
    assert_int_equal(mcp_local_addresses(NULL, found, 2), 1);
    assert_true(mcp_same_ip(&found[0].ip, &ip));
    pretended = NULL;
}

/* IPv6: where an interface has no IPv4, or where it is named. */
static void routes_of_ipv6(void **state)
{
    (void)state;
    static const struct pretended six_alone[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK},
        {"lo", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", IFF_UP | IFF_LOOPBACK},
        {"eth0", "fe80::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {"eth0", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {"eth1", "2001:db8:1::5", "ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    static const struct pretended dual[] = {
        {"eth0", "10.1.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"eth0", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    /* A bridge of containers has the same address on all hosts. */
    static const struct pretended bridge_first[] = {
        {"docker0", "172.17.0.1", "255.255.0.0", IFF_UP | IFF_RUNNING},
        {"eth0", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {"eth1", "10.1.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"eth1", "fd00:1::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    const char *const elsewhere[] = {"172.17.0.1", "fd00::9"}, *const both[] = {"fd00::9",
                                                                                "10.1.0.9"};
    const char *const near[] = {"10.1.0.9", "fd00::9"}, *const far[] = {"10.1.0.9", "fc00::9"},
                      *const second[] = {"fd00:0:0:1::9", "2001:db8:1:77::9"},
                      *const four[] = {"10.1.0.9"}, *const six[] = {"fd00::9"};
    need_ipv6();
    struct elsewhere it = open_elsewhere(six_alone, NULL);
    assert_int_equal(it.name.count, 2);
    assert_int_equal(it.name.address[0].prefix, 64);
    assert_int_equal(it.name.address[1].prefix, 48);
    expect_route(&it, 2, near, 1);
    expect_route(&it, 2, far, 1);
    expect_route(&it, 2, second, 1);
    expect_route(&it, 1, four, MYR_NIC_ADDRESSES);
    close_elsewhere(&it);

    it = open_elsewhere(dual, "fd00::/8,10.0.0.0/8");
    assert_int_equal(it.name.count, 2);
    expect_route(&it, 2, near, 1); /* as the person has said */
    expect_route(&it, 2, far, 0);
    expect_route(&it, 1, four, 0);
    expect_route(&it, 1, six, 0);
    close_elsewhere(&it);

    it = open_elsewhere(bridge_first, NULL);
    assert_int_equal(it.name.count, 3); /* of an interface that has both, IPv4 alone */
    assert_true(mcp_ip_is_4(&it.name.address[2].ip));
    expect_route(&it, 2, elsewhere, 1);
    expect_route(&it, 2, both, 0);
    close_elsewhere(&it);

    struct mcp_local_address found[2];
    pretended = dual;
    assert_int_equal(mcp_local_addresses(NULL, found, 2), 1);
    assert_true(mcp_ip_is_4(&found[0].ip));
    assert_int_equal(mcp_local_addresses("eth0", found, 2), 1);
    assert_true(mcp_ip_is_4(&found[0].ip));
    assert_int_equal(mcp_local_addresses("eth0,fd00::5/128,eth0", found, 2), 2);
    assert_false(mcp_ip_is_4(&found[1].ip));
    assert_int_equal(mcp_local_addresses("fe80::/10", found, 2), 0);
    pretended = six_alone;
    assert_int_equal(mcp_local_addresses("eth0,fe80::/10", found, 2), 1);
    assert_int_equal(mcp_local_addresses("::/0", found, 1), 1);
    pretended = NULL;
}

/* Each group has peers that nobody has met: all of them are more than there is room for at once. */
static void peers_come_and_go(void **state)
{
    (void)state;
    enum { PEERS = 15, GROUPS = 600, AT_ONCE = 4 };
    struct world world = {.nodes = PEERS + 1}; /* eight of them are a node's peers */
    struct myr_nic_name name[PEERS + 1] = {0};
    const struct myr_nic_name *names[PEERS + 1] = {&name[0]};
    struct myr_nic_group group[AT_ONCE];
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_error error = {0};
    const struct myr_nic_options options = {.network = "lo"};
    assert_int_equal(myr_segment_join(NULL, 8 << 20, &segment, NULL), MYR_OK);
    assert_int_equal(myr_nic_open(segment, &options, &nic, NULL), MYR_OK);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        for (uint32_t n = 1; n <= PEERS; ++n) {
            names[n] = &name[n];
            name[n].count = 1;
            name[n].address[0].ip = mcp_ip_of_4(htonl(0x7f010000 + g * PEERS + n));
            name[n].address[0].port = htons(9);
        }
        const struct myr_nic_members members = {
            .key = g + 1, .nodes = PEERS + 1, .locals = 1, .names = names};
        if (g >= AT_ONCE) {
            myr_nic_group_leave(&group[g % AT_ONCE]);
        }
        assert_int_equal(myr_nic_group_join(&group[g % AT_ONCE], nic, NULL, &members, schedule_of,
                                            &world, &error),
                         MYR_OK);
    }
    for (uint32_t g = 0; g < AT_ONCE; ++g) {
        myr_nic_group_leave(&group[g]);
    }
    myr_nic_close(nic);
    myr_segment_leave(segment);
}

/* The other node never comes: who waits sees which it is, and gives it up. */
static void a_missing_node(void **state)
{
    (void)state;
    struct world world = {.nodes = 2};
    struct myr_nic_name names[2] = {{0}, {.key = 2, .count = 1}};
    const struct myr_nic_name *const by_node[] = {&names[0], &names[1]};
    const struct myr_nic_members members = {.key = 1, .nodes = 2, .locals = 1, .names = by_node};
    struct myr_nic_group group;
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_waiter waiter;
    struct mcp_missing missing[2];
    struct mcp_counters counters;
    uint32_t node;
    names[1].address[0].ip = mcp_ip_of_4(htonl(INADDR_LOOPBACK));
    names[1].address[0].port = htons(9);
    assert_int_equal(myr_segment_join(NULL, 8 << 20, &segment, NULL), MYR_OK);
    myr_waiter_init(&waiter, segment, no_progress, &sleeping);
    assert_int_equal(myr_nic_open(segment, &loopback, &nic, NULL), MYR_OK);
    assert_int_equal(myr_nic_group_join(&group, nic, &waiter, &members, schedule_of, &world, NULL),
                     MYR_OK);
    assert_int_equal(myr_nic_group_missing(&group, missing, 2), 0);
    const uint32_t epoch = myr_nic_group_arrive(&group);
    assert_false(myr_nic_group_wait(&group, epoch, 5000));
    assert_int_equal(myr_nic_group_missing(&group, missing, 0), 0);
    assert_int_equal(myr_nic_group_missing(&group, missing, 2), 1);
    assert_int_equal(missing[0].node, 1);
    assert_int_equal(missing[0].heard_ms, 0);
    assert_false(myr_nic_group_over(&group));
    assert_false(myr_nic_group_failed(&group, &node));
    myr_nic_group_fail(&group, 1);
    assert_true(myr_nic_group_over(&group));
    assert_true(myr_nic_group_failed(&group, &node));
    assert_int_equal(node, 1);
    assert_false(myr_nic_group_wait(&group, epoch, 0)); /* for ever, otherwise */
    assert_false(myr_nic_group_wait(&group, myr_nic_group_arrive(&group), 0));
    assert_int_equal(myr_nic_group_missing(&group, missing, 2), 0);
    myr_nic_count(nic, &counters);
    assert_int_equal(counters.failed, 1);
    myr_nic_group_leave(&group);
    myr_nic_close(nic);
    myr_segment_leave(segment);
}

enum { SPOILT = 256 /* bytes around each place where the key lies */ };

/* Random bytes in memory that looks like a segment: most of them where a group or its record is,
 * which its key tells. */
static void spoil(uint8_t *memory, size_t bytes, uint64_t key, uint64_t *random)
{
    for (size_t at = 0; at + sizeof(key) <= bytes; at += sizeof(key)) {
        if (0 == memcmp(memory + at, &key, sizeof(key))) {
            for (uint64_t b = 1 + crew_random(random) % 4; b > 0; --b) {
                const size_t off =
                    8 + crew_random(random) % SPOILT; /* it is still found by its key */
                memory[at + off < bytes ? at + off : at] = (uint8_t)crew_random(random);
            }
        }
    }
    for (uint64_t b = crew_random(random) % 64; b > 0; --b) {
        memory[crew_random(random) % bytes] = (uint8_t)crew_random(random);
    }
}

/* Who looks from outside believes nothing: whatever the memory says, what is told of it has its
 * bounds. */
static void nonsense_is_looked_at(void **state)
{
    (void)state;
    enum { ROUNDS = 400, KEPT = 1 << 20 };
    const uint64_t key = UINT64_C(0x6e6f6e73656e7365);
    struct world world = {.nodes = 2};
    struct myr_nic_name names[2] = {{0}, {.key = 2, .count = 1}};
    const struct myr_nic_name *const by_node[] = {&names[0], &names[1]};
    struct myr_nic_members members = {.key = key, .nodes = 2, .locals = 2, .names = by_node};
    struct myr_nic_group group[2];
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_waiter waiter;
    struct myr_nic_view view;
    uint64_t random = crew_seed() + 77;
    uint8_t *sound = malloc(KEPT), *spoilt = malloc(KEPT);
    const int copy = memfd_create("spoilt", MFD_CLOEXEC);
    uint32_t seen = 0;
    names[1].address[0].ip = mcp_ip_of_4(htonl(INADDR_LOOPBACK));
    names[1].address[0].port = htons(9);
    assert_int_equal(myr_segment_join(NULL, KEPT, &segment, NULL), MYR_OK);
    myr_waiter_init(&waiter, segment, no_progress, &sleeping);
    assert_int_equal(myr_nic_open(segment, &loopback, &nic, NULL), MYR_OK);
    for (; members.local < 2; ++members.local) {
        assert_int_equal(myr_nic_group_join(&group[members.local], nic, &waiter, &members,
                                            schedule_of, &world, NULL),
                         MYR_OK);
    }
    for (int round = 0; round < ROUNDS; ++round) {
        if (0 == round || ROUNDS / 2 == round) { /* it waits for a process, later for a node */
            (void)myr_nic_group_arrive(&group[0 != round]);
            assert_int_equal(pread(myr_segment_fd(segment), sound, KEPT, 0), KEPT);
        }
        memcpy(spoilt, sound, KEPT);
        spoil(spoilt, KEPT, key, &random);
        assert_int_equal(pwrite(copy, spoilt, KEPT, 0), KEPT);
        if (MYR_OK != myr_look_at_nic(copy, &view, NULL)) {
            continue;
        }
        for (uint32_t g = 0; g < view.groups; ++g) {
            seen += view.group[g].nodes + view.group[g].absent;
            assert_true(view.group[g].named <= MYR_VIEW_NODES);
            assert_true(view.group[g].named <= view.group[g].nodes);
            assert_true(view.group[g].absent <= view.group[g].locals);
        }
        myr_nic_view_free(&view);
    }
    assert_true(seen > ROUNDS / 4); /* and not nothing but refusals */
    for (int local = 0; local < 2; ++local) {
        myr_nic_group_leave(&group[local]);
    }
    myr_nic_close(nic);
    myr_segment_leave(segment);
    close(copy);
    free(sound);
    free(spoilt);
}

/* ---- other people's packets ---- */

/* Poll until the NIC has counted so many packets. */
static void take(struct myr_nic *nic, uint64_t packets, struct mcp_counters *counters)
{
    do {
        (void)myr_nic_poll(nic);
        myr_nic_count(nic, counters);
    } while (counters->packets_received < packets);
}

static void strange_packets(void **state)
{
    (void)state;
    enum { PACKETS = 300 };
    struct myr_segment *segment;
    struct myr_nic *nic;
    struct myr_nic_name name;
    struct mcp_counters counters;
    uint64_t random = crew_seed();
    uint8_t packet[1400];
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    assert_int_equal(myr_nic_open(segment, &loopback, &nic, NULL), MYR_OK);
    myr_nic_get_name(nic, &name);
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    for (uint32_t p = 1; p <= PACKETS; ++p) { /* one by one, so that none is lost */
        const size_t bytes = 1 + crew_below(&random, sizeof(packet) - 1); /* 0 is not a packet */
        for (size_t b = 0; b < bytes; ++b) {
            packet[b] = (uint8_t)crew_random(&random);
        }
        send_to(stranger, &name, packet, bytes);
        take(nic, p, &counters);
    }
    assert_int_equal(counters.dropped_damaged, PACKETS);

    /* In our format, with keys that nobody here has. */
    for (uint32_t p = 1; p <= PACKETS; ++p) {
        struct mcp_header header = {.type = 0 == p % 2 ? MCP_ASK : MCP_DONE,
                                    .key = crew_random(&random)};
        header.collective.epoch = (uint32_t)crew_random(&random);
        mcp_seal(&header, &nobodys, NULL, 0);
        send_to(stranger, &name, &header, mcp_header_bytes(header.type));
        take(nic, PACKETS + p, &counters);
    }
    assert_int_equal(counters.dropped_damaged, PACKETS);
    assert_int_equal(counters.dropped_foreign, PACKETS);
    assert_int_equal(counters.packets_sent, 0);
    close(stranger);
    myr_nic_close(nic);
    myr_segment_leave(segment);
}

/* The same while barriers go on: somebody shoots at all NICs as fast as they take it. */
static void shooter(uint32_t rank, void *context)
{
    struct world *world = context;
    uint64_t random = world->seed ^ rank;
    uint8_t packet[200];
    const int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    while (0 == atomic_load(&world->go)) {
        if (atomic_load(&world->come[0]) < size_of(world)) { /* the NICs have no names yet */
            usleep(200);
            continue;
        }
        for (uint32_t n = 0; n < world->nodes; ++n) {
            const struct sockaddr_in to = {
                .sin_family = AF_INET,
                .sin_addr = {mcp_ip_to_4(&world->name[n].address[0].ip)},
                .sin_port = world->name[n].address[0].port,
            };
            for (size_t b = 0; b < sizeof(packet); ++b) {
                packet[b] = (uint8_t)crew_random(&random);
            }
            (void)sendto(stranger, packet, crew_below(&random, sizeof(packet)), 0,
                         (const struct sockaddr *)&to, sizeof(to));
        }
        sched_yield();
    }
    close(stranger);
}

static void barriers_under_fire(void **state)
{
    (void)state;
    struct world *world = make_world(2, 2, 1000);
    const pid_t stranger = crew_fork(shooter, 0, world);
    const bool well = crew_run(size_of(world), do_barriers, world);
    atomic_store(&world->go, 1);
    assert_true(crew_join(stranger));
    assert_true(well);
    end_world(world);
}

/* ---- main ---- */

int main(void)
{
    crew_watchdog();
    if (crew_of_threads()) { /* the others need processes: the lock tells no threads apart */
        const struct CMUnitTest threaded[] = {cmocka_unit_test(threads_poll)};
        return cmocka_run_group_tests_name("nic", threaded, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_open_one_nic),
        cmocka_unit_test(no_network),
        cmocka_unit_test(port_in_use),
        cmocka_unit_test(the_socket_is_refused),
        cmocka_unit_test(a_given_socket_stays_the_givers),
        cmocka_unit_test(threads_poll),
        cmocka_unit_test(routes),
        cmocka_unit_test(no_interface_runs),
        cmocka_unit_test(routes_of_ipv6),
        cmocka_unit_test(peers_come_and_go),
        cmocka_unit_test(a_missing_node),
        cmocka_unit_test(nonsense_is_looked_at),
        cmocka_unit_test(strange_packets),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(a_thread_runs_the_nic),
        cmocka_unit_test(the_creator_leaves),
        cmocka_unit_test(the_creator_is_killed),
        cmocka_unit_test(killed_with_the_lock),
        cmocka_unit_test(a_watch_takes_what_nobody_takes),
        cmocka_unit_test(the_watch_leaves),
        cmocka_unit_test(the_watch_is_killed),
        cmocka_unit_test(the_first_of_two_fails),
        cmocka_unit_test(the_second_of_two_fails),
        cmocka_unit_test(the_holder_leaves_in_between),
        cmocka_unit_test(a_dead_holders_pid_is_given_again),
        cmocka_unit_test(a_dead_holder_is_a_zombie),
        cmocka_unit_test(a_dead_runners_pid_is_given_again),
        cmocka_unit_test(a_broken_nic_is_left_alone),
        cmocka_unit_test(killed_as_a_member),
        cmocka_unit_test(one_is_stopped),
        cmocka_unit_test(barriers_under_fire),
        cmocka_unit_test(barriers_asleep),
        cmocka_unit_test(barriers_across_nodes),
        cmocka_unit_test(barriers_over_ipv6),
        cmocka_unit_test(data_that_cannot_be),
        cmocka_unit_test(more_farewells_than_fit),
        cmocka_unit_test(one_long_farewell),
        cmocka_unit_test(data_across_nodes),
        cmocka_unit_test(broadcasts_across_nodes),
    };
    return cmocka_run_group_tests_name("nic", tests, NULL, NULL);
}
