/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at a segment and its NIC from outside; see nic_look.h. */
#include "libmyr/nic_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmyr/nic_inside.h"
#include "libmyr/sram.h"

enum {
    RECORDS_MOST =
        1 << 16, /* of one bucket; lists that change while they are read may be circles */
    GROUPS_MOST = 1 << 16,
};

static bool copy(int fd, size_t offset, void *to, size_t bytes)
{
    size_t have = 0;
    while (have < bytes) {
        const ssize_t got = pread(fd, (uint8_t *)to + have, bytes - have, (off_t)(offset + have));
        if (got <= 0 && !(got < 0 && EINTR == errno)) {
            return false;
        }
        have += got > 0 ? (size_t)got : 0;
    }
    return true;
}

enum myr_status myr_look_at_segment(int fd, struct myr_segment_view *view, struct myr_error *error)
{
    struct myr_sram *sram = malloc(sizeof(*sram));
    enum myr_status status = MYR_OK;
    if (NULL == sram) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    /* Magic and layout lie where they do in every version; the rest may not. */
    if (!copy(fd, 0, sram, offsetof(struct myr_sram, limit)) || MYR_SRAM_MAGIC != sram->magic) {
        status = myr_fail(error, MYR_ERR_NOT_THERE, 0, "that is no memory of nicbarr's");
    } else if (MYR_SRAM_LAYOUT != sram->layout) {
        status = myr_fail(error, MYR_ERR_FOREIGN, 0,
                          "it is of another version of nicbarr (layout %u, here %u)",
                          (unsigned)sram->layout, (unsigned)MYR_SRAM_LAYOUT);
    } else if (!copy(fd, 0, sram, sizeof(*sram))) {
        status = myr_fail(error, MYR_ERR_NOT_THERE, 0, "it is cut short");
    } else {
        *view = (struct myr_segment_view){
            .identity = sram->identity,
            .limit = sram->limit,
            .bytes = sram->committed,
            .full = 0 != sram->full,
        };
        for (uint32_t p = 0; p < sram->processes && p < MYR_PROCESSES; ++p) {
            view->processes += 0 != myr_observe(&sram->process[p].attached);
        }
    }
    free(sram);
    return status;
}

/* Offset of the NIC's record; 0 if there is none. */
static uint32_t find_nic(int fd)
{
    const struct myr_key key = myr_nic_record_key();
    const uint64_t wanted[4] = {key.scope, key.id, key.members, key.sequence};
    struct myr_record record;
    uint32_t offset = 0, seen = 0;
    if (!copy(fd, offsetof(struct myr_sram, bucket) + myr_record_bucket(&key) * sizeof(offset),
              &offset, sizeof(offset))) {
        return 0;
    }
    while (0 != offset && seen++ < RECORDS_MOST) {
        if (!copy(fd, offset, &record, sizeof(record))) {
            return 0;
        }
        if (0 == memcmp(wanted, record.key, sizeof(wanted))) {
            return offset;
        }
        offset = record.next;
    }
    return 0;
}

/* Take in the groups of one list, which begins at `offset`. False when out of memory. */
static bool look_at_groups(int fd, uint32_t offset, struct myr_nic_view *view, uint32_t *room)
{
    struct mcp_group group;
    while (0 != offset && view->groups < GROUPS_MOST && copy(fd, offset, &group, sizeof(group))) {
        if (view->groups == *room) {
            *room = 0 == *room ? 16 : 2 * *room;
            struct myr_group_view *more = realloc(view->group, *room * sizeof(*more));
            if (NULL == more) {
                return false;
            }
            view->group = more;
        }
        if (0 != group.key) {
            view->group[view->groups++] = (struct myr_group_view){
                .node = group.node,
                .done = group.done,
                .started = group.started,
                .failed = 0 != group.failed,
            };
        }
        offset = group.next;
    }
    return true;
}

enum myr_status myr_look_at_nic(int fd, struct myr_nic_view *view, struct myr_error *error)
{
    const size_t line = MYR_LINE, bytes = (myr_nic_shared_bytes() + line - 1) / line * line;
    const uint32_t record = find_nic(fd);
    void *shared = 0 == record ? NULL : aligned_alloc(line, bytes);
    enum myr_status status = MYR_OK;
    *view = (struct myr_nic_view){.there = false};
    if (0 == record) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "it has no NIC");
    }
    if (NULL == shared) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const struct mcp_nic *mcp = NULL;
    if (copy(fd, record + offsetof(struct myr_record, slots), shared, myr_nic_shared_bytes())) {
        mcp = myr_nic_describe(shared, view);
    }
    if (NULL == mcp) {
        status = myr_fail(error, MYR_ERR_FOREIGN, 0, "its NIC is of another version of nicbarr");
    }
    uint32_t room = 0;
    for (int b = 0; MYR_OK == status && view->there && b < MCP_BUCKETS; ++b) {
        if (!look_at_groups(fd, mcp->collective.bucket[b], view, &room)) {
            status = myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
        }
    }
    free(shared);
    if (MYR_OK != status) {
        myr_nic_view_free(view);
    }
    return status;
}

void myr_nic_view_free(struct myr_nic_view *view)
{
    free(view->group);
    view->group = NULL;
    view->groups = 0;
}
