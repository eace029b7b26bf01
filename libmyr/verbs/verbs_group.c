/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups that use RDMA writes; see verbs.h.
 *
 * Peers write their epochs into the arrival records, or data messages into landing places. Whenever
 * the first process of the node waits or makes progress, it executes the schedule: the engine
 * processes the messages that have arrived and determines what to send next.
 *
 * If a node finds that another node is missing, it notifies its peers by writing the number of the
 * missing node into words in their memory (words.c). The peers then notify their own peers in the
 * same way. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "firmware/bcast.h"
#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/node/segment.h"
#include "libmyr/verbs/verbs.h"
#include "os/clock.h"

enum {
    AT_ONCE = 16, /* groups per poll */
    ASK_MS = 250, /* between two probes of peers */
    NAP_US = 50   /* between two polls, once a process has waited for a long time */
};

static struct myr_verbs_group *verbs_of(const struct myr_nic_group *group)
{
    return group->own;
}

/* ---- executing (with the mutex held) ---- */

/* Returns the last epoch in which all processes of the node have arrived. */
static uint32_t arrived_epoch(const struct myr_verbs_group *own)
{
    uint32_t least = myr_load_acquire(&own->arrivals[0]);
    for (uint32_t i = 1; i < own->locals; ++i) {
        const uint32_t other = myr_load_acquire(&own->arrivals[i]);
        least = myr_epoch_reached(other, least) ? least : other;
    }
    return least;
}

/* Fails the group because of that node, and notifies the peers. */
static void fail_verbs_group(struct myr_verbs *nic, const struct myr_verbs_group *own,
                             uint32_t node)
{
    if (MCP_RECORDED != mcp_group_fail(own->mcp, node)) {
        return;
    }
    ++nic->shown->counters.failed;
    for (uint32_t p = 0; p < own->peers; ++p) {
        const struct myr_verbs_peer *peer = &own->peer[p];
        myr_verbs_write_word(nic, peer->link, peer->report, peer->report_key,
                             myr_verbs_report(peer->generation, node));
    }
    myr_verbs_wake(&own->mcp->done);
}

MYR_HOT static void send_message(struct myr_verbs *nic, struct myr_verbs_group *own,
                                 struct mcp_message *message)
{
    const struct mcp_collective_part *part = &message->header.collective;
    const struct myr_verbs_peer *peer = &own->peer[message->to];
    if (0 != own->mcp->buffer_blocks) {
        myr_verbs_send(nic, own, message);
    } else {
        myr_verbs_write_word(nic, peer->link, peer->arrivals + part->slot * sizeof(uint32_t),
                             peer->key, part->epoch);
    }
}

/* Makes all progress that is possible. */
MYR_HOT static void advance_group(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    struct mcp_group *mcp = own->mcp;
    struct mcp_message message;
    const uint32_t before = myr_load_relaxed(&mcp->done);
    atomic_thread_fence(memory_order_acquire); /* the device has written the records */
    do {
        while (mcp_group_next(mcp, &message)) {
            send_message(nic, own, &message);
        }
    } while (0 != mcp->buffer_blocks && myr_verbs_take(own));
    if (before != myr_load_relaxed(&mcp->done)) {
        nic->shown->counters.barriers += myr_load_relaxed(&mcp->done) - before;
        myr_verbs_wake(&mcp->done);
    }
}

/* Starts the next epoch of a group with data, if the node's block is complete. */
static void offer_block(const struct myr_verbs_group *own)
{
    const uint32_t epoch = myr_load_relaxed(&own->mcp->done) + 1;
    const uint8_t *block;
    const uint32_t unit =
        NULL == own->data ? UINT32_MAX : myr_nic_data_built(own->data, epoch, &block);
    if (UINT32_MAX != unit && mcp_group_offer(own->mcp, epoch, unit)) {
        memcpy(mcp_group_buffer(own->mcp, epoch), block, unit);
        mcp_group_start(own->mcp, epoch);
    }
}

/* Returns the number of a node that others have reported missing, plus 1, or 0 if there is none. */
static uint32_t reported_missing(const struct myr_verbs_group *own)
{
    const uint32_t here = myr_load_acquire(&own->shared->report),
                   there = myr_load_acquire(own->report);
    const uint32_t nobody = myr_verbs_report(own->generation, UINT32_MAX);
    return 0 != here ? here : there > nobody && 0 == (there ^ nobody) >> 17 ? there - nobody : 0;
}

/* Starts the epochs in which the node has arrived, and makes progress. Blocks have to be forwarded
 * before that: a root on this node may arrive in the next epoch immediately after it has stored its
 * block, and once that epoch has been started, the block would not be forwarded any more. */
MYR_HOT static void play_verbs_group(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    const uint32_t report = reported_missing(own);
    if (__builtin_expect(0 != report, 0)) {
        fail_verbs_group(nic, own, report - 1);
    }
    if (0 == own->stride) {
        mcp_group_start(own->mcp, arrived_epoch(own));
    } else if (0 != own->mcp->buffer_blocks) {
        offer_block(own);
    } else {
        const uint32_t all = arrived_epoch(own);
        myr_verbs_forward_blocks(nic, own);
        mcp_group_start(own->mcp, all);
    }
    if (mcp_group_waits_now(own->mcp)) {
        advance_group(nic, own);
    }
}

/* ---- leaving ---- */

static void remove_group(struct myr_verbs *nic, const struct myr_verbs_group *own)
{
    uint32_t g = 0;
    while (g < nic->groups && nic->group[g] != own) {
        ++g;
    }
    if (g < nic->groups) { /* otherwise the group was only prepared */
        nic->group[g] = nic->group[--nic->groups];
        nic->shown->groups = nic->groups;
    }
}

/* Returns whether no device accesses the memory of the group any longer. The writes of the peers
 * have all arrived once all epochs are complete; those of broadcasts have arrived as well, because
 * a process reads all broadcasts before it leaves. The writes of this node are complete when they
 * have been acknowledged. */
static bool is_quiet(const struct myr_verbs_group *own)
{
    bool quiet =
        0 == myr_load_relaxed(&own->mcp->failed) && own->last == myr_load_acquire(&own->mcp->done);
    for (uint32_t p = 0; quiet && p < own->peers; ++p) {
        quiet =
            0 == own->peer[p].posted || myr_verbs_completed(own->peer[p].link, own->peer[p].posted);
    }
    return quiet;
}

static void free_group(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    if (NULL != own->memory) {
        nic->shown->registered -= own->memory->length;
        (void)nic->device.calls->dereg_mr(own->memory);
    }
    myr_verbs_word_give(nic, own);
    myr_record_leave(nic->segment, own->record);
    free(own);
}

/* Continues to advance the groups that this process has left, and frees those without outstanding
 * writes. A failed group is kept until the NIC closes all its links, because a peer may write to it
 * until then. */
static void finish_left_groups(struct myr_verbs *nic)
{
    struct myr_verbs_group **previous = &nic->left;
    myr_verbs_collect(nic);
    while (NULL != *previous) {
        struct myr_verbs_group *own = *previous;
        if (0 == myr_load_relaxed(&own->mcp->failed)) {
            play_verbs_group(nic, own);
        }
        if (is_quiet(own)) {
            *previous = own->next;
            free_group(nic, own);
        } else {
            previous = &own->next;
        }
    }
}

void myr_verbs_poll(struct myr_verbs *nic)
{
    if (0 != pthread_mutex_trylock(&nic->mutex)) {
        return;
    }
    const uint32_t count = nic->groups < AT_ONCE ? nic->groups : AT_ONCE;
    for (uint32_t g = 0; g < count; ++g) {
        nic->next = nic->next + 1 < nic->groups ? nic->next + 1 : 0;
        play_verbs_group(nic, nic->group[nic->next]);
    }
    if (__builtin_expect(NULL != nic->left, 0)) {
        finish_left_groups(nic);
    }
    pthread_mutex_unlock(&nic->mutex);
}

uint64_t myr_verbs_moves(struct myr_verbs *nic)
{
    const struct mcp_counters *counters = &nic->shown->counters;
    pthread_mutex_lock(&nic->mutex);
    const uint64_t moves = counters->packets_sent + counters->barriers + counters->broadcasts;
    pthread_mutex_unlock(&nic->mutex);
    return moves;
}

/* ---- the operations of groups ---- */

static void play_group_now(struct myr_nic_group *group)
{
    struct myr_verbs *nic = group->nic;
    if (verbs_of(group)->runs) {
        pthread_mutex_lock(&nic->mutex);
        play_verbs_group(nic, verbs_of(group));
        pthread_mutex_unlock(&nic->mutex);
    }
}

/* Called by the process of the node that arrives last. It executes the schedule only if it is the
 * first process of the node; otherwise the first process notices the arrival by polling. */
static void start_verbs_epoch(struct myr_nic_group *group, uint32_t epoch, const void *block,
                              uint32_t unit)
{
    (void)block;
    (void)unit;
    if (1 == group->locals) {
        myr_store_release(&group->arrivals[0], epoch);
    }
    play_group_now(group);
}

static void start_verbs_bcast(struct myr_nic_group *group, uint32_t number, const void *block,
                              uint32_t bytes)
{
    myr_verbs_bcast(verbs_of(group), number, block, bytes);
    play_group_now(group);
}

static uint32_t poll_group(struct myr_nic_group *group)
{
    struct myr_verbs *nic = group->nic;
    if (verbs_of(group)->runs && 0 == pthread_mutex_trylock(&nic->mutex)) {
        play_verbs_group(nic, verbs_of(group));
        pthread_mutex_unlock(&nic->mutex);
    }
    return 0;
}

/* Probes the peers that the group waits for. A peer that cannot be reached is missing. */
static void probe_peers(struct myr_verbs *nic, struct myr_verbs_group *own, uint32_t now_ms)
{
    struct mcp_message missing;
    uint32_t cursor = 0, gone = 0;
    myr_verbs_collect(nic);
    while (mcp_group_missing(own->mcp, &cursor, &missing)) {
        struct myr_verbs_peer *peer = &own->peer[missing.to];
        const struct mcp_collective_part *part = &missing.header.collective;
        if (peer->link->broken) {
            gone = peer->node + 1;
        } else if (0 != peer->link->heard_ms) {
            (void)mcp_group_hear(own->mcp, peer->node, part->slot, part->epoch,
                                 peer->link->heard_ms);
        }
        myr_verbs_probe(nic, peer->link);
    }
    /* Check the peers that this node only sends to as well. */
    for (uint32_t p = 0; 0 == gone && p < own->peers; ++p) {
        gone = own->peer[p].link->broken ? own->peer[p].node + 1 : 0;
    }
    if (0 != gone) {
        fail_verbs_group(nic, own, gone - 1);
    }
    own->asked_ms = now_ms;
}

static void remind_verbs_peers(const struct myr_nic_group *group, uint64_t now_us)
{
    struct myr_verbs *nic = group->nic;
    struct myr_verbs_group *own = group->own;
    const uint32_t now_ms = (uint32_t)(now_us / 1000);
    if (own->runs && now_ms - own->asked_ms >= ASK_MS && mcp_group_waits_now(own->mcp) &&
        0 == pthread_mutex_trylock(&nic->mutex)) {
        probe_peers(nic, own, now_ms);
        pthread_mutex_unlock(&nic->mutex);
    }
}

/* Probes the parent in the broadcast. A parent that responds is alive, so only its host is late. */
static void ask_parent(struct myr_verbs *nic, struct myr_verbs_group *own, uint32_t root,
                       uint32_t number)
{
    struct mcp_message question;
    myr_verbs_collect(nic);
    if (!mcp_bcast_ask(own->mcp, root, number, &question)) {
        return;
    }
    const struct myr_verbs_peer *peer = &own->peer[question.to];
    if (peer->link->broken) {
        fail_verbs_group(nic, own, peer->node);
    } else if (0 != peer->link->heard_ms) {
        myr_store_release(&myr_verbs_slot(own, number)->heard_ms, peer->link->heard_ms);
    }
    myr_verbs_probe(nic, peer->link);
}

/* A process that does not execute the schedule has no queue pairs to probe other nodes with. It
 * waits for the first process of its own node, and records that this process is late. */
static void ask_bcast(struct myr_nic_group *group, uint32_t root, uint32_t number)
{
    struct myr_verbs *nic = group->nic;
    struct myr_verbs_group *own = verbs_of(group);
    if (!own->runs) {
        myr_store_release(&myr_verbs_slot(own, number)->heard_ms, (uint32_t)os_now_ms() | 1);
    } else if (0 == pthread_mutex_trylock(&nic->mutex)) {
        ask_parent(nic, own, root, number);
        pthread_mutex_unlock(&nic->mutex);
    }
}

/* Sleeps between polls, because nothing wakes the process that executes the schedule. */
static void sleep_between_polls(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us)
{
    myr_word *word = (myr_word *)group->watched;
    if (verbs_of(group)->runs) {
        const struct timespec nap = os_timespec_of_us(timeout_us < NAP_US ? timeout_us : NAP_US);
        (void)nanosleep(&nap, NULL);
    } else {
        atomic_fetch_add(word + 1, 1); /* counts the word's sleepers */
        os_futex_wait((const void *)word, seen, timeout_us);
        atomic_fetch_sub(word + 1, 1);
    }
}

/* The state is read without the lock, as a snapshot, because another process of the node may be
 * executing the schedule. */
static uint32_t list_missing(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most)
{
    uint32_t count = 0, cursor = 0;
    while (count < most && mcp_group_awaits(verbs_of(group)->mcp, &cursor, &list[count])) {
        ++count;
    }
    return count;
}

/* A process that does not execute the schedule reports the missing node to the process that does,
 * by writing to a word, as the other nodes do. */
static void give_up_node(struct myr_nic_group *group, uint32_t node)
{
    struct myr_verbs *nic = group->nic;
    const struct myr_verbs_group *own = verbs_of(group);
    if (own->runs) {
        pthread_mutex_lock(&nic->mutex);
        fail_verbs_group(nic, own, node);
        pthread_mutex_unlock(&nic->mutex);
    } else {
        myr_store_release(&own->shared->report, node + 1);
    }
}

static uint32_t get_verbs_failure(const struct myr_nic_group *group)
{
    return myr_load_acquire(&verbs_of(group)->mcp->failed);
}

static bool is_verbs_group_over(const struct myr_nic_group *group)
{
    return 0 != get_verbs_failure(group);
}

/* Memory that a device may still access is kept until no device accesses it. */
static void end_verbs_group(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    remove_group(nic, own);
    if (0 != own->mcp->window) { /* a root here may have left right after its last block */
        play_verbs_group(nic, own);
    }
    if (is_quiet(own)) {
        free_group(nic, own);
    } else {
        own->next = nic->left;
        nic->left = own;
    }
}

static void leave_verbs_group(struct myr_nic_group *group)
{
    struct myr_verbs *nic = group->nic;
    struct myr_verbs_group *own = group->own;
    if (own->runs) {
        pthread_mutex_lock(&nic->mutex);
        own->data = NULL;
        own->last = group->epoch;
        end_verbs_group(nic, own);
        pthread_mutex_unlock(&nic->mutex);
    } else {
        free_group(nic, own);
    }
}

void myr_verbs_free_left_groups(struct myr_verbs *nic)
{
    while (NULL != nic->left) {
        struct myr_verbs_group *own = nic->left;
        nic->left = own->next;
        free_group(nic, own);
    }
    free(nic->group);
    nic->group = NULL;
}

const struct myr_group_ops myr_verbs_ops = {
    .start = start_verbs_epoch,
    .bcast = start_verbs_bcast,
    .bcast_ask = ask_bcast,
    .poll = poll_group,
    .remind = remind_verbs_peers,
    .sleep = sleep_between_polls,
    .missing = list_missing,
    .fail = give_up_node,
    .failed = get_verbs_failure,
    .over = is_verbs_group_over,
    .leave = leave_verbs_group,
};
