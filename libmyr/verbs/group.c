/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups that are played by RDMA writes; see verbs.h.
 *
 * A group lies in the node's segment. The node's first process has registered that memory: the
 * other nodes write their epochs into its arrival records. It plays the group whenever it waits or
 * passes by. The engine looks at the records and says what is to be sent next.
 *
 * Where a node is missing, a node that knows it tells its peers: it writes that node's number into
 * a word of theirs. They do the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "firmware/engine.h"
#include "libmyr/group_player.h"
#include "libmyr/segment.h"
#include "libmyr/verbs/verbs.h"
#include "os/clock.h"
#include "os/futex.h"

enum {
    GROUP_RECORD = 0x76, /* id of the records' keys: "v" */
    AT_ONCE = 16,        /* groups that one poll looks at */
    ASK_MS = 250,        /* between two questions whether somebody lives */
    NAP_US = 50          /* between two looks, of one who has waited for long */
};

/* What the node's processes share besides the group; their arrivals follow. */
struct shared_group {
    myr_word told; /* the number of a node that is missing + 1; written by other nodes */
};

/* Another node that this one sends to or waits for. */
struct peer {
    uint32_t node;
    struct myr_verbs_link *link;
    uint32_t key;
    uint64_t arrivals, told; /* addresses there */
};

/* This process's part. Whoever does not play has no peers. */
struct myr_verbs_group {
    struct mcp_group *mcp;
    struct shared_group *shared;
    myr_word *arrivals; /* of this node's processes */
    struct myr_record *record;
    uint32_t locals;
    bool plays;
    struct ibv_mr *memory;
    uint32_t peers, asked_ms;
    struct myr_verbs_group *next; /* of those that are left, and may yet be written */
    struct peer peer[];
};

static const struct myr_verbs_group *verbs_of(const struct myr_nic_group *group)
{
    return group->own;
}

/* ---- playing; with the mutex ---- */

/* The last epoch that all of the node have arrived in. */
static uint32_t arrived(const struct myr_verbs_group *own)
{
    uint32_t least = myr_observe(&own->arrivals[0]);
    for (uint32_t i = 1; i < own->locals; ++i) {
        const uint32_t other = myr_observe(&own->arrivals[i]);
        least = myr_epoch_reached(other, least) ? least : other;
    }
    return least;
}

static void wake(const struct myr_verbs_group *own)
{
    if (0 != myr_glance(&own->mcp->sleepers)) {
        os_futex_wake((const void *)&own->mcp->done);
    }
}

/* Nobody will wait for that node any longer: the group fails, here and at its peers. */
static void fail(struct myr_verbs *nic, const struct myr_verbs_group *own, uint32_t node)
{
    if (MCP_RECORDED != mcp_group_fail(own->mcp, node)) {
        return;
    }
    ++nic->counters.failed;
    for (uint32_t p = 0; p < own->peers; ++p) {
        const struct peer *peer = &own->peer[p];
        myr_verbs_write(nic, peer->link, peer->told, peer->key, node + 1);
    }
    wake(own);
}

/* Send and look, as far as it goes. */
MYR_HOT static void go_on(struct myr_verbs *nic, const struct myr_verbs_group *own)
{
    struct mcp_group *mcp = own->mcp;
    struct mcp_message message;
    const uint32_t before = myr_glance(&mcp->done);
    atomic_thread_fence(memory_order_acquire); /* the device has written the records */
    while (mcp_group_next(mcp, &message)) {
        const struct mcp_collective_part *part = &message.header.collective;
        const struct peer *peer = &own->peer[message.to];
        myr_verbs_write(nic, peer->link, peer->arrivals + part->slot * sizeof(uint32_t), peer->key,
                        part->epoch);
    }
    if (before != myr_glance(&mcp->done)) {
        nic->counters.barriers += myr_glance(&mcp->done) - before;
        wake(own);
    }
}

/* Begin what the node has arrived in, and go on. */
MYR_HOT static void play(struct myr_verbs *nic, const struct myr_verbs_group *own)
{
    const uint32_t told = myr_observe(&own->shared->told);
    if (__builtin_expect(0 != told, 0)) {
        fail(nic, own, told - 1);
    }
    mcp_group_start(own->mcp, arrived(own));
    if (mcp_group_waits_now(own->mcp)) {
        go_on(nic, own);
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
        play(nic, nic->group[nic->next]);
    }
    pthread_mutex_unlock(&nic->mutex);
}

/* ---- the player ---- */

/* (Where another process of the node is the last to arrive, the first one sees it.) */
static void start(struct myr_nic_group *group, uint32_t epoch, const void *block, uint32_t unit)
{
    struct myr_verbs *nic = group->nic;
    const struct myr_verbs_group *own = verbs_of(group);
    (void)block;
    (void)unit;
    if (1 == own->locals) {
        myr_publish(&own->arrivals[0], epoch);
    }
    if (own->plays) {
        pthread_mutex_lock(&nic->mutex);
        play(nic, own);
        pthread_mutex_unlock(&nic->mutex);
    }
}

static uint32_t poll_group(struct myr_nic_group *group)
{
    struct myr_verbs *nic = group->nic;
    if (verbs_of(group)->plays && 0 == pthread_mutex_trylock(&nic->mutex)) {
        play(nic, verbs_of(group));
        pthread_mutex_unlock(&nic->mutex);
    }
    return 0;
}

static struct peer *peer_of(struct myr_verbs_group *own, uint32_t node)
{
    uint32_t p = 0;
    while (own->peer[p].node != node) {
        ++p;
    }
    return &own->peer[p];
}

/* Those that the group waits for: who has not been heard of is asked whether it lives, and who
 * cannot be reached is missing. */
static void look_after(struct myr_verbs *nic, struct myr_verbs_group *own, uint32_t now_ms)
{
    struct mcp_message missing;
    uint32_t cursor = 0, gone = 0;
    myr_verbs_collect(nic);
    while (mcp_group_missing(own->mcp, &cursor, &missing)) {
        struct peer *peer = &own->peer[missing.to];
        const struct mcp_collective_part *part = &missing.header.collective;
        if (peer->link->broken) {
            gone = peer->node + 1;
        } else if (0 != peer->link->heard_ms) {
            (void)mcp_group_hear(own->mcp, peer->node, part->slot, part->epoch,
                                 peer->link->heard_ms);
        }
        myr_verbs_ask(nic, peer->link);
    }
    for (uint32_t p = 0; 0 == gone && p < own->peers; ++p) { /* who is only sent to */
        gone = own->peer[p].link->broken ? own->peer[p].node + 1 : 0;
    }
    if (0 != gone) {
        fail(nic, own, gone - 1);
    }
    own->asked_ms = now_ms;
}

static void remind(const struct myr_nic_group *group, uint64_t now_us)
{
    struct myr_verbs *nic = group->nic;
    struct myr_verbs_group *own = group->own;
    const uint32_t now_ms = (uint32_t)(now_us / 1000);
    if (own->plays && now_ms - own->asked_ms >= ASK_MS && mcp_group_waits_now(own->mcp) &&
        0 == pthread_mutex_trylock(&nic->mutex)) {
        look_after(nic, own, now_ms);
        pthread_mutex_unlock(&nic->mutex);
    }
}

/* Nothing wakes the one that plays but its own looks. */
static void doze(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us)
{
    const struct myr_verbs_group *own = verbs_of(group);
    if (own->plays) {
        const struct timespec nap = os_timespec_of_us(timeout_us < NAP_US ? timeout_us : NAP_US);
        (void)nanosleep(&nap, NULL);
    } else {
        atomic_fetch_add(&own->mcp->sleepers, 1);
        os_futex_wait((const void *)group->done, seen, timeout_us);
        atomic_fetch_sub(&own->mcp->sleepers, 1);
    }
}

/* (Another process of the node may play just now. What is listed may be old then, and no more.) */
static uint32_t list_missing(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most)
{
    uint32_t count = 0, cursor = 0;
    while (count < most && mcp_group_awaits(verbs_of(group)->mcp, &cursor, &list[count])) {
        ++count;
    }
    return count;
}

/* (Whoever does not play tells the one that does as other nodes would.) */
static void give_up(struct myr_nic_group *group, uint32_t node)
{
    struct myr_verbs *nic = group->nic;
    const struct myr_verbs_group *own = verbs_of(group);
    if (own->plays) {
        pthread_mutex_lock(&nic->mutex);
        fail(nic, own, node);
        pthread_mutex_unlock(&nic->mutex);
    } else {
        myr_publish(&own->shared->told, node + 1);
    }
}

static uint32_t failed(const struct myr_nic_group *group)
{
    return myr_observe(&verbs_of(group)->mcp->failed);
}

static bool over(const struct myr_nic_group *group)
{
    return 0 != failed(group);
}

/* ---- leaving ---- */

static void take_out(struct myr_verbs *nic, const struct myr_verbs_group *own)
{
    uint32_t g = 0;
    while (g < nic->groups && nic->group[g] != own) {
        ++g;
    }
    if (g < nic->groups) { /* else it was prepared only */
        nic->group[g] = nic->group[--nic->groups];
    }
}

/* May other nodes still write into its memory? Not if all epochs are complete: then all that they
 * had to say has come. */
static bool is_written(const struct myr_verbs_group *own, uint32_t epoch)
{
    return 0 != myr_glance(&own->mcp->failed) || epoch != myr_observe(&own->mcp->done);
}

static void give_back(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    if (NULL != own->memory) {
        (void)nic->device.calls->dereg_mr(own->memory);
    }
    myr_record_leave(nic->segment, own->record);
    free(own);
}

/* Memory that others may still write into stays until nobody can. */
static void leave(struct myr_nic_group *group)
{
    struct myr_verbs *nic = group->nic;
    struct myr_verbs_group *own = group->own;
    const bool stays = own->plays && is_written(own, group->epoch);
    if (own->plays) {
        pthread_mutex_lock(&nic->mutex);
        take_out(nic, own);
        if (stays) {
            own->next = nic->left;
            nic->left = own;
        }
        pthread_mutex_unlock(&nic->mutex);
    }
    if (!stays) {
        give_back(nic, own);
    }
}

void myr_verbs_clear(struct myr_verbs *nic)
{
    while (NULL != nic->left) {
        struct myr_verbs_group *own = nic->left;
        nic->left = own->next;
        give_back(nic, own);
    }
    free(nic->group);
    nic->group = NULL;
}

static const struct myr_player player = {
    .start = start,
    .poll = poll_group,
    .remind = remind,
    .sleep = doze,
    .missing = list_missing,
    .fail = give_up,
    .failed = failed,
    .over = over,
    .leave = leave,
};

/* ---- joining ---- */

/* The nodes that a schedule has messages from or to, in the order of their numbers. */
struct peers {
    uint32_t count, node[MYR_VERBS_PEERS];
};

/* False when out of memory, or if they are too many. */
static bool find_peers(const struct myr_schedule *schedule, uint32_t nodes, struct peers *peers)
{
    bool *is_peer = calloc(nodes, sizeof(*is_peer));
    bool good = NULL != is_peer;
    *peers = (struct peers){.count = 0};
    for (uint32_t p = 0; good && p < schedule->npeers; ++p) {
        is_peer[schedule->peers[p]] = true;
    }
    for (uint32_t n = 0; good && n < nodes; ++n) {
        good = !is_peer[n] || peers->count < MYR_VERBS_PEERS;
        if (good && is_peer[n]) {
            peers->node[peers->count++] = n;
        }
    }
    free(is_peer);
    return good;
}

static size_t before(uint32_t locals)
{
    const size_t bytes = sizeof(struct shared_group) + sizeof(myr_word) * locals;
    return (bytes + MYR_LINE - 1) / MYR_LINE * MYR_LINE;
}

/* Join the group's record, which is laid out alike in all processes of the node. */
static enum myr_status take_record(struct myr_verbs *nic, const struct myr_nic_members *members,
                                   const struct myr_schedule *schedule, struct myr_verbs_group *own,
                                   struct myr_error *error)
{
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    const struct myr_key key = {.scope = members->key, .id = GROUP_RECORD};
    const size_t bytes =
        before(members->locals) + mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits);
    own->record = myr_record_join(nic->segment, &key, members->locals, bytes, 0, error);
    if (NULL == own->record) {
        return MYR_ERR_FULL;
    }
    own->shared = (struct shared_group *)own->record->slots;
    own->arrivals = (myr_word *)(own->shared + 1);
    own->mcp = (struct mcp_group *)(own->record->slots + before(members->locals));
    return MYR_OK;
}

static enum myr_status fill(struct myr_verbs_group *own, const struct myr_nic_members *members,
                            const struct myr_schedule *schedule, myr_schedule_fn schedule_of,
                            const void *context, struct myr_error *error)
{
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    struct mcp_group *mcp = own->mcp;
    mcp_group_init(mcp, members->key, members->nodes, members->node, lengths.steps, lengths.sends,
                   lengths.waits, 0);
    if (!myr_fill_tables(schedule, members->node, schedule_of, context, NULL, NULL,
                         mcp_group_steps(mcp), mcp_group_sends(mcp))) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        struct mcp_peer *peer = &mcp_group_sends(mcp)[p];
        peer->link = (mcp_link)(peer_of(own, peer->node) - own->peer);
    }
    return MYR_OK;
}

static enum myr_status register_it(struct myr_verbs *nic, struct myr_verbs_group *own,
                                   struct myr_error *error)
{
    const struct mcp_group *mcp = own->mcp;
    const uint8_t *end =
        (const uint8_t *)mcp + mcp_group_bytes(mcp->nsteps, mcp->nsends, mcp->nwaits);
    own->memory = nic->device.calls->reg_mr(nic->device.pd, own->shared,
                                            (size_t)(end - (const uint8_t *)own->shared),
                                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    return NULL != own->memory
               ? MYR_OK
               : myr_fail(error, MYR_ERR_SYSTEM, errno,
                          "the RDMA device %s cannot register memory (is the limit of locked "
                          "memory, ulimit -l, large enough?)",
                          nic->device.name);
}

/* Have links to all peers, and say their queue pairs. */
static enum myr_status hold_links(struct myr_verbs *nic, struct myr_verbs_group *own,
                                  const struct myr_nic_members *members, const struct peers *peers,
                                  struct myr_verbs_blob *blob, struct myr_error *error)
{
    for (; own->peers < peers->count; ++own->peers) {
        struct peer *peer = &own->peer[own->peers];
        const uint32_t node = peers->node[own->peers];
        *peer = (struct peer){.node = node};
        peer->link = myr_verbs_link(nic, members->names[node]->key, members->firsts[node], error);
        if (NULL == peer->link) {
            return MYR_ERR_SYSTEM;
        }
        blob->queue_pair[own->peers] = peer->link->qp->qp_num;
    }
    return MYR_OK;
}

/* The part of the node's first process. */
static enum myr_status make_part(struct myr_verbs *nic, struct myr_verbs_group *own,
                                 const struct myr_nic_members *members,
                                 const struct myr_schedule *schedule, myr_schedule_fn schedule_of,
                                 const void *context, struct myr_verbs_blob *blob,
                                 struct myr_error *error)
{
    struct peers peers;
    own->plays = true;
    if (!find_peers(schedule, members->nodes, &peers)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    pthread_mutex_lock(&nic->mutex);
    enum myr_status status = hold_links(nic, own, members, &peers, blob, error);
    pthread_mutex_unlock(&nic->mutex);
    if (MYR_OK == status) {
        status = fill(own, members, schedule, schedule_of, context, error);
    }
    if (MYR_OK == status) {
        status = register_it(nic, own, error);
    }
    if (MYR_OK == status) {
        myr_verbs_device_address(&nic->device, &blob->address);
        blob->key = own->memory->rkey;
        blob->arrivals = (uintptr_t)mcp_group_arrivals(own->mcp);
        blob->told = (uintptr_t)&own->shared->told;
    }
    return status;
}

static enum myr_status prepare(struct myr_verbs *nic, const struct myr_nic_members *members,
                               const struct myr_schedule *schedule, myr_schedule_fn schedule_of,
                               const void *context, struct myr_nic_group *group,
                               struct myr_verbs_blob *blob, struct myr_error *error)
{
    struct myr_verbs_group *own = calloc(1, sizeof(*own) + MYR_VERBS_PEERS * sizeof(struct peer));
    if (NULL == own) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    own->locals = members->locals;
    enum myr_status status = take_record(nic, members, schedule, own, error);
    if (MYR_OK != status) {
        free(own);
        return status;
    }
    group->own = own;
    group->done = group->watched = &own->mcp->done;
    group->arrivals = own->arrivals;
    group->record = own->record;
    if (0 == members->local) {
        status = make_part(nic, own, members, schedule, schedule_of, context, blob, error);
    }
    if (MYR_OK != status) {
        leave(group);
    }
    return status;
}

enum myr_status myr_verbs_prepare(struct myr_verbs *nic, struct myr_waiter *waiter,
                                  const struct myr_nic_members *members,
                                  myr_schedule_fn schedule_of, const void *context,
                                  struct myr_nic_group *group, void *blob, struct myr_error *error)
{
    struct myr_schedule schedule;
    struct myr_verbs_blob said = {.key = 0};
    *group = (struct myr_nic_group){
        .locals = members->locals,
        .local = members->local,
        .waiter = waiter,
        .segment = nic->segment,
        .nic = nic,
    };
    if (!schedule_of(context, members->node, &schedule)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const enum myr_status status =
        prepare(nic, members, &schedule, schedule_of, context, group, &said, error);
    free(schedule.steps);
    if (MYR_OK == status) {
        group->player = &player;
    }
    memcpy(blob, &said, sizeof(said));
    return status;
}

/* Which of its queue pairs has node `of` for this node? 0: none. */
static uint32_t pair_for(const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                         const void *context, uint32_t of, const struct myr_verbs_blob *blob)
{
    struct myr_schedule schedule;
    struct peers peers;
    uint32_t pair = 0;
    if (!schedule_of(context, of, &schedule)) {
        return 0;
    }
    if (find_peers(&schedule, members->nodes, &peers)) {
        for (uint32_t p = 0; p < peers.count; ++p) {
            pair = peers.node[p] == members->node ? blob->queue_pair[p] : pair;
        }
    }
    free(schedule.steps);
    return pair;
}

static enum myr_status connect_all(struct myr_verbs *nic, struct myr_verbs_group *own,
                                   const struct myr_nic_members *members,
                                   myr_schedule_fn schedule_of, const void *context,
                                   const uint8_t *blobs, struct myr_error *error)
{
    enum myr_status status = MYR_OK;
    for (uint32_t p = 0; MYR_OK == status && p < own->peers; ++p) {
        struct peer *peer = &own->peer[p];
        struct myr_verbs_blob blob;
        memcpy(&blob, blobs + (size_t)peer->node * sizeof(blob), sizeof(blob));
        peer->key = blob.key;
        peer->arrivals = blob.arrivals;
        peer->told = blob.told;
        status =
            myr_verbs_connect(nic, peer->link, &blob.address,
                              pair_for(members, schedule_of, context, peer->node, &blob), error);
    }
    return status;
}

enum myr_status myr_verbs_join(struct myr_verbs *nic, const struct myr_nic_members *members,
                               myr_schedule_fn schedule_of, const void *context, const void *blobs,
                               struct myr_nic_group *group, struct myr_error *error)
{
    struct myr_verbs_group *own = group->own;
    if (!own->plays) {
        return MYR_OK;
    }
    pthread_mutex_lock(&nic->mutex);
    enum myr_status status = connect_all(nic, own, members, schedule_of, context, blobs, error);
    struct myr_verbs_group **groups =
        MYR_OK == status ? realloc(nic->group, (nic->groups + 1) * sizeof(struct myr_verbs_group *))
                         : NULL;
    if (NULL != groups) {
        nic->group = groups;
        nic->group[nic->groups++] = own;
    } else if (MYR_OK == status) {
        status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    pthread_mutex_unlock(&nic->mutex);
    if (MYR_OK != status) {
        myr_nic_group_leave(group);
    }
    return status;
}
