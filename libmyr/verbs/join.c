/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins groups that use RDMA writes; see verbs.h.
 *
 * A group is in the segment of the node. The first process of the node registers this memory,
 * creates queue pairs to its peers, and describes both in a blob, which is sent to all nodes. When
 * it has received the blobs of the other nodes, it connects the queue pairs accordingly. */
#include <stdlib.h>
#include <string.h>

#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/node/segment.h"
#include "libmyr/verbs/verbs.h"

enum {
    GROUP_RECORD = 0x76, /* id of the records' keys: "v" */
    DECLINED = 1         /* value of a record whose creator fails; the others then fail, too */
};

/* The nodes that a schedule sends to or receives from, in ascending order. */
struct peers {
    uint32_t count, node[MYR_VERBS_PEERS];
};

/* Finds the peers. Returns false if out of memory, or if there are too many. */
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

static struct myr_verbs_peer *peer_of(struct myr_verbs_group *own, uint32_t node)
{
    uint32_t p = 0;
    while (own->peer[p].node != node) {
        ++p;
    }
    return &own->peer[p];
}

/* Offsets of the parts of a group in its record. All processes of the node compute the same
 * layout. */
struct layout {
    size_t landing, staging, group, behind, end;
    uint32_t stride;
};

static struct layout layout_of(const struct myr_schedule *schedule,
                               const struct myr_nic_group *group)
{
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    const struct myr_nic_data *data = group->data;
    const struct myr_nic_bcast *bcast = group->bcast;
    struct layout layout = {.landing = myr_whole_lines(sizeof(struct myr_verbs_shared) +
                                                       sizeof(myr_word) * group->locals)};
    uint32_t landings = 0, stagings = 0;
    if (NULL != data) {
        layout.stride = myr_verbs_stride(data->carry.most * data->unit_most);
        landings = 2 * lengths.waits;
        stagings = 2 * lengths.sends;
    }
    if (NULL != bcast) {
        layout.stride =
            myr_verbs_stride(bcast->slot_bytes - (uint32_t)sizeof(struct mcp_bcast_slot));
        landings = bcast->window;
    }
    layout.staging = layout.landing + (size_t)landings * layout.stride;
    layout.group = layout.staging + (size_t)stagings * layout.stride;
    layout.behind = layout.group + mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits);
    layout.end = layout.behind + myr_group_behind_bytes(group);
    return layout;
}

static struct myr_key record_key(const struct myr_nic_members *members)
{
    return (struct myr_key){.scope = members->key, .id = GROUP_RECORD};
}

/* Joins the record and leaves it again, for a process that has failed before it could join the
 * group. This is necessary because the record is freed only when all members have left it. */
static void decline_record(struct myr_segment *segment, const struct myr_nic_members *members)
{
    const struct myr_key key = record_key(members);
    struct myr_record *record = myr_record_join(segment, &key, members->locals, 0, DECLINED, NULL);
    if (NULL != record) {
        myr_record_leave(segment, record);
    }
}

static enum myr_status take_record(const struct myr_nic_members *members,
                                   const struct myr_schedule *schedule, struct myr_nic_group *group,
                                   struct myr_verbs_group *own, struct myr_error *error)
{
    const struct layout layout = layout_of(schedule, group);
    const struct myr_key key = record_key(members);
    own->record = myr_record_join(group->segment, &key, members->locals, layout.end, 0, error);
    if (NULL == own->record) {
        return MYR_ERR_FULL;
    }
    if (DECLINED == own->record->creator_value) {
        myr_record_leave(group->segment, own->record);
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    uint8_t *begin = own->record->slots;
    own->shared = (struct myr_verbs_shared *)begin;
    own->arrivals = (myr_word *)(own->shared + 1);
    own->landing = begin + layout.landing;
    own->staging = begin + layout.staging;
    own->stride = layout.stride;
    own->mcp = (struct mcp_group *)(begin + layout.group);
    own->data = group->data;
    own->next_bcast = 1;
    group->own = own;
    group->done = group->watched = &own->mcp->done;
    group->arrivals = own->arrivals;
    group->record = own->record;
    myr_group_set_behind(group, begin + layout.behind);
    return MYR_OK;
}

/* Fills in the engine's group. Its links are indices of the group's peers. */
static enum myr_status fill_engine_group(const struct myr_nic_group *group,
                                         const struct myr_nic_members *members,
                                         const struct myr_schedule *schedule,
                                         myr_schedule_fn schedule_of, const void *context,
                                         struct myr_error *error)
{
    struct myr_verbs_group *own = group->own;
    struct mcp_group *mcp = own->mcp;
    if (!myr_group_fill(group, mcp, members, schedule, schedule_of, context)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    for (uint32_t p = 0; p < mcp->nsends + mcp->nwaits; ++p) {
        struct mcp_peer *peer = &mcp_group_sends(mcp)[p];
        peer->link = (mcp_link)(peer_of(own, peer->node) - own->peer);
    }
    return MYR_OK;
}

static enum myr_status register_group_memory(struct myr_verbs *nic, struct myr_verbs_group *own,
                                             size_t bytes, struct myr_error *error)
{
    own->memory = myr_verbs_register(&nic->device, own->shared, bytes, error);
    if (NULL == own->memory) {
        return MYR_ERR_SYSTEM;
    }
    nic->shown->registered += own->memory->length;
    return MYR_OK;
}

/* Gets the links to all peers, which are created if necessary, and enters their queue pairs in the
 * blob. */
static enum myr_status hold_links(struct myr_verbs *nic, struct myr_verbs_group *own,
                                  const struct myr_nic_members *members, const struct peers *peers,
                                  struct myr_verbs_blob *blob, struct myr_error *error)
{
    for (; own->peers < peers->count; ++own->peers) {
        struct myr_verbs_peer *peer = &own->peer[own->peers];
        const uint32_t node = peers->node[own->peers];
        *peer = (struct myr_verbs_peer){.node = node};
        peer->link = myr_verbs_link(nic, members->names[node]->key, members->firsts[node], error);
        if (NULL == peer->link) {
            return MYR_ERR_SYSTEM;
        }
        blob->queue_pair[own->peers] = peer->link->qp->qp_num;
    }
    return MYR_OK;
}

/* Does the work of the node's first process: fills in the group, registers its memory, creates
 * links to its peers, and describes the memory and the links in the blob. */
static enum myr_status make_part(const struct myr_nic_group *group,
                                 const struct myr_nic_members *members,
                                 const struct myr_schedule *schedule, myr_schedule_fn schedule_of,
                                 const void *context, struct myr_verbs_blob *blob,
                                 struct myr_error *error)
{
    struct myr_verbs *nic = group->nic;
    struct myr_verbs_group *own = group->own;
    struct peers peers;
    own->runs = true;
    if (!find_peers(schedule, members->nodes, &peers)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const struct layout layout = layout_of(schedule, group);
    pthread_mutex_lock(&nic->mutex);
    enum myr_status status = hold_links(nic, own, members, &peers, blob, error);
    if (MYR_OK == status) {
        status = myr_verbs_word_take(nic, own, error);
    }
    if (MYR_OK == status) {
        status = register_group_memory(nic, own, layout.behind, error);
    }
    pthread_mutex_unlock(&nic->mutex);
    if (MYR_OK == status) {
        status = fill_engine_group(group, members, schedule, schedule_of, context, error);
    }
    if (MYR_OK == status) {
        myr_verbs_device_address(&nic->device, &blob->address);
        blob->key = own->memory->rkey;
        blob->arrivals = (uintptr_t)mcp_group_arrivals(own->mcp);
        blob->report = (uintptr_t)own->report;
        blob->report_key = nic->words.memory->rkey;
        blob->generation = own->generation;
        blob->landing = (uintptr_t)own->landing;
    }
    return status;
}

/* Sets up the group, with its data or broadcasts, and the blob. */
static enum myr_status make_own_group(struct myr_nic_group *group,
                                      const struct myr_nic_members *members,
                                      const struct myr_schedule *schedule,
                                      myr_schedule_fn schedule_of, const void *context,
                                      struct myr_verbs_blob *blob, struct myr_error *error)
{
    struct myr_verbs_group *own =
        calloc(1, sizeof(*own) + MYR_VERBS_PEERS * sizeof(struct myr_verbs_peer));
    enum myr_status status =
        NULL == own
            ? myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory")
            : myr_nic_data_new(members, schedule_of, context, UINT32_MAX, &group->data, error);
    if (MYR_OK == status) {
        status = myr_nic_bcast_new(members, schedule, &group->bcast, error);
    }
    if (MYR_OK != status) {
        decline_record(group->segment, members);
    } else {
        own->locals = members->locals;
        status = take_record(members, schedule, group, own, error);
    }
    if (MYR_OK != status) {
        myr_nic_data_free(group->data);
        myr_nic_bcast_free(group->bcast);
        group->data = NULL;
        group->bcast = NULL;
        free(own);
        return status;
    }
    group->ops = &myr_verbs_ops;
    if (0 == members->local) {
        status = make_part(group, members, schedule, schedule_of, context, blob, error);
    }
    if (MYR_OK != status) {
        myr_nic_group_leave(group);
    }
    return status;
}

enum myr_status myr_verbs_prepare(struct myr_verbs *nic, struct myr_waiter *waiter,
                                  const struct myr_nic_members *members,
                                  myr_schedule_fn schedule_of, const void *context,
                                  struct myr_nic_group *group, void *blob, struct myr_error *error)
{
    struct myr_schedule schedule;
    struct myr_verbs_blob blob_sent = {.key = 0};
    *group = (struct myr_nic_group){
        .locals = members->locals,
        .local = members->local,
        .waiter = waiter,
        .segment = nic->segment,
        .nic = nic,
    };
    if (!schedule_of(context, members->node, &schedule)) {
        decline_record(nic->segment, members);
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const enum myr_status status =
        make_own_group(group, members, &schedule, schedule_of, context, &blob_sent, error);
    free(schedule.steps);
    memcpy(blob, &blob_sent, sizeof(blob_sent));
    return status;
}

/* Returns the queue pair that node `of` has created for this node, according to its blob, or 0 if
 * there is none. */
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
        struct myr_verbs_peer *peer = &own->peer[p];
        struct myr_verbs_blob blob;
        memcpy(&blob, blobs + (size_t)peer->node * sizeof(blob), sizeof(blob));
        peer->key = blob.key;
        peer->arrivals = blob.arrivals;
        peer->report = blob.report;
        peer->report_key = blob.report_key;
        peer->generation = blob.generation;
        peer->landing = blob.landing;
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
    if (!own->runs) {
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
        nic->shown->groups = nic->groups;
    } else if (MYR_OK == status) {
        status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    pthread_mutex_unlock(&nic->mutex);
    if (MYR_OK != status) {
        myr_nic_group_leave(group);
    }
    return status;
}
