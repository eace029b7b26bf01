/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the matching of messages and receives. A failure means that MPI_Recv gets a wrong message,
 * or that a message or receive is lost. The hash table is compared with two lists that are searched
 * linearly.
 *
 * Invariants:
 *
 * - Each message matches the receive that MPI prescribes, and vice versa.
 * - A probe finds the message that a receive would get.
 * - Removed entries are gone, and when all entries are removed, the whole capacity is available
 *   again.
 * - A full table neither loses nor keeps anything.
 */
#include "firmware/atomics.h"
#include "firmware/match.h"
#include "tests/unit/crew.h"
#include "tests/unit/takes.h"
#include "tests/unit/test.h"

enum { HIDDEN = 0xfffffff0 }; /* a tag */

/* ---- the reference ---- */

struct waiting {
    struct mcp_pattern pattern; /* of a message: its envelope, without wildcards */
    mcp_match_index index;
};

struct list {
    struct waiting *first;
    uint32_t count, most;
};

struct both {
    struct mcp_match *match;
    struct list receives, messages;
};

static uint32_t search(const struct list *list, const struct mcp_pattern *receive,
                       const struct mcp_envelope *message)
{
    uint32_t i = 0;
    while (i < list->count &&
           !takes(NULL != receive ? receive : &list->first[i].pattern,
                  NULL != message ? message : &list->first[i].pattern.envelope)) {
        ++i;
    }
    return i;
}

static void drop(struct list *list, uint32_t i)
{
    --list->count;
    memmove(&list->first[i], &list->first[i + 1], (list->count - i) * sizeof(list->first[0]));
}

static struct both *begin(uint32_t receives, uint32_t messages)
{
    struct both *both = calloc(1, sizeof(*both));
    const size_t bytes = mcp_match_bytes(receives, messages);
    assert_non_null(both);
    assert_int_not_equal(bytes, 0);
    both->match = aligned_alloc(MYR_LINE, myr_whole_lines(bytes));
    both->receives = (struct list){calloc(receives, sizeof(struct waiting)), 0, receives};
    both->messages = (struct list){calloc(messages, sizeof(struct waiting)), 0, messages};
    assert_non_null(both->match);
    assert_non_null(both->receives.first);
    assert_non_null(both->messages.first);
    memset(both->match, 0, bytes);
    mcp_match_init(both->match, receives, messages);
    return both;
}

static void counts_agree(const struct both *both)
{
    assert_int_equal(mcp_match_receives(both->match), both->receives.count);
    assert_int_equal(mcp_match_messages(both->match), both->messages.count);
}

/* Move the entries to a table of another size. */
static void move(struct both *both, uint32_t receives, uint32_t messages)
{
    const size_t bytes = myr_whole_lines(mcp_match_bytes(receives, messages));
    struct mcp_match *larger = aligned_alloc(MYR_LINE, bytes);
    assert_non_null(larger);
    memset(larger, 0, bytes);
    mcp_match_init(larger, receives, messages);
    mcp_match_move(larger, both->match);
    free(both->match);
    both->match = larger;
    both->receives.first = realloc(both->receives.first, receives * sizeof(struct waiting));
    both->messages.first = realloc(both->messages.first, messages * sizeof(struct waiting));
    assert_non_null(both->receives.first);
    assert_non_null(both->messages.first);
    both->receives.most = receives;
    both->messages.most = messages;
    counts_agree(both);
}

static void end(struct both *both)
{
    free(both->match);
    free(both->receives.first);
    free(both->messages.first);
    free(both);
}

/* Compare the results for a new receive or message, which matches an entry of `others` or is queued
 * in `own`. */
static void compare(struct list *own, struct list *others, uint32_t found,
                    const struct waiting *coming, enum mcp_matched result)
{
    if (found < others->count) {
        assert_int_equal(result, MCP_MATCHED);
        assert_int_equal(coming->index, others->first[found].index);
        drop(others, found);
    } else if (own->count == own->most) {
        assert_int_equal(result, MCP_NO_ROOM);
    } else {
        assert_int_equal(result, MCP_WAITS);
        for (uint32_t i = 0; i < own->count; ++i) {
            assert_int_not_equal(coming->index, own->first[i].index);
        }
        for (uint32_t i = 0; i < others->count; ++i) {
            assert_int_not_equal(coming->index, others->first[i].index);
        }
        assert_in_range(coming->index, 0, own->most + others->most - 1);
        own->first[own->count++] = *coming;
    }
}

static void post(struct both *both, const struct mcp_pattern *pattern)
{
    struct waiting coming = {.pattern = *pattern};
    const uint32_t found = search(&both->messages, pattern, NULL);
    const enum mcp_matched result = mcp_match_post(both->match, pattern, &coming.index);
    compare(&both->receives, &both->messages, found, &coming, result);
    counts_agree(both);
}

static void arrive(struct both *both, const struct mcp_envelope *envelope)
{
    struct waiting coming = {.pattern = {.envelope = *envelope}};
    const uint32_t found = search(&both->receives, NULL, envelope);
    const enum mcp_matched result = mcp_match_arrive(both->match, envelope, &coming.index);
    compare(&both->messages, &both->receives, found, &coming, result);
    counts_agree(both);
}

static void probe(struct both *both, const struct mcp_pattern *pattern, bool take)
{
    const uint32_t found = search(&both->messages, pattern, NULL);
    const mcp_match_index index = mcp_match_probe(both->match, pattern);
    if (found == both->messages.count) {
        assert_int_equal(index, MCP_NO_MATCH);
        return;
    }
    assert_int_equal(index, both->messages.first[found].index);
    if (take) {
        mcp_match_remove(both->match, index);
        drop(&both->messages, found);
    }
    counts_agree(both);
}

static void cancel(struct both *both, uint32_t i)
{
    mcp_match_remove(both->match, both->receives.first[i].index);
    drop(&both->receives, i);
    counts_agree(both);
}

/* Remove all entries in random order. Then the table must have its full capacity. */
static void check_capacity(struct both *both, uint64_t *random)
{
    while (0 != both->receives.count) {
        cancel(both, crew_below(random, both->receives.count));
    }
    while (0 != both->messages.count) {
        const uint32_t i = crew_below(random, both->messages.count);
        mcp_match_remove(both->match, both->messages.first[i].index);
        drop(&both->messages, i);
    }
    for (uint32_t i = 0; i <= both->messages.most; ++i) {
        arrive(both, &(struct mcp_envelope){.context = 1, .source = i, .tag = i});
    }
    for (uint32_t i = 0; i <= both->receives.most; ++i) {
        post(both, &(struct mcp_pattern){.envelope = {.context = 2, .source = i, .tag = i}});
    }
}

/* ---- all short sequences ---- */

static const struct mcp_pattern patterns[] = {
    {{1, 0, 0}, 0},
    {{1, 1, 0}, 0},
    {{1, 0, 5}, 0},
    {{1, 7, 0}, MCP_OPEN_SOURCE},
    {{1, 0, 7}, MCP_OPEN_TAG},
    {{1, 7, 7}, MCP_OPEN_SOURCE | MCP_OPEN_TAG},
    {{1, 0, HIDDEN}, 0},
    {{1, 7, HIDDEN}, MCP_OPEN_SOURCE},
};
static const struct mcp_envelope envelopes[] = {{1, 0, 0}, {1, 1, 0}, {1, 0, 5}, {1, 0, HIDDEN}};

enum {
    PATTERNS = sizeof(patterns) / sizeof(patterns[0]),
    ENVELOPES = sizeof(envelopes) / sizeof(envelopes[0]),
    OPERATIONS = PATTERNS + ENVELOPES,
    LENGTH = 5,
};

TEST(every_short_sequence)
{
    uint32_t sequences = 1;
    for (uint32_t i = 0; i < LENGTH; ++i) {
        sequences *= OPERATIONS;
    }
    struct both *both = begin(2, 2); /* so that the table gets full */
    for (uint32_t sequence = 0; sequence < sequences; ++sequence) {
        memset(both->match, 0, mcp_match_bytes(2, 2));
        mcp_match_init(both->match, 2, 2);
        both->receives.count = both->messages.count = 0;
        for (uint32_t i = 0, rest = sequence; i < LENGTH; ++i, rest /= OPERATIONS) {
            const uint32_t operation = rest % OPERATIONS;
            if (operation < PATTERNS) {
                post(both, &patterns[operation]);
            } else {
                arrive(both, &envelopes[operation - PATTERNS]);
            }
        }
        for (uint32_t i = 0; i < PATTERNS; ++i) {
            probe(both, &patterns[i], false);
        }
    }
    end(both);
}

/* ---- long random sequences ---- */

/* Returns a random envelope. With few values there are many collisions and matches. */
static struct mcp_envelope random_envelope(uint64_t *random, uint32_t values)
{
    return (struct mcp_envelope){
        .context = crew_below(random, 3),
        .source = crew_below(random, values),
        .tag = 0 == crew_below(random, 8) ? HIDDEN + crew_below(random, 2)
                                          : crew_below(random, values),
    };
}

static struct mcp_pattern random_pattern(uint64_t *random, uint32_t values)
{
    return (struct mcp_pattern){
        .envelope = random_envelope(random, values),
        .open = 0 == crew_below(random, 2) ? crew_below(random, MCP_MATCH_CLASSES) : 0,
    };
}

static void play(struct both *both, uint64_t *random, uint32_t values, uint32_t operations)
{
    uint32_t more_messages = 50; /* percent */
    for (uint32_t i = 0; i < operations; ++i) {
        if (0 == crew_below(random, 200)) {
            more_messages = 20 + crew_below(random, 61);
        }
        const uint32_t operation = crew_below(random, 20);
        if (0 == operation) {
            const struct mcp_pattern pattern = random_pattern(random, values);
            probe(both, &pattern, 0 == crew_below(random, 2));
        } else if (1 == operation && 0 != both->receives.count) {
            cancel(both, crew_below(random, both->receives.count));
        } else if (crew_below(random, 100) < more_messages) {
            const struct mcp_envelope envelope = random_envelope(random, values);
            arrive(both, &envelope);
        } else {
            const struct mcp_pattern pattern = random_pattern(random, values);
            post(both, &pattern);
        }
    }
}

TEST(long_random_sequences)
{
    uint64_t random = crew_seed();
    for (uint32_t round = 0; round < 200; ++round) {
        struct both *both = begin(1 + crew_below(&random, 100), 1 + crew_below(&random, 100));
        const uint32_t values = 1 + crew_below(&random, 12);
        play(both, &random, values, 2000);
        move(both, both->receives.most + crew_below(&random, 200),
             both->messages.most + crew_below(&random, 200));
        play(both, &random, values, 2000);
        check_capacity(both, &random);
        end(both);
    }
}

/* ---- long queues ---- */

TEST(long_queues)
{
    uint64_t random = crew_seed() + 1;
    struct both *both = begin(10000, 10000);
    for (uint32_t i = 0; i < 10000; ++i) {
        post(both, &(struct mcp_pattern){.envelope = {.context = 1, .source = i % 16, .tag = i}});
        arrive(both, &(struct mcp_envelope){.context = 2, .source = i % 16, .tag = i % 100});
    }
    play(both, &random, 100, 2000);
    check_capacity(both, &random);
    end(both);
}

TEST(sizes)
{
    assert_int_equal(mcp_match_bytes(0, 1), 0);
    assert_int_equal(mcp_match_bytes(1, 0), 0);
    assert_int_equal(mcp_match_bytes(MCP_MATCH_MOST + 1, 1), 0);
    assert_int_equal(mcp_match_bytes(1, MCP_MATCH_MOST + 1), 0);
    assert_true(mcp_match_bytes(MCP_MATCH_MOST, MCP_MATCH_MOST) > MCP_MATCH_MOST);
}
