/* SPDX-License-Identifier: BSD-3-Clause */
/* Validation of requests to open groups; see kernel_plan.h. */
#include "myrd/kernel_plan.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>

#include "firmware/soft/addresses.h"

static enum myr_status check_steps(const struct myr_kernel_question *question,
                                   struct myr_error *error)
{
    uint64_t sends = 0, waits = 0;
    if (question->nsteps > MCP_KERNEL_STEPS || question->nsends > MCP_KERNEL_MESSAGES ||
        question->nwaits > MCP_KERNEL_MESSAGES) {
        return myr_fail(error, MYR_ERR_TOO_LONG, 0,
                        "the schedule has more steps or messages than the kernel NIC supports");
    }
    for (uint32_t s = 0; s < question->nsteps; ++s) {
        sends += question->steps[s].sends;
        waits += question->steps[s].waits;
    }
    /* A node needs at least one peer as the destination of its doorbells. */
    if (sends != question->nsends || waits != question->nwaits || 0 == sends + waits) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd refuses: invalid schedule");
    }
    return MYR_OK;
}

static enum myr_status check_peer(const struct myr_kernel_question *question, uint32_t number,
                                  const struct myr_nic_name *nic, struct myr_error *error)
{
    const struct mcp_kernel_peer *peer = &question->peers[number];
    if (peer->node >= question->nodes || question->node == peer->node ||
        (number < question->nsends && peer->slot >= MCP_KERNEL_MESSAGES)) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd refuses: invalid peer");
    }
    if (nic->address[0].port != peer->port) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "the peer's NIC uses UDP port %u, and this one %u (give all myrd --kernel "
                        "of a network the same --port)",
                        (unsigned)ntohs(peer->port), (unsigned)ntohs(nic->address[0].port));
    }
    if (mcp_ip_is_4(&peer->ip) != mcp_ip_is_4(&nic->address[0].ip)) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "the kernel NIC of one host is for IPv4, that of another for IPv6 (give "
                        "all myrd --kernel of a network the same --network)");
    }
    if (mcp_same_ip(&nic->address[0].ip, &peer->ip) ||
        !mcp_same_network(&nic->address[0].ip, &peer->ip, nic->address[0].prefix)) {
        return myr_fail(
            error, MYR_ERR_SYSTEM, 0,
            "the kernel NIC reaches hosts of its own network only (the soft NIC reaches others)");
    }
    return MYR_OK;
}

/* All received payloads must fit into the buffer, and all sent payloads must fit into packets. */
static enum myr_status check_data(const struct myr_kernel_question *question,
                                  struct myr_error *error)
{
    const uint64_t buffer_blocks = question->buffer_blocks, unit_most = question->unit_most;
    bool good = (0 == buffer_blocks) == (0 == unit_most) && 0 == unit_most % MCP_BLOCK_UNIT &&
                buffer_blocks * unit_most <= MCP_KERNEL_BUFFER;
    for (uint32_t p = 0; good && p < question->nsends + question->nwaits; ++p) {
        const struct mcp_kernel_peer *peer = &question->peers[p];
        good = (uint32_t)peer->at + peer->blocks <= buffer_blocks &&
               peer->blocks * unit_most <= MCP_PAYLOAD_MOST;
    }
    return good ? MYR_OK : myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd refuses: invalid data buffer");
}

/* The window must fit into the buffer, and blocks must fit into packets. The destinations of
 * messages need not be checked, because no choice of destinations can cause endless traffic: a
 * block is forwarded only once, and each request gets closer to the root. */
static enum myr_status check_bcast(const struct myr_kernel_question *question,
                                   struct myr_error *error)
{
    const uint32_t head = sizeof(struct mcp_bcast_slot);
    const uint32_t window = question->window, slot_bytes = question->slot_bytes;
    bool good = window >= 32 && window <= MCP_BCAST_SLOTS && 0 == (window & (window - 1)) &&
                0 == slot_bytes % MCP_BLOCK_UNIT && slot_bytes > head &&
                slot_bytes - head <= MCP_PAYLOAD_MOST && window * slot_bytes <= MCP_BCAST_BYTES &&
                0 == question->buffer_blocks && 0 == question->unit_most;
    for (uint32_t p = 0; good && p < question->nsends + question->nwaits; ++p) {
        good = 0 == question->peers[p].blocks;
    }
    return good ? MYR_OK
                : myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd refuses: invalid window for broadcasts");
}

static bool has_duplicate_host(const struct mcp_kernel_peer *peers, uint32_t count)
{
    for (uint32_t p = 0; p < count; ++p) {
        for (uint32_t other = 0; other < p; ++other) {
            if (mcp_same_ip(&peers[p].ip, &peers[other].ip)) {
                return true;
            }
        }
    }
    return false;
}

/* In a barrier, a node sends at most one message to any other node, and receives at most one from
 * it. A schedule with more messages is rejected, because a few doorbells could then keep two hosts
 * busy for a long time. */
static enum myr_status check_hosts(const struct myr_kernel_question *question,
                                   struct myr_error *error)
{
    return has_duplicate_host(question->peers, question->nsends) ||
                   has_duplicate_host(&question->peers[question->nsends], question->nwaits)
               ? myr_fail(error, MYR_ERR_SYSTEM, 0,
                          "myrd refuses: the schedule has two messages from or to one host")
               : MYR_OK;
}

enum myr_status myrd_kernel_plan(const struct myr_kernel_question *question, uint32_t uid,
                                 const struct myr_nic_name *nic, struct mcp_kernel_plan *plan,
                                 struct myr_error *error)
{
    enum myr_status status = check_steps(question, error);
    if (MYR_OK == status && (0 == question->key || question->nodes > UINT16_MAX + 1 ||
                             question->node >= question->nodes)) {
        status = myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd refuses: invalid group");
    }
    memset(plan, 0, sizeof(*plan));
    for (uint32_t p = 0; MYR_OK == status && p < question->nsends + question->nwaits; ++p) {
        status = check_peer(question, p, nic, error);
        plan->peers[p] = question->peers[p];
        plan->peers[p].zero = 0;
    }
    if (MYR_OK == status) {
        status = check_hosts(question, error);
    }
    if (MYR_OK == status) {
        status = 0 != question->window || 0 != question->slot_bytes ? check_bcast(question, error)
                                                                    : check_data(question, error);
    }
    if (MYR_OK != status) {
        return status;
    }
    plan->key = question->key;
    plan->secret = question->secret;
    plan->uid = uid;
    plan->nodes = question->nodes;
    plan->node = question->node;
    plan->nsteps = question->nsteps;
    plan->nsends = question->nsends;
    plan->nwaits = question->nwaits;
    plan->buffer_blocks = question->buffer_blocks;
    plan->unit_most = question->unit_most;
    plan->window = question->window;
    plan->slot_bytes = question->slot_bytes;
    memcpy(plan->steps, question->steps, sizeof(plan->steps[0]) * plan->nsteps);
    return MYR_OK;
}

/* Returns the maximum payload of the group's packets, sent or received. */
static uint32_t payload_most(const struct mcp_kernel_plan *plan)
{
    uint32_t blocks = 0;
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        blocks = plan->peers[p].blocks > blocks ? plan->peers[p].blocks : blocks;
    }
    return 0 != plan->window ? plan->slot_bytes - (uint32_t)sizeof(struct mcp_bcast_slot)
                             : blocks * plan->unit_most;
}

enum myr_status myrd_kernel_plan_fits(const struct mcp_kernel_plan *plan,
                                      const struct myr_nic_name *nic, uint32_t mtu,
                                      struct myr_error *error)
{
    const size_t head =
        mcp_ip_is_4(&nic->address[0].ip) ? sizeof(struct iphdr) : sizeof(struct ip6_hdr);
    const size_t bytes = head + sizeof(struct udphdr) + MCP_COLLECTIVE_BYTES + payload_most(plan);
    return bytes <= mtu ? MYR_OK
                        : myr_fail(error, MYR_ERR_TOO_LONG, 0,
                                   "myrd refuses: packets of %zu bytes do not fit into the "
                                   "interface's MTU of %u",
                                   bytes, (unsigned)mtu);
}

bool myrd_kernel_plan_equal(const struct mcp_kernel_plan *a, const struct mcp_kernel_plan *b)
{
    return a->key == b->key && a->uid == b->uid && a->nodes == b->nodes && a->node == b->node &&
           a->nsteps == b->nsteps && a->nsends == b->nsends && a->nwaits == b->nwaits &&
           a->buffer_blocks == b->buffer_blocks && a->unit_most == b->unit_most &&
           a->window == b->window && a->slot_bytes == b->slot_bytes &&
           0 == memcmp(&a->secret, &b->secret, sizeof(a->secret)) &&
           0 == memcmp(a->steps, b->steps, sizeof(a->steps)) &&
           0 == memcmp(a->peers, b->peers, sizeof(a->peers));
}
