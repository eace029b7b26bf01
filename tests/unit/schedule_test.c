/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the schedules of barriers and the names of algorithms, exhaustively for all P up to 300. A
 * failure means that a barrier returns early, hangs, or sends more messages than necessary, or that
 * an algorithm's name that a user types is misread.
 *
 * Invariants:
 *
 * - When all ranks execute a schedule, it ends. Each rank then depends, directly or indirectly, on
 *   all ranks.
 * - The k-th message from p to q is the k-th for which q waits from p.
 * - No rank sends to itself, or twice to the same peer.
 * - Steps and messages do not exceed the number that the algorithm needs.
 * - Each name that is printed can be parsed again, and no other name can.
 *
 * The schedule of the ping-pong is tested, too.
 */
#include <regex.h>

#include "coll_nicbarr/schedule.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

/* The names of NICs in choices. */
static const char *const nics[] = {"soft", "kernel", NULL};
enum { SOFT = 1, KERNEL = 2 };

enum { EXHAUSTIVE = 300 };

/* ---- execution of a barrier ---- */

enum { WORDS = (EXHAUSTIVE + 63) / 64 };

/* What an event depends on: a set of ranks, and the length of the longest chain of messages. */
struct past {
    uint32_t hops;
    uint64_t reached[WORDS];
};

struct player {
    struct myr_schedule schedule;
    const uint32_t *peer; /* the peer of the first message of the step */
    uint32_t step;
    bool sent; /* the messages of the step were sent */
    struct past past;
};

struct game {
    struct nicbarr_choice choice;
    uint32_t size, messages;
    struct player players[EXHAUSTIVE];
    enum { NONE, SENT, RECEIVED } state[EXHAUSTIVE][EXHAUSTIVE]; /* [sender][receiver] */
    struct past message[EXHAUSTIVE][EXHAUSTIVE];                 /* the past of its sender */
};

static struct game game;

#define GAME_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            game_fail(__LINE__, #condition);                                                       \
        }                                                                                          \
    } while (0)

static void game_fail(int line, const char *condition)
{
    char name[NICBARR_CHOICE_TEXT];
    fail_msg("%s, P %u: line %d: check failed: %s", nicbarr_choice_name(game.choice, name),
             game.size, line, condition);
}

static void send_one(uint32_t rank, uint32_t peer)
{
    GAME_CHECK(peer < game.size && peer != rank);
    GAME_CHECK(NONE == game.state[rank][peer]); /* only one message to each peer */
    game.state[rank][peer] = SENT;
    game.message[rank][peer] = game.players[rank].past;
    ++game.messages;
}

static void receive_one(uint32_t rank, uint32_t peer)
{
    struct past *past = &game.players[rank].past;
    const struct past *other = &game.message[peer][rank];
    GAME_CHECK(SENT == game.state[peer][rank]); /* each message is received once */
    game.state[peer][rank] = RECEIVED;
    past->hops = other->hops + 1 > past->hops ? other->hops + 1 : past->hops;
    for (uint32_t w = 0; w < WORDS; ++w) {
        past->reached[w] |= other->reached[w];
    }
}

/* Advance as far as possible. Returns true if there was any progress. */
static bool advance(uint32_t rank)
{
    struct player *player = &game.players[rank];
    bool moved = false;
    while (player->step < player->schedule.nsteps) {
        const struct mcp_step *step = &player->schedule.steps[player->step];
        for (uint32_t i = 0; !player->sent && i < step->sends; ++i) {
            send_one(rank, player->peer[i]);
            moved = true;
        }
        player->sent = true;
        const uint32_t *from = player->peer + step->sends;
        for (uint32_t i = 0; i < step->waits; ++i) {
            GAME_CHECK(from[i] < game.size);
            if (NONE == game.state[from[i]][rank]) {
                return moved;
            }
        }
        for (uint32_t i = 0; i < step->waits; ++i) {
            receive_one(rank, from[i]);
        }
        player->peer = from + step->waits;
        player->sent = false;
        ++player->step;
        moved = true;
    }
    return moved;
}

/* Check the schedule's size, and that no two consecutive steps could be merged: each step but the
 * last waits for something, and each but the first sends something. */
static void check_steps(const struct myr_schedule *schedule)
{
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    const struct mcp_step *steps = schedule->steps;
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        GAME_CHECK(0 != steps[s].sends + steps[s].waits);
        GAME_CHECK(0 == s || (0 != steps[s - 1].waits && 0 != steps[s].sends));
    }
    GAME_CHECK(lengths.sends + lengths.waits == schedule->npeers);
    GAME_CHECK(!nicbarr_algorithm_messages(game.choice.algorithm) ||
               lengths.waits <= nicbarr_most_waits(game.choice, game.size));
}

static void game_begin(struct nicbarr_choice choice, uint32_t size)
{
    game.choice = choice;
    game.size = size;
    game.messages = 0;
    for (uint32_t r = 0; r < size; ++r) {
        struct player *player = &game.players[r];
        *player = (struct player){0};
        player->past.reached[r / 64] = UINT64_C(1) << (r % 64);
        assert_true(nicbarr_schedule_create(choice, size, r, &player->schedule));
        player->peer = player->schedule.peers;
        check_steps(&player->schedule);
        memset(game.state[r], NONE, size * sizeof(game.state[r][0]));
    }
}

/* ---- limits of the algorithms ---- */

/* The known costs of `choice` with P processes. The parameter is at most P - 1. */
struct allowance {
    uint32_t hops;     /* the longest chain of messages */
    uint64_t messages; /* total of all ranks */
};

static uint32_t height(uint32_t degree, uint32_t size)
{
    uint32_t levels = 0; /* below the root */
    for (uint64_t level = 1, nodes = 1; nodes < size; ++levels) {
        level *= degree;
        nodes += level;
    }
    return levels;
}

static struct allowance allowance(struct nicbarr_choice choice, uint32_t size)
{
    const uint32_t others = size - 1;
    uint32_t rounds = 0, core = 1;
    uint64_t messages = 0;
    switch (choice.algorithm) {
    case NICBARR_FLAGS:
        return (struct allowance){size > 1, (uint64_t)size * others};
    case NICBARR_COUNTER:
        return (struct allowance){size > 1 ? 2 : 0, 2 * others};
    case NICBARR_TREE:
        return (struct allowance){2 * height(choice.parameter, size), 2 * others};
    case NICBARR_ROOTED:
        return (struct allowance){height(choice.parameter, size), others};
    case NICBARR_DISSEMINATION: /* the smallest R with (n + 1)^R >= P */
        for (uint64_t reach = 1; reach < size; reach *= (uint64_t)choice.parameter + 1) {
            const uint64_t worth = others / reach; /* peers at a new multiple of `reach` */
            messages += size * (worth < choice.parameter ? worth : choice.parameter);
            ++rounds;
        }
        return (struct allowance){rounds, messages};
    default: /* NICBARR_PAIRWISE */
        for (; 2 * core <= size; core *= 2) {
            ++rounds;
        }
        messages = (uint64_t)core * rounds + 2 * ((uint64_t)size - core);
        return (struct allowance){rounds + (core < size ? 2 : 0), messages};
    }
}

static void play(struct nicbarr_choice choice, uint32_t size)
{
    game_begin(choice, size);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t r = 0; r < size; ++r) {
            moved = advance(r) || moved;
        }
    }

    const uint32_t greatest = nicbarr_parameter_max(choice.algorithm, size);
    choice.parameter = choice.parameter < greatest ? choice.parameter : greatest;
    const struct allowance allowed = allowance(choice, size);
    uint32_t hops = 0;
    for (uint32_t r = 0; r < size; ++r) {
        struct player *player = &game.players[r];
        GAME_CHECK(player->step == player->schedule.nsteps); /* else it waits for ever */
        for (uint32_t q = 0; q < size; ++q) {
            GAME_CHECK(0 != (player->past.reached[q / 64] >> (q % 64) & 1) ||
                       (0 != r && !nicbarr_algorithm_barrier(choice.algorithm)));
            GAME_CHECK(SENT != game.state[r][q]); /* all messages were received */
        }
        hops = player->past.hops > hops ? player->past.hops : hops;
        nicbarr_schedule_destroy(&player->schedule);
        assert_null(player->schedule.steps);
    }
    /* With few partners outside of the core, no chain leads from one of them to another. */
    GAME_CHECK(hops == allowed.hops ||
               (hops < allowed.hops && NICBARR_PAIRWISE == choice.algorithm));
    GAME_CHECK(game.messages == allowed.messages);
}

/* ---- the tests of schedules ---- */

TEST(every_size)
{
    static const uint32_t any[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 64, UINT32_MAX};
    for (int a = NICBARR_OPENMPI + 1; a < NICBARR_SCHEDULES; ++a) {
        const enum nicbarr_algorithm algorithm = (enum nicbarr_algorithm)a;
        const bool matters = nicbarr_algorithm_messages(algorithm) &&
                             0 != nicbarr_parameter_max(algorithm, EXHAUSTIVE);
        for (uint32_t size = 1; size <= EXHAUSTIVE; ++size) {
            for (size_t i = 0; i < (matters ? sizeof(any) / sizeof(any[0]) : 1); ++i) {
                play((struct nicbarr_choice){algorithm, any[i], 0}, size);
            }
            /* parameters around P, beyond which nothing changes */
            for (uint32_t n = size > 2 ? size - 2 : 1; matters && n <= size + 1; ++n) {
                play((struct nicbarr_choice){algorithm, n, 0}, size);
            }
        }
    }
}

static void expect_schedule(struct myr_schedule *schedule, const struct mcp_step *steps,
                            uint32_t nsteps, const uint32_t *peers, uint32_t npeers)
{
    assert_int_equal(schedule->nsteps, nsteps);
    assert_int_equal(schedule->npeers, npeers);
    assert_memory_equal(schedule->steps, steps, nsteps * sizeof(*steps));
    assert_memory_equal(schedule->peers, peers, npeers * sizeof(*peers));
    nicbarr_schedule_destroy(schedule);
}

/* Open MPI's own barrier has an empty schedule, which is not an error. The sends of a step precede
 * its waits. */
TEST(particular_schedules)
{
    /* To 1 + 1 and 1 + 2, from 1 - 1 and 1 - 2; then to 1 + 3, from 1 - 3 (modulo 5). */
    static const struct mcp_step steps[] = {{2, 2}, {1, 1}};
    static const uint32_t peers[] = {2, 3, 0, 4, 4, 3};
    struct nicbarr_among among = {{NICBARR_DISSEMINATION, 2, 0}, 5};
    struct myr_schedule schedule;
    assert_true(nicbarr_schedule_of(&among, 1, &schedule));
    expect_schedule(&schedule, steps, 2, peers, 6);
    among.choice.algorithm = NICBARR_OPENMPI;
    assert_true(nicbarr_schedule_of(&among, 1, &schedule));
    expect_schedule(&schedule, NULL, 0, NULL, 0);
}

TEST(ping_pong)
{
    static const struct mcp_step answer[] = {{0, 1}, {1, 0}};
    static const uint32_t none[2];
    for (uint32_t peers = 1; peers < EXHAUSTIVE; ++peers) {
        struct myr_schedule schedule;
        uint32_t of_root[2 * EXHAUSTIVE]; /* destinations, then sources */
        for (uint32_t p = 0; p < 2 * peers; ++p) {
            of_root[p] = 1 + p % peers;
        }
        assert_true(nicbarr_schedule_ping_pong(peers, 0, &schedule));
        expect_schedule(&schedule, &(struct mcp_step){peers, peers}, 1, of_root, 2 * peers);
        for (uint32_t rank = 1; rank <= peers + 1; ++rank) { /* the last one is not involved */
            const uint32_t length = rank <= peers ? 2 : 0;
            assert_true(nicbarr_schedule_ping_pong(peers, rank, &schedule));
            expect_schedule(&schedule, answer, length, none, length);
        }
    }
}

/* ---- slots of messages ---- */

/* Rank 0 sends to 2, 1 and 1, and to 1 again after it has received from 2. */
static struct mcp_step steps_0[] = {{3, 1}, {1, 0}}, steps_1[] = {{0, 2}, {1, 2}},
                       steps_2[] = {{2, 1}};
static uint32_t peers_0[] = {2, 1, 1, 2, 1}, peers_1[] = {0, 2, 2, 0, 0}, peers_2[] = {0, 1, 0};

struct fixed {
    struct myr_schedule of[3];
    uint32_t asked[3]; /* calls by rank */
};

static bool fixed_schedule(const void *context, uint32_t rank, struct myr_schedule *schedule)
{
    struct fixed *fixed = *(struct fixed *const *)context;
    const size_t bytes = fixed->of[rank].nsteps * sizeof(*schedule->steps);
    ++fixed->asked[rank];
    *schedule = fixed->of[rank];
    schedule->steps = crew_require(malloc(bytes)); /* the caller frees it */
    memcpy(schedule->steps, fixed->of[rank].steps, bytes);
    return true;
}

TEST(several_to_one_peer)
{
    struct fixed fixed = {
        .of = {{2, steps_0, 5, peers_0}, {2, steps_1, 5, peers_1}, {1, steps_2, 3, peers_2}}};
    const struct fixed *context = &fixed;
    static const uint32_t expected[] = {0, 0, 2, 0, 3}, once[] = {0, 1, 1};
    uint32_t *slots = myr_schedule_slots(&fixed.of[0], 0, fixed_schedule, &context);
    assert_non_null(slots);
    assert_memory_equal(slots, expected, sizeof(expected)); /* the k-th send and the k-th wait */
    assert_memory_equal(fixed.asked, once, sizeof(once));   /* also for three messages */
    free(slots);
    fixed.of[1].nsteps = 1; /* rank 1 waits for one of three messages */
    assert_null(myr_schedule_slots(&fixed.of[0], 0, fixed_schedule, &context));
}

TEST(greatest_parameter)
{
    assert_int_equal(nicbarr_parameter_max(NICBARR_OPENMPI, 8), 0);
    assert_int_equal(nicbarr_parameter_max(NICBARR_PAIRWISE, 8), 0);
    assert_int_equal(nicbarr_parameter_max(NICBARR_FLAGS, 8), 128);
    assert_int_equal(nicbarr_parameter_max(NICBARR_TREE, 8), 7);
    assert_int_equal(nicbarr_parameter_max(NICBARR_TREE, 1), 1);
    assert_int_equal(nicbarr_parameter_max(NICBARR_DISSEMINATION, 2), 1);
    assert_int_equal(nicbarr_parameter_max(NICBARR_COUNTER, 8), 7);
    assert_int_equal(nicbarr_parameter_max(NICBARR_TREE, 100000), 4096);
}

/* ---- names ---- */

static void expect_round_trip(struct nicbarr_choice choice)
{
    char name[NICBARR_CHOICE_TEXT];
    struct nicbarr_choice read = {NICBARR_ALGORITHMS, 77, 0};
    memset(name, '?', sizeof(name));
    assert_ptr_equal(nicbarr_choice_name(choice, name), name);
    assert_non_null(memchr(name, '\0', sizeof(name)));
    if (!nicbarr_choice_parse(name, &read) || !nicbarr_choice_equal(choice, read)) {
        fail_msg("\"%s\" was read as another choice", name);
    }
}

TEST(round_trip)
{
    const struct nicbarr_choice no_barriers[] = {{NICBARR_ROOTED, 7, 0},
                                                 {NICBARR_ROOTED, 7, KERNEL},
                                                 {NICBARR_EXCHANGE, 0, 0},
                                                 {NICBARR_RING, 0, 0}};
    for (uint32_t parameter = 1; parameter <= 4096; ++parameter) {
        expect_round_trip((struct nicbarr_choice){NICBARR_COUNTER, parameter, 0});
        for (uint32_t nic = 0; nic <= KERNEL; ++nic) {
            expect_round_trip((struct nicbarr_choice){NICBARR_TREE, parameter, nic});
            expect_round_trip((struct nicbarr_choice){NICBARR_DISSEMINATION, parameter, nic});
        }
    }
    for (size_t i = 0; i < sizeof(no_barriers) / sizeof(no_barriers[0]); ++i) {
        struct nicbarr_choice read;
        char name[NICBARR_CHOICE_TEXT];
        assert_false(nicbarr_choice_parse(nicbarr_choice_name(no_barriers[i], name), &read));
        assert_true(nicbarr_choice_parse_data(name, &read));
        assert_true(nicbarr_choice_equal(no_barriers[i], read));
    }
    /* Names of choices that cannot be parsed fit as well. */
    char name[NICBARR_CHOICE_TEXT];
    nicbarr_choice_name((struct nicbarr_choice){NICBARR_DISSEMINATION, UINT32_MAX, KERNEL}, name);
    assert_string_equal(name, "dissemination:4294967295@kernel");
}

/* No two of these choices are equal. */
TEST(defaults)
{
    static const struct {
        const char *text;
        struct nicbarr_choice choice;
    } cases[] = {
        {"openmpi", {NICBARR_OPENMPI, 0, 0}},
        {"counter", {NICBARR_COUNTER, 1, 0}},
        {"flags", {NICBARR_FLAGS, 4, 0}},
        {"tree", {NICBARR_TREE, 4, 0}},
        {"tree:0016", {NICBARR_TREE, 16, 0}},
        {"tree@soft", {NICBARR_TREE, 4, SOFT}},
        {"tree:016@kernel", {NICBARR_TREE, 16, KERNEL}},
        {"dissemination@kernel", {NICBARR_DISSEMINATION, 1, KERNEL}},
        {"pairwise", {NICBARR_PAIRWISE, 0, 0}},
        {"pairwise@kernel", {NICBARR_PAIRWISE, 0, KERNEL}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct nicbarr_choice read = {0};
        const bool is = nicbarr_choice_parse(cases[i].text, &read);
        for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); ++j) {
            if (!is || nicbarr_choice_equal(cases[j].choice, read) != (i == j)) {
                fail_msg("\"%s\" was misread", cases[i].text);
            }
        }
    }
}

/* Random names, half of them with a character changed, missing or added, compared with a
 * grammar. */
#define PARAMETER ":0*([1-9][0-9]{0,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-6])"
TEST(random_strings)
{
    enum { PARTS = 11 };
    static const char *const parts[3][PARTS] = {
        {"openmpi", "counter", "flags", "flags", "tree", "tree", "dissemination", "pairwise",
         "rooted", "auto", ""},
        {"", "", ":", ":-4", ":0", ":016", ":96", ":128", ":4096", ":4097",
         ":18446744073709551620"},
        {"", "", "", "", "", "@soft", "@kernel", "@kernel", "@", "@verbs", "kernel"}};
    static const char changes[] = "TtEe0129:@;, -+\nxs\xff";
    static const char grammar[] =
        "^(openmpi|flags(:0*(4|8|16|32|64|128))?|counter(" PARAMETER ")?|"
        "(pairwise|(tree|dissemination)(" PARAMETER ")?)(@(soft|kernel))?)$";
    uint64_t random = crew_seed();
    uint32_t valid = 0;
    regex_t expression;
    assert_int_equal(regcomp(&expression, grammar, REG_EXTENDED | REG_NOSUB), 0);
    for (int i = 0; i < 200000; ++i) {
        char from[80], text[82];
        snprintf(from, sizeof(from), "%s%s%s", parts[0][crew_below(&random, PARTS)],
                 parts[1][crew_below(&random, PARTS)], parts[2][crew_below(&random, PARTS)]);
        const int at = (int)crew_below(&random, (uint32_t)strlen(from) + 1);
        const uint32_t change = crew_below(&random, 2 * sizeof(changes));
        const char put_text[] = {change < sizeof(changes) ? changes[change] : '\0', '\0'};
        const bool instead =
            change < sizeof(changes) && '\0' != from[at] && 0 != crew_below(&random, 2);
        snprintf(text, sizeof(text), "%.*s%s%s", at, from, put_text, from + at + instead);
        struct nicbarr_choice read;
        const bool is = nicbarr_choice_parse(text, &read);
        const bool should = 0 == regexec(&expression, text, 0, NULL, 0);
        if (is != should) {
            fail_msg("\"%s\" was %s", text, is ? "accepted" : "rejected");
        }
        if (is) {
            expect_round_trip(read);
            ++valid;
        }
    }
    assert_true(valid > 0);
    regfree(&expression);
}

int main(void)
{
    nicbarr_choice_nics(nics);
    crew_watchdog();
    return test_run(NULL);
}
