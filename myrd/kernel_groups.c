/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel NIC's groups; see kernel_groups.h. */
#include "myrd/kernel_groups_inside.h"

#include <stdlib.h>
#include <string.h>

#include "myrd/accounts.h"
#include "myrd/kernel_plan.h"
#include "myrd/share.h"

/* ---- closed groups ---- */

uint32_t myrd_groups_closed_by(const struct myrd_groups *groups, uint32_t account)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < groups->closed_count; ++c) {
        count += account == groups->closed[c].account;
    }
    return count;
}

/* Evicts the account's oldest closed group. */
static void evict_closed(struct myrd_groups *groups, uint32_t account)
{
    uint32_t at = 0;
    while (account != groups->closed[at].account) {
        ++at;
    }
    mcp_kernel_group_forget(groups->kernel, groups->closed[at].key);
    --groups->closed_count;
    memmove(&groups->closed[at], &groups->closed[at + 1],
            sizeof(groups->closed[0]) * (groups->closed_count - at));
}

/* Ensures capacity for another closed group of this account. If necessary, evicts the account's
 * oldest closed group or, if it has none, the oldest of all accounts. */
static void make_room_for_closed(struct myrd_groups *groups, uint32_t account)
{
    const uint32_t own = myrd_groups_closed_by(groups, account);
    if (!myrd_share_allows(MCP_KERNEL_LATE, groups->closed_count - own, own, account)) {
        evict_closed(groups, 0 == own ? groups->closed[0].account : account);
    }
}

bool myrd_groups_close(struct myrd_groups *groups, struct myrd_group *group)
{
    const struct myrd_closed closed = {group->plan.key, myrd_account(group->plan.uid)};
    make_room_for_closed(groups, closed.account);
    if (!mcp_kernel_group_close(groups->kernel, closed.key, group->failed)) {
        if (!group->closes) {
            group->leaves = group->closes = true;
            group->over_at_ms = groups->closing_at_ms = 0;
        }
        return false;
    }
    groups->closed[groups->closed_count++] = closed;
    free(group->holder);
    *group = groups->group[--groups->count];
    return true;
}

bool myrd_groups_ring_failure(const struct myrd_groups *groups, const struct myrd_group *group)
{
    (void)mcp_kernel_ring(groups->kernel, group->plan.key, MCP_RING_FAIL);
    return 0 != mcp_kernel_group_failed(groups->kernel, group->plan.key);
}

static void fail_kernel_group(struct myrd_groups *groups, struct myrd_group *group)
{
    if (!group->failed) {
        group->failed = true;
        group->due = !myrd_groups_ring_failure(groups, group);
        group->ask_at_ms = 0;
        if (group->due) {
            groups->ask_at_ms = 0;
        }
    }
}

/* Before a group is closed, its hosts are notified that the NIC is about to be removed. They cannot
 * conclude this from the end of their connections to the daemon, because these also end when
 * another daemon takes over the NIC. */
void myrd_groups_free(struct myrd_groups *groups)
{
    while (groups->count > 0) {
        struct myrd_group *group = &groups->group[groups->count - 1];
        if (group->holders > 0) {
            mcp_kernel_group_give_up(groups->kernel, group->plan.key);
        }
        (void)mcp_kernel_group_close(groups->kernel, group->plan.key, group->failed);
        free(group->holder);
        --groups->count;
    }
    free(groups);
}

void myrd_groups_abandon(struct myrd_groups *groups)
{
    while (groups->count > 0) {
        free(groups->group[--groups->count].holder);
    }
    free(groups);
}

uint32_t myrd_groups_find(const struct myrd_groups *groups, uint64_t key)
{
    uint32_t g = 0;
    while (g < groups->count && key != groups->group[g].plan.key) {
        ++g;
    }
    return g;
}

bool myrd_groups_know(const struct myrd_groups *groups, uint64_t key)
{
    return groups->count != myrd_groups_find(groups, key);
}

/* ---- holders ---- */

bool myrd_groups_room_for_holder(struct myrd_group *group)
{
    if (group->holders == group->room) {
        const uint32_t room = 0 == group->room ? 8 : 2 * group->room;
        uint64_t *more = room > MYRD_HOLDERS_OF_ONE
                             ? NULL
                             : realloc(group->holder, sizeof(*group->holder) * room);
        if (NULL == more) {
            return false;
        }
        group->holder = more;
        group->room = room;
    }
    return true;
}

/* A holder that was absent regains its entry. */
enum myr_status myrd_groups_hold(struct myrd_groups *groups, struct myrd_group *group,
                                 uint64_t holder, struct myr_error *error)
{
    for (uint32_t h = 0; h < group->holders; ++h) {
        if ((holder | MYRD_HOLDER_ABSENT) == group->holder[h]) {
            group->holder[h] = holder;
            return MYR_OK;
        }
    }
    if (!myrd_groups_room_for_holder(group)) {
        return myr_fail(error, MYR_ERR_FULL, 0, "myrd refuses: the group has too many members");
    }
    group->holder[group->holders++] = holder;
    myrd_holders_hold(&groups->holders, holder, group->plan.uid, group->seen.number);
    return MYR_OK;
}

uint32_t myrd_groups_find_holder(const struct myrd_group *group, uint64_t holder)
{
    uint32_t h = 0;
    while (h < group->holders && holder != (group->holder[h] & ~MYRD_HOLDER_ABSENT)) {
        ++h;
    }
    return h;
}

/* Drops one reference. Returns false if the holder has none. */
static bool drop_reference(struct myrd_groups *groups, struct myrd_group *group, uint64_t holder)
{
    const uint32_t h = myrd_groups_find_holder(group, holder);
    if (h == group->holders) {
        return false;
    }
    group->holder[h] = group->holder[--group->holders];
    if (myrd_groups_find_holder(group, holder) == group->holders) {
        myrd_holders_let_go(&groups->holders, holder, group->seen.number);
    }
    return true;
}

/* ---- closing epochs ---- */

bool myrd_groups_begin_closing(struct myrd_groups *groups, struct myrd_group *group)
{
    group->leaves = !group->failed &&
                    mcp_kernel_group_begin_closing(groups->kernel, group->plan.key, &group->last);
    if (group->leaves) {
        group->over_at_ms = 0;
        groups->closing_at_ms = 0;
    }
    return group->leaves;
}

/* Returns whether the closing epoch is over, that is, complete, timed out, or failed. Its doorbell
 * is repeated, because it may have been lost. */
static bool is_closing_over(const struct myrd_groups *groups, const struct myrd_group *group,
                            uint64_t now_ms)
{
    uint32_t done = 0;
    const int waits =
        group->closes ? -1 : mcp_kernel_group_waits(groups->kernel, group->plan.key, &done);
    if (waits < 0 || myr_epoch_reached(done, group->last) || now_ms >= group->over_at_ms ||
        0 != mcp_kernel_group_failed(groups->kernel, group->plan.key)) {
        return true;
    }
    if (0 == waits) {
        (void)mcp_kernel_ring(groups->kernel, group->plan.key, MCP_RING_CLOSING);
    }
    return false;
}

/* Iterates downwards, because the last group takes the index of one that is removed. */
void myrd_groups_poll_closing(struct myrd_groups *groups, uint64_t now_ms)
{
    const uint64_t now_ns = 1000000 * now_ms;
    if (now_ms < groups->closing_at_ms) {
        return;
    }
    groups->closing_at_ms = UINT64_MAX;
    for (uint32_t g = groups->count; g > 0; --g) {
        struct myrd_group *group = &groups->group[g - 1];
        if (!group->leaves) {
            continue;
        }
        if (0 == group->over_at_ms) {
            group->over_at_ms = now_ms + MYRD_CLOSING_MS;
            mcp_backoff_begin(&group->closing, MCP_BACKOFF_NS, now_ns);
        }
        if (mcp_backoff_expired(&group->closing, now_ns) &&
            is_closing_over(groups, group, now_ms) && myrd_groups_close(groups, group)) {
            continue;
        }
        const uint64_t at_ms = group->closing.ends_ns / 1000000;
        groups->closing_at_ms = at_ms < groups->closing_at_ms ? at_ms : groups->closing_at_ms;
    }
}

/* Closes the group of this user's account whose closing epoch began first. Returns false if there
 * is none. */
static bool cut_closing_short(struct myrd_groups *groups, uint32_t uid)
{
    struct myrd_group *oldest = NULL;
    const uint32_t account = myrd_account(uid);
    for (uint32_t g = 0; g < groups->count; ++g) {
        struct myrd_group *group = &groups->group[g];
        /* `over_at_ms` is still 0 for a closing epoch that has just begun. Subtracting 1 turns this
         * unsigned number into the greatest value, so that such an epoch counts as the latest. */
        if (group->leaves && account == myrd_account(group->plan.uid) &&
            (NULL == oldest || group->over_at_ms - 1 < oldest->over_at_ms - 1)) {
            oldest = group;
        }
    }
    return NULL != oldest && myrd_groups_close(groups, oldest);
}

/* ---- opening and leaving ---- */

/* Returns whether the user's quota permits another group. */
static bool has_room(const struct myrd_groups *groups, uint32_t uid)
{
    const uint32_t account = myrd_account(uid);
    uint32_t count = 0;
    for (uint32_t g = 0; g < groups->count; ++g) {
        count += account == myrd_account(groups->group[g].plan.uid);
    }
    return myrd_share_allows(MCP_KERNEL_GROUPS, groups->count - count, count, uid);
}

/* Opens a group after recording its holder. In the opposite order, the daemon might be killed after
 * opening the group and before recording the holder. Its successor would find a group without
 * holders, conclude that all of them have left, and begin the closing epoch, although the hosts
 * still use the group. */
static bool open_recorded(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                          uint64_t holder, struct mcp_kernel_seen *seen, char why[MCP_KERNEL_WHY])
{
    const uint32_t number = mcp_kernel_next_number(groups->kernel);
    if (number < MCP_KERNEL_GROUPS) {
        myrd_holders_hold(&groups->holders, holder, plan->uid, number);
    }
    const bool opened = mcp_kernel_group_open(groups->kernel, plan, seen, why) >= 0;
    if (!opened && number < MCP_KERNEL_GROUPS) {
        myrd_holders_let_go(&groups->holders, holder, number);
    }
    return opened;
}

static enum myr_status open_new(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                                uint64_t holder, struct mcp_kernel_seen *seen,
                                struct myr_error *error)
{
    char why[MCP_KERNEL_WHY];
    while (!has_room(groups, plan->uid) && cut_closing_short(groups, plan->uid)) {
    }
    if (!has_room(groups, plan->uid)) {
        return myr_fail(error, MYR_ERR_FULL, 0,
                        "myrd refuses: too many groups are open (a user may have a quarter of what "
                        "all others leave of %d)",
                        MCP_KERNEL_GROUPS);
    }
    while (!open_recorded(groups, plan, holder, seen, why)) {
        if (!cut_closing_short(groups, plan->uid)) { /* closing a group may free a buffer */
            return myr_fail(error, MYR_ERR_SYSTEM, 0, "%s", why);
        }
    }
    struct myrd_group *group = &groups->group[groups->count++];
    *group = (struct myrd_group){.plan = *plan, .seen = *seen};
    const enum myr_status status = myrd_groups_hold(groups, group, holder, error);
    if (MYR_OK != status) {
        (void)myrd_groups_close(groups, group);
    }
    return status;
}

enum myr_status myrd_groups_open(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                                 uint64_t holder, struct mcp_kernel_seen *seen,
                                 struct myr_error *error)
{
    const uint32_t index = myrd_groups_find(groups, plan->key);
    if (index == groups->count) {
        return open_new(groups, plan, holder, seen, error);
    }
    struct myrd_group *group = &groups->group[index];
    if (group->leaves || !myrd_kernel_plan_equal(&group->plan, plan)) {
        /* The error is the same if the group belongs to another user, so that users cannot learn
         * anything about it. */
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd refuses: another group has that key");
    }
    const enum myr_status status = myrd_groups_hold(groups, group, holder, error);
    if (MYR_OK == status) {
        *seen = group->seen;
    }
    return status;
}

uint32_t myrd_groups_missing(const struct myrd_groups *groups, uint64_t key, uint64_t holder,
                             struct mcp_missing *list)
{
    const uint32_t index = myrd_groups_find(groups, key);
    const struct myrd_group *group = &groups->group[index];
    for (uint32_t h = 0; index < groups->count && h < group->holders; ++h) {
        if (holder == group->holder[h]) {
            return mcp_kernel_group_missing(groups->kernel, key, list);
        }
    }
    return 0;
}

bool myrd_groups_leave(struct myrd_groups *groups, uint64_t key, uint64_t holder)
{
    const uint32_t index = myrd_groups_find(groups, key);
    struct myrd_group *group = &groups->group[index];
    if (index == groups->count || !drop_reference(groups, group, holder)) {
        return false;
    }
    if (0 == group->holders && !myrd_groups_begin_closing(groups, group)) {
        (void)myrd_groups_close(groups, group);
    }
    return true;
}

void myrd_groups_reap(struct myrd_groups *groups, uint64_t holder)
{
    /* Iterates downwards, because the last group takes the index of one that is removed. */
    for (uint32_t g = groups->count; g > 0; --g) {
        struct myrd_group *group = &groups->group[g - 1];
        if (!drop_reference(groups, group, holder)) {
            continue;
        }
        while (drop_reference(groups, group, holder)) {
        }
        fail_kernel_group(groups, group);
        if (0 == group->holders) {
            (void)myrd_groups_close(groups, group);
        }
    }
}

/* ---- the table ---- */

struct myrd_groups *myrd_groups_make(struct mcp_kernel *kernel, struct myrd_users *users)
{
    struct myrd_groups *groups = calloc(1, sizeof(*groups));
    if (NULL != groups) {
        groups->kernel = kernel;
        groups->users = users;
        groups->ask_at_ms = groups->closing_at_ms = UINT64_MAX;
        groups->notified = mcp_kernel_watch(kernel) >= 0;
        groups->holders.kernel = kernel;
        if (mcp_kernel_taken(kernel)) {
            myrd_groups_recall(groups);
        }
    }
    return groups;
}
