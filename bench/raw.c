/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limit of one node; see raw.h.
 *
 * Each pattern has an area of shared cache lines: one for a root word, one for the release word,
 * then one per member.
 */
#include "raw.h"

#include "chunk.h"

enum { ROOT_LINE, RELEASE_LINE, MEMBER_LINES };

static size_t area_lines(unsigned size)
{
    return MEMBER_LINES + (size_t)size;
}

/* ---- words ---- */

static _Atomic uint32_t *line_word(struct raw_line *area, unsigned line)
{
    return &area[line].words[0];
}

static _Atomic uint32_t *member_word(struct raw_line *area, unsigned member)
{
    return line_word(area, MEMBER_LINES + member);
}

static _Atomic uint32_t *packed_word(struct raw_line *area, unsigned member)
{
    return &area[MEMBER_LINES + member / RAW_LINE_WORDS].words[member % RAW_LINE_WORDS];
}

/* Writes an epoch. Pairs with wait_for(): a process that reads the epoch also sees all earlier
 * writes. */
static void announce(_Atomic uint32_t *word, uint32_t epoch)
{
    atomic_store_explicit(word, epoch, memory_order_release);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits until the word has reached the epoch. Pairs with announce() and count_arrival(). Polling is
 * fastest, but if members share a core, it would occupy the core that the awaited member needs, so
 * the function then yields. */
static void wait_for(_Atomic uint32_t *word, uint32_t epoch, bool yield)
{
    while ((int32_t)(atomic_load_explicit(word, memory_order_acquire) - epoch) < 0) {
        if (yield)
            sched_yield();
        else
            relax();
    }
}

/* Counts one of `expected` arrivals in an epoch. Returns true for the last arrival, which then sees
 * (acquire) what all others wrote before they arrived (release). */
static bool count_arrival(_Atomic uint32_t *word, unsigned expected, uint32_t epoch)
{
    return atomic_fetch_add_explicit(word, 1, memory_order_acq_rel) + 1 == expected * epoch;
}

/* ---- patterns ---- */

static void meet_at_counter(struct raw_line *area, unsigned size, uint32_t epoch, bool yield)
{
    if (count_arrival(line_word(area, ROOT_LINE), size, epoch))
        announce(line_word(area, RELEASE_LINE), epoch);
    else
        wait_for(line_word(area, RELEASE_LINE), epoch, yield);
}

static void play_counter(const struct raw_team *team, struct raw_line *area, uint32_t epoch)
{
    meet_at_counter(area, team->size, epoch, team->yield);
}

/* Synchronises by flags: each member sets its own flag and reads all others. It begins with the
 * flag of the next member, so that not all members read the same flag at the same time. */
static void meet_at_flags(const struct raw_team *team, struct raw_line *area, uint32_t epoch,
                          _Atomic uint32_t *(*flag)(struct raw_line *, unsigned))
{
    announce(flag(area, team->rank), epoch);
    for (unsigned other = team->rank + 1; other < team->size; other++)
        wait_for(flag(area, other), epoch, team->yield);
    for (unsigned other = 0; other < team->rank; other++)
        wait_for(flag(area, other), epoch, team->yield);
}

static void play_packed_flags(const struct raw_team *team, struct raw_line *area, uint32_t epoch)
{
    meet_at_flags(team, area, epoch, packed_word);
}

static void play_flags(const struct raw_team *team, struct raw_line *area, uint32_t epoch)
{
    meet_at_flags(team, area, epoch, member_word);
}

/* Synchronises by a counter per core, which stays in the core's cache. Only the last member to
 * arrive on each core increments the root. */
static void play_processor_counters(const struct raw_team *team, struct raw_line *area,
                                    uint32_t epoch)
{
    if (count_arrival(member_word(area, team->leaf), team->leaf_size, epoch) &&
        count_arrival(line_word(area, ROOT_LINE), team->leaves, epoch))
        announce(line_word(area, RELEASE_LINE), epoch);
    else
        wait_for(line_word(area, RELEASE_LINE), epoch, team->yield);
}

static void meet_in_tree(const struct raw_team *team, struct raw_line *area, uint32_t epoch,
                         unsigned degree)
{
    unsigned first = team->rank * degree + 1;
    for (unsigned child = first; child < first + degree && child < team->size; child++)
        wait_for(member_word(area, child), epoch, team->yield);
    if (team->rank == 0) {
        announce(line_word(area, RELEASE_LINE), epoch);
    } else {
        announce(member_word(area, team->rank), epoch);
        wait_for(line_word(area, RELEASE_LINE), epoch, team->yield);
    }
}

static void play_tree_2(const struct raw_team *team, struct raw_line *area, uint32_t epoch)
{
    meet_in_tree(team, area, epoch, 2);
}

static void play_tree_4(const struct raw_team *team, struct raw_line *area, uint32_t epoch)
{
    meet_in_tree(team, area, epoch, 4);
}

/* Transfers a cache line: from member 0 to member 1 in odd epochs, and back in even ones. */
static void play_ping_pong(const struct raw_team *team, struct raw_line *area, uint32_t epoch)
{
    _Atomic uint32_t *ball = line_word(area, ROOT_LINE);
    if (team->rank > 1)
        return;
    if (team->rank == (epoch & 1))
        wait_for(ball, epoch, team->yield);
    else
        announce(ball, epoch);
}

const struct raw_pattern raw_patterns[RAW_PATTERNS] = {
    {"flags-packed", "flags in as few cache lines as possible, read by all", true,
     play_packed_flags},
    {"flags-128", "flags 128 bytes apart, read by all", true, play_flags},
    {"counter", "one counter, the last arrival releases", true, play_counter},
    {"counters-cpu", "a counter per CPU and a root", true, play_processor_counters},
    {"tree-2", "arrivals up a tree of degree 2", true, play_tree_2},
    {"tree-4", "arrivals up a tree of degree 4", true, play_tree_4},
    {"ping-pong", "one-way transfer of a cache line between two processes", false, play_ping_pong},
};

/* ---- teams ---- */

static unsigned equal_masks(const cpu_set_t *masks, unsigned size, unsigned rank)
{
    unsigned equal = 0;
    for (unsigned other = 0; other < size; other++)
        equal += CPU_EQUAL(&masks[other], &masks[rank]) != 0;
    return equal;
}

struct raw_placement raw_compute_placement(const cpu_set_t *masks, unsigned size)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (unsigned rank = 0; rank < size; rank++)
        CPU_OR(&all, &all, &masks[rank]);

    struct raw_placement placement = {.processors = (unsigned)CPU_COUNT(&all)};
    placement.bound = placement.processors == 1;
    placement.crowded = size > placement.processors;
    for (unsigned rank = 0; rank < size; rank++) {
        placement.bound |= !CPU_EQUAL(&masks[rank], &all);
        placement.crowded |= equal_masks(masks, size, rank) > (unsigned)CPU_COUNT(&masks[rank]);
    }
    return placement;
}

size_t raw_bytes(unsigned size)
{
    return (RAW_PATTERNS + 1) * area_lines(size) * sizeof(struct raw_line);
}

/* Determines this member's leaf. Members with equal affinity masks form a leaf. If all members may
 * run on all cores, there are as many leaves as cores, and the ranks are distributed over them
 * round-robin. */
static void find_leaf(struct raw_team *team, const cpu_set_t *masks)
{
    if (equal_masks(masks, team->size, 0) == team->size) {
        unsigned processors = (unsigned)CPU_COUNT(&masks[0]);
        team->leaves = processors < team->size ? processors : team->size;
        team->leaf = team->rank % team->leaves;
        team->leaf_size = (team->size - team->leaf + team->leaves - 1) / team->leaves;
        return;
    }
    team->leaves = 0;
    for (unsigned rank = 0; rank < team->size; rank++) {
        unsigned first = 0;
        while (!CPU_EQUAL(&masks[first], &masks[rank]))
            first++;
        if (first == rank && CPU_EQUAL(&masks[rank], &masks[team->rank]))
            team->leaf = team->leaves;
        team->leaves += first == rank;
    }
    team->leaf_size = equal_masks(masks, team->size, team->rank);
}

void raw_join(struct raw_team *team, void *memory, const cpu_set_t *masks, unsigned rank,
              unsigned size)
{
    *team = (struct raw_team){.rank = rank, .size = size, .areas = memory};
    team->yield = raw_compute_placement(masks, size).crowded;
    find_leaf(team, masks);
}

bool raw_suits(const struct raw_team *team, unsigned pattern)
{
    /* If members share cores, the ping-pong of a cache line would measure the scheduler. */
    return raw_patterns[pattern].barrier || !team->yield;
}

static struct raw_line *pattern_area(const struct raw_team *team, unsigned pattern)
{
    return team->areas + pattern * area_lines(team->size);
}

void raw_sync(struct raw_team *team)
{
    meet_at_counter(pattern_area(team, RAW_PATTERNS), team->size, ++team->epochs[RAW_PATTERNS],
                    true);
}

static void play_pattern(struct raw_team *team, unsigned pattern, unsigned times)
{
    struct raw_line *area = pattern_area(team, pattern);
    while (times--)
        raw_patterns[pattern].play(team, area, ++team->epochs[pattern]);
}

double raw_run(struct raw_team *team, unsigned pattern, unsigned iterations)
{
    raw_sync(team);
    play_pattern(team, pattern, chunk_approach(iterations));
    double start = chunk_clock();
    play_pattern(team, pattern, iterations);
    return chunk_clock() - start;
}
