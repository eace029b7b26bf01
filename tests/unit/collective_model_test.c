/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests barriers between NICs over a faulty wire. Schedules, sizes and faults are random, as are
 * the times at which hosts open groups, arrive and close groups, and the numbers of outstanding
 * barriers. A failure means that a job whose network loses packets hangs, fails, or leaves a
 * barrier early.
 *
 * Invariants, checked after each event:
 *
 * - No node completes an epoch before all nodes have started it, and epochs never decrease.
 * - A host is woken when its group advances.
 * - A waiting group knows its missing peers, and has a deadline.
 * - Packets of correct NICs are never implausible, and corrupted ones are never accepted.
 *
 * At the end, all hosts have completed their barriers within a bound of virtual time, the NICs have
 * no groups left, and the memory of closed groups is unchanged.
 *
 * Some groups carry data, whose length differs between epochs. A host that completes an epoch finds
 * all its blocks until it begins the next one. When a host leaves, its group sends a close message,
 * after which all hosts have received all data.
 *
 * In some trials a host is late, and another one gives it up. All hosts then detect this failure
 * whatever packets are lost, including the late host when it arrives. A failed group completes no
 * further epochs. Each NIC counts one failure.
 */
#include "tests/unit/crew.h"
#include "tests/unit/test.h"
#include "tests/unit/wire_fake.h"
#include "tests/unit/wire_group.h"

/* A trial in which no host makes progress for an hour is stuck. With 30 % packet loss, half of the
 * requests are answered. The longest backoff, that of close messages, is one minute, so the
 * probability that none of 60 requests is answered is 2^-60. */
#define STUCK_NS (3600 * SECOND)

enum {
    MOST_NODES = 33,
    MOST_TEAMS = 50,
    UNIT_MOST = 64,
    FREED = 0xa5, /* what hosts write into the memory of closed groups */
};

/* Epochs are relative to the team's first one, so that they do not wrap around within the test. */
struct host {
    struct team *team;
    uint32_t rank;
    struct wire_nic *nic;
    struct mcp_group *group;
    size_t bytes;
    enum { NOT_OPEN, OPEN, LEAVING, CLOSED } state;
    /* the last epoch in which the host has arrived, and the last one that it knows to be
     * complete */
    uint32_t started, seen;
    bool woken, coming; /* woken during this event; a call is scheduled */
    bool failed;        /* the host knows that its group has failed */
};

struct team {
    struct wire_group group;
    struct nicbarr_choice choice;
    uint32_t first, epochs; /* the epoch before the first one, and the number of epochs */
    uint32_t window;        /* the maximum of outstanding barriers of a host */
    uint32_t least_started; /* the minimum of all hosts */
    uint64_t think_most_ns, open_most_ns, close_most_ns;
    /* In a team that fails: the host that is late after this many barriers, the host that gives it
     * up, and whether the late one has arrived since. */
    bool fails, arrived;
    uint32_t absent, absent_after, gives_up;
    struct host host[MOST_NODES];
};

static struct {
    struct wire wire;
    uint64_t seed, random;
    uint32_t nteams, open; /* hosts with open groups */
    struct team team[MOST_TEAMS];
    struct host *host_on[MOST_NODES][MOST_TEAMS];
    uint64_t progress_ns; /* when a host last advanced */
} trial;

#define TRIAL_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            trial_fail(__LINE__, #condition);                                                      \
        }                                                                                          \
    } while (0)

static void trial_fail(int line, const char *condition)
{
    const struct wire_faults *faults = &trial.wire.faults;
    print_error(
        "trial 0x%llx, %u nodes; per mille: %u lost, %u duplicated, %u reordered, %u damaged\n",
        (unsigned long long)trial.seed, trial.wire.nnics, faults->loss, faults->duplication,
        faults->reordering, faults->damage);
    for (uint32_t t = 0; t < trial.nteams; ++t) {
        const struct team *team = &trial.team[t];
        char name[NICBARR_CHOICE_TEXT];
        print_error("  %s, %u nodes, %u epochs after %#x, %u outstanding; (started, done):",
                    nicbarr_choice_name(team->choice, name), team->group.size, team->epochs,
                    team->first, team->window);
        for (uint32_t r = 0; r < team->group.size; ++r) {
            print_error(" (%u, %u)%s", team->host[r].started, team->host[r].seen,
                        CLOSED == team->host[r].state ? "x" : "");
        }
        print_error("\n");
    }
    fail_msg("line %d: check failed: %s", line, condition);
}

/* ---- blocks ---- */

/* Size of a block in this epoch. In some epochs there are no data. */
static uint32_t unit_of(const struct team *team, uint32_t epoch)
{
    uint64_t random = team->group.key + epoch;
    const uint32_t units = team->group.unit_most / MCP_BLOCK_UNIT + 1;
    return MCP_BLOCK_UNIT * crew_below(&random, units);
}

/* Make a block, each one with different contents. */
static void make_block(const struct team *team, uint32_t rank, uint32_t epoch, uint8_t *block)
{
    uint64_t random = team->group.key ^ ((uint64_t)epoch << 32 | rank);
    for (uint32_t i = 0; i < unit_of(team, epoch); i += MCP_BLOCK_UNIT) {
        const uint64_t word = crew_random(&random);
        memcpy(block + i, &word, sizeof(word));
    }
}

/* Check that all blocks of the last complete epoch are present. */
static void check_blocks(const struct host *host)
{
    const struct team *team = host->team;
    uint8_t expected[MCP_PAYLOAD_MOST];
    const uint32_t unit = unit_of(team, host->seen);
    for (uint32_t r = 0; r < team->group.size && 0 != host->seen && 0 != unit; ++r) {
        make_block(team, r, host->seen, expected);
        TRIAL_CHECK(0 == memcmp(expected,
                                wire_group_block(&team->group, host->rank, host->group,
                                                 team->first + host->seen, unit, r),
                                unit));
    }
}

/* ---- hosts ---- */

static void host_act(struct wire_nic *nic, void *context);

static void schedule_host(struct host *host, uint64_t most_ns)
{
    if (!host->coming) {
        host->coming = true;
        /* Half of the hosts continue immediately, so that several arrive at the same time. */
        const uint64_t after_ns =
            crew_below(&trial.random, 2) ? 0 : wire_between(&trial.wire, 0, most_ns);
        wire_after(&trial.wire, after_ns, host->nic, host_act, host);
    }
}

static bool host_has_failed(const struct host *host)
{
    return OPEN == host->state && 0 != myr_load_relaxed(&host->group->failed);
}

static void host_close(struct host *host)
{
    wire_group_close(host->nic, host->group);
    TRIAL_CHECK(0 == host->group->key);
    memset(host->group, FREED, host->bytes);
    host->state = CLOSED;
    --trial.open;
}

static void update_least_started(struct team *team)
{
    team->least_started = UINT32_MAX;
    for (uint32_t r = 0; r < team->group.size; ++r) {
        if (team->host[r].started < team->least_started) {
            team->least_started = team->host[r].started;
        }
    }
}

/* Poll whether all close messages of a group were exchanged, then close it. */
static void poll_closing(struct wire_nic *nic, void *context)
{
    struct host *host = context;
    struct team *team = host->team;
    if (!mcp_group_waits_now(host->group)) {
        for (uint32_t r = 0; r < team->group.size; ++r) {
            TRIAL_CHECK(team->host[r].seen == team->epochs);
        }
        host_close(host);
    } else {
        wire_after(&trial.wire, 1 + wire_between(&trial.wire, 0, 10 * MILLISECOND), nic,
                   poll_closing, host);
    }
}

static void host_leave(struct host *host)
{
    if (host->started == host->seen) { /* else it does not need those blocks any more */
        check_blocks(host);
    }
    host->state = LEAVING;
    if (wire_group_begin_closing(host->nic, host->group)) {
        poll_closing(host->nic, host);
    } else {
        host_close(host);
    }
}

/* Begin a barrier, or sometimes as many as permitted. */
static void host_start(struct host *host)
{
    struct team *team = host->team;
    uint32_t most = host->seen + team->window;
    most = most < team->epochs ? most : team->epochs;
    const uint32_t before = host->started;
    host->started = crew_below(&trial.random, 8) ? before + 1 : most;
    if (team->fails && !team->arrived && host->rank == team->absent &&
        host->started > team->absent_after) {
        host->started = team->absent_after;
    }
    if (before == team->least_started) {
        update_least_started(team);
    }
    if (0 == team->group.unit_most) {
        wire_group_start(host->nic, host->group, team->first + host->started);
    } else if (host->started != before) {
        uint8_t block[MCP_PAYLOAD_MOST];
        check_blocks(host);
        make_block(team, host->rank, host->started, block);
        TRIAL_CHECK(wire_group_offer(host->nic, host->group, team->first + host->started, block,
                                     unit_of(team, host->started)));
    }
}

static bool is_absent(const struct host *host)
{
    return host->team->fails && !host->team->arrived && host->rank == host->team->absent &&
           host->started == host->team->absent_after;
}

static void host_act(struct wire_nic *nic, void *context)
{
    struct host *host = context;
    struct team *team = host->team;
    (void)nic;
    host->coming = false;
    if (host->seen == team->epochs || host_has_failed(host)) {
        host_leave(host);
    } else if (!is_absent(host) && host->started < team->epochs &&
               host->started - host->seen < team->window) {
        host_start(host);
        if (host->started < team->epochs && host->started - host->seen < team->window) {
            schedule_host(host, team->think_most_ns);
        }
    }
}

static void host_open(struct wire_nic *nic, void *context)
{
    struct host *host = context;
    wire_group_fill(&host->team->group, host->rank, host->team->first, host->group);
    mcp_collective_open(&nic->mcp->collective, &nic->board, &nic->mcp->counters, host->group);
    host->state = OPEN;
    schedule_host(host, host->team->think_most_ns);
}

/* A sleeping host continues only when it is woken. */
static void host_woken(void *context, struct wire_nic *nic, myr_word *word)
{
    (void)context;
    for (uint32_t t = 0; t < trial.nteams; ++t) {
        struct host *host = trial.host_on[nic->number][t];
        if (NULL != host && word == &host->group->done) {
            TRIAL_CHECK(OPEN == host->state || LEAVING == host->state);
            if (LEAVING == host->state) {
                return; /* no host sleeps on it */
            }
            host->woken = true;
            const bool last =
                host->team->epochs == wire_group_done(host->group) - host->team->first;
            schedule_host(host, last ? host->team->close_most_ns : host->team->think_most_ns);
            return;
        }
    }
    TRIAL_CHECK(!"a word was woken that belongs to no group");
}

static void late_host_arrives(struct wire_nic *nic, void *context)
{
    struct host *host = context;
    (void)nic;
    host->team->arrived = true;
    if (OPEN == host->state) {
        schedule_host(host, 0);
    }
}

/* The host that waits for too long gives up the absent one, once. */
static void host_give_up(struct wire_nic *nic, void *context)
{
    struct host *host = context;
    struct team *team = host->team;
    if (OPEN != host->state || host_has_failed(host)) {
        return;
    }
    if (!mcp_group_waits_now(host->group)) { /* it must reach that barrier first */
        wire_after(&trial.wire, 10 * MILLISECOND, nic, host_give_up, host);
        return;
    }
    (void)mcp_collective_fail(&nic->mcp->collective, &nic->board, &nic->mcp->counters, host->group,
                              team->absent);
    struct host *absent = &team->host[team->absent];
    wire_after(&trial.wire, wire_between(&trial.wire, 0, 500 * MILLISECOND), absent->nic,
               late_host_arrives, absent);
}

/* ---- the invariants ---- */

/* Check that a waiting group knows its missing peers, and has a deadline. */
static void check_awaited(const struct host *host)
{
    struct mcp_group *group = host->group;
    struct mcp_missing missing;
    uint32_t cursor = 0, count = 0;
    while (mcp_group_awaits(group, &cursor, &missing)) {
        TRIAL_CHECK(missing.node < host->team->group.size && ++count <= group->nwaits);
    }
    TRIAL_CHECK((0 != count) == mcp_group_waits_now(group));
    TRIAL_CHECK(0 == count || (0 != group->backoff.ends_ns && 0 != group->active &&
                               mcp_deadline_ns(host->nic->mcp) <= group->backoff.ends_ns));
}

static void check_host(struct host *host)
{
    const uint32_t done = wire_group_done(host->group) - host->team->first;
    const bool woken = host->woken;
    host->woken = false;
    if (host_has_failed(host)) {
        TRIAL_CHECK(host->team->fails);
        TRIAL_CHECK(host->team->absent + 1 == myr_load_relaxed(&host->group->failed));
        TRIAL_CHECK(done == host->seen || woken);
        TRIAL_CHECK(!host->failed || done == host->seen); /* no further epoch */
        host->failed = true;
    }
    if (done == host->seen) {
        return;
    }
    TRIAL_CHECK(done <= host->team->least_started); /* the property of a barrier */
    TRIAL_CHECK(done > host->seen);
    TRIAL_CHECK(woken);
    host->seen = done;
    check_blocks(host);
    trial.progress_ns = trial.wire.now_ns;
}

static void check_nic(const struct wire_nic *nic)
{
    for (uint32_t t = 0; t < trial.nteams; ++t) {
        struct host *host = trial.host_on[nic->number][t];
        if (NULL != host && OPEN == host->state) {
            check_host(host);
            check_awaited(host);
        }
    }
}

static void check_failed(void)
{
    for (uint32_t n = 0; n < trial.wire.nnics; ++n) {
        TRIAL_CHECK(1 == trial.wire.nics[n].mcp->counters.failed);
    }
}

static void check_end(void)
{
    static const mcp_offset none[MCP_BUCKETS];
    uint64_t damaged = 0, barriers = 0, expected = 0;
    for (uint32_t n = 0; n < trial.wire.nnics; ++n) {
        const struct mcp_nic *mcp = trial.wire.nics[n].mcp;
        TRIAL_CHECK(0 == memcmp(none, mcp->collective.bucket, sizeof(none)));
        TRIAL_CHECK(0 == mcp->collective.active);
        TRIAL_CHECK(0 == mcp->collective.deadline_ns);
        TRIAL_CHECK(0 == mcp->counters.dropped_implausible);
        damaged += mcp->counters.dropped_damaged + mcp->counters.dropped_forged;
        barriers += mcp->counters.barriers;
    }
    /* Packets with a corrupted key are counted as unknown. */
    TRIAL_CHECK(damaged <= trial.wire.tally.damaged);
    for (uint32_t t = 0; t < trial.nteams; ++t) {
        struct team *team = &trial.team[t];
        expected +=
            (uint64_t)(team->epochs + (0 != unit_of(team, team->epochs))) * team->group.size;
        for (uint32_t r = 0; r < team->group.size; ++r) {
            const uint8_t *byte = (const uint8_t *)team->host[r].group;
            for (size_t i = 0; i < team->host[r].bytes; ++i) {
                TRIAL_CHECK(FREED == byte[i]);
            }
        }
    }
    if (trial.team[0].fails) {
        check_failed();
    } else {
        TRIAL_CHECK(barriers == expected);
    }
}

/* ---- a trial ---- */

static void trial_begin(uint64_t seed, uint32_t nnics, uint32_t memory_bytes)
{
    memset(&trial, 0, sizeof(trial));
    trial.seed = trial.random = seed;
    wire_begin(&trial.wire, nnics, memory_bytes, crew_random(&trial.random));
    trial.wire.woken = host_woken;
}

static void draw_faults(void)
{
    static const uint32_t losses[] = {0, 10, 100, 300};
    uint64_t *random = &trial.random;
    struct wire_faults *faults = &trial.wire.faults;
    faults->loss = losses[crew_below(random, 4)];
    faults->duplication = crew_below(random, 2) ? crew_below(random, 400) : 0;
    faults->reordering = crew_below(random, 2) ? crew_below(random, 500) : 0;
    faults->damage = crew_below(random, 2) ? crew_below(random, 100) : 0;
    faults->delay_least_ns = crew_below(random, 2) ? crew_below(random, 20000) : 0;
    faults->delay_most_ns = faults->delay_least_ns + crew_below(random, 20000);
    /* Some detours take longer than the timeouts. */
    faults->detour_most_ns = crew_below(random, 4) ? 100 * MICROSECOND : 200 * MILLISECOND;
}

static uint32_t draw_epoch(uint64_t *random)
{
    switch (crew_below(random, 3)) {
    case 0:
        return UINT32_MAX - crew_below(random, 20);
    case 1:
        return INT32_MAX - crew_below(random, 20);
    default:
        return (uint32_t)crew_random(random);
    }
}

static struct nicbarr_choice draw_choice(uint64_t *random, uint32_t size)
{
    static const enum nicbarr_algorithm algorithms[] = {
        NICBARR_DISSEMINATION, NICBARR_DISSEMINATION, NICBARR_TREE,   NICBARR_TREE,
        NICBARR_PAIRWISE,      NICBARR_FLAGS,         NICBARR_COUNTER};
    const enum nicbarr_algorithm algorithm = algorithms[crew_below(random, 7)];
    const uint32_t most = nicbarr_parameter_max(algorithm, size);
    /* Half of the parameters are small, as in practice. */
    const uint32_t end = crew_below(random, 2) && most > 4 ? 4 : most;
    return (struct nicbarr_choice){algorithm, 0 == end ? 0 : 1 + crew_below(random, end), 0};
}

/* Create a group, and schedule its hosts. `unit_most`: as in wire_group_carry(), or 0. */
static struct team *team_begin(struct nicbarr_choice choice, uint32_t size, uint32_t epochs,
                               uint32_t unit_most)
{
    static const uint64_t spans_ns[] = {0, 10 * MICROSECOND, 5 * MILLISECOND, 100 * MILLISECOND};
    uint64_t *random = &trial.random;
    struct team *team = &trial.team[trial.nteams];
    team->choice = choice;
    team->epochs = epochs;
    team->first = draw_epoch(random);
    team->window = 1 + crew_below(random, 5);
    team->think_most_ns = spans_ns[crew_below(random, 3)];
    team->open_most_ns = spans_ns[crew_below(random, 4)];
    team->close_most_ns = spans_ns[crew_below(random, 4)];
    wire_group_begin(&team->group, &trial.wire, choice, size);
    wire_group_shuffle(&team->group);
    if (0 != unit_most && 0 != wire_group_carry(&team->group, unit_most)) {
        team->window = 1;
    }
    for (uint32_t r = 0; r < size; ++r) {
        struct wire_nic *nic = wire_group_nic(&team->group, r);
        struct host *host = &team->host[r];
        host->team = team;
        host->rank = r;
        host->nic = nic;
        host->bytes = wire_group_bytes(&team->group, r);
        host->group = wire_memory(nic, host->bytes);
        trial.host_on[nic->number][trial.nteams] = host;
        wire_after(&trial.wire, wire_between(&trial.wire, 0, team->open_most_ns), nic, host_open,
                   host);
    }
    trial.open += size;
    ++trial.nteams;
    return team;
}

/* Called when all groups are closed. */
static void trial_end(void)
{
    const uint64_t closed_ns = trial.wire.now_ns;
    while (wire_next(&trial.wire)) { /* packets in flight, and the last deadlines */
        TRIAL_CHECK(trial.wire.now_ns - closed_ns < SECOND);
    }
    check_end();
    for (uint32_t t = 0; t < trial.nteams; ++t) {
        wire_group_end(&trial.team[t].group);
    }
    wire_end(&trial.wire);
}

static void trial_play(void)
{
    trial.progress_ns = trial.wire.now_ns;
    while (0 != trial.open) {
        TRIAL_CHECK(wire_next(&trial.wire));
        TRIAL_CHECK(trial.wire.now_ns - trial.progress_ns < STUCK_NS);
        check_nic(trial.wire.touched);
    }
    trial_end();
}

/* ---- the tests ---- */

TEST(every_schedule)
{
    static const enum nicbarr_algorithm algorithms[] = {NICBARR_DISSEMINATION, NICBARR_TREE,
                                                        NICBARR_PAIRWISE, NICBARR_FLAGS};
    uint64_t seed = crew_seed();
    for (uint32_t size = 2; size <= MOST_NODES; ++size) {
        for (size_t a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); ++a) {
            const bool one = NICBARR_FLAGS == algorithms[a] || NICBARR_PAIRWISE == algorithms[a];
            const uint32_t most = one ? 1 : nicbarr_parameter_max(algorithms[a], size);
            const uint32_t ways = 0 == size % 5 ? 2 : 1; /* without data, and sometimes with */
            for (uint32_t i = 0; i < ways * most; ++i) {
                const struct nicbarr_choice choice = {algorithms[a], 1 + i / ways, 0};
                trial_begin(++seed, size, 1 << 16);
                draw_faults();
                team_begin(choice, size, 8, i % ways * UNIT_MOST);
                trial_play();
            }
        }
    }
}

/* Several groups with different members on the same NICs, opened and closed at any time. If there
 * are few NICs, each has many groups, several of which share a bucket of its hash table. */
TEST(several_groups)
{
    const uint64_t seed = crew_seed() + (UINT64_C(1) << 32);
    for (uint32_t i = 0; i < 800; ++i) {
        uint64_t random = seed + i;
        const uint32_t nnics = 2 + crew_below(&random, crew_below(&random, 2) ? 3 : MOST_NODES - 1);
        trial_begin(seed + i, nnics, 1 << 18);
        draw_faults();
        for (uint32_t teams = 1 + crew_below(&random, nnics < 5 ? MOST_TEAMS : 4); teams > 0;
             --teams) {
            const uint32_t size = 2 + crew_below(&random, nnics - 1);
            const uint32_t epochs = 1 + crew_below(&random, crew_below(&random, 16) ? 30 : 500);
            team_begin(draw_choice(&random, size), size, epochs,
                       0 == crew_below(&random, 3) ? UNIT_MOST : 0);
        }
        trial_play();
    }
}

/* A host is late, and another one gives it up. */
TEST(one_is_given_up)
{
    const uint64_t seed = crew_seed() + (UINT64_C(3) << 32);
    for (uint32_t i = 0; i < 1500; ++i) {
        uint64_t random = seed + i;
        const uint32_t size = 2 + crew_below(&random, crew_below(&random, 4) ? 6 : MOST_NODES - 1);
        trial_begin(seed + i, size, 1 << 16);
        draw_faults();
        struct team *team = team_begin(draw_choice(&random, size), size, 20, i % 2 * UNIT_MOST);
        team->fails = true;
        team->absent = crew_below(&random, size);
        team->absent_after = crew_below(&random, 10);
        team->gives_up = (team->absent + 1 + crew_below(&random, size - 1)) % size;
        struct host *gives_up = &team->host[team->gives_up];
        wire_after(&trial.wire, 300 * MILLISECOND, gives_up->nic, host_give_up, gives_up);
        trial_play();
    }
}
