/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that processes of a node that share a group on the kernel NIC get its epochs and
 * broadcasts, and leave nothing behind.
 */
#include <sys/socket.h>

#include "firmware/bcast.h"
#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_group.h"
#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/node/segment.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/test.h"

/* Returns a schedule of two nodes and one step. `context` determines whether there is memory for
 * it. */
static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    struct mcp_step *steps =
        *(const bool *)context ? malloc(sizeof(*steps) + 2 * sizeof(uint32_t)) : NULL;
    if (NULL == steps) {
        return false;
    }
    uint32_t *peers = (uint32_t *)(steps + 1);
    steps[0] = (struct mcp_step){1, 1};
    peers[0] = peers[1] = 1 - node;
    *schedule = (struct myr_schedule){1, steps, 2, peers};
    return true;
}

static void count_record(struct myr_record *record, void *context)
{
    (void)record;
    ++*(uint32_t *)context;
}

static uint32_t records_in(struct myr_segment *segment)
{
    uint32_t count = 0;
    myr_records_each(segment, count_record, &count);
    return count;
}

/* A node whose processes join groups of two nodes. */
static struct {
    struct myr_kernel_nic *nic;
    struct myr_segment *segment;
    struct myr_nic_name peer;
    const struct myr_nic_name *names[2];
} node;

static int begin_node(void **state)
{
    const int failed = begin_server(state);
    node.nic = connect_client();
    node.peer = our_name();
    node.peer.address[0].ip = ip_of("127.0.0.2");
    node.names[0] = node.names[1] = &node.peer;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &node.segment, NULL), MYR_OK);
    return failed;
}

static int end_node(void **state)
{
    assert_int_equal(records_in(node.segment), 0);
    myr_segment_leave(node.segment);
    myr_kernel_nic_close(node.nic);
    return end_server(state);
}

#define NODE(name) TEST_IN(name, begin_node, end_node)

static enum myr_status join(struct myr_nic_group *group, const struct myr_nic_members *members,
                            bool memory)
{
    return myr_kernel_group_join(group, node.nic, node.segment, NULL, members, schedule_of, &memory,
                                 NULL);
}

/* One of two processes of a node joins a group, while the other one runs out of memory or is
 * refused by the daemon. When the first one has left, no record of the group remains in the
 * segment. */
NODE(a_failed_join_leaves_nothing)
{
    const struct myr_nic_name absent = {.key = 1, .count = 0};
    const struct myr_nic_name *const bad[] = {&node.peer, &absent};
    for (int refused = 0; refused < 2; ++refused) {
        struct myr_nic_group one, other;
        const uint64_t key = 90 + (uint64_t)refused;
        struct myr_nic_members members = {
            .key = key, .nodes = 2, .locals = 2, .local = 0, .names = node.names};
        assert_int_equal(join(&one, &members, true), MYR_OK);
        assert_int_equal(records_in(node.segment), 1);
        members.local = 1;
        members.names = refused ? bad : node.names;
        assert_int_not_equal(join(&other, &members, refused), MYR_OK);
        myr_nic_group_leave(&one);
        assert_int_equal(records_in(node.segment), 0);
    }
}

/* Groups of one user share a page, in which each has a cache line of its own. */
NODE(groups_have_lines_of_their_own)
{
    enum { COUNT = 3 };
    struct myr_nic_group group[COUNT];
    for (uint32_t g = 0; g < COUNT; ++g) {
        const struct myr_nic_members members = {
            .key = 90 + g, .nodes = 2, .locals = 1, .names = node.names};
        assert_int_equal(join(&group[g], &members, true), MYR_OK);
    }
    for (uint32_t released = 0; released < COUNT; ++released) {
        fake_release(90 + released, 7);
        for (uint32_t g = 0; g < COUNT; ++g) {
            assert_int_equal(myr_nic_group_test(&group[g], 7), g <= released);
        }
    }
    for (uint32_t g = 0; g < COUNT; ++g) {
        myr_nic_group_leave(&group[g]);
    }
}

/* Receive the next doorbell and its payload. */
static uint32_t take_bell(struct mcp_doorbell *bell, uint8_t *payload)
{
    uint8_t packet[2 * MCP_PAYLOAD_MOST];
    const ssize_t bytes = recv(world.bells[0], packet, sizeof(packet), 0);
    assert_true(bytes >= (ssize_t)sizeof(*bell));
    memcpy(bell, packet, sizeof(*bell));
    memcpy(payload, packet + sizeof(*bell), (size_t)bytes - sizeof(*bell));
    assert_int_equal(bell->magic, MCP_DOORBELL_MAGIC);
    assert_int_equal(bell->version, MCP_DOORBELL_VERSION);
    assert_int_equal(bell->key, 90);
    return (uint32_t)bytes - (uint32_t)sizeof(*bell);
}

static void expect_bell(enum mcp_ring ring, uint32_t epoch, uint32_t root)
{
    uint8_t payload[2 * MCP_PAYLOAD_MOST];
    struct mcp_doorbell bell;
    assert_int_equal(take_bell(&bell, payload), 0);
    assert_int_equal(bell.ring, ring);
    assert_int_equal(bell.epoch, epoch);
    assert_int_equal(bell.root, root);
}

/* A process is the root of a broadcast, then receives one from the other node. Finally it arrives
 * in an epoch. As it leaves before this epoch is complete, it repeats the doorbell. */
NODE(a_process_broadcasts)
{
    enum { BYTES = 61 };
    struct myr_nic_group group;
    const struct myr_nic_members members = {.key = 90,
                                            .nodes = 2,
                                            .locals = 1,
                                            .names = node.names,
                                            .unit_most = 64,
                                            .broadcasts = true};
    struct fake_group opened = {.open = false};
    struct mcp_doorbell bell;
    uint8_t block[2 * MCP_PAYLOAD_MOST];
    uint32_t bytes;
    assert_int_equal(join(&group, &members, true), MYR_OK);
    assert_true(fake_find_group(90, &opened));
    assert_int_equal(opened.plan.buffer_blocks, 0);
    assert_int_equal(opened.plan.window, MCP_BCAST_SLOTS);
    assert_in_range(opened.plan.slot_bytes, sizeof(struct mcp_bcast_slot) + 64, 128);
    assert_int_equal(opened.plan.peers[0].at, 1);
    assert_int_equal(myr_nic_bcast_most(&group), 64);
    myr_nic_bcast_begin(&group, 0);
    memset(myr_nic_bcast_data(&group), 42, BYTES);
    myr_nic_bcast_send(&group, BYTES);
    bytes = take_bell(&bell, block);
    assert_int_equal(bell.ring, MCP_RING_BCAST);
    assert_int_equal(bell.epoch, 1);
    assert_in_range(bytes, BYTES, opened.plan.slot_bytes - sizeof(struct mcp_bcast_slot));
    assert_int_equal(bytes % MCP_BLOCK_UNIT, 0);
    assert_false(myr_nic_bcast_test(&group));
    fake_broadcast(90, 1, block, bytes);
    assert_true(myr_nic_bcast_test(&group));
    myr_nic_bcast_end(&group);
    myr_nic_bcast_begin(&group, 1);
    assert_false(myr_nic_bcast_test(&group));
    group.ops->bcast_ask(&group, 1, 2);
    expect_bell(MCP_RING_BCAST_ASK, 2, 1);
    fake_broadcast(90, 2, block, bytes);
    assert_true(myr_nic_bcast_test(&group));
    const uint8_t *data = myr_nic_bcast_check(&group, &bytes);
    assert_int_equal(bytes, BYTES);
    for (uint32_t b = 0; b < BYTES; ++b) {
        assert_int_equal(data[b], 42);
    }
    myr_nic_bcast_end(&group);
    assert_int_equal(myr_nic_group_arrive(&group), 1);
    expect_bell(MCP_RING_START, 1, 0);
    myr_nic_group_leave(&group);
    expect_bell(MCP_RING_START, 1, 0);
}
