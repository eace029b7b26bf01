/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel NIC's groups; see kernel_groups.h. */
#include "myrd/kernel_groups.h"

#include <stdlib.h>
#include <string.h>

#include "myrd/accounts.h"
#include "myrd/kernel_holders.h"
#include "myrd/kernel_plan.h"
#include "myrd/share.h"
#include "myrd/users.h"

struct group {
    struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    bool failed;
    uint64_t *holder; /* [holders]; one that has opened it twice is in here twice, and one that was
                         here before this daemon has MYRD_HOLDER_ABSENT until it has come back */
    uint32_t holders, room;
    /* The group's state when we last looked, or were told; see look_after(). */
    bool waited;
    uint32_t done;
    uint64_t since_ms; /* since when it has waited for the epoch after `done` */
    struct mcp_patience patience;
    /* What is to be asked for it. */
    bool due;           /* at `ask_at_ms` its missing messages, or its failure is to be rung, */
    bool meets;         /* ... and where its peers are now */
    uint64_t ask_at_ms; /* when its user's share allows it */
    uint32_t asked;     /* in this epoch */
    /* Its hosts have left, and it still plays an epoch; see look_after_farewells(). */
    bool leaves;
    bool closes;         /* ... no more, but closing it has failed so far */
    uint32_t last;       /* that epoch */
    uint64_t over_at_ms; /* until then at the most; 0: it has just begun */
    struct mcp_patience farewell;
};

/* One whose last epoch the NIC keeps. */
struct closed {
    uint64_t key;
    uint32_t account; /* whose it was */
};

struct myrd_groups {
    struct mcp_kernel *kernel;
    struct myrd_users *users;
    bool told; /* the kernel tells us which are stuck: we need not look */
    uint64_t heard_at_ms;
    uint64_t looked_at_ms, look_at_ms;
    uint64_t ask_at_ms;      /* no group is to be asked for before; UINT64_MAX: none is */
    uint64_t farewell_at_ms; /* the same for groups that say farewell */
    uint32_t count, closed_count;
    struct group group[MCP_KERNEL_GROUPS];
    struct closed closed[MCP_KERNEL_LATE]; /* in this order */
    struct myrd_holders holders;
};

/* ---- those that are closed ---- */

static uint32_t closed_by(const struct myrd_groups *groups, uint32_t account)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < groups->closed_count; ++c) {
        count += account == groups->closed[c].account;
    }
    return count;
}

/* Forget the oldest of this account's. */
static void forget_one(struct myrd_groups *groups, uint32_t account)
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

/* Make room for one more of this account's groups: its own oldest gives way, or, if it has none,
 * the oldest of all. */
static void make_room_for_closed(struct myrd_groups *groups, uint32_t account)
{
    const uint32_t own = closed_by(groups, account);
    if (!myrd_share_allows(MCP_KERNEL_LATE, groups->closed_count - own, own, account)) {
        forget_one(groups, 0 == own ? groups->closed[0].account : account);
    }
}

/* The last group takes its place. False: it could not be closed, for want of memory; it is tried
 * again, as with those that say farewell. */
static bool close_group(struct myrd_groups *groups, struct group *group)
{
    const struct closed closed = {group->plan.key, myrd_account(group->plan.uid)};
    make_room_for_closed(groups, closed.account);
    if (!mcp_kernel_group_close(groups->kernel, closed.key, group->failed)) {
        if (!group->closes) {
            group->leaves = group->closes = true;
            group->over_at_ms = groups->farewell_at_ms = 0;
        }
        return false;
    }
    groups->closed[groups->closed_count++] = closed;
    free(group->holder);
    *group = groups->group[--groups->count];
    return true;
}

/* (While the interface is down no doorbell comes to the program.) False: it has not heard. */
static bool ring_failure(const struct myrd_groups *groups, const struct group *group)
{
    (void)mcp_kernel_ring(groups->kernel, group->plan.key, MCP_RING_FAIL);
    return 0 != mcp_kernel_group_failed(groups->kernel, group->plan.key);
}

static void fail(struct myrd_groups *groups, struct group *group)
{
    if (!group->failed) {
        group->failed = true;
        group->due = !ring_failure(groups, group);
        group->ask_at_ms = 0;
        if (group->due) {
            groups->ask_at_ms = 0;
        }
    }
}

/* (Hosts hear of it: by the end of its connection a client cannot tell that of the NIC from that of
 * a daemon which another one follows.) */
void myrd_groups_free(struct myrd_groups *groups)
{
    while (groups->count > 0) {
        struct group *group = &groups->group[groups->count - 1];
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

/* Its place in the table. If it is not there, the end of the table. */
static uint32_t find(const struct myrd_groups *groups, uint64_t key)
{
    uint32_t g = 0;
    while (g < groups->count && key != groups->group[g].plan.key) {
        ++g;
    }
    return g;
}

bool myrd_groups_know(const struct myrd_groups *groups, uint64_t key)
{
    return groups->count != find(groups, key);
}

/* ---- who holds them ---- */

static bool make_room_for_holder(struct group *group)
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

/* (One that was absent takes the place that it had.) */
static enum myr_status hold(struct myrd_groups *groups, struct group *group, uint64_t holder,
                            struct myr_error *error)
{
    for (uint32_t h = 0; h < group->holders; ++h) {
        if ((holder | MYRD_HOLDER_ABSENT) == group->holder[h]) {
            group->holder[h] = holder;
            return MYR_OK;
        }
    }
    if (!make_room_for_holder(group)) {
        return myr_fail(error, MYR_ERR_FULL, 0, "myrd refuses: the group has too many members");
    }
    group->holder[group->holders++] = holder;
    myrd_holders_hold(&groups->holders, holder, group->plan.uid, group->seen.number);
    return MYR_OK;
}

/* Where it stands among the group's holders, absent or not; the end of these if it does not. */
static uint32_t find_holder(const struct group *group, uint64_t holder)
{
    uint32_t h = 0;
    while (h < group->holders && holder != (group->holder[h] & ~MYRD_HOLDER_ABSENT)) {
        ++h;
    }
    return h;
}

/* Leave once; false if it does not hold it. */
static bool let_go(struct myrd_groups *groups, struct group *group, uint64_t holder)
{
    const uint32_t h = find_holder(group, holder);
    if (h == group->holders) {
        return false;
    }
    group->holder[h] = group->holder[--group->holders];
    if (find_holder(group, holder) == group->holders) {
        myrd_holders_let_go(&groups->holders, holder, group->seen.number);
    }
    return true;
}

/* ---- farewells ---- */

/* All have left a group. Peers may still miss its data, or a broadcast: it begins one more epoch.
 * False: close it now. */
static bool begin_farewell(struct myrd_groups *groups, struct group *group)
{
    group->leaves =
        !group->failed && mcp_kernel_group_farewell(groups->kernel, group->plan.key, &group->last);
    if (group->leaves) {
        group->over_at_ms = 0;
        groups->farewell_at_ms = 0;
    }
    return group->leaves;
}

/* Is it through with its farewell? (Its doorbell may have been lost.) */
static bool has_left(const struct myrd_groups *groups, const struct group *group, uint64_t now_ms)
{
    uint32_t done = 0;
    const int waits =
        group->closes ? -1 : mcp_kernel_group_waits(groups->kernel, group->plan.key, &done);
    if (waits < 0 || myr_epoch_reached(done, group->last) || now_ms >= group->over_at_ms ||
        0 != mcp_kernel_group_failed(groups->kernel, group->plan.key)) {
        return true;
    }
    if (0 == waits) {
        (void)mcp_kernel_ring(groups->kernel, group->plan.key, MCP_RING_FAREWELL);
    }
    return false;
}

/* Close those that are through, going from the last to the first, as the last one takes the place
 * of one that goes. */
static void look_after_farewells(struct myrd_groups *groups, uint64_t now_ms)
{
    const uint64_t now_ns = 1000000 * now_ms;
    if (now_ms < groups->farewell_at_ms) {
        return;
    }
    groups->farewell_at_ms = UINT64_MAX;
    for (uint32_t g = groups->count; g > 0; --g) {
        struct group *group = &groups->group[g - 1];
        if (!group->leaves) {
            continue;
        }
        if (0 == group->over_at_ms) {
            group->over_at_ms = now_ms + MYRD_FAREWELL_MS;
            mcp_patience_begin(&group->farewell, MCP_PATIENCE_NS, now_ns);
        }
        if (mcp_patience_ended(&group->farewell, now_ns) && has_left(groups, group, now_ms) &&
            close_group(groups, group)) {
            continue;
        }
        const uint64_t at_ms = group->farewell.ends_ns / 1000000;
        groups->farewell_at_ms = at_ms < groups->farewell_at_ms ? at_ms : groups->farewell_at_ms;
    }
}

/* Close that group of this user's which has said farewell for the longest time. False: none does.
 */
static bool cut_short(struct myrd_groups *groups, uint32_t uid)
{
    struct group *oldest = NULL;
    const uint32_t account = myrd_account(uid);
    for (uint32_t g = 0; g < groups->count; ++g) {
        struct group *group = &groups->group[g];
        /* (That of one that has just begun is the greatest, less 1.) */
        if (group->leaves && account == myrd_account(group->plan.uid) &&
            (NULL == oldest || group->over_at_ms - 1 < oldest->over_at_ms - 1)) {
            oldest = group;
        }
    }
    return NULL != oldest && close_group(groups, oldest);
}

/* ---- opening and leaving ---- */

/* Is there room for one more group of this user's? */
static bool has_room(const struct myrd_groups *groups, uint32_t uid)
{
    const uint32_t account = myrd_account(uid);
    uint32_t count = 0;
    for (uint32_t g = 0; g < groups->count; ++g) {
        count += account == myrd_account(groups->group[g].plan.uid);
    }
    return myrd_share_allows(MCP_KERNEL_GROUPS, groups->count - count, count, uid);
}

/* The holder is noted first. The next daemon would take a group that nobody holds for one that all
 * have left, and say farewell: peers would hear of an epoch that no host has begun. */
static bool open_noted(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
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
    while (!has_room(groups, plan->uid) && cut_short(groups, plan->uid)) {
    }
    if (!has_room(groups, plan->uid)) {
        return myr_fail(error, MYR_ERR_FULL, 0,
                        "myrd refuses: too many groups are open (a user may have a quarter of what "
                        "all others leave of %d)",
                        MCP_KERNEL_GROUPS);
    }
    while (!open_noted(groups, plan, holder, seen, why)) {
        if (!cut_short(groups, plan->uid)) { /* which has a buffer, perhaps */
            return myr_fail(error, MYR_ERR_SYSTEM, 0, "%s", why);
        }
    }
    struct group *group = &groups->group[groups->count++];
    *group = (struct group){.plan = *plan, .seen = *seen};
    const enum myr_status status = hold(groups, group, holder, error);
    if (MYR_OK != status) {
        (void)close_group(groups, group);
    }
    return status;
}

enum myr_status myrd_groups_open(struct myrd_groups *groups, const struct mcp_kernel_plan *plan,
                                 uint64_t holder, struct mcp_kernel_seen *seen,
                                 struct myr_error *error)
{
    const uint32_t place = find(groups, plan->key);
    if (place == groups->count) {
        return open_new(groups, plan, holder, seen, error);
    }
    struct group *group = &groups->group[place];
    if (group->leaves || !myrd_kernel_plan_equal(&group->plan, plan)) {
        /* Also if it is another user's, of which this user hears nothing here. */
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd refuses: the group's key is taken");
    }
    const enum myr_status status = hold(groups, group, holder, error);
    if (MYR_OK == status) {
        *seen = group->seen;
    }
    return status;
}

uint32_t myrd_groups_missing(const struct myrd_groups *groups, uint64_t key, uint64_t holder,
                             struct mcp_missing *list)
{
    const uint32_t place = find(groups, key);
    const struct group *group = &groups->group[place];
    for (uint32_t h = 0; place < groups->count && h < group->holders; ++h) {
        if (holder == group->holder[h]) {
            return mcp_kernel_group_missing(groups->kernel, key, list);
        }
    }
    return 0;
}

bool myrd_groups_leave(struct myrd_groups *groups, uint64_t key, uint64_t holder)
{
    const uint32_t place = find(groups, key);
    struct group *group = &groups->group[place];
    if (place == groups->count || !let_go(groups, group, holder)) {
        return false;
    }
    if (0 == group->holders && !begin_farewell(groups, group)) {
        (void)close_group(groups, group);
    }
    return true;
}

void myrd_groups_bury(struct myrd_groups *groups, uint64_t holder)
{
    /* Go from the last to the first, as the last one takes the place of one that goes. */
    for (uint32_t g = groups->count; g > 0; --g) {
        struct group *group = &groups->group[g - 1];
        if (!let_go(groups, group, holder)) {
            continue;
        }
        while (let_go(groups, group, holder)) {
        }
        fail(groups, group);
        if (0 == group->holders) {
            (void)close_group(groups, group);
        }
    }
}

/* ---- taking over ---- */

static void recall_holders_of(const struct myrd_groups *groups, struct group *group)
{
    for (uint32_t h = 0; h < groups->holders.count; ++h) {
        const struct mcp_kernel_holder *holder = &groups->holders.holder[h];
        if (0 != holder->number && group->plan.uid == holder->uid &&
            myrd_holders_has(holder, group->seen.number) && make_room_for_holder(group)) {
            group->holder[group->holders++] = holder->number | MYRD_HOLDER_ABSENT;
        }
    }
}

static void recall_open(struct myrd_groups *groups)
{
    uint64_t key = 0, there[MCP_KERNEL_GROUPS / 64] = {0};
    while (groups->count < MCP_KERNEL_GROUPS && mcp_kernel_next_group(groups->kernel, &key)) {
        struct mcp_kernel_recalled recalled;
        struct group *group = &groups->group[groups->count];
        if (mcp_kernel_recall(groups->kernel, key, &recalled)) {
            *group = (struct group){.plan = recalled.plan,
                                    .seen = recalled.seen,
                                    .failed = recalled.failed,
                                    .leaves = recalled.leaves,
                                    .last = recalled.last};
            recall_holders_of(groups, group);
            there[recalled.seen.number / 64] |= UINT64_C(1) << recalled.seen.number % 64;
            ++groups->count;
        }
    }
    myrd_holders_keep(&groups->holders, there);
    groups->farewell_at_ms = 0; /* some of them may be at it */
}

struct ordered {
    uint64_t closed_ns;
    struct closed closed;
};

static int by_time(const void *a, const void *b)
{
    const struct ordered *one = a, *other = b;
    return one->closed_ns < other->closed_ns ? -1 : one->closed_ns > other->closed_ns;
}

static void recall_closed(struct myrd_groups *groups)
{
    struct ordered *found = calloc(MCP_KERNEL_LATE, sizeof(*found));
    struct mcp_kernel_late late;
    uint64_t key = 0;
    while (NULL != found && groups->closed_count < MCP_KERNEL_LATE &&
           mcp_kernel_next_late(groups->kernel, &key, &late)) {
        if (!myrd_groups_know(groups, key)) { /* else it was to be closed */
            found[groups->closed_count++] =
                (struct ordered){late.closed_ns, {key, myrd_account((uid_t)late.uid)}};
        }
    }
    if (NULL != found) {
        qsort(found, groups->closed_count, sizeof(*found), by_time);
    }
    for (uint32_t c = 0; c < groups->closed_count; ++c) {
        groups->closed[c] = found[c].closed;
    }
    free(found);
}

struct myrd_groups *myrd_groups_make(struct mcp_kernel *kernel, struct myrd_users *users)
{
    struct myrd_groups *groups = calloc(1, sizeof(*groups));
    if (NULL != groups) {
        groups->kernel = kernel;
        groups->users = users;
        groups->ask_at_ms = groups->farewell_at_ms = UINT64_MAX;
        groups->told = mcp_kernel_watch(kernel) >= 0;
        groups->holders.kernel = kernel;
        if (mcp_kernel_taken(kernel)) {
            myrd_holders_recall(&groups->holders);
            recall_open(groups);
            recall_closed(groups);
        }
    }
    return groups;
}

const struct mcp_kernel_holder *myrd_groups_holder(const struct myrd_groups *groups, uint32_t place)
{
    const struct mcp_kernel_holder *holder = &groups->holders.holder[place];
    return place < groups->holders.count && 0 != holder->number ? holder : NULL;
}

/* (Its last holder left, or died, just when the daemon did.) */
void myrd_groups_close_unheld(struct myrd_groups *groups)
{
    for (uint32_t g = groups->count; g > 0; --g) {
        struct group *group = &groups->group[g - 1];
        if (0 == group->holders && !group->leaves && !begin_farewell(groups, group)) {
            (void)close_group(groups, group);
        }
    }
}

bool myrd_groups_hold_on(struct myrd_groups *groups, uint64_t key, uint64_t holder)
{
    struct group *group = &groups->group[find(groups, key)];
    if (!myrd_groups_know(groups, key) || find_holder(group, holder) == group->holders) {
        return false;
    }
    return MYR_OK == hold(groups, group, holder, NULL);
}

void myrd_groups_settle(struct myrd_groups *groups, uint64_t holder, uint64_t opening)
{
    for (uint32_t g = groups->count; g > 0; --g) {
        struct group *group = &groups->group[g - 1];
        const uint32_t h = find_holder(group, holder);
        if (h < group->holders && 0 != (group->holder[h] & MYRD_HOLDER_ABSENT) &&
            opening != group->plan.key) {
            (void)myrd_groups_leave(groups, group->plan.key, holder);
        }
    }
}

/* ---- what is due ---- */

/* A peer's hardware address may have changed; then all packets to it are lost. */
static void meet_again(struct myrd_groups *groups, const struct group *group)
{
    char why[MCP_KERNEL_WHY];
    for (uint32_t p = 0; p < group->plan.nsends + group->plan.nwaits; ++p) {
        (void)mcp_kernel_meet(groups->kernel, &group->plan.peers[p].ip, why);
    }
}

/* A host that waits asks for itself. This is for hosts that compute meanwhile: their NIC could wait
 * for a lost message for ever. */
static void ask_for(struct myrd_groups *groups, struct group *group, uint64_t now_ms)
{
    if (group->failed) {
        group->due = !ring_failure(groups, group);
        group->ask_at_ms = now_ms + MYRD_FAIL_AGAIN_MS;
        return;
    }
    group->due = false;
    (void)mcp_kernel_ring(groups->kernel, group->plan.key, MCP_RING_ASK);
    if (group->meets) {
        meet_again(groups, group);
    }
}

/* How many messages can a step of the group's miss? */
static uint32_t widest_step(const struct group *group)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < group->plan.nsteps; ++s) {
        most = group->plan.steps[s].waits > most ? group->plan.steps[s].waits : most;
    }
    return most;
}

/* The group is stuck, and `asked` says how often it has been in this epoch, now included. Ask for
 * it when its user's share allows that. What is due already stays due at its time. So a user's
 * groups take turns. */
static void be_due(struct myrd_groups *groups, struct group *group, uint32_t asked, uint64_t now_ms)
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

static void ask_for_due(struct myrd_groups *groups, uint64_t now_ms)
{
    if (now_ms < groups->ask_at_ms) {
        return;
    }
    groups->ask_at_ms = UINT64_MAX;
    for (uint32_t g = 0; g < groups->count; ++g) {
        struct group *group = &groups->group[g];
        if (group->due && group->ask_at_ms <= now_ms) {
            ask_for(groups, group, now_ms);
        }
        if (group->due && group->ask_at_ms < groups->ask_at_ms) {
            groups->ask_at_ms = group->ask_at_ms;
        }
    }
}

static void hear_of_stuck(void *context, const struct mcp_kernel_stuck *stuck)
{
    struct myrd_groups *groups = context;
    const uint32_t place = find(groups, stuck->key);
    struct group *group = &groups->group[place];
    if (place == groups->count || group->failed) {
        return;
    }
    if (!group->waited || stuck->done != group->done) {
        group->waited = true;
        group->done = stuck->done;
        group->since_ms = groups->heard_at_ms;
        group->asked = 0;
    }
    be_due(groups, group, stuck->told, groups->heard_at_ms);
}

void myrd_groups_hear(struct myrd_groups *groups, uint64_t now_ms)
{
    groups->heard_at_ms = now_ms;
    mcp_kernel_hear(groups->kernel, hear_of_stuck, groups);
    ask_for_due(groups, now_ms);
}

/* The same where the kernel does not tell. */
static void look_after(struct myrd_groups *groups, struct group *group, uint64_t now_ms)
{
    const uint64_t now_ns = 1000000 * now_ms;
    uint32_t done = group->done;
    const bool waits = 1 == mcp_kernel_group_waits(groups->kernel, group->plan.key, &done);
    if (!waits || !group->waited || done != group->done) {
        group->waited = waits;
        group->done = done;
        group->since_ms = now_ms;
        group->asked = 0;
        mcp_patience_begin(&group->patience, MCP_KERNEL_LOOK_NS, now_ns);
    } else if (mcp_patience_ended(&group->patience, now_ns)) {
        be_due(groups, group, group->asked + 1, now_ms);
    }
}

/* False: it was not time for it. */
static bool look_after_all(struct myrd_groups *groups, uint64_t now_ms)
{
    if (groups->told || now_ms < groups->look_at_ms) {
        return false;
    }
    groups->looked_at_ms = now_ms;
    groups->look_at_ms = now_ms + MYRD_LOOK_MS;
    for (uint32_t g = 0; g < groups->count; ++g) {
        if (!groups->group[g].failed) {
            look_after(groups, &groups->group[g], now_ms);
        }
    }
    return true;
}

bool myrd_groups_look(struct myrd_groups *groups, uint64_t now_ms)
{
    const bool looked = look_after_all(groups, now_ms);
    look_after_farewells(groups, now_ms);
    ask_for_due(groups, now_ms);
    return looked;
}

void myrd_groups_took(struct myrd_groups *groups, uint64_t took_ns)
{
    groups->look_at_ms = groups->looked_at_ms + mcp_kernel_rest(took_ns) / 1000000;
}

int myrd_groups_timeout(const struct myrd_groups *groups, uint64_t now_ms)
{
    uint32_t g = 0;
    while (g < groups->count && groups->group[g].failed) {
        ++g;
    }
    const uint64_t look_at_ms =
        groups->told || g == groups->count ? UINT64_MAX : groups->look_at_ms;
    uint64_t next_ms = groups->ask_at_ms < look_at_ms ? groups->ask_at_ms : look_at_ms;
    next_ms = groups->farewell_at_ms < next_ms ? groups->farewell_at_ms : next_ms;
    return UINT64_MAX == next_ms ? -1 : next_ms <= now_ms ? 0 : (int)(next_ms - now_ms);
}

/* ---- what is told ---- */

static struct myr_kernel_node describe(const struct group *group, uint32_t node, uint32_t heard_ms)
{
    struct myr_kernel_node words = {.node = node, .heard_ms = heard_ms};
    for (uint32_t p = 0; p < group->plan.nsends + group->plan.nwaits; ++p) {
        if (node == group->plan.peers[p].node) {
            words.ip = group->plan.peers[p].ip;
        }
    }
    return words;
}

static void tell_missing(const struct myrd_groups *groups, const struct group *group,
                         struct myr_kernel_group_words *words)
{
    struct mcp_missing missing[MCP_KERNEL_MESSAGES];
    words->missing = mcp_kernel_group_missing(groups->kernel, group->plan.key, missing);
    for (uint32_t m = 0; m < words->missing && m < MYR_KERNEL_NODES; ++m) {
        words->node_missing[m] = describe(group, missing[m].node, missing[m].heard_ms);
    }
    words->since_ms = group->waited && group->done == words->done ? group->since_ms : 0;
}

static void tell(const struct myrd_groups *groups, const struct group *group,
                 struct myr_kernel_group_words *words)
{
    *words = (struct myr_kernel_group_words){
        .uid = group->plan.uid,
        .node = group->plan.node,
        .done = group->done,
        .failed = mcp_kernel_group_failed(groups->kernel, group->plan.key),
    };
    words->waits = 1 == mcp_kernel_group_waits(groups->kernel, group->plan.key, &words->done);
    if (0 == words->failed && group->failed) { /* its doorbell was lost */
        words->failed = words->node + 1;
    }
    if (0 != words->failed) {
        words->lost = describe(group, words->failed - 1, 0);
    } else if (words->waits) {
        tell_missing(groups, group, words);
    }
}

void myrd_groups_report(const struct myrd_groups *groups, uint32_t uid,
                        struct myr_kernel_report *report)
{
    report->groups = 0;
    report->closed = 0 == uid ? groups->closed_count : closed_by(groups, myrd_account(uid));
    for (uint32_t g = 0; g < groups->count; ++g) {
        const struct group *group = &groups->group[g];
        if ((0 == uid || uid == group->plan.uid) && group->leaves) {
            ++report->closed; /* as far as anybody cares */
        } else if (0 == uid || uid == group->plan.uid) {
            tell(groups, group, &report->group[report->groups++]);
        }
    }
}
