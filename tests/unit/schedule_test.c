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
 * - Each name that is written can be read again, and no other.
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

/* A message in flight: the ranks on which its sender depended, and the length of the longest chain
 * that leads to it. */
struct message {
    uint32_t hops;
    uint64_t reached[];
};

struct player {
    struct myr_schedule schedule;
    const uint32_t *peer; /* the peer of the first message of the step */
    uint32_t step;
    bool sent; /* the messages of the step were sent */
    uint32_t hops;
    uint64_t *reached; /* a set of ranks */
};

struct game {
    struct nicbarr_choice choice;
    uint32_t size, words; /* 64-bit words of a set of ranks */
    struct player *players;
    uint32_t *message_of; /* [sender * size + receiver]: number of the message, from 1; 0: none */
    uint32_t *received; /* [sender * size + receiver]: number of messages for which the receiver has
                           waited */
    uint8_t *messages;
    uint32_t nmessages, room;
};

static size_t message_bytes(const struct game *game)
{
    return sizeof(struct message) + game->words * sizeof(uint64_t);
}

static struct message *message(const struct game *game, uint32_t number)
{
    return (struct message *)(game->messages + (number - 1) * message_bytes(game));
}

#define GAME_CHECK(game, condition)                                                                \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            game_fail(game, __LINE__, #condition);                                                 \
        }                                                                                          \
    } while (0)

static void game_fail(const struct game *game, int line, const char *condition)
{
    char name[NICBARR_CHOICE_TEXT];
    fail_msg("%s, P %u: line %d: check failed: %s", nicbarr_choice_name(game->choice, name),
             game->size, line, condition);
}

static void send_one(struct game *game, uint32_t rank, uint32_t peer)
{
    struct player *player = &game->players[rank];
    GAME_CHECK(game, peer < game->size);
    GAME_CHECK(game, peer != rank);
    uint32_t *number = &game->message_of[(size_t)rank * game->size + peer];
    GAME_CHECK(game, 0 == *number); /* only one message to each peer */
    if (game->nmessages == game->room) {
        game->room = 2 * game->room + 64;
        game->messages = realloc(game->messages, game->room * message_bytes(game));
        assert_non_null(game->messages);
    }
    *number = ++game->nmessages;
    struct message *sent = message(game, *number);
    sent->hops = player->hops + 1;
    memcpy(sent->reached, player->reached, game->words * sizeof(uint64_t));
}

static void receive_one(struct game *game, uint32_t rank, uint32_t peer)
{
    struct player *player = &game->players[rank];
    GAME_CHECK(game, peer < game->size);
    const size_t pair = (size_t)peer * game->size + rank;
    GAME_CHECK(game, 1 == ++game->received[pair]); /* each message is received once */
    const struct message *reached = message(game, game->message_of[pair]);
    player->hops = reached->hops > player->hops ? reached->hops : player->hops;
    for (uint32_t w = 0; w < game->words; ++w) {
        player->reached[w] |= reached->reached[w];
    }
}

/* Advance as far as possible. Returns true if there was any progress. */
static bool advance(struct game *game, uint32_t rank)
{
    struct player *player = &game->players[rank];
    bool moved = false;
    while (player->step < player->schedule.nsteps) {
        const struct mcp_step *step = &player->schedule.steps[player->step];
        for (uint32_t i = 0; !player->sent && i < step->sends; ++i) {
            send_one(game, rank, player->peer[i]);
            moved = true;
        }
        player->sent = true;
        for (uint32_t i = 0; i < step->waits; ++i) {
            const uint32_t peer = player->peer[step->sends + i];
            GAME_CHECK(game, peer < game->size);
            if (0 == game->message_of[(size_t)peer * game->size + rank]) {
                return moved;
            }
        }
        for (uint32_t i = 0; i < step->waits; ++i) {
            receive_one(game, rank, player->peer[step->sends + i]);
        }
        player->peer += step->sends + step->waits;
        player->sent = false;
        ++player->step;
        moved = true;
    }
    return moved;
}

static void game_begin(struct game *game, struct nicbarr_choice choice, uint32_t size)
{
    *game = (struct game){.choice = choice, .size = size, .words = (size + 63) / 64};
    game->players = calloc(size, sizeof(*game->players));
    game->message_of = calloc((size_t)size * size, sizeof(*game->message_of));
    game->received = calloc((size_t)size * size, sizeof(*game->received));
    for (uint32_t r = 0; r < size; ++r) {
        struct player *player = &game->players[r];
        assert_true(nicbarr_schedule_create(choice, size, r, &player->schedule));
        player->peer = player->schedule.peers;
        player->reached = calloc(game->words, sizeof(uint64_t));
        player->reached[r / 64] |= UINT64_C(1) << (r % 64);
        uint64_t peers = 0;
        for (uint32_t s = 0; s < player->schedule.nsteps; ++s) {
            const struct mcp_step *step = &player->schedule.steps[s];
            GAME_CHECK(game, 0 != step->sends + step->waits);
            peers += (uint64_t)step->sends + step->waits;
        }
        GAME_CHECK(game, peers == player->schedule.npeers);
    }
}

static void game_end(struct game *game)
{
    for (uint32_t r = 0; r < game->size; ++r) {
        struct player *player = &game->players[r];
        nicbarr_schedule_destroy(&player->schedule);
        assert_null(player->schedule.steps);
        free(player->reached);
    }
    free(game->players);
    free(game->message_of);
    free(game->received);
    free(game->messages);
}

/* ---- limits of the algorithms ---- */

/* The known costs of `choice` with P processes. The parameter is at most P - 1. */
struct allowance {
    uint32_t hops;     /* the longest chain of messages; UINT32_MAX: not known */
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
    const uint64_t all = (uint64_t)size * (size - 1);
    uint32_t rounds = 0, core = 1;
    uint64_t messages = 0;
    switch (choice.algorithm) {
    case NICBARR_FLAGS:
        return (struct allowance){size > 1, all};
    case NICBARR_COUNTER:
        return (struct allowance){size > 1 ? 2 : 0, 2 * ((uint64_t)size - 1)};
    case NICBARR_TREE:
        return (struct allowance){2 * height(choice.parameter, size), 2 * ((uint64_t)size - 1)};
    case NICBARR_ROOTED:
        return (struct allowance){height(choice.parameter, size), size - 1};
    case NICBARR_DISSEMINATION: /* the smallest R with (n + 1)^R >= P */
        for (uint64_t reach = 1; reach < size; reach *= (uint64_t)choice.parameter + 1) {
            const uint64_t worth = (size - 1) / reach; /* peers at a new multiple of `reach` */
            messages += size * (worth < choice.parameter ? worth : choice.parameter);
            ++rounds;
        }
        return (struct allowance){rounds, messages};
    case NICBARR_PAIRWISE:
        while (2 * core <= size) {
            core *= 2;
            ++rounds;
        }
        messages = (uint64_t)core * rounds + 2 * ((uint64_t)size - core);
        return (struct allowance){rounds + (core < size ? 2 : 0), messages};
    default:
        return (struct allowance){UINT32_MAX, 0};
    }
}

/* Returns the number of steps of `rank`: one for all messages that it can send, or wait for, at
 * one time. */
static uint32_t steps_allowed(struct nicbarr_choice choice, uint32_t size, uint32_t rank,
                              uint32_t hops)
{
    uint32_t degree = choice.parameter, core = 1;
    switch (choice.algorithm) {
    case NICBARR_COUNTER:
        degree = size;
        /* fall through */
    case NICBARR_TREE: { /* gather, to and from the parent, broadcast */
        const bool parent = (uint64_t)degree * rank + 1 < size;
        return (parent ? 2 : 0) + (0 != rank);
    }
    case NICBARR_ROOTED: /* gather, to the parent */
        return ((uint64_t)degree * rank + 1 < size) + (0 != rank);
    case NICBARR_PAIRWISE:
        while (2 * core <= size) {
            core *= 2;
        }
        if (rank >= core) {
            return 1;
        }
        return core == size || rank + core < size ? hops : hops - 2;
    default:
        return hops;
    }
}

static uint32_t waits_of(const struct myr_schedule *schedule)
{
    uint32_t waits = 0;
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        waits += schedule->steps[s].waits;
    }
    return waits;
}

static void play(struct nicbarr_choice choice, uint32_t size)
{
    struct game game;
    game_begin(&game, choice, size);
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < size; ++r) {
            moved = advance(&game, r) || moved;
        }
    }

    const uint32_t greatest = nicbarr_parameter_max(choice.algorithm, size);
    choice.parameter = choice.parameter < greatest ? choice.parameter : greatest;
    const struct allowance allowed = allowance(choice, size);
    const bool known = UINT32_MAX != allowed.hops;
    uint32_t hops = 0;
    for (uint32_t r = 0; r < size; ++r) {
        const struct player *player = &game.players[r];
        GAME_CHECK(&game, player->step == player->schedule.nsteps); /* else it waits for ever */
        const bool all = 0 == r || nicbarr_algorithm_barrier(choice.algorithm);
        for (uint32_t q = 0; all && q < size; ++q) {
            GAME_CHECK(&game, 0 != (player->reached[q / 64] >> (q % 64) & 1));
        }
        GAME_CHECK(&game, !known || player->schedule.nsteps ==
                                        steps_allowed(choice, size, r, allowed.hops));
        GAME_CHECK(&game, !nicbarr_algorithm_messages(choice.algorithm) ||
                              waits_of(&player->schedule) <= nicbarr_most_waits(choice, size));
        hops = player->hops > hops ? player->hops : hops;
    }
    for (size_t pair = 0; pair < (size_t)size * size; ++pair) { /* all messages were received */
        GAME_CHECK(&game, (0 != game.message_of[pair]) == game.received[pair]);
    }
    GAME_CHECK(&game, hops <= allowed.hops);
    /* With few partners outside of the core, no chain leads from one of them to another. */
    GAME_CHECK(&game, !known || hops == allowed.hops || NICBARR_PAIRWISE == choice.algorithm);
    GAME_CHECK(&game, !known || game.nmessages == allowed.messages);
    game_end(&game);
}

/* ---- the tests of schedules ---- */

static void play_with(enum nicbarr_algorithm algorithm, const uint32_t *parameters, size_t count)
{
    for (uint32_t size = 1; size <= EXHAUSTIVE; ++size) {
        for (size_t i = 0; i < count; ++i) {
            play((struct nicbarr_choice){algorithm, parameters[i], 0}, size);
        }
        if (count > 1) { /* around P, beyond which nothing changes */
            for (uint32_t parameter = size > 2 ? size - 2 : 1; parameter <= size + 1; ++parameter) {
                play((struct nicbarr_choice){algorithm, parameter, 0}, size);
            }
        }
    }
}

TEST(every_size)
{
    static const uint32_t any[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 64, UINT32_MAX}, four = 4;
    for (int a = NICBARR_OPENMPI + 1; a < NICBARR_SCHEDULES; ++a) {
        const enum nicbarr_algorithm algorithm = (enum nicbarr_algorithm)a;
        const bool matters = nicbarr_algorithm_messages(algorithm) &&
                             0 != nicbarr_parameter_max(algorithm, EXHAUSTIVE);
        play_with(algorithm, matters ? any : &four, matters ? sizeof(any) / sizeof(any[0]) : 1);
    }
}

/* Open MPI's own barrier has an empty schedule, which is not an error. */
TEST(open_mpis_own)
{
    struct myr_schedule schedule;
    assert_true(
        nicbarr_schedule_create((struct nicbarr_choice){NICBARR_OPENMPI, 0, 0}, 4, 1, &schedule));
    assert_int_equal(schedule.nsteps, 0);
    assert_int_equal(schedule.npeers, 0);
    nicbarr_schedule_destroy(&schedule);
}

/* The sends of a step precede its waits. */
TEST(within_a_step)
{
    struct myr_schedule schedule;
    assert_true(nicbarr_schedule_create((struct nicbarr_choice){NICBARR_DISSEMINATION, 2, 0}, 5, 1,
                                        &schedule));
    /* To 1 + 1 and 1 + 2, from 1 - 1 and 1 - 2; then to 1 + 3, from 1 - 3 (modulo 5). */
    static const struct mcp_step steps[] = {{2, 2}, {1, 1}};
    static const uint32_t peers[] = {2, 3, 0, 4, 4, 3};
    assert_int_equal(schedule.nsteps, 2);
    assert_memory_equal(schedule.steps, steps, sizeof(steps));
    assert_int_equal(schedule.npeers, 6);
    assert_memory_equal(schedule.peers, peers, sizeof(peers));
    nicbarr_schedule_destroy(&schedule);
}

/* ---- slots of messages ---- */

/* Fixed schedules of three ranks. */
struct fixed {
    const struct myr_schedule *schedules;
    uint32_t asked[3]; /* calls by rank */
};

static bool fixed_schedule(const void *context, uint32_t rank, struct myr_schedule *schedule)
{
    struct fixed *fixed = *(struct fixed *const *)context;
    const struct myr_schedule *wanted = &fixed->schedules[rank];
    const size_t steps_bytes = wanted->nsteps * sizeof(*wanted->steps);
    const size_t peers_bytes = wanted->npeers * sizeof(*wanted->peers);
    ++fixed->asked[rank];
    *schedule = *wanted;
    schedule->steps = malloc(steps_bytes + peers_bytes);
    assert_non_null(schedule->steps);
    schedule->peers = (uint32_t *)(schedule->steps + wanted->nsteps);
    memcpy(schedule->steps, wanted->steps, steps_bytes);
    memcpy(schedule->peers, wanted->peers, peers_bytes);
    return true;
}

/* Rank 0 sends to 2, 1 and 1, and to 1 again after it has received from 2. */
static struct mcp_step steps_0[] = {{3, 1}, {1, 0}}, steps_1[] = {{0, 2}, {0, 2}},
                       steps_2[] = {{2, 1}};
static uint32_t peers_0[] = {2, 1, 1, 2, 1}, peers_1[] = {0, 2, 0, 0}, peers_2[] = {0, 1, 0};

TEST(several_to_one_peer)
{
    const struct myr_schedule schedules[] = {
        {2, steps_0, 5, peers_0}, {2, steps_1, 4, peers_1}, {1, steps_2, 3, peers_2}};
    struct fixed fixed = {.schedules = schedules};
    struct fixed *context = &fixed;
    static const uint32_t expected[] = {0, 0, 2, 0, 3};
    uint32_t *slots = myr_schedule_slots(&schedules[0], 0, fixed_schedule, &context);
    assert_non_null(slots);
    assert_memory_equal(slots, expected, sizeof(expected)); /* the k-th send and the k-th wait */
    assert_int_equal(fixed.asked[0], 0);
    assert_int_equal(fixed.asked[1], 1); /* once for three messages */
    assert_int_equal(fixed.asked[2], 1);
    free(slots);
}

TEST(missing_wait)
{
    struct myr_schedule schedules[] = {
        {2, steps_0, 5, peers_0}, {1, steps_1, 2, peers_1}, {1, steps_2, 3, peers_2}};
    struct fixed fixed = {.schedules = schedules};
    struct fixed *context = &fixed;
    /* Rank 1 waits for one of three messages. */
    assert_null(myr_schedule_slots(&schedules[0], 0, fixed_schedule, &context));
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
    nicbarr_choice_name((struct nicbarr_choice){NICBARR_DISSEMINATION, UINT32_MAX, 0}, name);
    assert_string_equal(name, "dissemination:4294967295");
}

/* Choices are equal if all their fields are. */
TEST(equality)
{
    static const struct nicbarr_choice choices[] = {{NICBARR_TREE, 4, 0},
                                                    {NICBARR_TREE, 2, 0},
                                                    {NICBARR_FLAGS, 4, 0},
                                                    {NICBARR_TREE, 4, KERNEL}};
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            assert_int_equal(nicbarr_choice_equal(choices[i], choices[j]), i == j);
        }
    }
}

static void expect_read(const char *text, enum nicbarr_algorithm algorithm, uint32_t parameter,
                        uint32_t nic)
{
    struct nicbarr_choice read = {NICBARR_ALGORITHMS, 77, 0};
    if (!nicbarr_choice_parse(text, &read) || algorithm != read.algorithm ||
        parameter != read.parameter || nic != read.nic) {
        fail_msg("\"%s\" was read as (%d, %u, %d)", text, (int)read.algorithm, read.parameter,
                 (int)read.nic);
    }
}

TEST(defaults)
{
    expect_read("openmpi", NICBARR_OPENMPI, 0, 0);
    expect_read("counter", NICBARR_COUNTER, 1, 0);
    expect_read("flags", NICBARR_FLAGS, 4, 0);
    expect_read("tree", NICBARR_TREE, 4, 0);
    expect_read("dissemination", NICBARR_DISSEMINATION, 1, 0);
    expect_read("pairwise", NICBARR_PAIRWISE, 0, 0);
    expect_read("tree:0016", NICBARR_TREE, 16, 0);
    expect_read("tree@soft", NICBARR_TREE, 4, SOFT);
    expect_read("tree@kernel", NICBARR_TREE, 4, KERNEL);
    expect_read("tree:016@kernel", NICBARR_TREE, 16, KERNEL);
    expect_read("dissemination@kernel", NICBARR_DISSEMINATION, 1, KERNEL);
    expect_read("pairwise@kernel", NICBARR_PAIRWISE, 0, KERNEL);
}

/* Random strings, made of pieces of valid names, or of a valid name with a character changed,
 * missing or added, compared with a grammar. */
#define PARAMETER ":0*([1-9][0-9]{0,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-6])"
TEST(random_strings)
{
    static const char *const pieces[] = {"tree",
                                         "flags",
                                         "counter",
                                         "dissemination",
                                         "pairwise",
                                         "openmpi",
                                         ":",
                                         ":",
                                         ":",
                                         "0",
                                         "1",
                                         "4",
                                         "16",
                                         "64",
                                         "96",
                                         "128",
                                         "256",
                                         "4096",
                                         "4097",
                                         "9",
                                         "999999",
                                         "4294967297",
                                         "18446744073709551617",
                                         "-",
                                         "+",
                                         " ",
                                         "x",
                                         "\xc3",
                                         "e",
                                         "%s",
                                         ".0",
                                         "@kernel",
                                         "@soft",
                                         "@",
                                         "kernel",
                                         "auto"};
    static const char *const valid_names[] = {
        "tree:16",  "tree@kernel",     "flags:64", "counter:2",       "dissemination:4096@soft",
        "pairwise", "pairwise@kernel", "openmpi",  "tree:016@kernel", "flags"};
    static const char changes[] = "TtEe0129:@;, -+\nxs\xff";
    static const char grammar[] =
        "^(openmpi|flags(:0*(4|8|16|32|64|128))?|counter(" PARAMETER ")?|"
        "(pairwise|(tree|dissemination)(" PARAMETER ")?)(@(soft|kernel))?)$";
    uint64_t random = crew_seed();
    uint32_t valid = 0;
    regex_t expression;
    assert_int_equal(regcomp(&expression, grammar, REG_EXTENDED | REG_NOSUB), 0);
    for (int i = 0; i < 200000; ++i) {
        char text[160] = "";
        if (0 == i % 2) {
            for (uint32_t n = crew_below(&random, 6); n > 0; --n) {
                strcat(text, pieces[crew_below(&random, sizeof(pieces) / sizeof(pieces[0]))]);
            }
        } else {
            const char *from =
                valid_names[crew_below(&random, sizeof(valid_names) / sizeof(valid_names[0]))];
            const int at = (int)crew_below(&random, (uint32_t)strlen(from) + 1);
            const char put = changes[crew_below(&random, sizeof(changes))]; /* 0: none */
            const char put_text[] = {put, '\0'};
            const bool instead = '\0' != from[at] && 0 != crew_below(&random, 2);
            snprintf(text, sizeof(text), "%.*s%s%s", at, from, put_text, from + at + instead);
        }
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

/* ---- the ping-pong ---- */

static void expect_steps(uint32_t peers, uint32_t rank, const struct mcp_step *steps,
                         uint32_t nsteps, uint32_t npeers)
{
    struct myr_schedule schedule;
    assert_true(nicbarr_schedule_ping_pong(peers, rank, &schedule));
    assert_int_equal(schedule.nsteps, nsteps);
    assert_int_equal(schedule.npeers, npeers);
    for (uint32_t s = 0; s < nsteps; ++s) {
        assert_int_equal(schedule.steps[s].sends, steps[s].sends);
        assert_int_equal(schedule.steps[s].waits, steps[s].waits);
    }
    for (uint32_t p = 0; p < npeers; ++p) { /* rank 0: destinations, then sources */
        assert_int_equal(schedule.peers[p], 0 == rank ? 1 + p % peers : 0);
    }
    nicbarr_schedule_destroy(&schedule);
}

TEST(ping_pong)
{
    static const struct mcp_step answer[] = {{0, 1}, {1, 0}};
    for (uint32_t peers = 1; peers < EXHAUSTIVE; ++peers) {
        expect_steps(peers, 0, &(struct mcp_step){peers, peers}, 1, 2 * peers);
        expect_steps(peers, 1, answer, 2, 2);
        expect_steps(peers, peers, answer, 2, 2);
        expect_steps(peers, peers + 1, NULL, 0, 0); /* not involved */
    }
}

int main(void)
{
    nicbarr_choice_nics(nics);
    crew_watchdog();
    return test_run(NULL);
}
