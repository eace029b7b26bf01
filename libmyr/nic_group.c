/*
 * A group across nodes; see nic_group.h.
 *
 * Waiting: poll the NIC and give the processor up in turns, as whoever is waited for may need it;
 * then sleep on the network. The host's progress function runs as well, but not before the first
 * turns.
 */
#include "libmyr/nic_group.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libmyr/nic_inside.h"
#include "libmyr/segment.h"

enum {
    PROGRESS_EVERY = 32, /* turns between two calls of progress, a power of two */
    SLICE_FIRST = 50,    /* microseconds of the first sleep; doubled each time, up to the longest */
    GROUP_RECORD = 0x67  /* id of the records' keys: "g" */
};

/* What the node's processes share besides the NIC's group; their arrivals and their pids (0: not
 * come yet, or gone) follow. */
struct shared_group {
    uint32_t opened;
    uint32_t left; /* how many processes are done with it */
};

static size_t arrivals_bytes(uint32_t locals)
{
    const size_t bytes = sizeof(struct shared_group) + 2 * sizeof(myr_word) * locals;
    return (bytes + MYR_LINE - 1) / MYR_LINE * MYR_LINE;
}

static myr_word *pids(struct shared_group *shared, uint32_t locals)
{
    return (myr_word *)(shared + 1) + locals;
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- from a schedule to the NIC's tables ---- */

struct totals {
    uint32_t sends, waits;
};

static struct totals count(const struct myr_schedule *schedule)
{
    struct totals totals = {0, 0};
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        totals.sends += schedule->steps[s].sends;
        totals.waits += schedule->steps[s].waits;
    }
    return totals;
}

/* Fill in the tables of a group that was just set up. */
static bool fill(struct mcp_group *mcp, const struct myr_nic *nic,
                 const struct myr_nic_members *members, const struct myr_schedule *schedule,
                 myr_schedule_fn schedule_of, const void *context)
{
    struct mcp_peer *send = mcp_group_sends(mcp), *wait = mcp_group_waits(mcp);
    const uint32_t *peer = schedule->peers;
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        mcp_group_steps(mcp)[s] =
            (struct mcp_step){schedule->steps[s].sends, schedule->steps[s].waits};
        for (uint32_t i = 0; i < schedule->steps[s].sends; ++i, ++send, ++peer) {
            uint32_t slot = 0;
            if (!myr_nic_route(nic, &members->names[*peer], &send->address) ||
                !myr_schedule_slot(members->node, *peer, schedule_of, context, &slot)) {
                return false;
            }
            send->node = (uint16_t)*peer;
            send->slot = (uint16_t)slot;
        }
        for (uint32_t i = 0; i < schedule->steps[s].waits; ++i, ++wait, ++peer) {
            if (!myr_nic_route(nic, &members->names[*peer], &wait->address)) {
                return false;
            }
            wait->node = (uint16_t)*peer;
            wait->slot = (uint16_t)(wait - mcp_group_waits(mcp));
        }
    }
    return true;
}

/* ---- joining and leaving ---- */

/* Whoever comes first of a node opens the group on the NIC. */
static bool open_once(struct myr_nic_group *group, const struct myr_nic_members *members,
                      const struct myr_schedule *schedule, myr_schedule_fn schedule_of,
                      const void *context)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_nic_enter(group->nic, &board);
    if (!group->shared->opened) {
        const struct totals totals = count(schedule);
        mcp_group_init(group->mcp, members->key, members->node, schedule->nsteps, totals.sends,
                       totals.waits, 0);
        group->shared->opened =
            fill(group->mcp, group->nic, members, schedule, schedule_of, context);
        if (group->shared->opened) {
            mcp_collective_open(&mcp->collective, board, &mcp->counters, group->mcp);
        }
    }
    const bool opened = group->shared->opened;
    if (opened) {
        myr_publish(&pids(group->shared, group->locals)[group->local], (uint32_t)getpid());
    }
    myr_nic_leave(group->nic);
    return opened;
}

enum myr_status myr_nic_group_join(struct myr_nic_group *group, struct myr_nic *nic,
                                   struct myr_waiter *waiter, const struct myr_nic_members *members,
                                   myr_schedule_fn schedule_of, const void *context,
                                   struct myr_error *error)
{
    struct myr_schedule schedule;
    if (!schedule_of(context, members->node, &schedule)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const struct totals totals = count(&schedule);
    const struct myr_key key = {.scope = members->key, .id = GROUP_RECORD};
    const size_t arrivals = arrivals_bytes(members->locals);
    struct myr_record *record = myr_record_join(
        myr_nic_segment(nic), &key, members->locals,
        arrivals + mcp_group_bytes(schedule.nsteps, totals.sends, totals.waits), 0, error);
    enum myr_status status = NULL == record ? MYR_ERR_FULL : MYR_OK;
    if (MYR_OK == status) {
        *group = (struct myr_nic_group){
            .mcp = (struct mcp_group *)(record->slots + arrivals),
            .arrivals = (myr_word *)(record->slots + sizeof(struct shared_group)),
            .locals = members->locals,
            .local = members->local,
            .nic = nic,
            .waiter = waiter,
            .shared = (struct shared_group *)record->slots,
            .record = record,
        };
        if (!open_once(group, members, &schedule, schedule_of, context)) {
            status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
            myr_record_leave(myr_nic_segment(nic), record);
        }
    }
    free(schedule.steps);
    return status;
}

void myr_nic_group_leave(struct myr_nic_group *group)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_nic_enter(group->nic, &board);
    myr_publish(&pids(group->shared, group->locals)[group->local], 0);
    if (++group->shared->left == group->locals) {
        mcp_collective_close(&mcp->collective, board, group->mcp);
    }
    myr_nic_leave(group->nic);
    myr_record_leave(myr_nic_segment(group->nic), group->record);
    group->record = NULL;
}

/* ---- members that have died ---- */

struct search {
    uint32_t pid;
    struct myr_record *found;
    uint32_t local;
};

static void find_member(struct myr_record *record, void *context)
{
    struct search *search = context;
    if (GROUP_RECORD != record->key[1]) {
        return;
    }
    const myr_word *pid = pids((struct shared_group *)record->slots, record->members);
    for (uint32_t i = 0; i < record->members; ++i) {
        if (search->pid == myr_observe(&pid[i])) {
            search->found = record;
            search->local = i;
        }
    }
}

/* The record is there until we have left it in the place of the one who died. */
static void fail_and_leave(struct myr_nic *nic, struct myr_record *record, uint32_t local)
{
    struct shared_group *shared = (struct shared_group *)record->slots;
    struct mcp_group *group = (struct mcp_group *)(record->slots + arrivals_bytes(record->members));
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_nic_enter(nic, &board);
    myr_publish(&pids(shared, record->members)[local], 0);
    myr_publish(&group->failed, 1);
    board->wake(board, &group->done);
    if (++shared->left == record->members) {
        mcp_collective_close(&mcp->collective, board, group);
    }
    myr_nic_leave(nic);
    myr_record_leave(myr_nic_segment(nic), record);
}

void myr_nic_groups_bury(struct myr_nic *nic, uint32_t pid)
{
    for (;;) {
        struct search search = {.pid = pid};
        myr_records_each(myr_nic_segment(nic), find_member, &search);
        if (NULL == search.found) {
            return;
        }
        fail_and_leave(nic, search.found, search.local);
    }
}

/* ---- barriers ---- */

/* Of two processes that arrive at once at least one sees the other's word (both write before they
 * read); if both do, the NIC is told twice, which makes no difference. */
static bool all_locals_arrived(const struct myr_nic_group *group, uint32_t epoch)
{
    for (uint32_t i = 1; i < group->locals; ++i) {
        uint32_t other = group->local + i;
        other = other < group->locals ? other : other - group->locals;
        if (!myr_epoch_reached(atomic_load(&group->arrivals[other]), epoch)) {
            return false;
        }
    }
    return true;
}

uint32_t myr_nic_group_arrive(struct myr_nic_group *group)
{
    const uint32_t epoch = ++group->epoch;
    if (group->locals > 1) {
        atomic_store(&group->arrivals[group->local], epoch);
    }
    if (all_locals_arrived(group, epoch)) {
        struct mcp_board *board;
        struct mcp_nic *mcp = myr_nic_enter(group->nic, &board);
        mcp_collective_start(&mcp->collective, board, &mcp->counters, group->mcp, epoch);
        myr_nic_leave(group->nic);
    }
    return epoch;
}

bool myr_nic_group_over(const struct myr_nic_group *group)
{
    return myr_nic_broken(group->nic) || 0 != myr_observe(&group->mcp->failed);
}

/* Poll and yield, as long as that is worth while; true if the epoch is complete. */
static bool turns(struct myr_nic_group *group, uint32_t epoch, uint64_t start_us, uint64_t until_us)
{
    const int32_t patience = group->waiter->patience.sleep_after;
    for (uint32_t turn = 0;; ++turn) {
        const uint32_t taken = myr_nic_poll(group->nic);
        if (myr_nic_group_test(group, epoch)) {
            return true;
        }
        if (0 == (turn + 1) % PROGRESS_EVERY) {
            const uint64_t now = now_us();
            if ((patience >= 0 && now - start_us >= (uint64_t)patience) || now >= until_us ||
                myr_nic_group_over(group)) {
                return false;
            }
            group->waiter->progress();
        }
        if (0 == taken) {
            sched_yield();
        }
        if (myr_nic_group_test(group, epoch)) {
            return true;
        }
    }
}

bool myr_nic_group_wait(struct myr_nic_group *group, uint32_t epoch, uint32_t timeout_us)
{
    if (myr_nic_group_test(group, epoch)) {
        return true;
    }
    const struct myr_waiter *waiter = group->waiter;
    const uint64_t start_us = now_us();
    const uint64_t until_us = 0 == timeout_us ? UINT64_MAX : start_us + timeout_us;
    if (turns(group, epoch, start_us, until_us)) {
        return true;
    }
    const uint32_t longest = (uint32_t)waiter->patience.slice;
    uint32_t slice = SLICE_FIRST < longest ? SLICE_FIRST : longest;
    while (now_us() < until_us && !myr_nic_group_over(group)) {
        const uint32_t seen = myr_observe(&group->mcp->done);
        if (myr_epoch_reached(seen, epoch)) {
            return true;
        }
        myr_nic_sleep(group->nic, &group->mcp->done, &group->mcp->sleepers, seen, slice);
        (void)myr_nic_poll(group->nic);
        waiter->progress();
        slice = 2 * slice < longest ? 2 * slice : longest;
    }
    return myr_nic_group_test(group, epoch);
}
