/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a segment and its NIC from outside; see nic_inspect.h. */
#include "libmyr/soft/nic_inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libmyr/node/sram.h"
#include "libmyr/soft/nic_inside.h"

enum {
    TIMES = 8,            /* limit of the bytes read, as a multiple of the file's memory */
    BESIDES = 1 << 20,    /* number of bytes by which that limit is greater */
    BLOCK = 512,          /* bytes; the unit of st_blocks */
    TABLE_MOST = 1 << 16, /* entries of a group's table or of the table of ports */
};

/* The segment to read, which is not trusted. Lists may change while they are read, or may be
 * corrupt and have cycles, so the number of bytes and of list entries to be read is limited. The
 * limit is derived from the memory that the file occupies (st_blocks), which is charged to its
 * owner, and not from the size of the file, which may be arbitrary. */
struct source {
    int fd;
    uint64_t left;
    uint32_t entries;
};

static struct source source_of(int fd)
{
    struct stat about;
    const uint64_t blocks = fstat(fd, &about) < 0 ? 0 : (uint64_t)about.st_blocks;
    return (struct source){fd, TIMES * (BLOCK * blocks) + BESIDES, MYR_VIEW_ENTRIES};
}

/* Returns whether `offset` may be followed as a link of a list. */
static bool has_entry(struct source *from, uint32_t offset)
{
    if (0 == offset || 0 == from->entries) {
        return false;
    }
    --from->entries;
    return true;
}

static bool read_source(struct source *from, size_t offset, void *to, size_t bytes)
{
    size_t have = 0;
    if (bytes > from->left) {
        return false;
    }
    from->left -= bytes;
    while (have < bytes) {
        const ssize_t got =
            pread(from->fd, (uint8_t *)to + have, bytes - have, (off_t)(offset + have));
        if (got <= 0 && !(got < 0 && EINTR == errno)) {
            return false;
        }
        have += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Returns a copy of the segment's header, to be freed by the caller. On failure returns NULL, with
 * the reason in `status`. */
static struct myr_sram *copy_head(struct source *from, enum myr_status *status,
                                  struct myr_error *error)
{
    struct myr_sram *sram = malloc(sizeof(*sram));
    *status = MYR_OK;
    if (NULL == sram) {
        *status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
        return NULL;
    }
    /* Magic and layout have the same offsets in all versions; the other fields may not. */
    if (!read_source(from, 0, sram, offsetof(struct myr_sram, limit)) ||
        MYR_SRAM_MAGIC != sram->magic) {
        *status = myr_fail(error, MYR_ERR_NOT_THERE, 0, "this is not shared memory of nicbarr");
    } else if (MYR_SRAM_LAYOUT != sram->layout) {
        *status = myr_fail(
            error, MYR_ERR_FOREIGN, 0,
            "it is of another version of nicbarr (its layout is %u, that of this version %u)",
            (unsigned)sram->layout, (unsigned)MYR_SRAM_LAYOUT);
    } else if (!read_source(from, 0, sram, sizeof(*sram))) {
        *status = myr_fail(error, MYR_ERR_NOT_THERE, 0, "it is truncated");
    }
    if (MYR_OK != *status) {
        free(sram);
        return NULL;
    }
    return sram;
}

enum myr_status myr_inspect_segment(int fd, struct myr_segment_view *view, struct myr_error *error)
{
    struct source from = source_of(fd);
    enum myr_status status;
    struct myr_sram *sram = copy_head(&from, &status, error);
    if (NULL == sram) {
        return status;
    }
    *view = (struct myr_segment_view){
        .identity = sram->identity,
        .limit = sram->limit,
        .bytes = sram->committed,
        .full = 0 != sram->full,
    };
    for (uint32_t p = 0; p < sram->processes && p < MYR_PROCESSES; ++p) {
        view->processes += 0 != myr_load_acquire(&sram->process[p].attached);
    }
    free(sram);
    return MYR_OK;
}

/* Returns the offset of the record with this key, which is copied to `record`, or 0 if there is
 * none. */
static uint32_t find_record(struct source *from, const struct myr_key *key,
                            struct myr_record *record)
{
    const uint64_t wanted[4] = {key->scope, key->id, key->members, key->sequence};
    uint32_t offset = 0;
    if (!read_source(from,
                     offsetof(struct myr_sram, bucket) + myr_record_bucket(key) * sizeof(offset),
                     &offset, sizeof(offset))) {
        return 0;
    }
    while (has_entry(from, offset)) {
        if (!read_source(from, offset, record, sizeof(*record))) {
            return 0;
        }
        if (0 == memcmp(wanted, record->key, sizeof(wanted))) {
            return offset;
        }
        offset = record->next;
    }
    return 0;
}

/* ---- missing members of a group ---- */

/* Returns a copy of a group with its tables, to be freed by the caller. Returns NULL if memory is
 * exhausted, if there is no such group, or if the copy is inconsistent because the group has
 * changed meanwhile. */
static struct mcp_group *copy_group(struct source *from, uint32_t offset,
                                    const struct mcp_group *head)
{
    if (head->nsteps > TABLE_MOST || head->nsends > TABLE_MOST || head->nwaits > TABLE_MOST) {
        return NULL;
    }
    const size_t bytes = mcp_group_bytes(head->nsteps, head->nsends, head->nwaits);
    struct mcp_group *group = aligned_alloc(MYR_LINE, bytes);
    if (NULL == group || !read_source(from, offset, group, bytes) ||
        group->nsteps != head->nsteps || group->nsends != head->nsends ||
        group->nwaits != head->nwaits || group->step > group->nsteps ||
        group->first_wait > group->nwaits) {
        free(group);
        return NULL;
    }
    return group;
}

/* Returns a view of another node of the group. Its address is known only if it is a peer. */
static struct myr_node_view view_node(struct mcp_group *group, const void *shared, uint32_t node,
                                      uint32_t heard_ms)
{
    struct myr_node_view view = {.node = node, .heard_ms = heard_ms};
    for (uint32_t p = 0; p < group->nsends + group->nwaits; ++p) {
        const struct mcp_peer *peer = &mcp_group_sends(group)[p];
        if (peer->node == node) {
            view.ip = myr_soft_ip_of(shared, peer->link);
        }
    }
    return view;
}

static void view_missing(struct mcp_group *group, const void *shared, struct myr_group_view *view)
{
    struct mcp_missing missing;
    for (uint32_t cursor = 0; mcp_group_awaits(group, &cursor, &missing); ++view->nodes) {
        if (view->nodes < MYR_VIEW_NODES) {
            view->missing[view->named++] = view_node(group, shared, missing.node, missing.heard_ms);
        }
    }
    view->since_ns = 0 == group->backoff.ends_ns ? 0 : group->began_ns;
}

/* If some processes of this node have arrived in the epoch after `done`, lists the others. */
static void view_absent(struct source *from, uint32_t offset, const struct mcp_group *head,
                        struct myr_group_view *view)
{
    const struct myr_key key = myr_soft_group_record_key(head->key);
    struct myr_record record;
    const uint32_t at = find_record(from, &key, &record);
    const size_t slots = at + offsetof(struct myr_record, slots);
    if (0 == at || 0 == record.members || record.members > MYR_PROCESSES ||
        offset != slots + myr_soft_group_before(record.members)) {
        return;
    }
    const size_t bytes = myr_soft_group_before(record.members);
    void *before = aligned_alloc(MYR_LINE, bytes);
    if (NULL != before && read_source(from, slots, before, bytes)) {
        const myr_word *arrivals = myr_soft_group_words(before), *pids = arrivals + record.members;
        view->locals = record.members;
        for (uint32_t i = 0; i < record.members; ++i) {
            if (!myr_epoch_reached(myr_load_relaxed(&arrivals[i]), view->done + 1)) {
                if (view->absent < MYR_VIEW_LOCALS) {
                    view->absent_pid[view->absent] = myr_load_relaxed(&pids[i]);
                }
                ++view->absent;
            }
        }
        view->absent = view->absent == view->locals ? 0 : view->absent; /* no process waits */
    }
    free(before);
}

static void view_group(struct source *from, uint32_t offset, const struct mcp_group *head,
                       const void *shared, struct myr_group_view *view)
{
    *view = (struct myr_group_view){
        .offset = offset,
        .node = head->node,
        .done = myr_load_relaxed(&head->done),
        .started = head->started,
        .failed = 0 != myr_load_relaxed(&head->failed),
    };
    if (!view->failed && view->started == view->done) {
        view_absent(from, offset, head, view);
        return;
    }
    struct mcp_group *group = copy_group(from, offset, head);
    if (NULL != group && view->failed) {
        view->lost = view_node(group, shared, myr_load_relaxed(&group->failed) - 1, 0);
    } else if (NULL != group) {
        view_missing(group, shared, view);
    }
    free(group);
}

/* Adds the groups of the list that begins at `offset`. Returns false if out of memory. */
static bool inspect_groups(struct source *from, uint32_t offset, const void *shared,
                           struct myr_soft_view *view, uint32_t *room)
{
    struct mcp_group group;
    while (has_entry(from, offset) && read_source(from, offset, &group, sizeof(group))) {
        if (view->groups == *room) {
            *room = 0 == *room ? 16 : 2 * *room;
            struct myr_group_view *more = realloc(view->group, *room * sizeof(*more));
            if (NULL == more) {
                return false;
            }
            view->group = more;
        }
        /* Skip groups that no process holds any longer. */
        if (0 != group.key && 0 == group.closing) {
            view_group(from, offset, &group, shared, &view->group[view->groups++]);
        }
        offset = group.next;
    }
    return true;
}

/* ---- ports ---- */

/* Adds the ports of the table at `offset`, which has `room` entries. Returns false if out of
 * memory. */
static bool inspect_ports(struct source *from, size_t offset, uint32_t room,
                          struct myr_soft_view *view)
{
    struct mcp_port port;
    view->port = calloc(room < TABLE_MOST ? room : TABLE_MOST, sizeof(*view->port));
    for (uint32_t p = 0; NULL != view->port && p < room && p < TABLE_MOST &&
                         read_source(from, offset + p * sizeof(port), &port, sizeof(port));
         ++p) {
        if (0 != port.key) {
            view->port[view->ports++] = (struct myr_port_view){p, port.owner, port.under_way};
        }
    }
    return NULL != view->port;
}

enum myr_status myr_inspect_nic(int fd, struct myr_soft_view *view, struct myr_error *error)
{
    const size_t line = MYR_LINE, bytes = (myr_soft_shared_bytes() + line - 1) / line * line;
    struct source from = source_of(fd);
    const struct myr_key key = myr_soft_record_key();
    struct myr_record head;
    const uint32_t record = find_record(&from, &key, &head);
    void *shared = 0 == record ? NULL : aligned_alloc(line, bytes);
    enum myr_status status = MYR_OK;
    *view = (struct myr_soft_view){.there = false};
    if (0 == record) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "it has no NIC");
    }
    if (NULL == shared) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const struct mcp_nic *mcp = NULL;
    if (read_source(&from, record + offsetof(struct myr_record, slots), shared,
                    myr_soft_shared_bytes())) {
        mcp = myr_soft_describe(shared, view);
    }
    if (NULL == mcp) {
        status = myr_fail(error, MYR_ERR_FOREIGN, 0, "its NIC is of another version of nicbarr");
    }
    uint32_t room = 0;
    for (int b = 0; MYR_OK == status && view->there && b < MCP_BUCKETS; ++b) {
        if (!inspect_groups(&from, mcp->collective.bucket[b], shared, view, &room)) {
            status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
        }
    }
    const size_t ports = record + offsetof(struct myr_record, slots) + myr_soft_shared_bytes();
    if (MYR_OK == status && view->there && 0 != mcp->messages.nports &&
        !inspect_ports(&from, ports, mcp->messages.nports, view)) {
        status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    free(shared);
    if (MYR_OK != status) {
        myr_soft_view_free(view);
    }
    return status;
}

void myr_soft_view_free(struct myr_soft_view *view)
{
    free(view->group);
    free(view->port);
    view->group = NULL;
    view->groups = 0;
    view->port = NULL;
    view->ports = 0;
}

/* ---- records of single processes ---- */

/* Describes a kind of record that each process of the segment publishes: its key, which depends on
 * the index and number of the process, its size, and a function that checks whether a copy is
 * valid. */
struct published {
    struct myr_key (*key)(uint32_t index, uint32_t number);
    size_t bytes;
    bool (*fits)(const void *copy);
};

/* Returns copies of the records of all attached processes, to be freed by the caller. */
static void *inspect_published(int fd, const struct published *what, uint32_t *count)
{
    struct source from = source_of(fd);
    enum myr_status status;
    struct myr_sram *sram = copy_head(&from, &status, NULL);
    uint8_t *list = NULL;
    *count = 0;
    for (uint32_t p = 0; NULL != sram && p < sram->processes && p < MYR_PROCESSES; ++p) {
        const struct myr_sram_process *process = &sram->process[p];
        const struct myr_key key = what->key(p, myr_load_relaxed(&process->number));
        struct myr_record head;
        const uint32_t record =
            0 == myr_load_relaxed(&process->attached) ? 0 : find_record(&from, &key, &head);
        if (0 == record) {
            continue;
        }
        uint8_t *more = realloc(list, (*count + 1) * what->bytes);
        if (NULL == more) {
            break;
        }
        list = more;
        uint8_t *copy = list + *count * what->bytes;
        *count +=
            read_source(&from, record + offsetof(struct myr_record, slots), copy, what->bytes) &&
            what->fits(copy);
    }
    free(sram);
    return list;
}

static bool fits_verbs(const void *copy)
{
    const struct myr_verbs_shown *shown = copy;
    return MYR_VERBS_SHOWN == shown->layout &&
           NULL != memchr(shown->device, '\0', sizeof(shown->device));
}

struct myr_verbs_shown *myr_inspect_rdma(int fd, uint32_t *count)
{
    static const struct published rdma = {myr_verbs_shown_key, sizeof(struct myr_verbs_shown),
                                          fits_verbs};
    return inspect_published(fd, &rdma, count);
}

static bool fits_waits(const void *copy)
{
    const struct myr_shown_waits *waits = copy;
    bool ended = MYR_WAITS_LAYOUT == waits->layout;
    for (int w = 0; ended && w < MYR_WAITS; ++w) {
        const struct myr_shown_wait *wait = &waits->wait[w];
        ended = NULL != memchr(wait->call, '\0', sizeof(wait->call)) &&
                NULL != memchr(wait->caller, '\0', sizeof(wait->caller)) &&
                NULL != memchr(wait->name, '\0', sizeof(wait->name)) &&
                NULL != memchr(wait->ranks, '\0', sizeof(wait->ranks));
    }
    return ended;
}

struct myr_shown_waits *myr_inspect_waits(int fd, uint32_t *count)
{
    static const struct published waits = {myr_waits_key, sizeof(struct myr_shown_waits),
                                           fits_waits};
    return inspect_published(fd, &waits, count);
}
