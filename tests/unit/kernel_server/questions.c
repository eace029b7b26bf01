/* SPDX-License-Identifier: BSD-3-Clause */
/* See questions.h. */
#include <arpa/inet.h>

#include "firmware/bcast.h"
#include "myrd/kernel_plan.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

uint16_t nic_port = 7077;

uint32_t ip4_of(const char *text)
{
    const struct mcp_ip ip = ip_of(text);
    return mcp_ip_to_4(&ip);
}

struct myr_nic_name our_name(void)
{
    struct myr_nic_name name = {.key = 1, .count = 1};
    name.address[0].ip = ip_of("127.0.0.1");
    name.address[0].port = htons(nic_port);
    name.address[0].prefix = MCP_IP_BEFORE_4 + 8;
    return name;
}

struct myr_kernel_question question_of_two(uint64_t key, const char *peer)
{
    struct myr_kernel_question question = {
        .key = key, .nodes = 2, .nsteps = 1, .nsends = 1, .nwaits = 1};
    question.steps[0] = (struct mcp_step){1, 1};
    for (int p = 0; p < 2; ++p) {
        question.peers[p].ip = ip_of(peer);
        question.peers[p].port = htons(nic_port);
        question.peers[p].node = 1;
    }
    return question;
}

/* Make the group carry data: each node has a block of `unit_most` bytes. */
static void carry(struct myr_kernel_question *question, uint32_t unit_most)
{
    question->buffer_blocks = 2;
    question->unit_most = unit_most;
    question->peers[0].blocks = question->peers[1].blocks = question->peers[1].at = 1;
}

/* Make the group broadcast blocks of up to `block` bytes. */
static void broadcast(struct myr_kernel_question *question, uint32_t block)
{
    question->slot_bytes = mcp_bcast_slot_bytes(block);
    question->window = mcp_bcast_window(question->slot_bytes);
    question->peers[0].at = question->peers[1].at = 1;
}

static struct mcp_kernel_plan plan_for(const struct myr_kernel_question *question, uint32_t uid)
{
    const struct myr_nic_name name = our_name();
    struct mcp_kernel_plan plan;
    assert_int_equal(myrd_kernel_plan(question, uid, &name, &plan, NULL), MYR_OK);
    return plan;
}

struct mcp_kernel_plan plan_of(uint64_t key, uint32_t uid)
{
    const struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    return plan_for(&question, uid);
}

struct mcp_kernel_plan plan_with_data(uint64_t key, uint32_t uid)
{
    struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    carry(&question, 16);
    return plan_for(&question, uid);
}

struct mcp_kernel_plan plan_with_window(uint64_t key, uint32_t uid)
{
    struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    broadcast(&question, 64);
    return plan_for(&question, uid);
}

bool is_open(uint64_t key)
{
    struct fake_group group;
    return fake_find_group(key, &group) && group.open;
}

bool is_kept(uint64_t key)
{
    struct fake_group group;
    return fake_find_group(key, &group) && group.kept;
}

uint32_t asked(uint64_t key)
{
    struct fake_group group = {.open = false};
    assert_true(fake_find_group(key, &group));
    return group.asked;
}

uint32_t failed(uint64_t key)
{
    struct fake_group group = {.open = false};
    assert_true(fake_find_group(key, &group));
    return group.failed;
}

uint32_t started(uint64_t key)
{
    struct fake_group group = {.open = false};
    assert_true(fake_find_group(key, &group));
    return group.started;
}
