/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for missing messages of stuck groups; see kernel_groups.h. */
#include "myrd/kernel_groups_inside.h"

#include "myrd/users.h"

/* Resolves the hardware addresses of the peers again, because all packets to a peer whose address
 * has changed are lost. */
static void resolve_peers_again(struct myrd_groups *groups, const struct myrd_group *group)
{
    char why[MCP_KERNEL_WHY];
    for (uint32_t p = 0; p < group->plan.nsends + group->plan.nwaits; ++p) {
        (void)mcp_kernel_meet(groups->kernel, &group->plan.peers[p].ip, why);
    }
}

/* Requests the missing messages of a group. A host that waits requests missing messages itself, but
 * a group whose hosts all compute could otherwise wait for a lost message forever. If the group has
 * failed, repeats the doorbell that reports the failure to the NIC. */
static void request_missing(struct myrd_groups *groups, struct myrd_group *group, uint64_t now_ms)
{
    if (group->failed) {
        group->due = !myrd_groups_ring_failure(groups, group);
        group->ask_at_ms = now_ms + MYRD_FAIL_AGAIN_MS;
        return;
    }
    group->due = false;
    (void)mcp_kernel_ring(groups->kernel, group->plan.key, MCP_RING_ASK);
    if (group->meets) {
        resolve_peers_again(groups, group);
    }
}

/* Returns the maximum number of messages that can be missing in a step. */
static uint32_t widest_step(const struct myrd_group *group)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < group->plan.nsteps; ++s) {
        most = group->plan.steps[s].waits > most ? group->plan.steps[s].waits : most;
    }
    return most;
}

/* Schedules a request for the messages that a stuck group misses, at the time that the quota of its
 * user permits. `asked` is the number of this request within the epoch. A group that is already
 * scheduled keeps its time, so that the groups of a user take turns. */
static void schedule_request(struct myrd_groups *groups, struct myrd_group *group, uint32_t asked,
                             uint64_t now_ms)
{
    if (group->due) {
        return;
    }
    group->due = true;
    group->meets = asked / MYRD_ASKED_BEFORE_MEET != group->asked / MYRD_ASKED_BEFORE_MEET;
    group->asked = asked;
    const uint32_t peers = group->meets ? group->plan.nsends + group->plan.nwaits : 0;
    group->ask_at_ms = myrd_users_ask(groups->users, group->plan.uid,
                                      MYRD_USERS_ASK_BEGIN + widest_step(group) + peers, now_ms);
    if (group->ask_at_ms < groups->ask_at_ms) {
        groups->ask_at_ms = group->ask_at_ms;
    }
}

static void request_all_due(struct myrd_groups *groups, uint64_t now_ms)
{
    if (now_ms < groups->ask_at_ms) {
        return;
    }
    groups->ask_at_ms = UINT64_MAX;
    for (uint32_t g = 0; g < groups->count; ++g) {
        struct myrd_group *group = &groups->group[g];
        if (group->due && group->ask_at_ms <= now_ms) {
            request_missing(groups, group, now_ms);
        }
        if (group->due && group->ask_at_ms < groups->ask_at_ms) {
            groups->ask_at_ms = group->ask_at_ms;
        }
    }
}

static void receive_stuck(void *context, const struct mcp_kernel_stuck *stuck)
{
    struct myrd_groups *groups = context;
    const uint32_t index = myrd_groups_find(groups, stuck->key);
    struct myrd_group *group = &groups->group[index];
    if (index == groups->count || group->failed) {
        return;
    }
    if (!group->waited || stuck->done != group->done) {
        group->waited = true;
        group->done = stuck->done;
        group->since_ms = groups->received_at_ms;
        group->asked = 0;
    }
    schedule_request(groups, group, stuck->reports, groups->received_at_ms);
}

void myrd_groups_receive(struct myrd_groups *groups, uint64_t now_ms)
{
    groups->received_at_ms = now_ms;
    mcp_kernel_consume(groups->kernel, receive_stuck, groups);
    request_all_due(groups, now_ms);
}

/* On kernels that do not report stuck groups, detects by polling that a group is stuck, and
 * schedules a request. */
static void poll_group(struct myrd_groups *groups, struct myrd_group *group, uint64_t now_ms)
{
    const uint64_t now_ns = 1000000 * now_ms;
    uint32_t done = group->done;
    const bool waits = 1 == mcp_kernel_group_waits(groups->kernel, group->plan.key, &done);
    if (!waits || !group->waited || done != group->done) {
        group->waited = waits;
        group->done = done;
        group->since_ms = now_ms;
        group->asked = 0;
        mcp_backoff_begin(&group->backoff, MCP_KERNEL_SCAN_NS, now_ns);
    } else if (mcp_backoff_expired(&group->backoff, now_ns)) {
        schedule_request(groups, group, group->asked + 1, now_ms);
    }
}

/* Polls all groups. Returns false if it is not time yet. */
static bool poll_all_groups(struct myrd_groups *groups, uint64_t now_ms)
{
    if (groups->notified || now_ms < groups->poll_at_ms) {
        return false;
    }
    groups->polled_at_ms = now_ms;
    groups->poll_at_ms = now_ms + MYRD_POLL_MS;
    for (uint32_t g = 0; g < groups->count; ++g) {
        if (!groups->group[g].failed) {
            poll_group(groups, &groups->group[g], now_ms);
        }
    }
    return true;
}

bool myrd_groups_poll(struct myrd_groups *groups, uint64_t now_ms)
{
    const bool polled = poll_all_groups(groups, now_ms);
    myrd_groups_poll_closing(groups, now_ms);
    request_all_due(groups, now_ms);
    return polled;
}

void myrd_groups_took(struct myrd_groups *groups, uint64_t took_ns)
{
    groups->poll_at_ms = groups->polled_at_ms + mcp_kernel_rest(took_ns) / 1000000;
}

int myrd_groups_timeout(const struct myrd_groups *groups, uint64_t now_ms)
{
    uint32_t g = 0;
    while (g < groups->count && groups->group[g].failed) {
        ++g;
    }
    const uint64_t poll_at_ms =
        groups->notified || g == groups->count ? UINT64_MAX : groups->poll_at_ms;
    uint64_t next_ms = groups->ask_at_ms < poll_at_ms ? groups->ask_at_ms : poll_at_ms;
    next_ms = groups->closing_at_ms < next_ms ? groups->closing_at_ms : next_ms;
    return UINT64_MAX == next_ms ? -1 : next_ms <= now_ms ? 0 : (int)(next_ms - now_ms);
}
