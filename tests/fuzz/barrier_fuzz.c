/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the barriers of several NICs that all play by the rules (firmware/engine.c, collective.c),
 * over the test double of the wire. Built and run by run.sh. What a NIC does about packets of any
 * content is collective_fuzz.c's.
 *
 * An input is a program of steps: hosts open groups, arrive, give up and close; packets are lost,
 * repeated at any time, or come from strangers; time goes on. Invariants, after each step:
 *   - nobody leaves a barrier that a member has not entered;
 *   - no group goes back, and none fails unless a member gave up on it;
 *   - who waits knows for whom, and has a deadline.
 * At the end the wire is healed and all members arrive. Then each barrier that all have entered is
 * over everywhere, or the group has failed everywhere.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/wire_steps.h"
#include "tests/unit/wire_group.h"

enum {
    NICS = 4,
    GROUPS = 4,
    MEMORY = 64 << 10,
    AHEAD = 3, /* barriers that a host has outstanding */
    RECORDED = 16,
    STEPS_MOST = 400,
    FIRST_EPOCH = -3, /* so that epochs soon wrap around */
};

#define HEALING_TURNS 5000 /* of a millisecond each */

static const struct nicbarr_choice choices[] = {
    {NICBARR_TREE, 2, 0},          {NICBARR_DISSEMINATION, 1, 0}, {NICBARR_PAIRWISE, 0, 0},
    {NICBARR_DISSEMINATION, 2, 0}, {NICBARR_TREE, 1, 0},
};

struct member {
    struct mcp_group *group; /* NULL: not open */
    bool closed;             /* for ever */
    uint32_t started, done;  /* done: when we looked last; it stays when the group is closed */
    bool failed;
};

static struct {
    struct wire wire;
    struct wire_group group[GROUPS];
    struct member member[GROUPS][NICS];
    bool given_up[GROUPS]; /* a member did */
    bool cut[GROUPS];      /* a member has closed it while others may wait for it */
    uint8_t lose;
    uint32_t nrecorded;
    struct {
        struct mcp_header header; /* sealed */
        uint32_t from, to;
    } recorded[RECORDED];
} w;

/* ---- the wire ---- */

static bool transmitted(void *context, const struct wire_nic *from, mcp_link to,
                        const struct mcp_header *header, const void *payload, size_t bytes)
{
    (void)context;
    CHECK(NULL == payload && 0 == bytes && mcp_is_collective(header->type) && to - 1 < NICS);
    struct mcp_header parsed;
    uint32_t g = 0;
    while (g < GROUPS && w.group[g].key != header->key) {
        ++g;
    }
    CHECK(g < GROUPS && mcp_parse(header, mcp_header_bytes(header->type), &parsed));
    CHECK(mcp_genuine(&parsed, &w.group[g].secret, NULL));
    const uint32_t place = w.nrecorded++ % RECORDED;
    w.recorded[place].header = *header;
    w.recorded[place].from = from->number;
    w.recorded[place].to = to - 1;
    const bool lost = 0 != (w.lose & 1);
    w.lose >>= 1;
    return !lost;
}

/* A packet that was sent comes once more, or one like it with another key. */
static void say_again(uint8_t which, bool stranger)
{
    if (0 != w.nrecorded) {
        const uint32_t end = w.nrecorded < RECORDED ? w.nrecorded : RECORDED;
        struct mcp_header header = w.recorded[which % end].header;
        if (stranger) {
            header.key ^= (uint64_t)1 << which % 64;
        }
        wire_inject(&w.wire, &w.wire.nics[w.recorded[which % end].from],
                    &w.wire.nics[w.recorded[which % end].to], &header,
                    mcp_header_bytes(header.type));
    }
}

/* ---- members ---- */

static void open_group(uint32_t g, uint32_t rank)
{
    struct member *member = &w.member[g][rank];
    if (NULL == member->group && !member->closed) {
        member->group = wire_group_open(&w.group[g], rank, (uint32_t)FIRST_EPOCH);
    }
}

static void start(uint32_t g, uint32_t rank)
{
    struct member *member = &w.member[g][rank];
    if (NULL != member->group && !myr_epoch_reached(member->started, member->done + AHEAD)) {
        ++member->started;
        wire_group_start(wire_group_nic(&w.group[g], rank), member->group, member->started);
    }
}

static void give_up(uint32_t g, uint32_t rank, uint32_t missing)
{
    struct member *member = &w.member[g][rank];
    struct wire_nic *nic = wire_group_nic(&w.group[g], rank);
    if (NULL != member->group) {
        w.given_up[g] = true;
        (void)mcp_collective_fail(&nic->mcp->collective, &nic->board, &nic->mcp->counters,
                                  member->group, missing);
        CHECK(0 != member->group->failed);
    }
}

static void close_group(uint32_t g, uint32_t rank)
{
    struct member *member = &w.member[g][rank];
    if (NULL != member->group) {
        w.cut[g] = w.cut[g] || (!member->failed && member->done != member->started);
        wire_group_close(wire_group_nic(&w.group[g], rank), member->group);
        member->group = NULL;
        member->closed = true;
    }
}

/* ---- invariants ---- */

/* The last epoch that all members have entered. */
static uint32_t entered_by_all(uint32_t g)
{
    uint32_t least = w.member[g][0].started;
    for (uint32_t r = 1; r < w.group[g].size; ++r) {
        least = myr_epoch_reached(w.member[g][r].started, least) ? least : w.member[g][r].started;
    }
    return least;
}

static void check_awaited(const struct wire_nic *nic, struct mcp_group *group)
{
    struct mcp_missing missing;
    uint32_t cursor = 0, count = 0;
    while (mcp_group_awaits(group, &cursor, &missing)) {
        CHECK(missing.node < NICS && ++count <= group->nwaits);
    }
    CHECK((0 != count) == mcp_group_waits_now(group));
    CHECK(0 == count || (0 != group->patience.ends_ns && group->active &&
                         mcp_deadline_ns(nic->mcp) <= group->patience.ends_ns));
}

static void check_member(uint32_t g, uint32_t rank)
{
    struct member *member = &w.member[g][rank];
    struct mcp_group *group = member->group;
    const uint32_t done = wire_group_done(group);
    CHECK(myr_epoch_reached(done, member->done) && myr_epoch_reached(member->started, done));
    CHECK(!member->failed || (done == member->done && 0 != group->failed));
    CHECK(0 == group->failed || w.given_up[g]);
    member->done = done;
    member->failed = 0 != group->failed;
    CHECK(myr_epoch_reached(entered_by_all(g), done)); /* nobody leaves early */
    check_awaited(wire_group_nic(&w.group[g], rank), group);
}

static void check_all(void)
{
    for (uint32_t g = 0; g < GROUPS; ++g) {
        for (uint32_t r = 0; r < w.group[g].size; ++r) {
            if (NULL != w.member[g][r].group) {
                check_member(g, r);
            }
        }
    }
}

/* ---- healing ---- */

static bool any_closed(uint32_t g)
{
    bool any = false;
    for (uint32_t r = 0; r < w.group[g].size; ++r) {
        any = any || w.member[g][r].closed;
    }
    return any;
}

/* What must be over at the end of all: the epoch that all have entered, unless the group failed. */
static bool is_over(uint32_t g)
{
    const uint32_t epoch = entered_by_all(g);
    for (uint32_t r = 0; r < w.group[g].size; ++r) {
        const struct member *member = &w.member[g][r];
        if (NULL != member->group && !member->failed && !myr_epoch_reached(member->done, epoch)) {
            return false;
        }
    }
    return true;
}

/* Of a group that some have given up, nobody waits any more. */
static bool has_failed(uint32_t g)
{
    for (uint32_t r = 0; r < w.group[g].size; ++r) {
        const struct member *member = &w.member[g][r];
        if (NULL != member->group && !member->failed && member->done != member->started) {
            return false;
        }
    }
    return true;
}

static bool is_well(uint32_t g)
{
    if (w.cut[g] || (w.given_up[g] && any_closed(g))) {
        return true; /* some may wait for ever: a host went without a word */
    }
    return w.given_up[g] ? has_failed(g) : is_over(g);
}

static void heal(void)
{
    w.wire.faults = (struct wire_faults){.delay_least_ns = 1000, .delay_most_ns = 1000};
    w.lose = 0;
    for (uint32_t g = 0; g < GROUPS; ++g) {
        for (uint32_t r = 0; r < w.group[g].size; ++r) {
            open_group(g, r);
            start(g, r);
        }
        for (uint32_t turn = 0; !is_well(g); ++turn) {
            CHECK(turn < HEALING_TURNS);
            wire_pass(&w.wire, MILLISECOND);
            check_all();
            for (uint32_t r = 0; w.given_up[g] && r < w.group[g].size; ++r) {
                start(g, r); /* whoever goes on hears of it */
            }
        }
    }
}

/* ---- steps ---- */

enum step {
    OPEN,
    START,
    START_ALL,
    EVENTS,
    TIME,
    LOSE,
    AGAIN,
    STRANGER,
    FAULTS,
    FAIL,
    CLOSE,
    STEPS
};

static void take_one(struct input *in)
{
    const uint32_t kind = take_below(in, STEPS);
    const uint8_t argument = take_byte(in);
    const uint32_t g = argument % GROUPS, rank = argument / GROUPS % w.group[g].size;
    switch ((enum step)kind) {
    case OPEN:
        open_group(g, rank);
        break;
    case START:
        start(g, rank);
        break;
    case START_ALL:
        for (uint32_t r = 0; r < w.group[g].size; ++r) {
            open_group(g, r);
            start(g, r);
        }
        break;
    case EVENTS:
        wire_step_events(&w.wire, argument % 16);
        break;
    case TIME:
        wire_step_time(&w.wire, argument);
        break;
    case LOSE:
        w.lose = argument;
        break;
    case AGAIN:
    case STRANGER:
        say_again(argument, STRANGER == kind);
        break;
    case FAULTS:
        wire_step_faults(&w.wire, argument, 2 * MILLISECOND);
        break;
    case FAIL:
        give_up(g, rank, argument / 16 % w.group[g].size);
        break;
    case CLOSE:
        close_group(g, rank);
        break;
    case STEPS:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    memset(&w, 0, sizeof(w));
    wire_begin(&w.wire, NICS, MEMORY, 1);
    w.wire.transmitted = transmitted;
    for (uint32_t g = 0; g < GROUPS; ++g) {
        const uint8_t kind = take_byte(&in);
        wire_group_begin(&w.group[g], &w.wire,
                         choices[kind % (sizeof(choices) / sizeof(choices[0]))],
                         2 + kind / 8 % (NICS - 1));
        wire_group_shuffle(&w.group[g]);
        for (uint32_t r = 0; r < NICS; ++r) {
            w.member[g][r].started = w.member[g][r].done = (uint32_t)FIRST_EPOCH;
        }
    }
    for (uint32_t step = 0; step < STEPS_MOST && in.left > 0; ++step) {
        take_one(&in);
        check_all();
    }
    heal();
    for (uint32_t g = 0; g < GROUPS; ++g) {
        wire_group_end(&w.group[g]);
    }
    wire_end(&w.wire);
    return 0;
}
