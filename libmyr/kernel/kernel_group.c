/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of the kernel NIC; see kernel_nic.h.
 *
 * The release word, which announces completed epochs, is in a page of kernel memory that processes
 * map read-only. A doorbell is a UDP packet that the BPF program intercepts. No process has to run
 * the NIC: a waiting process polls the page, and then sleeps. One process of the node sleeps on its
 * socket, where the BPF program wakes it, and this process then wakes the others.
 *
 * A process that has waited for a long time requests the missing messages. While all processes of
 * the node compute, the daemon myrd requests them on behalf of the node. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/kernel/bell.h"
#include "firmware/kernel/kernel.h"
#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/node/segment.h"
#include "os/calls.h"
#include "os/clock.h"
#include "os/futex.h"

enum {
    GROUP_RECORD = 0x6b, /* id of the records' keys: "k" */
    REPEATED = 256,      /* maximum number of epochs whose doorbells are repeated at once */
    DETOUR = 256,        /* number of doorbells sent by multicast after one had to be repeated */
    /* Number of calls of is_kernel_group_over() between two checks for the daemon, a power of
     * two. */
    ALIVE_EVERY = 64
};

/* The state of this process for a group of the kernel NIC. */
struct myr_kernel_attachment {
    struct myr_kernel_nic *nic;
    const struct mcp_kernel_line *page;     /* the user's page, mapped */
    const struct mcp_kernel_line *line;     /* the group's release in it */
    const struct mcp_kernel_buffer *buffer; /* NULL if the group has none */
    struct mcp_bell bell;                   /* connected to a peer */
    uint64_t key;
    uint32_t stuck_at;          /* the last complete epoch at the time of the last reminder */
    struct mcp_backoff backoff; /* when to request messages if that epoch is still the last one */
    _Atomic uint32_t detour;    /* number of doorbells still to be sent by multicast */
    uint32_t questions;         /* number of calls of is_kernel_group_over() */
    bool orphaned;              /* whether the NIC is permanently lost */
    uint64_t alone_in;          /* identifies the wait that continues without a daemon */
    uint64_t alone_us; /* when that wait was first without a daemon; 0 if there is a daemon */
};

/* The state that the processes of the node share. It is followed by the arrivals, then by the
 * shared data. */
struct shared_group {
    myr_word sleepers; /* number of processes that sleep on `woken` */
    myr_word woken;    /* incremented whenever they are woken */
    myr_word watcher;  /* not 0 if a process sleeps on its socket */
};

static struct shared_group *shared_of(const struct myr_nic_group *group)
{
    return (struct shared_group *)group->record->slots;
}

static struct myr_kernel_attachment *attachment_of(const struct myr_nic_group *group)
{
    return group->own;
}

/* ---- executing ---- */

/* Sends a doorbell. Normally it is addressed to the peer that the socket is connected to, because
 * sending to a multicast address would add a route lookup each time (0.45 us). However, if the
 * neighbour entry of the peer has expired, the kernel holds back packets to the peer. Therefore,
 * once a doorbell had to be repeated, the next doorbells are sent by multicast, which needs no
 * neighbour entry. */
static void send_bell(struct myr_kernel_attachment *attachment, const void *bell, size_t bytes)
{
    const uint32_t detour = atomic_load_explicit(&attachment->detour, memory_order_relaxed);
    if (__builtin_expect(0 == detour, 1)) {
        (void)mcp_bell_ring_to(&attachment->bell, bell, bytes, NULL);
    } else {
        atomic_store_explicit(&attachment->detour, detour - 1, memory_order_relaxed);
        (void)mcp_bell_ring(&attachment->bell, bell, bytes, NULL);
    }
}

static void make_detour(struct myr_kernel_attachment *attachment)
{
    atomic_store_explicit(&attachment->detour, DETOUR, memory_order_relaxed);
}

static void ring_doorbell(struct myr_kernel_attachment *attachment, enum mcp_ring what,
                          uint32_t epoch)
{
    const struct mcp_doorbell bell = mcp_doorbell(what, epoch, attachment->key);
    send_bell(attachment, &bell, sizeof(bell));
}

/* Sends a doorbell with a block as payload. */
static void ring_with_block(struct myr_kernel_attachment *attachment, enum mcp_ring what,
                            uint32_t epoch, const void *block, uint32_t bytes)
{
    struct {
        struct mcp_doorbell bell;
        uint8_t block[MCP_PAYLOAD_MOST];
    } words; /* only the part that is sent is initialized */
    words.bell = mcp_doorbell(what, epoch, attachment->key);
    if (bytes <= sizeof(words.block)) {
        memcpy(words.block, block, bytes);
        send_bell(attachment, &words, sizeof(words.bell) + bytes);
    }
}

static void start_kernel_epoch(struct myr_nic_group *group, uint32_t epoch, const void *block,
                               uint32_t unit)
{
    if (NULL != group->data) {
        ring_with_block(attachment_of(group), MCP_RING_START, epoch, block, unit);
    } else {
        ring_doorbell(attachment_of(group), MCP_RING_START, epoch);
    }
}

static void start_kernel_bcast(struct myr_nic_group *group, uint32_t number, const void *block,
                               uint32_t bytes)
{
    ring_with_block(attachment_of(group), MCP_RING_BCAST, number, block, bytes);
}

static void ask_bcast(struct myr_nic_group *group, uint32_t root, uint32_t number)
{
    struct myr_kernel_attachment *attachment = attachment_of(group);
    struct mcp_doorbell bell = mcp_doorbell(MCP_RING_BCAST_ASK, number, attachment->key);
    bell.root = root;
    send_bell(attachment, &bell, sizeof(bell));
}

/* Rings the doorbell again for all epochs after `done` in which the node has arrived, because the
 * previous doorbells for them may have been lost, or may have come before the NIC could accept
 * them. */
static void repeat_doorbells(const struct myr_nic_group *group, uint32_t done)
{
    struct myr_kernel_attachment *attachment = attachment_of(group);
    const int32_t ahead = (int32_t)(myr_group_arrived(group) - done);
    if (NULL != group->data) {
        const uint8_t *block;
        const uint32_t unit = myr_nic_data_built(group->data, done + 1, &block);
        if (UINT32_MAX != unit) {
            ring_with_block(attachment, MCP_RING_START, done + 1, block, unit);
        }
        return;
    }
    for (int32_t e = 1; e <= ahead && e <= REPEATED; ++e) {
        ring_doorbell(attachment, MCP_RING_START, done + (uint32_t)e);
    }
}

static uint32_t poll_watched_word(struct myr_nic_group *group)
{
    const uint32_t seen = myr_load_acquire(group->watched);
    for (int i = 0; i < MYR_NIC_GLANCES && seen == myr_load_acquire(group->watched); ++i) {
        myr_cpu_relax();
    }
    return 0;
}

static void remind_kernel_nic(const struct myr_nic_group *group, uint64_t now_us)
{
    struct myr_kernel_attachment *attachment = attachment_of(group);
    const uint32_t done = myr_load_acquire(group->done);
    const uint64_t now_ns = 1000 * now_us;
    if (done != attachment->stuck_at) {
        attachment->stuck_at = done;
        mcp_backoff_begin(&attachment->backoff, MCP_BACKOFF_NS, now_ns);
    }
    if (!mcp_backoff_expired(&attachment->backoff, now_ns)) {
        return;
    }
    make_detour(attachment);
    repeat_doorbells(group, done);
    ring_doorbell(attachment, MCP_RING_ASK, done + 1);
}

/* Sleeps on the socket until the NIC wakes this process. */
static void sleep_on_socket(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us)
{
    const struct myr_kernel_attachment *attachment = attachment_of(group);
    const struct mcp_doorbell sleeps = mcp_doorbell(MCP_RING_SLEEP, seen + 1, attachment->key);
    struct pollfd bell = {.fd = attachment->bell.socket, .events = POLLIN};
    const struct timespec timeout = os_timespec_of_us(timeout_us);
    char packet[MCP_COLLECTIVE_BYTES];
    (void)mcp_bell_ring_to(&attachment->bell, &sleeps, sizeof(sleeps), NULL);
    if (seen == myr_load_acquire(group->watched)) {
        (void)ppoll(&bell, 1, &timeout, NULL);
    }
    while (recv(attachment->bell.socket, packet, sizeof(packet), MSG_DONTWAIT) >= 0) {
        continue;
    }
}

static void sleep_on_nic(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us)
{
    struct shared_group *shared = shared_of(group);
    uint32_t nobody = 0;
    if (atomic_compare_exchange_strong(&shared->watcher, &nobody, 1)) {
        sleep_on_socket(group, seen, timeout_us);
        myr_store_release(&shared->watcher, 0);
        if (0 != myr_load_acquire(&shared->sleepers)) {
            (void)myr_fetch_add(&shared->woken);
            os_futex_wake((const void *)&shared->woken);
        }
        return;
    }
    const uint32_t woken = myr_load_acquire(&shared->woken);
    atomic_fetch_add(&shared->sleepers, 1);
    if (seen == myr_load_acquire(group->watched)) {
        os_futex_wait((const void *)&shared->woken, woken, timeout_us);
    }
    atomic_fetch_sub(&shared->sleepers, 1);
}

static uint32_t list_missing(struct myr_nic_group *group, struct mcp_missing *list, uint32_t most)
{
    const struct myr_kernel_attachment *attachment = attachment_of(group);
    struct myr_kernel_missing missing;
    if (!myr_kernel_nic_ask_missing(attachment->nic, attachment->key, &missing)) {
        return 0;
    }
    const uint32_t count = missing.count < most ? missing.count : most;
    memcpy(list, missing.node, count * sizeof(*list));
    return count;
}

static void fail_group(struct myr_nic_group *group, uint32_t node)
{
    make_detour(attachment_of(group));
    ring_doorbell(attachment_of(group), MCP_RING_FAIL, node);
}

static uint32_t read_failure(const struct myr_kernel_attachment *attachment)
{
    return myr_load_acquire((myr_word *)&attachment->line->failed);
}

/* Returns the number of the missing node + 1 if the group has failed. Returns 0 if it has not
 * failed, or has failed only because the NIC was removed, so that no node is missing. */
static uint32_t get_kernel_failure(const struct myr_nic_group *group)
{
    const uint32_t seen = read_failure(attachment_of(group));
    return MCP_KERNEL_REMOVED == seen ? 0 : seen;
}

/* Returns whether a wait must end because there is no daemon. Epochs complete without a daemon, but
 * only a daemon detects that another process of this node has died and will never arrive. Therefore
 * a wait may continue without a daemon only for a limited time. */
static bool is_orphaned(const struct myr_nic_group *group, struct myr_kernel_attachment *attachment)
{
    const enum myr_kernel_daemon daemon = myr_kernel_nic_daemon(attachment->nic);
    const uint64_t wait = (uint64_t)group->epoch << 32 ^ (uint64_t)(uintptr_t)group->watched ^
                          myr_load_acquire(group->done);
    const uint64_t now_us = os_now_us();
    if (MYR_KERNEL_HERE == daemon) {
        attachment->alone_us = 0;
    } else if (0 == attachment->alone_us || wait != attachment->alone_in) {
        attachment->alone_in = wait;
        attachment->alone_us = now_us;
    }
    return MYR_KERNEL_GONE == daemon ||
           (MYR_KERNEL_LOST == daemon && now_us - attachment->alone_us >= MYR_KERNEL_AWAY_US);
}

/* Checks for the daemon only from time to time, because MPI_Ibarrier calls this at each test. */
static bool is_kernel_group_over(const struct myr_nic_group *group)
{
    struct myr_kernel_attachment *attachment = attachment_of(group);
    if (!attachment->orphaned && 0 == ++attachment->questions % ALIVE_EVERY) {
        attachment->orphaned = is_orphaned(group, attachment);
    }
    return attachment->orphaned || 0 != read_failure(attachment);
}

static void detach(struct myr_kernel_attachment *attachment)
{
    if (NULL != attachment->page) {
        munmap((void *)attachment->page, sizeof(*attachment->page) * MCP_KERNEL_LINES);
    }
    if (NULL != attachment->buffer) {
        munmap((void *)attachment->buffer, sizeof(*attachment->buffer));
    }
    if (attachment->bell.socket >= 0) {
        close(attachment->bell.socket);
    }
    free(attachment);
}

/* When a group for broadcasts is closed, its closing epoch is the one after the last epoch of which
 * a doorbell has notified the NIC. Since doorbells may have been lost, this function first repeats
 * the doorbells of all epochs that are not complete yet. */
static void leave_kernel_group(struct myr_nic_group *group)
{
    if (NULL != group->bcast) {
        repeat_doorbells(group, myr_load_acquire(group->done));
    }
    myr_kernel_nic_ask_close(attachment_of(group)->nic, attachment_of(group)->key);
    detach(attachment_of(group));
    myr_record_leave(group->segment, group->record);
}

static const struct myr_group_ops kernel_ops = {
    .start = start_kernel_epoch,
    .bcast = start_kernel_bcast,
    .bcast_ask = ask_bcast,
    .poll = poll_watched_word,
    .remind = remind_kernel_nic,
    .sleep = sleep_on_nic,
    .missing = list_missing,
    .fail = fail_group,
    .failed = get_kernel_failure,
    .over = is_kernel_group_over,
    .leave = leave_kernel_group,
};

/* ---- joining ---- */

/* Creates the socket for doorbells. The socket is connected to the given peer, so that packets of
 * other senders do not wake a process that sleeps on it. Returns false, with errno, on failure. */
static bool connect_bell(struct mcp_bell *bell, const struct myr_kernel_nic *nic,
                         const struct mcp_kernel_peer *to)
{
    struct myr_nic_name own;
    myr_kernel_nic_get_name(nic, &own);
    const struct mcp_address peer = mcp_address_of(&to->ip, to->port);
    return mcp_bell_make(bell, &own.address[0].ip, myr_kernel_nic_interface(nic),
                         own.address[0].port) &&
           0 == connect(bell->socket, &peer.at.any, mcp_address_bytes(&peer));
}

/* Maps a descriptor, and closes it. Returns NULL, with errno, on failure. */
static const void *map_page(int descriptor, size_t bytes)
{
    const void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return MAP_FAILED == mapped ? NULL : mapped;
}

static enum myr_status attach(struct myr_kernel_nic *nic, struct myr_kernel_question *question,
                              struct myr_kernel_attachment **taken, struct myr_error *error)
{
    struct myr_kernel_attachment *attachment = malloc(sizeof(*attachment));
    struct mcp_kernel_seen seen;
    if (NULL == attachment) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    *attachment = (struct myr_kernel_attachment){
        .nic = nic, .bell.socket = -1, .key = question->key, .stuck_at = UINT32_MAX};
    enum myr_status status = myr_kernel_nic_ask_open(nic, question, &seen, error);
    if (MYR_OK == status) {
        attachment->page = map_page(seen.page, sizeof(*attachment->page) * MCP_KERNEL_LINES);
        attachment->line = NULL == attachment->page ? NULL : &attachment->page[seen.line];
        attachment->buffer =
            seen.buffer < 0 ? NULL : map_page(seen.buffer, sizeof(*attachment->buffer));
        if (!connect_bell(&attachment->bell, nic, &question->peers[0]) ||
            NULL == attachment->page || (NULL == attachment->buffer && seen.buffer >= 0)) {
            status = myr_fail(error, MYR_ERR_SYSTEM, errno,
                              "cannot map the pages of the kernel NIC, or connect to its doorbell");
            myr_kernel_nic_ask_close(nic, attachment->key);
        }
    }
    if (MYR_OK != status) {
        detach(attachment);
        return status;
    }
    *taken = attachment;
    return MYR_OK;
}

/* Looks up the addresses of the peers. If the name of a NIC has no address, the daemon will refuse
 * the request. */
static void name_peers(const struct mcp_peer *peers, uint32_t count,
                       const struct myr_nic_members *members, struct mcp_kernel_peer *named)
{
    for (uint32_t p = 0; p < count; ++p) {
        const struct myr_nic_name *name = members->names[peers[p].node];
        named[p] = (struct mcp_kernel_peer){
            .ip = name->count > 0 ? name->address[0].ip : mcp_ip_none(),
            .port = name->count > 0 ? name->address[0].port : 0,
            .node = peers[p].node,
            .slot = peers[p].slot,
            .blocks = peers[p].blocks,
            .at = peers[p].at,
        };
    }
}

/* Builds the request to open the group. */
static enum myr_status make_question(const struct myr_nic_group *group,
                                     const struct myr_nic_members *members,
                                     const struct myr_schedule *schedule,
                                     myr_schedule_fn schedule_of, const void *context,
                                     struct myr_kernel_question *question, struct myr_error *error)
{
    const struct myr_nic_data *data = group->data;
    const struct myr_nic_bcast *bcasts = group->bcast;
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    struct mcp_peer peers[MCP_KERNEL_PEERS];
    *question = (struct myr_kernel_question){
        .key = members->key,
        .secret = members->secret,
        .nodes = members->nodes,
        .node = members->node,
        .nsteps = lengths.steps,
        .nsends = lengths.sends,
        .nwaits = lengths.waits,
        .buffer_blocks = NULL == data ? 0 : data->carry.buffer_blocks,
        .unit_most = NULL == data ? 0 : data->unit_most,
        .window = NULL == bcasts ? 0 : bcasts->window,
        .slot_bytes = NULL == bcasts ? 0 : bcasts->slot_bytes,
    };
    if (lengths.steps > MCP_KERNEL_STEPS || lengths.sends > MCP_KERNEL_MESSAGES ||
        lengths.waits > MCP_KERNEL_MESSAGES) {
        return myr_fail(error, MYR_ERR_TOO_LONG, 0,
                        "the schedule has more messages than the kernel NIC supports");
    }
    if (!myr_fill_tables(schedule, members->node, schedule_of, context, data, bcasts,
                         question->steps, peers)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    name_peers(peers, lengths.sends + lengths.waits, members, question->peers);
    return MYR_OK;
}

/* Computes the schedule of this node, plans how broadcasts spread over it if the group is for
 * broadcasts, and builds the request from both. */
static enum myr_status plan_group(struct myr_nic_group *group,
                                  const struct myr_nic_members *members,
                                  myr_schedule_fn schedule_of, const void *context,
                                  struct myr_kernel_question *question, struct myr_error *error)
{
    struct myr_schedule schedule;
    if (!schedule_of(context, members->node, &schedule)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    enum myr_status status = myr_nic_bcast_new(members, &schedule, &group->bcast, error);
    if (MYR_OK == status) {
        status = make_question(group, members, &schedule, schedule_of, context, question, error);
    }
    free(schedule.steps);
    return status;
}

/* Returns the offset of the shared data in the record, behind the arrivals. */
static size_t bytes_before_data(uint32_t locals)
{
    return MYR_LINE + myr_whole_lines(sizeof(myr_word) * locals);
}

/* Returns the size of the record with blocks of up to `unit_most` bytes (0 if it carries no
 * data). */
static size_t record_bytes(uint32_t locals, uint32_t unit_most)
{
    return bytes_before_data(locals) + (0 == unit_most ? 0 : myr_nic_data_bytes(locals, unit_most));
}

static void set_data_pointers(struct myr_nic_group *group,
                              const struct myr_kernel_attachment *attachment)
{
    if (NULL != group->data) {
        group->data->buffers[0] = (const uint8_t *)attachment->buffer->word[0];
        group->data->buffers[1] = (const uint8_t *)attachment->buffer->word[1];
        group->data->shared =
            (struct myr_node_data *)(group->record->slots + bytes_before_data(group->locals));
    }
    if (NULL != group->bcast) {
        group->bcast->slots = (const uint8_t *)attachment->buffer;
    }
}

/* Joins the group, after the node's processes have attached to the record. */
static enum myr_status join_kernel_group(struct myr_nic_group *group, struct myr_kernel_nic *nic,
                                         const struct myr_nic_members *members,
                                         myr_schedule_fn schedule_of, const void *context,
                                         struct myr_error *error)
{
    struct myr_kernel_question question;
    struct myr_kernel_attachment *attachment = NULL;
    enum myr_status status = plan_group(group, members, schedule_of, context, &question, error);
    if (MYR_OK == status) {
        status = attach(nic, &question, &attachment, error);
    }
    if (MYR_OK == status) {
        group->done = group->watched = &attachment->line->done;
        group->arrivals = (myr_word *)(group->record->slots + MYR_LINE);
        group->own = attachment;
        set_data_pointers(group, attachment);
    }
    return status;
}

/* The record of a group is freed only when all members have left it. Therefore even a process that
 * cannot join the group joins the record, and leaves it at once. This process may also be the one
 * that creates the record. If it has failed before it knows the size of a block, it creates the
 * record for blocks of the maximum size. */
enum myr_status myr_kernel_group_join(struct myr_nic_group *group, struct myr_kernel_nic *nic,
                                      struct myr_segment *segment, struct myr_waiter *waiter,
                                      const struct myr_nic_members *members,
                                      myr_schedule_fn schedule_of, const void *context,
                                      struct myr_error *error)
{
    const struct myr_key key = {.scope = members->key, .id = GROUP_RECORD};
    struct myr_nic_data *data;
    enum myr_status status =
        myr_nic_data_new(members, schedule_of, context, MCP_KERNEL_BUFFER, &data, error);
    const uint32_t unit_most = NULL != data                            ? data->unit_most
                               : members->broadcasts                   ? 0
                               : members->unit_most < MCP_PAYLOAD_MOST ? members->unit_most
                                                                       : MCP_PAYLOAD_MOST;
    struct myr_record *record = myr_record_join(segment, &key, members->locals,
                                                record_bytes(members->locals, unit_most), 0, error);
    if (NULL == record) {
        myr_nic_data_free(data);
        return MYR_ERR_FULL;
    }
    *group = (struct myr_nic_group){
        .locals = members->locals,
        .local = members->local,
        .waiter = waiter,
        .segment = segment,
        .record = record,
        .data = data,
    };
    if (MYR_OK == status) {
        status = join_kernel_group(group, nic, members, schedule_of, context, error);
    }
    if (MYR_OK == status) {
        group->ops = &kernel_ops;
    } else {
        myr_record_leave(segment, record);
        myr_nic_data_free(data);
        myr_nic_bcast_free(group->bcast);
        group->data = NULL;
        group->bcast = NULL;
        group->record = NULL;
    }
    return status;
}
