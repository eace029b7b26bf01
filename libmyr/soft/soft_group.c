/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of the soft NIC; see nic_group.h. */
#include "libmyr/soft/soft_group.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic_inside.h"

enum { GROUP_RECORD = 0x67 /* id of the records' keys: "g" */ };

/* The state that the processes of the node share in addition to the group of the NIC. It is
 * followed by the arrivals, then by the PIDs (0 if a process has not joined yet, or has left). */
struct shared_group {
    uint32_t state; /* enum group_state */
    uint32_t left;  /* number of processes that have left, or that could not join */
    myr_word held;  /* not 0 if the NIC has not started all epochs in which the node has arrived */
    myr_word again_at; /* the epoch after which the NIC accepts more of these */
};

/* The result of the first process of the node, which the others adopt. */
enum group_state { GROUP_NEW, GROUP_OPEN, GROUP_NO_MEMORY, GROUP_NO_WAY };

size_t myr_soft_group_before(uint32_t locals)
{
    const size_t bytes = sizeof(struct shared_group) + 2 * sizeof(myr_word) * locals;
    return myr_whole_lines(bytes);
}

static struct shared_group *shared_of(const struct myr_record *record)
{
    return (struct shared_group *)record->slots;
}

static myr_word *pids_of(const struct myr_record *record, uint32_t locals)
{
    return (myr_word *)(shared_of(record) + 1) + locals;
}

struct myr_key myr_soft_group_record_key(uint64_t key)
{
    return (struct myr_key){.scope = key, .id = GROUP_RECORD};
}

const myr_word *myr_soft_group_words(const void *copy)
{
    return (const myr_word *)((const struct shared_group *)copy + 1);
}

static struct mcp_group *mcp_of(const struct myr_nic_group *group)
{
    return group->own;
}

/* ---- executing ---- */

/* Starts the epoch of a group without data, if the NIC accepts it. */
static void begin_epoch(const struct myr_nic_group *group, uint32_t epoch)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(group->nic, &board);
    struct shared_group *shared = shared_of(group->record);
    if (NULL != mcp) {
        mcp_collective_start(&mcp->collective, board, &mcp->counters, mcp_of(group), epoch);
        const bool held = !myr_epoch_reached(mcp_of(group)->started, epoch);
        if (held) {
            myr_store_release(&shared->again_at,
                              myr_load_relaxed(group->done) + MCP_OUTSTANDING / 2);
        }
        if (held != (0 != myr_load_relaxed(&shared->held))) {
            myr_store_release(&shared->held, held);
        }
    }
    myr_soft_leave(group->nic);
}

/* Starts the epoch of a group with data, whose epochs start one at a time. */
static void begin_data_epoch(const struct myr_nic_group *group, uint32_t epoch, const void *block,
                             uint32_t unit)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(group->nic, &board);
    if (NULL != mcp) {
        (void)mcp_collective_offer(&mcp->collective, board, &mcp->counters, mcp_of(group), epoch,
                                   block, unit);
    }
    myr_soft_leave(group->nic);
}

static void start_soft_epoch(struct myr_nic_group *group, uint32_t epoch, const void *block,
                             uint32_t unit)
{
    if (NULL != group->data) {
        begin_data_epoch(group, epoch, block, unit);
    } else {
        begin_epoch(group, epoch);
    }
}

static void start_soft_bcast(struct myr_nic_group *group, uint32_t number, const void *block,
                             uint32_t bytes)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(group->nic, &board);
    if (NULL != mcp) {
        (void)mcp_collective_bcast(board, &mcp->counters, mcp_of(group), number, block, bytes);
    }
    myr_soft_leave(group->nic);
}

static void ask_bcast(struct myr_nic_group *group, uint32_t root, uint32_t number)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(group->nic, &board);
    if (NULL != mcp) {
        mcp_collective_bcast_ask(board, &mcp->counters, mcp_of(group), root, number);
    }
    myr_soft_leave(group->nic);
}

static uint32_t poll_nic(struct myr_nic_group *group)
{
    return myr_soft_poll(group->nic);
}

/* Usually nothing has to be done here, because the timers of the control program request lost
 * messages. However, the NIC accepts only a limited number of outstanding epochs. If the node has
 * arrived in more epochs, the remaining ones have to be started once the NIC has completed some. */
static void remind_soft_nic(const struct myr_nic_group *group, uint64_t now_us)
{
    const struct shared_group *shared = shared_of(group->record);
    (void)now_us;
    if (0 != myr_load_acquire(&shared->held) &&
        myr_nic_group_test(group, myr_load_relaxed(&shared->again_at))) {
        begin_epoch(group, myr_group_arrived(group));
    }
}

static void sleep_on_nic(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us)
{
    myr_word *word = (myr_word *)group->watched;
    myr_soft_sleep(group->nic, word, word + 1, seen, timeout_us);
}

/* If another process was stopped while it ran the NIC, the missing nodes cannot be determined, and
 * none is listed. This case is reported separately; see myr_soft_set_bounds(). */
static uint32_t list_missing(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most)
{
    const struct mcp_nic *mcp = myr_soft_enter_to_inspect(group->nic);
    uint32_t count = 0, cursor = 0;
    if (NULL == mcp) {
        return 0;
    }
    while (count < most && mcp_group_awaits(mcp_of(group), &cursor, &list[count])) {
        ++count;
    }
    myr_soft_leave(group->nic);
    return count;
}

static void fail_group(struct myr_nic_group *group, uint32_t node)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(group->nic, &board);
    if (NULL != mcp) {
        (void)mcp_collective_fail(&mcp->collective, board, &mcp->counters, mcp_of(group), node);
    }
    myr_soft_leave(group->nic);
}

static uint32_t get_soft_failure(const struct myr_nic_group *group)
{
    return myr_load_acquire(&mcp_of(group)->failed);
}

static bool is_soft_group_over(const struct myr_nic_group *group)
{
    return myr_soft_broken(group->nic) || 0 != myr_load_acquire(&mcp_of(group)->failed);
}

static void drop_links(struct mcp_board *board, struct mcp_group *group)
{
    for (uint32_t p = 0; p < group->nsends + group->nwaits; ++p) {
        board->ops.drop(board, mcp_group_sends(group)[p].link);
        mcp_group_sends(group)[p].link = MCP_LINK_SENDER;
    }
}

static void close_group(struct mcp_nic *mcp, struct mcp_board *board, struct mcp_group *group)
{
    mcp_collective_close(&mcp->collective, board, group);
    drop_links(board, group);
}

/* Returns the group in a record. */
static struct mcp_group *group_in(struct myr_record *record)
{
    return (struct mcp_group *)(record->slots + myr_soft_group_before(record->members));
}

/* Removes an entry from the list of lingering groups. All processes of the node have left such a
 * group, but the NIC still runs its closing epoch for the peers. Once this epoch is complete, the
 * next process that joins or leaves any group removes the entry, unlocks the NIC, and leaves the
 * record of the group. */
static struct myr_record *remove_lingering(struct myr_soft_lingering *lingering,
                                           struct mcp_board *board, uint32_t index)
{
    struct myr_record *record = mcp_at(board, lingering->record[index]);
    --lingering->count;
    for (; index < lingering->count; ++index) {
        lingering->record[index] = lingering->record[index + 1];
    }
    return record;
}

/* Appends a record. If the list is full, removes and returns the oldest record; otherwise returns
 * NULL. */
static struct myr_record *add_lingering(struct myr_soft_nic *nic, struct mcp_board *board,
                                        struct myr_record *record)
{
    struct myr_soft_lingering *lingering = myr_soft_lingering(nic);
    struct myr_record *oldest =
        MYR_SOFT_LINGERING == lingering->count ? remove_lingering(lingering, board, 0) : NULL;
    lingering->record[lingering->count++] = mcp_offset_of(board, record);
    return oldest;
}

static struct myr_record *remove_finished(struct myr_soft_nic *nic, struct mcp_board *board)
{
    struct myr_soft_lingering *lingering = myr_soft_lingering(nic);
    for (uint32_t i = 0; i < lingering->count; ++i) {
        struct myr_record *record = mcp_at(board, lingering->record[i]);
        if (!mcp_group_waits_now(group_in(record))) {
            return remove_lingering(lingering, board, i);
        }
    }
    return NULL;
}

/* Closes the groups whose closing epochs are complete. */
static void close_lingering(struct myr_soft_nic *nic)
{
    struct myr_record *record;
    do {
        struct mcp_board *board;
        struct mcp_nic *mcp = myr_soft_enter(nic, &board);
        record = NULL == mcp ? NULL : remove_finished(nic, board);
        if (NULL != record) {
            close_group(mcp, board, group_in(record));
        }
        myr_soft_leave(nic);
        if (NULL != record) {
            myr_record_leave(myr_soft_segment(nic), record);
        }
    } while (NULL != record);
}

/* Counts a process as having left the group in `record`. The last process of the node that leaves
 * closes the group or, if peers may still need its messages, starts its closing epoch. Called after
 * myr_soft_enter().
 *
 * Returns the record that the caller must leave, or NULL if there is none. Normally this is the
 * given record. If a closing epoch was started, however, the given record is still needed and is
 * added to the list of lingering groups. If this list was full, the caller must leave the record of
 * the oldest group instead.
 *
 * If the lock could not be taken, the process is not counted and the record is leaked, because the
 * holder of the lock may still use it. */
static struct myr_record *count_out(struct myr_soft_nic *nic, struct mcp_nic *mcp,
                                    struct mcp_board *board, struct myr_record *record)
{
    struct shared_group *shared = shared_of(record);
    if (!myr_soft_entered(nic)) {
        return NULL;
    }
    if (++shared->left != record->members || NULL == mcp || GROUP_OPEN != shared->state) {
        return record;
    }
    if (mcp_collective_begin_closing(&mcp->collective, board, &mcp->counters, group_in(record))) {
        record = add_lingering(nic, board, record);
    }
    if (NULL != record) {
        close_group(mcp, board, group_in(record));
    }
    return record;
}

static void leave_soft_group(struct myr_nic_group *group)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(group->nic, &board);
    myr_store_release(&pids_of(group->record, group->locals)[group->local], 0);
    struct myr_record *left = count_out(group->nic, mcp, board, group->record);
    myr_soft_leave(group->nic);
    if (NULL != left) {
        myr_record_leave(group->segment, left);
    }
    close_lingering(group->nic);
}

static const struct myr_group_ops soft_ops = {
    .start = start_soft_epoch,
    .bcast = start_soft_bcast,
    .bcast_ask = ask_bcast,
    .poll = poll_nic,
    .remind = remind_soft_nic,
    .sleep = sleep_on_nic,
    .missing = list_missing,
    .fail = fail_group,
    .failed = get_soft_failure,
    .over = is_soft_group_over,
    .leave = leave_soft_group,
};

/* ---- joining ---- */

/* Takes references to links to all peers. On failure (no route, or too many links) no reference is
 * held. */
static bool hold_links(struct myr_soft_nic *nic, struct mcp_board *board, struct mcp_group *group,
                       const struct myr_nic_members *members)
{
    for (uint32_t p = 0; p < group->nsends + group->nwaits; ++p) {
        struct mcp_peer *peer = &mcp_group_sends(group)[p];
        peer->link = myr_soft_link(nic, members->names[peer->node]);
        if (MCP_LINK_SENDER == peer->link) {
            drop_links(board, group);
            return false;
        }
    }
    return true;
}

static enum group_state open_group(struct myr_nic_group *group, struct mcp_nic *mcp,
                                   struct mcp_board *board, const struct myr_nic_members *members,
                                   const struct myr_schedule *schedule, myr_schedule_fn schedule_of,
                                   const void *context)
{
    if (!myr_group_fill(group, mcp_of(group), members, schedule, schedule_of, context)) {
        return GROUP_NO_MEMORY;
    }
    if (!hold_links(group->nic, board, mcp_of(group), members)) {
        return GROUP_NO_WAY;
    }
    mcp_collective_open(&mcp->collective, board, &mcp->counters, mcp_of(group));
    return GROUP_OPEN;
}

/* Opens the group on the NIC in the first process of the node. If this fails, the other processes
 * fail without trying. A process that fails is immediately counted as having left, because an open
 * group must be closed before the last process leaves its record. `counted` becomes false if the
 * lock could not be taken; in this case the record is leaked. */
static enum myr_status open_once(struct myr_nic_group *group, const struct myr_nic_members *members,
                                 const struct myr_schedule *schedule, myr_schedule_fn schedule_of,
                                 const void *context, bool *counted, struct myr_error *error)
{
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(group->nic, &board);
    struct shared_group *shared = shared_of(group->record);
    if (NULL != mcp && GROUP_NEW == shared->state) {
        shared->state = open_group(group, mcp, board, members, schedule, schedule_of, context);
    }
    const uint32_t state = shared->state;
    if (NULL != mcp && GROUP_OPEN == state) {
        myr_store_release(&pids_of(group->record, group->locals)[group->local], (uint32_t)getpid());
    } else if (myr_soft_entered(group->nic)) {
        ++shared->left;
    }
    *counted = myr_soft_entered(group->nic);
    myr_soft_leave(group->nic);
    if (NULL == mcp) {
        return myr_soft_is_broken(group->nic, error);
    }
    switch (state) {
    case GROUP_OPEN:
        return MYR_OK;
    case GROUP_NO_WAY:
        return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                        "a NIC of the group has no address that this one can send to (one of them "
                        "uses IPv4 and the other one IPv6: name a network that both have), or the "
                        "maximum number of peers is reached");
    default:
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
}

/* Counts this process, which cannot join the group because memory is exhausted, as having left, so
 * that the record can be released. If this is the first process of the node, the others then fail
 * in the same way. */
static void decline_group(struct myr_soft_nic *nic, const struct myr_nic_members *members)
{
    const struct myr_key key = myr_soft_group_record_key(members->key);
    const size_t before = myr_soft_group_before(members->locals);
    struct myr_record *record =
        myr_record_join(myr_soft_segment(nic), &key, members->locals, before, 0, NULL);
    if (NULL == record) {
        return;
    }
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(nic, &board);
    if (myr_soft_entered(nic) && GROUP_NEW == shared_of(record)->state) {
        shared_of(record)->state = GROUP_NO_MEMORY;
    }
    struct myr_record *left = count_out(nic, mcp, board, record);
    myr_soft_leave(nic);
    if (NULL != left) {
        myr_record_leave(myr_soft_segment(nic), left);
    }
}

static enum myr_status join_soft_group(struct myr_nic_group *group,
                                       const struct myr_nic_members *members,
                                       const struct myr_schedule *schedule,
                                       myr_schedule_fn schedule_of, const void *context,
                                       struct myr_error *error)
{
    const struct myr_key key = myr_soft_group_record_key(members->key);
    const size_t before = myr_soft_group_before(members->locals);
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    const size_t bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits);
    struct myr_record *record =
        myr_record_join(group->segment, &key, members->locals,
                        before + bytes + myr_group_behind_bytes(group), 0, error);
    if (NULL == record) {
        return MYR_ERR_FULL;
    }
    struct mcp_group *mcp = group_in(record);
    group->done = group->watched = &mcp->done;
    group->arrivals = (myr_word *)(shared_of(record) + 1);
    group->record = record;
    group->own = mcp;
    myr_group_set_behind(group, (uint8_t *)mcp + bytes);
    bool counted;
    const enum myr_status status =
        open_once(group, members, schedule, schedule_of, context, &counted, error);
    if (MYR_OK != status && counted) {
        myr_record_leave(group->segment, record);
    }
    return status;
}

enum myr_status myr_soft_group_join(struct myr_nic_group *group, struct myr_soft_nic *nic,
                                    struct myr_waiter *waiter,
                                    const struct myr_nic_members *members,
                                    myr_schedule_fn schedule_of, const void *context,
                                    struct myr_error *error)
{
    struct myr_schedule schedule = {.nsteps = 0};
    *group = (struct myr_nic_group){
        .locals = members->locals,
        .local = members->local,
        .waiter = waiter,
        .segment = myr_soft_segment(nic),
        .nic = nic,
    };
    close_lingering(nic);
    enum myr_status status =
        myr_nic_data_new(members, schedule_of, context, UINT32_MAX, &group->data, error);
    if (MYR_OK == status && !schedule_of(context, members->node, &schedule)) {
        status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    if (MYR_OK == status) {
        status = myr_nic_bcast_new(members, &schedule, &group->bcast, error);
    }
    if (MYR_OK != status) {
        decline_group(nic, members);
    } else {
        status = join_soft_group(group, members, &schedule, schedule_of, context, error);
    }
    free(schedule.steps);
    if (MYR_OK == status) {
        group->ops = &soft_ops;
    } else {
        myr_nic_data_free(group->data);
        myr_nic_bcast_free(group->bcast);
        group->data = NULL;
        group->bcast = NULL;
    }
    return status;
}

/* ---- dead members ---- */

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
    for (uint32_t i = 0; i < record->members; ++i) {
        if (search->pid == myr_load_acquire(&pids_of(record, record->members)[i])) {
            search->found = record;
            search->local = i;
        }
    }
}

/* The record exists until this function has left it on behalf of the dead process. */
static void fail_and_leave(struct myr_soft_nic *nic, struct myr_record *record, uint32_t local)
{
    struct mcp_group *group = group_in(record);
    struct mcp_board *board;
    struct mcp_nic *mcp = myr_soft_enter(nic, &board);
    myr_store_release(&pids_of(record, record->members)[local], 0);
    if (NULL != mcp) {
        (void)mcp_collective_fail(&mcp->collective, board, &mcp->counters, group, group->node);
    }
    struct myr_record *left = count_out(nic, mcp, board, record);
    myr_soft_leave(nic);
    if (NULL != left) {
        myr_record_leave(myr_soft_segment(nic), left);
    }
}

void myr_soft_groups_reap(struct myr_soft_nic *nic, uint32_t pid)
{
    for (;;) {
        struct search search = {.pid = pid};
        myr_records_each(myr_soft_segment(nic), find_member, &search);
        if (NULL == search.found || 0 != myr_soft_given_up(nic)) {
            return;
        }
        fail_and_leave(nic, search.found, search.local);
    }
}
