/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that broadcasts across nodes deliver each block whole, whichever process is the root.
 */
#include "libmyr/groups/nic_bcast.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/play.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

/* Draw the root, the length and the contents, which are the same on all processes. */
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
               "no room in the window for broadcast %u", group->bcast->number);
    memcpy(myr_nic_bcast_data(group), block, bytes);
    myr_nic_bcast_send(group, bytes);
}

static void read_block(struct member *member, const uint8_t *block, uint32_t bytes)
{
    struct myr_nic_group *group = &member->group;
    uint32_t came;
    CREW_CHECK(myr_nic_group_wait_bcast(group, 0), "broadcast %u does not arrive",
               group->bcast->number);
    if (0 == crew_below(&member->random, 4)) {
        crew_dawdle(&member->random);
    }
    const void *data = myr_nic_bcast_check(group, &came);
    CREW_CHECK(came == bytes && 0 == memcmp(data, block, bytes), "broadcast %u has wrong data",
               group->bcast->number);
}

static void one_broadcast(struct member *member)
{
    uint8_t block[UNIT_MOST];
    uint32_t bytes, root;
    uint64_t random = member->world->seed + member->generation + member->group.bcast->number;
    if (0 == crew_below(&random, 20)) { /* a barrier between broadcasts */
        CREW_CHECK(myr_nic_group_wait(&member->group, myr_nic_group_arrive(&member->group), 0),
                   "a barrier does not complete");
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

TEST(broadcasts_across_nodes)
{
    for (uint32_t nodes = 1; nodes <= MOST_NODES; ++nodes) {
        for (uint32_t locals = 1; locals <= MOST_LOCALS; ++locals) {
            struct world *world = make_world(nodes, locals, 200 / locals);
            world->unit_most = UNIT_MOST - MCP_BLOCK_UNIT * (uint32_t)(world->seed % 40);
            world->broadcasts = true;
            world->generations = 4;
            world->policy = 0 == locals % 2 ? &sleeping : &yielding;
            if (!crew_run(size_of(world), do_broadcasts, world)) {
                fail_msg("%u nodes with %u processes each", nodes, locals);
            }
            end_world(world);
        }
    }
}

/* A block whose header claims more bytes than fit into a slot is not read beyond the slot. */
TEST(broadcasts_of_a_wrong_length)
{
    enum { SLOT = 1024 };
    _Alignas(MYR_LINE) static uint8_t slots[2 * SLOT];
    struct myr_nic_bcast bcast = {
        .slots = slots, .window = 2, .slot_bytes = SLOT, .nodes = 2, .number = 2};
    const struct myr_nic_group group = {.bcast = &bcast};
    uint8_t *slot = (uint8_t *)myr_nic_bcast_word(&group);
    static const uint32_t lengths[] = {0, 1, SLOT, UINT32_MAX};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
        uint32_t bytes;
        memcpy(slot + sizeof(struct mcp_bcast_slot), &lengths[i], sizeof(lengths[i]));
        const uint8_t *data = myr_nic_bcast_check(&group, &bytes);
        assert_true(data + bytes <= slot + SLOT);
        assert_true(bytes == lengths[i] || bytes == myr_nic_bcast_most(&group));
    }
}
