/* SPDX-License-Identifier: BSD-3-Clause */
/* See member.h. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <unistd.h>

#include "coll_nicbarr/schedule.h"
#include "firmware/soft/addresses.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/member.h"
#include "libmyr/soft/soft_group.h"

void no_progress(void) {}

bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    const struct world *world = context;
    static const char *const choices[] = {"dissemination:1", "pairwise", "tree:2"};
    struct nicbarr_choice choice = {NICBARR_DISSEMINATION, 1 + world->seed % 3, 0};
    return (world->broadcasts || nicbarr_choice_parse(choices[world->seed % 3], &choice)) &&
           nicbarr_schedule_create(choice, world->nodes, node, schedule);
}

void open_nic(struct member *member, struct world *world, uint32_t rank)
{
    struct myr_error error = {0};
    const struct myr_soft_options options = {.network = world->network[rank / world->locals]};
    *member = (struct member){
        .world = world,
        .rank = rank,
        .node = rank / world->locals,
        .local = rank % world->locals,
        .random = world->seed ^ rank * 0x10001,
    };
    atomic_store(&world->pid[rank], (uint32_t)getpid());
    CREW_CHECK(MYR_OK ==
                   myr_segment_join(world->dir[member->node], 4 << 20, &member->segment, &error),
               "%s", error.text);
    myr_waiter_init(&member->waiter, member->segment, no_progress, world->policy);
    CREW_CHECK(MYR_OK == myr_soft_open(member->segment, &options, &member->nic, &error), "%s",
               error.text);
}

void close_nic(struct member *member)
{
    myr_soft_close(member->nic);
    myr_segment_leave(member->segment);
}

void open_alone(struct member *member, uint32_t bytes)
{
    *member = (struct member){.node = 0};
    CREW_CHECK(MYR_OK == myr_segment_join(NULL, bytes, &member->segment, NULL), "no segment");
    myr_waiter_init(&member->waiter, member->segment, no_progress, &sleeping);
    CREW_CHECK(MYR_OK == myr_soft_open(member->segment, &loopback, &member->nic, NULL), "no NIC");
}

void join_with_absent(struct member *member, uint64_t key, uint32_t locals,
                      struct myr_nic_group group[])
{
    static const struct world world = {.nodes = 2};
    struct myr_nic_name names[2] = {{0}, {.key = 2, .count = 1}};
    const struct myr_nic_name *const by_node[] = {&names[0], &names[1]};
    struct myr_nic_members members = {.key = key, .nodes = 2, .locals = locals, .names = by_node};
    names[1].address[0].ip = mcp_ip_of_4(htonl(INADDR_LOOPBACK));
    names[1].address[0].port = htons(9);
    for (; members.local < locals; ++members.local) {
        CREW_CHECK(MYR_OK == myr_soft_group_join(&group[members.local], member->nic,
                                                 &member->waiter, &members, schedule_of, &world,
                                                 NULL),
                   "cannot join");
    }
}

void exchange_names(struct member *member, int point)
{
    struct world *world = member->world;
    if (0 == member->local) {
        myr_soft_get_name(member->nic, &world->name[member->node]);
    }
    meet(world, point, size_of(world));
}

void join_one(struct member *member, uint64_t key, uint32_t unit_most, bool alone,
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
    CREW_CHECK(MYR_OK == myr_soft_group_join(group, member->nic, &member->waiter, &members,
                                             schedule_of, world, &error),
               "%s", error.text);
}

void join_group(struct member *member, int point)
{
    exchange_names(member, point);
    join_one(member, member->world->key, member->world->unit_most, false, &member->group);
}

void begin(struct member *member, struct world *world, uint32_t rank)
{
    open_nic(member, world, rank);
    join_group(member, 0);
}

void end(struct member *member, int point)
{
    struct world *world = member->world;
    atomic_fetch_add(&world->come[point], 1);
    while (atomic_load(&world->come[point]) < size_of(world)) {
        (void)myr_soft_poll(member->nic);
        sched_yield();
    }
    myr_nic_group_leave(&member->group);
    close_nic(member);
}

void one_barrier(struct member *member)
{
    struct world *world = member->world;
    const uint32_t epoch = member->group.epoch + 1;
    atomic_store_explicit(&world->ledger[member->rank], epoch, memory_order_relaxed);
    CREW_CHECK(epoch == myr_nic_group_arrive(&member->group), "arrived in another epoch");
    if (0 == crew_below(&member->random, 3)) { /* test for it until it completes */
        crew_dawdle(&member->random);
        while (!myr_nic_group_test(&member->group, epoch)) {
            (void)myr_soft_poll(member->nic);
            sched_yield();
        }
    } else {
        CREW_CHECK(myr_nic_group_wait(&member->group, epoch, 0), "barrier %u does not complete",
                   epoch);
    }
    for (uint32_t r = 0; r < size_of(world); ++r) {
        const uint32_t seen = atomic_load_explicit(&world->ledger[r], memory_order_relaxed);
        CREW_CHECK(seen == epoch || seen == epoch + 1, "rank %u is at %u after barrier %u", r, seen,
                   epoch);
    }
}

void do_barriers(uint32_t rank, void *context)
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
