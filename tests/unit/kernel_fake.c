/* SPDX-License-Identifier: BSD-3-Clause */
/* See kernel_fake.h. */
#include "tests/unit/kernel_fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GROUPS_EVER = 2 * MCP_KERNEL_LATE };

struct mcp_kernel {
    bool attached; /* only one NIC can be attached at a time */
};

static bool one_is_attached;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct fake_group groups[GROUPS_EVER];
static uint32_t ever, met, asked, absent_asked;
static struct mcp_ip absent_ip; /* unset if all hosts respond */
static int page = -1, buffer = -1;
struct fake_faults fake;
static uint64_t kept_key;
static struct mcp_kernel_holder holders[MCP_KERNEL_HOLDERS];
static int watch = -1; /* pipe of reports about stuck groups */
static int telling = -1;

/* ---- for the test ---- */

/* Returns the last group with this key. The caller holds the lock. */
static struct fake_group *find(uint64_t key)
{
    for (uint32_t g = ever; g > 0; --g) {
        if (key == groups[g - 1].plan.key) {
            return &groups[g - 1];
        }
    }
    return NULL;
}

void fake_reset(void)
{
    pthread_mutex_lock(&lock);
    memset(groups, 0, ever * sizeof(groups[0]));
    memset(holders, 0, sizeof(holders));
    fake = (struct fake_faults){.keeps = false};
    if (page >= 0) {
        close(page);
        close(buffer);
        page = buffer = -1;
    }
    ever = met = asked = absent_asked = 0;
    absent_ip = mcp_ip_none();
    if (watch >= 0) {
        close(watch);
        close(telling);
        watch = telling = -1;
    }
    pthread_mutex_unlock(&lock);
}

bool fake_find_group(uint64_t key, struct fake_group *group)
{
    pthread_mutex_lock(&lock);
    const struct fake_group *found = find(key);
    if (NULL != found) {
        *group = *found;
    }
    pthread_mutex_unlock(&lock);
    return NULL != found;
}

uint32_t fake_open_count(void)
{
    uint32_t count = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t g = 0; g < ever; ++g) {
        count += groups[g].open;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

uint32_t fake_met_count(void)
{
    pthread_mutex_lock(&lock);
    const uint32_t count = met;
    pthread_mutex_unlock(&lock);
    return count;
}

uint32_t fake_asked_count(void)
{
    pthread_mutex_lock(&lock);
    const uint32_t count = asked;
    pthread_mutex_unlock(&lock);
    return count;
}

void fake_set(uint64_t key, bool waits, uint32_t done)
{
    pthread_mutex_lock(&lock);
    struct fake_group *group = find(key);
    group->waits = waits;
    group->done = done;
    pthread_mutex_unlock(&lock);
}

void fake_release(uint64_t key, uint32_t done)
{
    pthread_mutex_lock(&lock);
    (void)!pwrite(page, &done, sizeof(done),
                  (off_t)(sizeof(struct mcp_kernel_line) * find(key)->line));
    pthread_mutex_unlock(&lock);
}

void fake_broadcast(uint64_t key, uint32_t number, const void *block, uint32_t bytes)
{
    const struct mcp_bcast_slot slot = {.number = number, .bytes = bytes};
    pthread_mutex_lock(&lock);
    const struct mcp_kernel_plan *plan = &find(key)->plan;
    const off_t offset = mcp_bcast_offset(plan->window, plan->slot_bytes, number);
    (void)!pwrite(buffer, block, bytes, offset + (off_t)sizeof(slot));
    (void)!pwrite(buffer, &slot, sizeof(slot), offset);
    pthread_mutex_unlock(&lock);
}

void fake_set_absent(struct mcp_ip ip, bool absent)
{
    pthread_mutex_lock(&lock);
    absent_ip = absent ? ip : mcp_ip_none();
    pthread_mutex_unlock(&lock);
}

void fake_await_ring(uint64_t key, enum mcp_ring ring)
{
    pthread_mutex_lock(&lock);
    while (NULL == find(key) ||
           0 == (MCP_RING_ASK == ring ? find(key)->asked : find(key)->failed)) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

void fake_await_meeting(void)
{
    pthread_mutex_lock(&lock);
    while (0 == absent_asked) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

void fake_enable_reports(void)
{
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) {
        watch = ends[0];
        telling = ends[1];
    }
}

void fake_report_stuck(uint64_t key, uint32_t done, uint32_t reports)
{
    const struct mcp_kernel_stuck stuck = {.key = key, .done = done, .reports = reports};
    (void)!write(telling, &stuck, sizeof(stuck));
}

/* ---- for the daemon ---- */

int mcp_kernel_watch(const struct mcp_kernel *kernel)
{
    (void)kernel;
    return watch;
}

void mcp_kernel_consume(struct mcp_kernel *kernel, mcp_kernel_stuck_fn tell, void *context)
{
    struct mcp_kernel_stuck stuck;
    (void)kernel;
    while (sizeof(stuck) == read(watch, &stuck, sizeof(stuck))) {
        tell(context, &stuck);
    }
}

int mcp_kernel_load(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                    char why[MCP_KERNEL_WHY])
{
    *kernel = calloc(1, sizeof(**kernel));
    if (NULL == *kernel || mcp_ip_is_none(ip) || 0 == port) {
        snprintf(why, MCP_KERNEL_WHY, "the fake NIC has no address");
        free(*kernel);
        return -1;
    }
    return 0;
}

int mcp_kernel_load_kept(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                         char warning[MCP_KERNEL_WHY], char why[MCP_KERNEL_WHY])
{
    warning[0] = '\0';
    return mcp_kernel_load(ip, port, kernel, why);
}

bool mcp_kernel_taken(const struct mcp_kernel *kernel)
{
    (void)kernel;
    return fake.keeps;
}

void mcp_kernel_count_by(struct mcp_kernel *kernel, uint32_t (*account)(uint32_t uid))
{
    (void)kernel;
    (void)account;
}

struct mcp_pins *mcp_kernel_pins(struct mcp_kernel *kernel)
{
    static struct mcp_pins none = MCP_NO_PINS;
    (void)kernel;
    return &none;
}

void mcp_kernel_keep_key(struct mcp_kernel *kernel, uint64_t *key)
{
    (void)kernel;
    *key = kept_key = fake.keeps ? kept_key : *key;
}

int mcp_kernel_attach(struct mcp_kernel *kernel, char why[MCP_KERNEL_WHY])
{
    if (one_is_attached) {
        snprintf(why, MCP_KERNEL_WHY, "another fake NIC is attached");
        return -1;
    }
    kernel->attached = one_is_attached = true;
    return 0;
}

/* The fake has no hooks that outlive it. */
struct mcp_hooks *mcp_kernel_hooks(struct mcp_kernel *kernel)
{
    static struct mcp_hooks none = MCP_NO_HOOKS;
    (void)kernel;
    return &none;
}

void mcp_kernel_close(struct mcp_kernel *kernel)
{
    one_is_attached = one_is_attached && !kernel->attached;
    free(kernel);
}

void mcp_kernel_leave(struct mcp_kernel *kernel)
{
    mcp_kernel_close(kernel);
}

uint32_t mcp_kernel_next_number(const struct mcp_kernel *kernel)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    const uint32_t number = ever % MCP_KERNEL_GROUPS;
    pthread_mutex_unlock(&lock);
    return number;
}

static bool is_held(uint32_t number)
{
    bool held = false;
    for (uint32_t h = 0; h < MCP_KERNEL_HOLDERS; ++h) {
        held = held || 0 != (holders[h].groups[number / 64] >> number % 64 & 1);
    }
    return held;
}

/* Open a group. All groups share one page and one buffer. */
int mcp_kernel_group_open(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                          struct mcp_kernel_seen *seen, char why[MCP_KERNEL_WHY])
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    if (page < 0) {
        page = memfd_create("page of a fake", MFD_CLOEXEC);
        (void)!ftruncate(page, MCP_KERNEL_LINES * sizeof(struct mcp_kernel_line));
        buffer = memfd_create("buffer of a fake", MFD_CLOEXEC);
        (void)!ftruncate(buffer, sizeof(struct mcp_kernel_buffer));
    }
    const bool room = page >= 0 && ever < GROUPS_EVER;
    if (room) {
        *seen = (struct mcp_kernel_seen){
            page, ever % MCP_KERNEL_LINES,
            0 == plan->buffer_blocks && 0 == plan->window ? -1 : buffer, ever % MCP_KERNEL_GROUPS};
        groups[ever++] = (struct fake_group){.plan = *plan,
                                             .open = true,
                                             .recorded = is_held(seen->number),
                                             .line = seen->line,
                                             .number = seen->number};
    } else {
        snprintf(why, MCP_KERNEL_WHY, "the fake NIC has no page");
    }
    pthread_mutex_unlock(&lock);
    return room ? 0 : -1;
}

/* ---- state left by the previous owner ---- */

static uint32_t index_after(uint64_t key)
{
    return 0 == key ? 0 : (uint32_t)(find(key) - groups) + 1;
}

bool mcp_kernel_next_group(struct mcp_kernel *kernel, uint64_t *key)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    uint32_t g = index_after(*key);
    while (g < ever && !groups[g].open) {
        ++g;
    }
    *key = g < ever ? groups[g].plan.key : 0;
    pthread_mutex_unlock(&lock);
    return 0 != *key;
}

bool mcp_kernel_next_late(struct mcp_kernel *kernel, uint64_t *key, struct mcp_kernel_late *late)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    uint32_t g = index_after(*key);
    while (g < ever && !groups[g].kept) {
        ++g;
    }
    *key = g < ever ? groups[g].plan.key : 0;
    *late =
        (struct mcp_kernel_late){.closed_ns = ever - g, .uid = g < ever ? groups[g].plan.uid : 0};
    pthread_mutex_unlock(&lock);
    return 0 != *key;
}

bool mcp_kernel_recall(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_recalled *group)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    const struct fake_group *found = find(key);
    *group = (struct mcp_kernel_recalled){
        .plan = found->plan,
        .seen = {page, found->line,
                 0 == found->plan.buffer_blocks && 0 == found->plan.window ? -1 : buffer,
                 found->number},
        .failed = 0 != found->failed,
        .leaves = 0 != found->started,
        .last = found->done + 1,
    };
    pthread_mutex_unlock(&lock);
    return true;
}

void mcp_kernel_record_holder(struct mcp_kernel *kernel, uint32_t index,
                              const struct mcp_kernel_holder *holder)
{
    (void)kernel;
    holders[index] = *holder;
}

void mcp_kernel_recall_holder(struct mcp_kernel *kernel, uint32_t index,
                              struct mcp_kernel_holder *holder)
{
    (void)kernel;
    *holder = holders[index];
}

bool mcp_kernel_group_close(struct mcp_kernel *kernel, uint64_t key, bool fails)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    const bool closes = !fake.full;
    if (closes) {
        find(key)->open = false;
        find(key)->kept = true;
        find(key)->fails = fails;
    }
    pthread_mutex_unlock(&lock);
    return closes;
}

void mcp_kernel_group_forget(struct mcp_kernel *kernel, uint64_t key)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    find(key)->kept = false;
    pthread_mutex_unlock(&lock);
}

int mcp_kernel_group_waits(struct mcp_kernel *kernel, uint64_t key, uint32_t *done)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    const struct fake_group *group = find(key);
    const int waits = NULL == group || !group->open ? -1 : group->waits;
    if (waits >= 0) {
        *done = group->done;
    }
    pthread_mutex_unlock(&lock);
    return waits;
}

/* A group fails only when its own member dies, never on behalf of node 1. */
uint32_t mcp_kernel_group_failed(struct mcp_kernel *kernel, uint64_t key)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    const struct fake_group *group = find(key);
    const uint32_t failed = NULL == group || 0 == group->failed ? 0 : group->plan.node + 1;
    pthread_mutex_unlock(&lock);
    return failed;
}

/* A waiting group always waits for node 1, whose last message arrived at 42 ms. */
uint32_t mcp_kernel_group_missing(struct mcp_kernel *kernel, uint64_t key,
                                  struct mcp_missing list[MCP_KERNEL_MESSAGES])
{
    uint32_t done;
    list[0] = (struct mcp_missing){1, 42};
    return 1 == mcp_kernel_group_waits(kernel, key, &done);
}

int mcp_kernel_ring(struct mcp_kernel *kernel, uint64_t key, enum mcp_ring ring)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    struct fake_group *group = find(key);
    const int rc = fake.deaf ? -1 : 0;
    if (!fake.deaf) {
        group->asked += MCP_RING_ASK == ring;
        asked += MCP_RING_ASK == ring;
        group->failed += MCP_RING_FAIL == ring;
        group->started += MCP_RING_CLOSING == ring;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return rc;
}

void mcp_kernel_group_give_up(struct mcp_kernel *kernel, uint64_t key)
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    const struct fake_group *group = find(key);
    const uint32_t removed = MCP_KERNEL_REMOVED;
    (void)!pwrite(page, &removed, sizeof(removed),
                  (off_t)(sizeof(struct mcp_kernel_line) * group->line +
                          offsetof(struct mcp_kernel_line, failed)));
    pthread_mutex_unlock(&lock);
}

/* Peers may miss the data of any epoch except 0, and always a broadcast. */
bool mcp_kernel_group_begin_closing(struct mcp_kernel *kernel, uint64_t key, uint32_t *epoch)
{
    pthread_mutex_lock(&lock);
    const struct fake_group *group = find(key);
    const bool closing = 0 == group->failed &&
                         (0 != group->plan.window ||
                          (0 != group->plan.buffer_blocks && 0 != group->done && !group->waits));
    *epoch = group->done + 1 + group->waits;
    pthread_mutex_unlock(&lock);
    return closing && 0 == mcp_kernel_ring(kernel, key, MCP_RING_CLOSING);
}

int mcp_kernel_meet(struct mcp_kernel *kernel, const struct mcp_ip *ip, char why[MCP_KERNEL_WHY])
{
    (void)kernel;
    pthread_mutex_lock(&lock);
    const bool absent = mcp_same_ip(ip, &absent_ip);
    if (absent) {
        ++absent_asked;
        pthread_cond_broadcast(&changed);
        snprintf(why, MCP_KERNEL_WHY, "the host is absent");
    } else {
        ++met;
    }
    pthread_mutex_unlock(&lock);
    return absent ? -1 : 0;
}

void mcp_kernel_count(struct mcp_kernel *kernel, struct mcp_counters *counters)
{
    (void)kernel;
    *counters = (struct mcp_counters){.barriers = 42};
}

const char *mcp_kernel_interface(const struct mcp_kernel *kernel)
{
    (void)kernel;
    return "lo";
}

void mcp_kernel_rename(struct mcp_kernel *kernel, const char *interface)
{
    (void)kernel;
    (void)interface;
}
