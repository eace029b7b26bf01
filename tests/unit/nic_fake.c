/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake NIC for tests, as a kind (nic_kind.h). It is the minimum that a kind of NIC must implement
 * for the whole component to execute barriers on it.
 *
 * Each process has a separate NIC. Its groups are in a file in the directory NICBARR_FAKE, which
 * the other processes map as if it were remote memory. An arrival is a store there instead of a
 * packet. The blob exchanged between prepare and connect is the offset of the arrival records in
 * that file. A waiting process advances its own groups.
 *
 * NICBARR_FAKE_REFUSALS is the number of groups for which each process reports lack of memory
 * before it succeeds.
 *
 * tests/component/fake_nic.sh runs jobs with a component that has no other kind (fake_kind.c), and
 * tests/fibres run it beside the soft NIC.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coll_nicbarr/nics.h"
#include "firmware/collective.h"
#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/group_tables.h"
#include "os/clock.h"
#include "os/random.h"
#include "tests/unit/nic_fake.h"

enum { FILE_BYTES = 4 << 20, LINKS = 4096, GROUPS = 512, PEERS = 64, FIRST_GROUP = MYR_LINE };

struct nic {
    /* the first member, because the control program passes its address back */
    struct mcp_board board;
    struct mcp_collective collective;
    struct mcp_counters counters;
    struct myr_nic_name name;
    uint32_t end; /* end of the used part of the file */
    uint64_t refusals;
    struct mcp_group *group[GROUPS];
    uint32_t groups;
    struct {
        uint64_t key;
        uint8_t *file;
    } peer[PEERS]; /* whose files are mapped */
    uint32_t peers;
    mcp_link links;              /* the last one allocated */
    _Atomic uint32_t *of[LINKS]; /* by link: the arrival records of a group at a peer */
};

static uint8_t *map_file(uint64_t key, int flags)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%016llx", getenv("NICBARR_FAKE"), (unsigned long long)key);
    const int file = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    void *memory = MAP_FAILED;
    if (file >= 0 && 0 == ftruncate(file, FILE_BYTES)) {
        memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    return MAP_FAILED == memory ? NULL : memory;
}

static uint8_t *file_of_peer(struct nic *nic, uint64_t key)
{
    uint32_t p = 0;
    while (p < nic->peers && key != nic->peer[p].key) {
        ++p;
    }
    if (p == nic->peers && p < PEERS) {
        nic->peer[p].key = key;
        nic->peer[p].file = map_file(key, 0);
        nic->peers += NULL != nic->peer[p].file;
    }
    return p < nic->peers ? nic->peer[p].file : NULL;
}

/* ---- the board: stores into remote memory ---- */

/* The only messages are ARRIVEs, because poll_nic() runs no timer. */
static void store_arrival(struct mcp_board *board, mcp_link to, const struct mcp_header *header,
                          const void *payload, size_t payload_bytes)
{
    struct nic *nic = (struct nic *)board;
    (void)payload;
    (void)payload_bytes;
    ++nic->counters.packets_sent;
    atomic_store(&nic->of[to][header->collective.slot], header->collective.epoch);
}

static uint64_t now_ns(struct mcp_board *board)
{
    (void)board;
    return os_now_ns();
}

static void wake(struct mcp_board *board, myr_word *word)
{
    (void)board;
    (void)word; /* no other process waits for its groups */
}

/* ---- a group ---- */

static void start(struct myr_nic_group *group, uint32_t epoch, const void *block, uint32_t unit)
{
    struct nic *nic = group->nic;
    (void)block;
    (void)unit;
    mcp_collective_start(&nic->collective, &nic->board, &nic->counters, group->own, epoch);
}

/* Advance all groups, because peers may have stored arrivals. */
static uint32_t poll_nic(void *opened)
{
    struct nic *nic = opened;
    atomic_thread_fence(memory_order_acquire);
    for (uint32_t g = 0; g < nic->groups; ++g) {
        mcp_collective_start(&nic->collective, &nic->board, &nic->counters, nic->group[g],
                             nic->group[g]->started);
    }
    return 0;
}

static uint32_t poll_group(struct myr_nic_group *group)
{
    return poll_nic(group->nic);
}

static void remind(const struct myr_nic_group *group, uint64_t now_us)
{
    (void)group;
    (void)now_us;
}

static void doze(struct myr_nic_group *group, uint32_t seen, uint32_t timeout_us)
{
    (void)group;
    (void)seen;
    (void)timeout_us;
    sched_yield();
}

static bool over(const struct myr_nic_group *group)
{
    (void)group;
    return false;
}

static void leave(struct myr_nic_group *group)
{
    struct nic *nic = group->nic;
    uint32_t g = 0;
    while (g < nic->groups && nic->group[g] != group->own) {
        ++g;
    }
    if (g < nic->groups) { /* else it was only prepared */
        mcp_collective_close(&nic->collective, &nic->board, group->own);
        nic->group[g] = nic->group[--nic->groups];
    }
}

static const struct myr_group_ops ops = {
    .start = start,
    .poll = poll_group,
    .remind = remind,
    .sleep = doze,
    .over = over,
    .leave = leave,
};

static enum myr_status prepare(void *opened, const struct myr_site *site,
                               const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                               const void *context, struct myr_nic_group *group, void *blob,
                               struct myr_error *error)
{
    struct nic *nic = opened;
    struct myr_schedule schedule;
    if (!schedule_of(context, members->node, &schedule)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    const size_t bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits);
    struct mcp_group *mcp = mcp_at(&nic->board, nic->end);
    enum myr_status status = MYR_ERR_FULL;
    const bool refused = nic->refusals > 0;
    nic->refusals -= refused;
    if (!refused && nic->end + bytes <= FILE_BYTES && nic->links + lengths.sends < LINKS &&
        nic->groups < GROUPS) {
        mcp_group_init(mcp, members->key, members->nodes, members->node, lengths.steps,
                       lengths.sends, lengths.waits, 0);
        status = myr_fill_tables(&schedule, members->node, schedule_of, context, NULL, NULL,
                                 mcp_group_steps(mcp), mcp_group_sends(mcp))
                     ? MYR_OK
                     : MYR_ERR_OUT_OF_MEMORY;
    }
    free(schedule.steps);
    if (MYR_OK != status) {
        return myr_fail(error, status, 0, "the fake NIC has no memory left");
    }
    nic->end += (uint32_t)bytes;
    *(uint32_t *)blob = mcp_offset_of(&nic->board, mcp_group_arrivals(mcp));
    *group = (struct myr_nic_group){
        .done = &mcp->done,
        .watched = &mcp->done,
        .locals = members->locals,
        .ops = &ops,
        .waiter = site->waiter,
        .nic = nic,
        .own = mcp,
    };
    return MYR_OK;
}

static enum myr_status connect_group(void *opened, const struct myr_site *site,
                                     const struct myr_nic_members *members,
                                     myr_schedule_fn schedule_of, const void *context,
                                     const void *blobs, struct myr_nic_group *group,
                                     struct myr_error *error)
{
    struct nic *nic = opened;
    struct mcp_group *mcp = group->own;
    (void)site;
    (void)schedule_of;
    (void)context;
    nic->group[nic->groups++] = mcp;
    mcp_collective_open(&nic->collective, &nic->board, &nic->counters, mcp);
    for (uint32_t s = 0; s < mcp->nsends; ++s) {
        struct mcp_peer *peer = &mcp_group_sends(mcp)[s];
        uint8_t *file = file_of_peer(nic, members->names[peer->node]->key);
        if (NULL == file) {
            myr_nic_group_leave(group);
            return myr_fail(error, MYR_ERR_SYSTEM, 0, "a peer's fake NIC has no file");
        }
        peer->link = ++nic->links;
        nic->of[peer->link] = (_Atomic uint32_t *)(file + ((const uint32_t *)blobs)[peer->node]);
    }
    return MYR_OK;
}

/* ---- the NIC ---- */

static enum myr_status open_fake(const struct myr_site *site, const char *way,
                                 const union myr_value *values, void **opened,
                                 struct myr_error *error)
{
    struct nic *nic = calloc(1, sizeof(*nic));
    (void)site;
    (void)way;
    (void)values;
    if (NULL == nic || NULL == getenv("NICBARR_FAKE") ||
        !os_draw_key(&nic->name.key, sizeof(nic->name.key))) {
        free(nic);
        return myr_fail(error, MYR_ERR_NOT_THERE, 0, "NICBARR_FAKE is not set");
    }
    const char *refusals = getenv("NICBARR_FAKE_REFUSALS");
    nic->refusals = NULL == refusals ? 0 : strtoul(refusals, NULL, 10);
    nic->name.count = 1;
    nic->end = FIRST_GROUP;
    nic->board = (struct mcp_board){
        .ops = {.send = store_arrival, .now_ns = now_ns, .wake = wake},
        .memory = map_file(nic->name.key, O_CREAT),
        .memory_bytes = FILE_BYTES,
    };
    *opened = nic;
    return NULL == nic->board.memory
               ? myr_fail(error, MYR_ERR_SYSTEM, 0, "the fake NIC cannot create its file")
               : MYR_OK;
}

static void close_fake(void *opened)
{
    struct nic *nic = opened;
    for (uint32_t p = 0; p < nic->peers; ++p) {
        munmap(nic->peer[p].file, FILE_BYTES);
    }
    munmap(nic->board.memory, FILE_BYTES);
    free(nic);
}

static void query(const void *nic, struct myr_nic_name *name)
{
    *name = ((const struct nic *)nic)->name;
}

static void count(void *nic, struct mcp_counters *counters)
{
    *counters = ((struct nic *)nic)->counters;
}

static const char *const ways[] = {NULL};
static const struct myr_option options[] = {{.name = NULL}};

const struct myr_nic_kind myr_fake_kind = {
    .name = "fake",
    .title = "the fake NIC",
    .help = "a test's",
    .ways = ways,
    .options = options,
    .caps = {.steps = UINT32_MAX, .sends = UINT32_MAX, .waits = UINT32_MAX, .blob = 4},
    .open = open_fake,
    .close = close_fake,
    .query = query,
    .poll = poll_nic,
    .count = count,
    .prepare = prepare,
    .connect = connect_group,
};
