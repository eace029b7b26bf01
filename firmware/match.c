/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements lanes, which are queues of posted receives or of unexpected messages; see match.h.
 *
 * Invariants:
 * - A lane is in the hash table if and only if it is not empty. A lane contains either receives or
 *   messages, in order.
 * - A receive is in one lane. A message is in a lane of each of the four classes or, if its tag is
 *   hidden, of the two classes that specify a tag.
 * - Free entries and lanes that have been used before are kept in LIFO lists, because their cache
 *   lines are likely to be warm. Entries and lanes that were never used are allocated in order.
 * - A word that refers to a lane is 0 if there is none. A free lane has no first entry. */
#include "firmware/match.h"

#include "firmware/atomics.h"

enum { NONE = MCP_NO_MATCH };

enum kind { FREE, RECEIVE, MESSAGE };

/* The links of an entry in one lane. */
struct link {
    uint32_t next, before; /* indices of entries */
    uint32_t lane;         /* lane number + 1; 0 if it is in no lane of this class */
};

struct entry {
    uint64_t number; /* receives are numbered in the order of posting */
    struct mcp_envelope envelope;
    uint8_t kind; /* enum kind */
    struct link link[MCP_MATCH_CLASSES];
};

struct lane {
    struct mcp_envelope name; /* fields that have a wildcard in this class are 0 */
    uint32_t open;
    uint32_t first, last; /* indices of entries */
    uint32_t next;        /* in its bucket or in the free list: lane number + 1 */
    bool receives;
};

struct mcp_match {
    uint64_t posted;
    uint32_t lanes_of_receives[MCP_MATCH_CLASSES];
    uint32_t receives, messages;
    uint32_t receives_most, messages_most;
    uint32_t free_entry, free_lane; /* index + 1 */
    uint32_t entries_used, lanes_used;
    uint32_t buckets; /* a power of two */
};

/* ---- layout of the tables ---- */

static uint32_t lanes_for(uint32_t receives, uint32_t messages)
{
    return receives + MCP_MATCH_CLASSES * messages;
}

static uint32_t buckets_for(uint32_t lanes)
{
    uint32_t buckets = 1;
    while (buckets < lanes) {
        buckets *= 2;
    }
    return buckets;
}

static size_t entries_at(void)
{
    return myr_whole_lines(sizeof(struct mcp_match));
}

static size_t lanes_at(uint32_t entries)
{
    return entries_at() + myr_whole_lines(entries * sizeof(struct entry));
}

static size_t buckets_at(uint32_t entries, uint32_t lanes)
{
    return lanes_at(entries) + myr_whole_lines(lanes * sizeof(struct lane));
}

size_t mcp_match_bytes(uint32_t receives, uint32_t messages)
{
    if (0 == receives || receives > MCP_MATCH_MOST || 0 == messages || messages > MCP_MATCH_MOST) {
        return 0;
    }
    const uint32_t lanes = lanes_for(receives, messages);
    return buckets_at(receives + messages, lanes) + buckets_for(lanes) * sizeof(uint32_t);
}

static uint32_t entries_of(const struct mcp_match *match)
{
    return match->receives_most + match->messages_most;
}

static struct entry *entry_at(const struct mcp_match *match, uint32_t entry)
{
    return (struct entry *)((uint8_t *)match + entries_at()) + entry;
}

static struct lane *lane_at(const struct mcp_match *match, uint32_t lane)
{
    return (struct lane *)((uint8_t *)match + lanes_at(entries_of(match))) + lane;
}

static uint32_t *bucket_at(const struct mcp_match *match, uint32_t bucket)
{
    const uint32_t lanes = lanes_for(match->receives_most, match->messages_most);
    return (uint32_t *)((uint8_t *)match + buckets_at(entries_of(match), lanes)) + bucket;
}

void mcp_match_init(struct mcp_match *match, uint32_t receives, uint32_t messages)
{
    match->receives_most = receives;
    match->messages_most = messages;
    match->buckets = buckets_for(lanes_for(receives, messages));
}

/* ---- lanes ---- */

/* Returns the number of classes whose lanes a message is in. A hidden tag matches only receives
 * that specify this tag. */
static uint32_t classes_of(const struct mcp_envelope *envelope)
{
    return 0 != envelope->tag >> MCP_HIDDEN_TAG_BIT ? MCP_OPEN_TAG : MCP_MATCH_CLASSES;
}

static struct mcp_envelope name_of(const struct mcp_envelope *envelope, uint32_t open)
{
    return (struct mcp_envelope){
        .context = envelope->context,
        .source = 0 != (open & MCP_OPEN_SOURCE) ? 0 : envelope->source,
        .tag = 0 != (open & MCP_OPEN_TAG) ? 0 : envelope->tag,
    };
}

static uint32_t *bucket_of(const struct mcp_match *match, const struct mcp_envelope *name,
                           uint32_t open)
{
    /* Odd 64-bit constants with well mixed bits. The upper half of a product depends on all bits of
     * both factors. */
    uint64_t hash = (((uint64_t)name->context << 32) | name->source) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    hash = (hash ^ (((uint64_t)open << 32) | name->tag)) * UINT64_C(0xd6e8feb86659fd93);
    return bucket_at(match, (uint32_t)(hash >> 32) & (match->buckets - 1));
}

/* Returns the location of the reference to the lane in its bucket's list. If there is no such lane,
 * returns the end of the list, where the reference is 0 and the lane has to be inserted. */
static uint32_t *find_lane(const struct mcp_match *match, const struct mcp_envelope *name,
                           uint32_t open)
{
    uint32_t *at = bucket_of(match, name, open);
    while (0 != *at) {
        struct lane *lane = lane_at(match, *at - 1);
        if (name->tag == lane->name.tag && name->source == lane->name.source &&
            name->context == lane->name.context && open == lane->open) {
            break;
        }
        at = &lane->next;
    }
    return at;
}

/* Allocates a lane. One is always free, because each entry is in at most one lane per class. */
static uint32_t open_lane(struct mcp_match *match)
{
    const uint32_t opened = match->free_lane;
    if (0 == opened) {
        return ++match->lanes_used;
    }
    match->free_lane = lane_at(match, opened - 1)->next;
    return opened;
}

void mcp_match_move(struct mcp_match *larger, const struct mcp_match *match)
{
    const uint32_t receives = larger->receives_most, messages = larger->messages_most;
    const uint32_t buckets = larger->buckets;
    *larger = *match;
    larger->receives_most = receives;
    larger->messages_most = messages;
    larger->buckets = buckets;
    __builtin_memcpy(entry_at(larger, 0), entry_at(match, 0),
                     match->entries_used * sizeof(struct entry));
    __builtin_memcpy(lane_at(larger, 0), lane_at(match, 0),
                     match->lanes_used * sizeof(struct lane));
    for (uint32_t number = 1; number <= larger->lanes_used; ++number) {
        struct lane *lane = lane_at(larger, number - 1);
        if (NONE != lane->first) {
            uint32_t *bucket = bucket_of(larger, &lane->name, lane->open);
            lane->next = *bucket;
            *bucket = number;
        }
    }
}

static void append_to_lane(struct mcp_match *match, uint32_t entry, uint32_t open)
{
    struct entry *joining = entry_at(match, entry);
    const struct mcp_envelope name = name_of(&joining->envelope, open);
    uint32_t *at = find_lane(match, &name, open);
    if (0 == *at) {
        *at = open_lane(match);
        *lane_at(match, *at - 1) = (struct lane){
            .name = name,
            .open = open,
            .first = NONE,
            .last = NONE,
            .receives = RECEIVE == joining->kind,
        };
        match->lanes_of_receives[open] += RECEIVE == joining->kind;
    }
    struct lane *lane = lane_at(match, *at - 1);
    joining->link[open] = (struct link){.next = NONE, .before = lane->last, .lane = *at};
    *(NONE == lane->last ? &lane->first : &entry_at(match, lane->last)->link[open].next) = entry;
    lane->last = entry;
}

static void close_lane(struct mcp_match *match, struct lane *lane)
{
    uint32_t *at = find_lane(match, &lane->name, lane->open);
    const uint32_t closed = *at;
    match->lanes_of_receives[lane->open] -= lane->receives;
    *at = lane->next;
    lane->next = match->free_lane;
    match->free_lane = closed;
}

static void remove_from_lane(struct mcp_match *match, const struct entry *leaving, uint32_t open)
{
    const struct link link = leaving->link[open];
    struct lane *lane = lane_at(match, link.lane - 1);
    *(NONE == link.before ? &lane->first : &entry_at(match, link.before)->link[open].next) =
        link.next;
    *(NONE == link.next ? &lane->last : &entry_at(match, link.next)->link[open].before) =
        link.before;
    if (NONE == lane->first) {
        close_lane(match, lane);
    }
}

/* ---- entries ---- */

/* Allocates an entry. One is always free, because the caller limits the number of receives and
 * messages. */
static uint32_t allocate_entry(struct mcp_match *match, const struct mcp_envelope *envelope,
                               uint8_t kind)
{
    uint32_t number = match->entries_used;
    if (0 == match->free_entry) {
        ++match->entries_used;
    } else {
        number = match->free_entry - 1;
        match->free_entry = entry_at(match, number)->link[0].next;
    }
    struct entry *entry = entry_at(match, number);
    entry->envelope = *envelope;
    entry->kind = kind;
    for (uint32_t open = 0; open < MCP_MATCH_CLASSES; ++open) {
        entry->link[open].lane = 0;
    }
    return number;
}

void mcp_match_remove(struct mcp_match *match, mcp_match_index number)
{
    struct entry *entry = entry_at(match, number);
    for (uint32_t open = 0; open < MCP_MATCH_CLASSES; ++open) {
        if (0 != entry->link[open].lane) {
            remove_from_lane(match, entry, open);
        }
    }
    --*(RECEIVE == entry->kind ? &match->receives : &match->messages);
    entry->kind = FREE;
    entry->link[0].next = match->free_entry;
    match->free_entry = number + 1;
}

bool mcp_match_is_message(const struct mcp_match *match, mcp_match_index entry)
{
    return MESSAGE == entry_at(match, entry)->kind;
}

uint32_t mcp_match_used(const struct mcp_match *match)
{
    return match->entries_used;
}

uint32_t mcp_match_receives(const struct mcp_match *match)
{
    return match->receives;
}

uint32_t mcp_match_messages(const struct mcp_match *match)
{
    return match->messages;
}

/* ---- matching ---- */

mcp_match_index mcp_match_probe(const struct mcp_match *match, const struct mcp_pattern *pattern)
{
    if (0 == match->messages) {
        return NONE;
    }
    const struct mcp_envelope name = name_of(&pattern->envelope, pattern->open);
    const uint32_t lane = *find_lane(match, &name, pattern->open);
    return 0 == lane || lane_at(match, lane - 1)->receives ? NONE : lane_at(match, lane - 1)->first;
}

enum mcp_matched mcp_match_post(struct mcp_match *match, const struct mcp_pattern *pattern,
                                mcp_match_index *entry)
{
    *entry = mcp_match_probe(match, pattern);
    if (NONE != *entry) {
        mcp_match_remove(match, *entry);
        return MCP_MATCHED;
    }
    if (match->receives == match->receives_most) {
        return MCP_NO_ROOM;
    }
    *entry = allocate_entry(match, &pattern->envelope, RECEIVE);
    entry_at(match, *entry)->number = match->posted++;
    append_to_lane(match, *entry, pattern->open);
    ++match->receives;
    return MCP_WAITS;
}

/* Returns the matching receive that was posted first. */
static uint32_t first_receive(const struct mcp_match *match, const struct mcp_envelope *envelope)
{
    const uint32_t classes = classes_of(envelope);
    uint32_t first = NONE;
    for (uint32_t open = 0; open < classes; ++open) {
        if (0 == match->lanes_of_receives[open]) {
            continue;
        }
        const struct mcp_envelope name = name_of(envelope, open);
        const uint32_t lane = *find_lane(match, &name, open);
        if (0 != lane && lane_at(match, lane - 1)->receives) {
            const uint32_t head = lane_at(match, lane - 1)->first;
            if (NONE == first || entry_at(match, head)->number < entry_at(match, first)->number) {
                first = head;
            }
        }
    }
    return first;
}

enum mcp_matched mcp_match_arrive(struct mcp_match *match, const struct mcp_envelope *envelope,
                                  mcp_match_index *entry)
{
    *entry = first_receive(match, envelope);
    if (NONE != *entry) {
        mcp_match_remove(match, *entry);
        return MCP_MATCHED;
    }
    if (match->messages == match->messages_most) {
        return MCP_NO_ROOM;
    }
    *entry = allocate_entry(match, envelope, MESSAGE);
    const uint32_t classes = classes_of(envelope);
    for (uint32_t open = 0; open < classes; ++open) {
        append_to_lane(match, *entry, open);
    }
    ++match->messages;
    return MCP_WAITS;
}
