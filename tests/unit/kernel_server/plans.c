/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the daemon turns a valid request into the plan of a group, and rejects all other
 * requests, because the kernel's program trusts a plan.
 */
#include <arpa/inet.h>

#include "firmware/bcast.h"
#include "myrd/kernel_plan.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

static enum myr_status check(const struct myr_kernel_question *question)
{
    const struct myr_nic_name name = our_name();
    struct mcp_kernel_plan plan;
    struct myr_error error = {.text = ""};
    const enum myr_status status = myrd_kernel_plan(question, ALICE, &name, &plan, &error);
    assert_int_equal(MYR_OK == status, '\0' == error.text[0]);
    return status;
}

TEST(a_valid_request_makes_a_plan)
{
    const struct mcp_kernel_plan plan = plan_of(7, ALICE);
    assert_int_equal(plan.key, 7);
    assert_int_equal(plan.uid, ALICE);
    assert_int_equal(plan.nsteps, 1);
    assert_int_equal(plan.steps[0].sends, 1);
    assert_int_equal(mcp_ip_to_4(&plan.peers[1].ip), ip4_of("127.0.0.2"));
}

TEST(invalid_requests_are_refused)
{
    const struct myr_kernel_question good = question_of_two(7, "127.0.0.2");
    struct myr_kernel_question bad;
#define REFUSED(field, value, status)                                                              \
    bad = good;                                                                                    \
    bad.field = (value);                                                                           \
    assert_int_equal(check(&bad), status)
    REFUSED(key, 0, MYR_ERR_SYSTEM);
    REFUSED(nodes, 0, MYR_ERR_SYSTEM);
    REFUSED(nodes, 65537, MYR_ERR_SYSTEM);
    REFUSED(node, 2, MYR_ERR_SYSTEM); /* of two nodes */
    REFUSED(peers[1].node, 2, MYR_ERR_SYSTEM);
    REFUSED(node, 1, MYR_ERR_SYSTEM); /* its own peer */
    REFUSED(nsteps, 0, MYR_ERR_SYSTEM);
    REFUSED(nsteps, MCP_KERNEL_STEPS + 1, MYR_ERR_TOO_LONG);
    REFUSED(nsteps, UINT32_MAX, MYR_ERR_TOO_LONG);
    REFUSED(nsends, MCP_KERNEL_MESSAGES + 1, MYR_ERR_TOO_LONG);
    REFUSED(nwaits, UINT32_MAX, MYR_ERR_TOO_LONG);
    REFUSED(nsends, 0, MYR_ERR_SYSTEM);
    REFUSED(nwaits, 2, MYR_ERR_SYSTEM);
    REFUSED(steps[0].sends, 2, MYR_ERR_SYSTEM);
    REFUSED(steps[0].waits, 0, MYR_ERR_SYSTEM);
    REFUSED(peers[0].slot, MCP_KERNEL_MESSAGES, MYR_ERR_SYSTEM);
    REFUSED(peers[0].port, 0, MYR_ERR_SYSTEM);
    REFUSED(peers[1].port, htons(53), MYR_ERR_SYSTEM);
    REFUSED(peers[1].ip, ip_of("127.0.0.1"), MYR_ERR_SYSTEM);
    REFUSED(peers[1].ip, ip_of("10.0.0.1"), MYR_ERR_SYSTEM);
    REFUSED(peers[1].ip, ip_of("fd00::2"), MYR_ERR_SYSTEM);
#undef REFUSED
    /* Two messages to one host, or from one, are invalid. */
    bad = good;
    bad.steps[0].sends = bad.nsends = 2;
    bad.peers[2] = bad.peers[1];
    assert_int_equal(check(&bad), MYR_ERR_SYSTEM);
    bad.peers[1].ip = ip_of("127.0.0.3");
    assert_int_equal(check(&bad), MYR_OK);
    bad = good;
    bad.steps[0].waits = bad.nwaits = 2;
    bad.peers[2] = bad.peers[1];
    assert_int_equal(check(&bad), MYR_ERR_SYSTEM);
    bad.peers[2].ip = ip_of("127.0.0.3");
    assert_int_equal(check(&bad), MYR_OK);
    /* A node that only sends or only waits is valid, because it has a peer to ring at. A node
     * that does neither is not. */
    bad = good;
    bad.steps[0].waits = bad.nwaits = 0;
    assert_int_equal(check(&bad), MYR_OK);
    bad.steps[0].sends = bad.nsends = 0;
    assert_int_equal(check(&bad), MYR_ERR_SYSTEM);
    bad.steps[0].waits = bad.nwaits = 1;
    assert_int_equal(check(&bad), MYR_OK);
    /* The sum overflows. */
    bad = good;
    bad.nsteps = 2;
    bad.steps[0].sends = UINT32_MAX;
    bad.steps[1].sends = 2;
    assert_int_equal(check(&bad), MYR_ERR_SYSTEM);
}

/* Data that arrive must fit in the buffer, and data that are sent in a packet. */
TEST(data_without_room_are_refused)
{
    enum { MOST = MCP_KERNEL_BUFFER / MCP_BLOCK_UNIT };
    const struct {
        uint32_t buffer_blocks, unit_most, blocks, at;
        bool good;
    } cases[] = {
        {2, 16, 1, 1, true},
        {2, MCP_PAYLOAD_MOST, 1, 1, true},
        {2, MCP_PAYLOAD_MOST + 8, 1, 1, false}, /* longer than a packet */
        {4, 608, 2, 2, true},
        {4, 616, 2, 2, false},
        {MOST, 8, 152, 1, true},
        {MOST, 8, 153, 1, false},
        {MOST + 1, 8, 1, 1, false}, /* longer than a buffer */
        {UINT32_MAX, 16, 1, 1, false},
        {1, UINT32_MAX - 7, 0, 0, false},
        {MCP_KERNEL_BUFFER, UINT32_C(1) << 31, 0, 0, false}, /* the product of both is 0 */
        {2, 16, 1, 2, false},                                /* beyond the end of the buffer */
        {2, 16, 2, 1, false},
        {2, 16, 0, 2, true},
        {2, 16, 65535, 65535, false},
        {2, 12, 1, 1, false}, /* not whole words */
        {0, 16, 0, 0, false},
        {2, 0, 0, 0, false},
        {0, 0, 0, 0, true},
        {0, 0, 1, 0, false},
        {0, 0, 0, 1, false},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        for (int p = 0; p < 2; ++p) { /* the message that is sent, then the one that arrives */
            struct myr_kernel_question question = question_of_two(1, "127.0.0.2");
            question.buffer_blocks = cases[c].buffer_blocks;
            question.unit_most = cases[c].unit_most;
            question.peers[p].blocks = (uint16_t)cases[c].blocks;
            question.peers[p].at = (uint16_t)cases[c].at;
            assert_int_equal(MYR_OK == check(&question), cases[c].good);
        }
    }
}

/* Windows and their blocks must fit as well. A group that broadcasts carries no other data. */
TEST(windows_without_room_are_refused)
{
    const uint32_t head = sizeof(struct mcp_bcast_slot), most = head + MCP_PAYLOAD_MOST;
    const struct {
        uint32_t window, slot_bytes, buffer_blocks, unit_most, blocks;
        bool good;
    } cases[] = {
        {64, head + 8, 0, 0, 0, true},
        {64, 1024, 0, 0, 0, true},
        {64, 1032, 0, 0, 0, false}, /* longer than a buffer */
        {32, 1032, 0, 0, 0, true},
        {32, most, 0, 0, 0, true},
        {32, most + 8, 0, 0, 0, false}, /* longer than a packet */
        {64, most, 0, 0, 0, false},
        {16, most, 0, 0, 0, false},
        {0, most, 0, 0, 0, false},
        {32, 0, 0, 0, 0, false},
        {32, 8, 0, 0, 0, false},
        {32, head, 0, 0, 0, false},
        {32, head + 4, 0, 0, 0, false}, /* not whole words */
        {33, head + 8, 0, 0, 0, false}, /* not a power of two */
        {48, head + 8, 0, 0, 0, false},
        {128, head + 8, 0, 0, 0, false},
        {UINT32_C(1) << 31, head + 8, 0, 0, 0, false},
        {UINT32_MAX, head + 8, 0, 0, 0, false},
        {32, UINT32_MAX - 7, 0, 0, 0, false},
        {64, UINT32_C(1) << 26, 0, 0, 0, false}, /* the product of both is 0 */
        {32, head + 8, 2, 8, 0, false},
        {32, head + 8, 0, 8, 0, false},
        {32, head + 8, 0, 0, 1, false},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        struct myr_kernel_question question = question_of_two(1, "127.0.0.2");
        question.window = cases[c].window;
        question.slot_bytes = cases[c].slot_bytes;
        question.buffer_blocks = cases[c].buffer_blocks;
        question.unit_most = cases[c].unit_most;
        question.peers[c % 2].blocks = (uint16_t)cases[c].blocks;
        question.peers[0].at = question.peers[1].at = (uint16_t)c;
        assert_int_equal(MYR_OK == check(&question), cases[c].good);
    }
}

TEST(only_neighbours_can_be_peers)
{
    const struct myr_kernel_question far = question_of_two(7, "10.0.0.1");
    struct myr_kernel_question other_port = question_of_two(7, "127.0.0.2");
    const struct myr_nic_name name = our_name();
    struct mcp_kernel_plan plan;
    struct myr_error error;
    assert_int_equal(myrd_kernel_plan(&far, ALICE, &name, &plan, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "its own network"));
    assert_non_null(strstr(error.text, "soft NIC"));
    other_port.peers[0].port = htons(53);
    assert_int_equal(myrd_kernel_plan(&other_port, ALICE, &name, &plan, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "UDP port 53, and this one 7077"));
    assert_non_null(strstr(error.text, "--port"));
}

/* Check that exactly this many bytes of payload are needed. */
static void needs_payload(const struct mcp_kernel_plan *plan, const struct myr_nic_name *nic,
                          uint32_t bytes)
{
    struct myr_error error;
    assert_int_equal(myrd_kernel_plan_fits(plan, nic, bytes, &error), MYR_OK);
    assert_int_equal(myrd_kernel_plan_fits(plan, nic, bytes - 1, &error), MYR_ERR_TOO_LONG);
    assert_non_null(strstr(error.text, "MTU"));
}

TEST(packets_fit_the_interface)
{
    const struct mcp_kernel_plan barrier = plan_of(7, ALICE),
                                 broadcast = plan_with_window(7, ALICE);
    struct mcp_kernel_plan data = plan_with_data(7, ALICE);
    struct myr_nic_name name = our_name();
    needs_payload(&barrier, &name, 60);
    needs_payload(&data, &name, 60 + 16);
    data.peers[1].blocks = 3; /* the longest message is one that arrives */
    needs_payload(&data, &name, 60 + 48);
    needs_payload(&broadcast, &name,
                  60 + broadcast.slot_bytes - (uint32_t)sizeof(struct mcp_bcast_slot));
    name.address[0].ip = ip_of("fd00::1");
    needs_payload(&barrier, &name, 80);
    needs_payload(&data, &name, 80 + 48);
}
