/* SPDX-License-Identifier: BSD-3-Clause */
/* See parts.h. */
#include "bench/parts_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "coll_nicbarr/schedule.h"
#include "firmware/match.h"
#include "libmyr/nic_kind.h"

enum {
    SEGMENT_BYTES = 256 << 20,
    MOST_US =
        10000000, /* timeout of a barrier, which needs one or two polls unless a packet is lost */
};

static void no_progress(void) {}

static const struct myr_wait_policy policies[] = {
    [PARTS_POLLING] = {1 << 30, -1, 1000},
    [PARTS_YIELDING] = {0, -1, 1000},
    [PARTS_SLEEPING] = {0, 0, 1000},
};

/* ---- the arrival record ---- */

struct parts_record {
    uint8_t *words;
    uint32_t size, stride, epoch;
};

struct parts_record *parts_record_open(uint32_t size, uint32_t stride)
{
    struct parts_record *record = malloc(sizeof(*record));
    const size_t bytes = myr_whole_lines((size_t)size * stride);
    if (NULL == record) {
        return NULL;
    }
    *record = (struct parts_record){aligned_alloc(MYR_LINE, bytes), size, stride, 0};
    if (NULL == record->words) {
        free(record);
        return NULL;
    }
    memset(record->words, 0, bytes);
    return record;
}

static myr_word *word_of(const struct parts_record *record, uint32_t rank)
{
    return (myr_word *)(record->words + (size_t)rank * record->stride);
}

void parts_record_publish(struct parts_record *record)
{
    ++record->epoch;
    for (uint32_t r = 0; r < record->size; ++r) {
        myr_store_release(word_of(record, r), record->epoch);
    }
}

bool parts_record_complete(const struct parts_record *record)
{
    for (uint32_t r = 0; r < record->size; ++r) {
        if (!myr_epoch_reached(myr_load_acquire(word_of(record, r)), record->epoch)) {
            return false;
        }
    }
    return true;
}

void parts_record_close(struct parts_record *record)
{
    free(record->words);
    free(record);
}

/* ---- a segment with a record ---- */

bool parts_memory_open(struct parts_memory *memory, enum parts_way way, size_t bytes)
{
    const struct myr_key key = {1, 2, 3, 4};
    struct myr_error error;
    if (MYR_OK != myr_segment_join(NULL, SEGMENT_BYTES, &memory->segment, &error)) {
        fprintf(stderr, "parts: %s\n", error.text);
        return false;
    }
    myr_waiter_init(&memory->waiter, memory->segment, no_progress, &policies[way]);
    memory->record = myr_record_join(memory->segment, &key, 1, bytes, 0, &error);
    if (NULL == memory->record) {
        fprintf(stderr, "parts: %s\n", error.text);
        myr_segment_leave(memory->segment);
        return false;
    }
    return true;
}

void parts_memory_close(struct parts_memory *memory)
{
    myr_record_leave(memory->segment, memory->record);
    myr_segment_leave(memory->segment);
}

/* ---- split barriers ---- */

struct parts_arrivals {
    struct parts_memory memory;
    uint32_t size;
    struct myr_group *groups;
    struct myr_arrival *arrivals;
};

struct parts_arrivals *parts_arrivals_open(uint32_t size)
{
    struct parts_arrivals *arrivals = calloc(1, sizeof(*arrivals));
    if (NULL == arrivals) {
        return NULL;
    }
    arrivals->size = size;
    arrivals->groups = calloc(size, sizeof(*arrivals->groups));
    arrivals->arrivals = calloc(size, sizeof(*arrivals->arrivals));
    if (NULL == arrivals->groups || NULL == arrivals->arrivals ||
        !parts_memory_open(&arrivals->memory, PARTS_YIELDING, myr_group_arrival_bytes(size))) {
        free(arrivals->groups);
        free(arrivals->arrivals);
        free(arrivals);
        return NULL;
    }
    for (uint32_t r = 0; r < size; ++r) {
        myr_group_init(&arrivals->groups[r], arrivals->memory.record, &arrivals->memory.waiter,
                       size, r);
    }
    return arrivals;
}

bool parts_arrivals_play(struct parts_arrivals *arrivals)
{
    for (uint32_t r = 0; r < arrivals->size; ++r) {
        myr_group_arrive(&arrivals->groups[r], &arrivals->arrivals[r]);
    }
    return myr_arrival_test(&arrivals->arrivals[0]);
}

void parts_arrivals_close(struct parts_arrivals *arrivals)
{
    parts_memory_close(&arrivals->memory);
    free(arrivals->groups);
    free(arrivals->arrivals);
    free(arrivals);
}

/* ---- a NIC's path ---- */

struct node {
    struct myr_segment *segment;
    struct myr_site site;
    void *nic;
    struct myr_waiter waiter;
    struct myr_nic_group group;
};

struct parts_nics {
    const struct myr_nic_kind *kind;
    struct node node[2];
};

static void print_nothing(int level, const char *line)
{
    (void)level;
    (void)line;
}

static bool report_error(const struct myr_error *error)
{
    fprintf(stderr, "parts: %s\n", error->text);
    return false;
}

static bool node_open(const struct myr_nic_kind *kind, struct node *node)
{
    static char loopback[] = "lo";
    union myr_value values[MYR_OPTIONS_MOST];
    struct myr_error error;
    if (MYR_OK != myr_segment_join(NULL, SEGMENT_BYTES, &node->segment, &error)) {
        return report_error(&error);
    }
    myr_waiter_init(&node->waiter, node->segment, no_progress, &policies[PARTS_YIELDING]);
    node->site = (struct myr_site){
        .segment = node->segment, .waiter = &node->waiter, .print = print_nothing};
    for (uint32_t o = 0; NULL != kind->options[o].name; ++o) {
        const struct myr_option *option = &kind->options[o];
        values[o] = option->usual;
        if (0 == strcmp(option->name, "network")) {
            values[o].text = loopback;
        }
    }
    if (MYR_OK != kind->open(&node->site, kind->name, values, &node->nic, &error)) {
        node->nic = NULL;
        return report_error(&error);
    }
    return true;
}

static bool nodes_join(struct parts_nics *nics)
{
    static const struct nicbarr_among among = {{NICBARR_DISSEMINATION, 1, 0}, 2};
    static const uint32_t firsts[2] = {0, 0};
    const struct myr_nic_kind *kind = nics->kind;
    struct myr_nic_name name[2];
    const struct myr_nic_name *const names[2] = {&name[0], &name[1]};
    struct myr_nic_members members[2];
    uint8_t blobs[2 * MYR_BLOB_MOST];
    struct myr_error error;
    bool good = true;
    for (uint32_t n = 0; n < 2; ++n) {
        kind->query(nics->node[n].nic, &name[n]);
        members[n] = (struct myr_nic_members){
            .key = 1, .nodes = 2, .node = n, .locals = 1, .names = names, .firsts = firsts};
    }
    for (uint32_t n = 0; good && NULL != kind->prepare && n < 2; ++n) {
        struct node *node = &nics->node[n];
        good = MYR_OK == kind->prepare(node->nic, &node->site, &members[n], nicbarr_schedule_of,
                                       &among, &node->group, blobs + (size_t)n * kind->caps.blob,
                                       &error);
    }
    for (uint32_t n = 0; good && n < 2; ++n) {
        struct node *node = &nics->node[n];
        good = MYR_OK == kind->connect(node->nic, &node->site, &members[n], nicbarr_schedule_of,
                                       &among, blobs, &node->group, &error);
    }
    return good || report_error(&error);
}

void parts_nics_close(struct parts_nics *nics)
{
    for (uint32_t n = 0; n < 2; ++n) {
        struct node *node = &nics->node[n];
        if (myr_nic_group_joined(&node->group)) {
            myr_nic_group_leave(&node->group);
        }
        if (NULL != node->nic) {
            nics->kind->close(node->nic);
        }
        if (NULL != node->segment) {
            myr_segment_leave(node->segment);
        }
    }
    free(nics);
}

struct parts_nics *parts_nics_open(const char *name)
{
    static const struct myr_nic_kind *const kinds[] = {&myr_soft_kind, &myr_verbs_kind, NULL};
    uint32_t k = 0;
    while (NULL != kinds[k] && 0 != strcmp(kinds[k]->name, name)) {
        ++k;
    }
    struct parts_nics *nics = NULL == kinds[k] ? NULL : calloc(1, sizeof(*nics));
    if (NULL == nics) {
        return NULL;
    }
    nics->kind = kinds[k];
    if (!node_open(nics->kind, &nics->node[0]) || !node_open(nics->kind, &nics->node[1]) ||
        !nodes_join(nics)) {
        parts_nics_close(nics);
        return NULL;
    }
    return nics;
}

void parts_nics_poll(struct parts_nics *nics)
{
    (void)nics->kind->poll(nics->node[0].nic);
}

bool parts_nics_play(struct parts_nics *nics)
{
    bool done = true;
    uint32_t epoch = 0;
    for (uint32_t n = 0; n < 2; ++n) {
        epoch = myr_nic_group_arrive(&nics->node[n].group);
    }
    for (uint32_t n = 0; n < 2; ++n) {
        done = myr_nic_group_wait(&nics->node[n].group, epoch, MOST_US) && done;
    }
    return done;
}

/* ---- matching ---- */

struct parts_match {
    struct mcp_match *table;
    uint32_t sources, next; /* the next message's sender; senders alternate */
};

enum {
    HERE = 1,
    ELSEWHERE = 2,
    PLAYED_TAG = 0x1000000
}; /* two contexts, and the tag of the measured message */

struct parts_match *parts_match_open(uint32_t waiting, uint32_t sources)
{
    struct parts_match *match = malloc(sizeof(*match));
    const uint32_t room = waiting + 1;
    if (NULL == match) {
        return NULL;
    }
    const size_t bytes = myr_whole_lines(mcp_match_bytes(room, room));
    *match = (struct parts_match){aligned_alloc(MYR_LINE, bytes), sources, 0};
    if (NULL == match->table) {
        free(match);
        return NULL;
    }
    memset(match->table, 0, bytes);
    mcp_match_init(match->table, room, room);
    mcp_match_index index;
    for (uint32_t i = 0; i < waiting; ++i) {
        const struct mcp_pattern receive = {.envelope = {HERE, i % sources, i}};
        const struct mcp_envelope message = {ELSEWHERE, i % sources, i};
        (void)mcp_match_post(match->table, &receive, &index);
        (void)mcp_match_arrive(match->table, &message, &index);
    }
    return match;
}

bool parts_match_play(struct parts_match *match, enum parts_match_way way)
{
    match->next = match->next + 1 < match->sources ? match->next + 1 : 0;
    const struct mcp_envelope message = {HERE, match->next, PLAYED_TAG};
    const struct mcp_pattern receive = {.envelope = message,
                                        .open = PARTS_MATCH_OPEN == way ? MCP_OPEN_SOURCE : 0};
    mcp_match_index index;
    if (PARTS_MATCH_UNEXPECTED == way) {
        return MCP_WAITS == mcp_match_arrive(match->table, &message, &index) &&
               MCP_MATCHED == mcp_match_post(match->table, &receive, &index);
    }
    return MCP_WAITS == mcp_match_post(match->table, &receive, &index) &&
           MCP_MATCHED == mcp_match_arrive(match->table, &message, &index);
}

void parts_match_close(struct parts_match *match)
{
    free(match->table);
    free(match);
}

/* ---- setup ---- */

uint32_t parts_schedule(const char *choice, uint32_t size)
{
    struct nicbarr_choice parsed;
    struct myr_schedule schedule;
    if (!nicbarr_choice_parse(choice, &parsed) ||
        !nicbarr_schedule_create(parsed, size, size - 1, &schedule)) {
        return 0;
    }
    const uint32_t messages = schedule.npeers;
    nicbarr_schedule_destroy(&schedule);
    return messages;
}

struct parts_planner {
    struct nicbarr_among among;
    void *slots;
    size_t bytes;
};

struct parts_planner *parts_planner_open(const char *choice, uint32_t size)
{
    struct parts_planner *planner = calloc(1, sizeof(*planner));
    if (NULL == planner) {
        return NULL;
    }
    planner->among.size = size;
    planner->bytes = myr_plan_messages_bytes(size, size);
    planner->slots = mmap(NULL, planner->bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == planner->slots || !nicbarr_choice_parse(choice, &planner->among.choice)) {
        free(planner);
        return NULL;
    }
    return planner;
}

uint32_t parts_planner_play(struct parts_planner *planner)
{
    struct myr_plan plan;
    if (!myr_plan_messages(&plan, planner->slots, 1, planner->among.size,
                           NICBARR_TREE == planner->among.choice.algorithm, nicbarr_schedule_of,
                           &planner->among)) {
        return 0;
    }
    const uint32_t steps = plan.nsteps;
    myr_plan_destroy(&plan);
    return steps;
}

void parts_planner_close(struct parts_planner *planner)
{
    munmap(planner->slots, planner->bytes);
    free(planner);
}

struct parts_segment {
    struct myr_segment *segment;
    struct myr_key key;
    uint32_t bytes;
};

struct parts_segment *parts_segment_open(uint32_t bytes, uint32_t others)
{
    struct parts_segment *segment = calloc(1, sizeof(*segment));
    if (NULL == segment) {
        return NULL;
    }
    segment->bytes = bytes;
    if (MYR_OK != myr_segment_join(NULL, SEGMENT_BYTES, &segment->segment, NULL)) {
        free(segment);
        return NULL;
    }
    for (uint32_t i = 0; i < others; ++i) {
        ++segment->key.id;
        if (NULL == myr_record_join(segment->segment, &segment->key, 2, bytes, 0, NULL)) {
            parts_segment_close(segment);
            return NULL;
        }
    }
    return segment;
}

bool parts_segment_play(struct parts_segment *segment)
{
    struct myr_record *records[2];
    ++segment->key.id;
    for (int i = 0; i < 2; ++i) {
        records[i] = myr_record_join(segment->segment, &segment->key, 2, segment->bytes, 0, NULL);
        if (NULL == records[i]) {
            return false;
        }
    }
    myr_record_leave(segment->segment, records[0]);
    myr_record_leave(segment->segment, records[1]);
    return true;
}

void parts_segment_close(struct parts_segment *segment)
{
    myr_segment_leave(segment->segment);
    free(segment);
}
