/* SPDX-License-Identifier: BSD-3-Clause */
/* See groups.h.
 *
 * The first phase of joining a group returns a blob, which contains the data that peers need to
 * connect. The blobs of all groups are exchanged together: the first process of each node sends
 * them in one message. */
#include "coll_nicbarr/groups.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/members.h"
#include "coll_nicbarr/overdue.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/groups/secrets.h"

/* How long (milliseconds) a node may be silent in the test barrier before its packets are
 * considered lost. All members enter this barrier at the same time. A busy host may be late, but
 * its NIC should answer at least one of several retransmission requests (ASK). At a load of 70,
 * only one of 20,000 communicators needed more than 2 s for the test. */
enum { TRY_MS = 5000 };

static uint32_t blob_bytes(const struct nicbarr_joining *joining)
{
    return nicbarr_kind(joining->choice.nic)->caps.blob;
}

/* ---- schedules ---- */

struct schedule_source {
    struct nicbarr_choice choice;
    uint32_t peers, nodes;
};

static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    const struct schedule_source *source = context;
    return 0 == source->peers
               ? nicbarr_schedule_create(source->choice, source->nodes, node, schedule)
               : nicbarr_schedule_ping_pong(source->peers, node, schedule);
}

static struct schedule_source source_of(const mca_coll_nicbarr_module_t *module,
                                        const struct nicbarr_joining *joining)
{
    return (struct schedule_source){joining->choice, joining->peers, module->nodes.nodes};
}

static struct myr_nic_members members_of(const mca_coll_nicbarr_module_t *module,
                                         const struct nicbarr_joining *joining)
{
    const struct nicbarr_nodes *nodes = &module->nodes;
    const bool alone = 0 != joining->peers;
    struct myr_nic_members members = {
        .nodes = nodes->nodes,
        .node = nodes->node,
        .locals = alone ? 1 : nodes->locals,
        .local = alone ? 0 : nodes->local,
        .names = nodes->names[joining->choice.nic],
        .firsts = nodes->firsts,
        .unit_most = joining->unit_most,
        .broadcasts = joining->broadcasts,
        .rooted = NICBARR_ROOTED == joining->choice.algorithm,
    };
    members.key = myr_secret_derive(&module->secret, joining->number, &members.secret);
    return members;
}

/* ---- the two phases ---- */

static void prepare_joining(const mca_coll_nicbarr_module_t *module,
                            struct nicbarr_joining *joining, void *blob, struct myr_error *error)
{
    const struct nicbarr_nics *nics = &mca_coll_nicbarr_component.nics;
    const struct myr_nic_members members = members_of(module, joining);
    const struct schedule_source source = source_of(module, joining);
    const uint32_t nic = joining->choice.nic;
    joining->failed =
        MYR_OK != nicbarr_kind(nic)->prepare(nics->nic[nic], &nics->site, &members, schedule_of,
                                             &source, joining->group, blob, error);
}

static void connect_group(const mca_coll_nicbarr_module_t *module, struct nicbarr_joining *joining,
                          const void *blobs, struct myr_error *error)
{
    const struct nicbarr_nics *nics = &mca_coll_nicbarr_component.nics;
    const struct myr_nic_members members = members_of(module, joining);
    const struct schedule_source source = source_of(module, joining);
    const uint32_t nic = joining->choice.nic;
    joining->failed =
        MYR_OK != nicbarr_kind(nic)->connect(nics->nic[nic], &nics->site, &members, schedule_of,
                                             &source, blobs, joining->group, error);
    joining->group->tag = nic;
    if (!joining->failed && joining->broadcasts && NULL == joining->group->bcast) {
        joining->failed = true;
        nicbarr_group_leave(joining->group);
        (void)myr_fail(error, MYR_ERR_NOT_THERE, 0, "it cannot broadcast");
    }
}

/* ---- the exchange in between ---- */

/* Returns the size of the message that contains all blobs of a node. For each group whose kind of
 * NIC uses blobs, the message contains a flag and a blob; the flag is 0 if there is no blob. */
static size_t message_bytes(const struct nicbarr_joining *list, int count)
{
    size_t bytes = 0;
    for (int j = 0; j < count; ++j) {
        bytes += 0 == blob_bytes(&list[j]) ? 0 : sizeof(uint32_t) + blob_bytes(&list[j]);
    }
    return bytes;
}

static void prepare_all(const mca_coll_nicbarr_module_t *module, struct nicbarr_joining *list,
                        int count, uint8_t *message, struct myr_error *errors)
{
    uint8_t *at = message;
    for (int j = 0; j < count; ++j) {
        const uint32_t bytes = blob_bytes(&list[j]);
        if (0 == bytes) {
            continue;
        }
        if (NULL != list[j].group) {
            prepare_joining(module, &list[j], at + sizeof(uint32_t), &errors[list[j].choice.nic]);
        }
        const uint32_t good = NULL != list[j].group && !list[j].failed;
        memcpy(at, &good, sizeof(good));
        at += sizeof(good) + bytes;
    }
}

/* Distribute the messages of all nodes, concatenated, to all members. */
static int exchange_messages(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             const uint8_t *own, size_t bytes, uint8_t *messages)
{
    const struct nicbarr_nodes *nodes = &module->nodes;
    const int size = ompi_comm_size(comm);
    int *counts = calloc((size_t)2 * (size_t)size, sizeof(*counts));
    if (NULL == counts) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    int *displs = counts + size;
    for (uint32_t n = 0; n < nodes->nodes; ++n) {
        counts[nodes->ranks[n]] = (int)bytes;
        displs[nodes->ranks[n]] = (int)(n * bytes);
    }
    const int rc = nicbarr_openmpi_allgatherv(
        own, 0 == nodes->local ? (int)bytes : 0, MPI_BYTE, messages, NICBARR_COUNTS(counts),
        NICBARR_DISPLS(displs), MPI_BYTE, comm, &module->openmpi);
    free(counts);
    return rc;
}

/* Collect the blobs at `offset` in the nodes' messages. Returns false if one is missing. */
static bool collect_blobs(const uint8_t *messages, size_t bytes, size_t offset, uint32_t nodes,
                          uint32_t blob, uint8_t *blobs)
{
    bool all = true;
    for (uint32_t n = 0; n < nodes; ++n) {
        const uint8_t *at = messages + n * bytes + offset;
        uint32_t good;
        memcpy(&good, at, sizeof(good));
        memcpy(blobs + (size_t)n * blob, at + sizeof(good), blob);
        all = all && 0 != good;
    }
    return all;
}

static void connect_all(const mca_coll_nicbarr_module_t *module, struct nicbarr_joining *list,
                        int count, const uint8_t *messages, size_t bytes, struct myr_error *errors)
{
    uint8_t *blobs = 0 == bytes ? NULL : malloc((size_t)module->nodes.nodes * MYR_BLOB_MOST);
    size_t offset = 0;
    for (int j = 0; j < count; ++j) {
        const uint32_t blob = blob_bytes(&list[j]);
        const uint32_t nodes = 0 == list[j].peers ? module->nodes.nodes : list[j].peers + 1;
        struct myr_error *error = &errors[list[j].choice.nic];
        if (NULL != list[j].group && MYR_ERR_GONE == error->status) {
            /* this kind of NIC has already failed, and another attempt would take seconds */
            list[j].failed = true;
            nicbarr_group_leave(list[j].group);
        } else if (NULL != list[j].group && 0 == blob) {
            connect_group(module, &list[j], NULL, error);
        } else if (NULL != list[j].group && !list[j].failed) {
            if (NULL != blobs && collect_blobs(messages, bytes, offset, nodes, blob, blobs)) {
                connect_group(module, &list[j], blobs, error);
            } else {
                list[j].failed = true;
                nicbarr_group_leave(list[j].group);
                (void)myr_fail(error, MYR_ERR_FULL, 0,
                               "a process on another node cannot create its part of the group");
            }
        }
        offset += 0 == blob ? 0 : sizeof(uint32_t) + blob;
    }
    free(blobs);
}

/* Returns whether a group was joined on a NIC that hosts have to run. */
static bool needs_hosts(const struct nicbarr_joining *list, int count)
{
    bool needs = false;
    for (int j = 0; j < count; ++j) {
        needs = needs || (NULL != list[j].group && !list[j].failed &&
                          NULL != nicbarr_kind(list[j].choice.nic)->poll);
    }
    return needs;
}

int nicbarr_groups_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_joining *list, int count,
                        struct myr_error errors[NICBARR_NICS_MOST])
{
    const size_t bytes = message_bytes(list, count);
    int rc = OMPI_SUCCESS;
    uint8_t *messages = NULL;
    for (int j = 0; j < count; ++j) { /* each number has its own key and secret */
        list[j].number = ++module->groups;
    }
    if (0 != bytes) {
        messages = calloc((size_t)module->nodes.nodes + 1, bytes);
        if (NULL == messages) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        uint8_t *own = messages + module->nodes.nodes * bytes;
        prepare_all(module, list, count, own, errors);
        rc = exchange_messages(module, comm, own, bytes, messages);
    }
    if (OMPI_SUCCESS == rc) {
        connect_all(module, list, count, messages, bytes, errors);
        if (needs_hosts(list, count) && nicbarr_has_other_jobs(comm)) {
            mca_coll_nicbarr_component.lingers = true;
        }
    }
    for (int j = 0; OMPI_SUCCESS != rc && j < count; ++j) { /* leave the prepared ones */
        if (NULL != list[j].group) {
            nicbarr_group_leave(list[j].group);
        }
    }
    free(messages);
    return rc;
}

void nicbarr_group_leave(struct myr_nic_group *group)
{
    if (myr_nic_group_joined(group)) {
        myr_nic_group_leave(group);
    }
}

/* Returns whether the test has failed. If so, informs all reachable nodes, because they may be
 * waiting for nodes other than the silent ones. */
static bool test_failed(struct myr_nic_group *group, struct nicbarr_wait *wait,
                        struct myr_error *error)
{
    uint32_t node, silence_ms;
    if (myr_nic_group_over(group) && !myr_nic_group_failed(group, &node)) {
        (void)myr_fail(error, MYR_ERR_GONE, 0, "the NIC of this node has failed");
        return true;
    }
    if (!myr_nic_group_over(group)) {
        silence_ms = nicbarr_overdue_silence(group, wait, &node);
        if (silence_ms < TRY_MS) {
            return false;
        }
        myr_nic_group_fail(group, node);
    }
    (void)myr_fail(error, MYR_ERR_GONE, 0,
                   "the NICs' packets do not get through between all nodes: one of them did not "
                   "respond for %d s (does a firewall block UDP, or do MTUs differ? see "
                   "coll_nicbarr_network and coll_nicbarr_port)",
                   TRY_MS / 1000);
    return true;
}

static bool wait_for_test(struct myr_nic_group *group, struct nicbarr_wait wait,
                          struct myr_error *error)
{
    bool done = false, vain = false;
    nicbarr_overdue_begin(&wait, nicbarr_now_ms());
    while (!done && !vain) {
        done = nicbarr_overdue_more(group, &wait);
        vain = !done && test_failed(group, &wait, error);
    }
    return done;
}

static void build_zeros(void *group, uint32_t epoch, uint8_t *block)
{
    (void)epoch;
    memset(block, 0, myr_nic_data_most(group));
}

/* Execute a barrier, with the longest packets of the group. */
static bool try_epoch(struct myr_nic_group *group, struct myr_error *error)
{
    const uint32_t epoch =
        NULL == group->data
            ? myr_nic_group_arrive(group)
            : myr_nic_data_arrive(group, myr_nic_data_most(group), build_zeros, group);
    return wait_for_test(group, (struct nicbarr_wait){.epoch = epoch}, error);
}

/* Execute a broadcast of maximum length from the first process of a node. The root need not wait
 * for space in the group's window, which was empty after the preceding barrier. */
static bool try_broadcast(struct myr_nic_group *group, uint32_t root, struct myr_error *error)
{
    myr_nic_bcast_begin(group, root);
    if (group->bcast->node == root && 0 == group->local) {
        memset(myr_nic_bcast_data(group), 0, myr_nic_bcast_most(group));
        myr_nic_bcast_send(group, myr_nic_bcast_most(group));
    }
    const bool done = wait_for_test(group, (struct nicbarr_wait){.block = true}, error);
    myr_nic_bcast_end(group);
    return done;
}

/* Two broadcasts with different roots are sent, so that each node receives at least one. */
bool nicbarr_group_try(struct myr_nic_group *group, struct myr_error *error)
{
    bool good = try_epoch(group, error);
    for (uint32_t root = 0; good && NULL != group->bcast && root < 2; ++root) {
        good = try_broadcast(group, root, error);
    }
    return good;
}
