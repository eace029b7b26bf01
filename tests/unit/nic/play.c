/* SPDX-License-Identifier: BSD-3-Clause */
/* See play.h. */
#include <string.h>
#include <unistd.h>

#include "libmyr/groups/nic_data.h"
#include "libmyr/soft/nic_inside.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/play.h"

struct tally {
    uint32_t groups;
};

static void count_groups(struct myr_record *record, void *context)
{
    const struct myr_key key = myr_soft_group_record_key(0);
    ((struct tally *)context)->groups += key.id == record->key[1];
}

uint32_t groups_in(struct myr_segment *segment)
{
    struct tally tally = {0};
    myr_records_each(segment, count_groups, &tally);
    return tally.groups;
}

uint32_t part_of(const struct member *member, uint32_t epoch)
{
    const struct world *world = member->world;
    uint64_t random = world->seed + 1000 * member->generation + epoch;
    const uint32_t most = myr_nic_data_most(&member->group) / world->locals / MCP_BLOCK_UNIT;
    return MCP_BLOCK_UNIT * crew_below(&random, (most < 5 ? most : 5) + 1);
}

/* Fill a part, each one differently. */
static void make_part(const struct member *member, uint32_t rank, uint32_t epoch, uint8_t *part)
{
    uint64_t random =
        member->world->seed ^ ((uint64_t)member->generation << 48 | (uint64_t)rank << 32 | epoch);
    for (uint32_t i = 0; i < part_of(member, epoch); i += MCP_BLOCK_UNIT) {
        const uint64_t word = crew_random(&random);
        memcpy(part + i, &word, sizeof(word));
    }
}

/* Build a block of the contributions of the node's processes. */
static void build(void *context, uint32_t epoch, uint8_t *block)
{
    const struct member *member = context;
    const uint32_t bytes = part_of(member, epoch);
    for (uint32_t l = 0; l < member->world->locals; ++l) {
        memcpy(block + l * bytes, myr_nic_data_part_of(&member->group, l), bytes);
    }
    atomic_fetch_add(&member->world->built[member->node], 1);
}

void expect_blocks(const struct member *member, uint32_t epoch)
{
    const struct world *world = member->world;
    const uint32_t bytes = part_of(member, epoch), unit = world->locals * bytes;
    for (uint32_t r = 0; r < size_of(world); ++r) {
        const uint8_t *block = myr_nic_data_block(&member->group, epoch, unit, r / world->locals);
        uint8_t part[UNIT_MOST];
        make_part(member, r, epoch, part);
        CREW_CHECK(0 == memcmp(part, block + r % world->locals * bytes, bytes),
                   "the part of rank %u in epoch %u is wrong", r, epoch);
    }
}

uint32_t arrive_with_data(struct member *member)
{
    const uint32_t epoch = member->group.epoch + 1, bytes = part_of(member, epoch);
    make_part(member, member->rank, epoch, myr_nic_data_part(&member->group));
    CREW_CHECK(
        epoch == myr_nic_data_arrive(&member->group, member->world->locals * bytes, build, member),
        "arrived in another epoch");
    return epoch;
}

static void poll_and_sleep(struct member *member)
{
    (void)myr_soft_poll(member->nic);
    usleep(50);
}

void join_and_leave(struct member *member, uint64_t key)
{
    struct myr_nic_group group;
    join_one(member, key, 0, true, &group);
    myr_nic_group_leave(&group);
}

/* Poll the NIC until all groups on all nodes are closed. */
static void await_no_groups(struct member *member)
{
    struct world *world = member->world;
    uint64_t key = UINT64_MAX / 2 + member->rank;
    for (uint32_t polls = 0; 0 != groups_in(member->segment); ++polls) {
        poll_and_sleep(member);
        if (0 == member->local && 0 == polls % POLLS) {
            join_and_leave(member, key += MOST);
        }
    }
    atomic_fetch_add(&world->come[1], 1);
    while (atomic_load(&world->come[1]) <
           size_of(world)) { /* others still need this process's NIC */
        poll_and_sleep(member);
    }
    close_nic(member);
}

void play_groups(struct world *world, uint32_t rank, void (*play)(struct member *member))
{
    struct member member;
    open_nic(&member, world, rank);
    exchange_names(&member, 0);
    for (; member.generation < world->generations; ++member.generation) {
        join_one(&member, world->key + member.generation, world->unit_most, false, &member.group);
        for (uint32_t e = 0; e < world->epochs; ++e) {
            play(&member);
        }
        myr_nic_group_leave(&member.group);
    }
    await_no_groups(&member);
}
