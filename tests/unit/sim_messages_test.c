/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests nicsim's simulation of messages that NICs match. A failure means that it predicts wrong
 * latencies.
 *
 * Invariants:
 *
 * - Each part of a message's path takes the time that machine.h and play_messages.h define
 *   (timelines computed by hand, to the picosecond).
 * - All nodes finish, received data equal the sent data, and messages without a receive stay in the
 *   queue.
 * - The time of a table lookup depends neither on the number of nodes nor on the number of queued
 *   messages, while the search of a list takes one check per message.
 * - A simulation run is deterministic.
 */
#include "bench/nicsim/play_messages.h"
#include "tests/unit/crew.h"
#include "tests/unit/sim_machines.h"
#include "tests/unit/test.h"

enum { GAMES = 300 };

static struct nicsim_messages_outcome play(const struct nicsim_messages_game *game)
{
    struct nicsim_messages_outcome outcome;
    assert_true(nicsim_play_messages(game, &outcome));
    assert_int_equal(outcome.finished, game->nodes);
    assert_int_equal(outcome.tally.lost, 0);
    if (NICSIM_PING_PONG == game->script) {
        assert_true(outcome.intact);
        assert_int_equal(outcome.waiting, 0);
    } else {
        assert_int_equal(outcome.waiting, (game->nodes - 1) * game->width - 2);
    }
    return outcome;
}

static struct nicsim_messages_game ping_pong(const struct nicsim_machine *machine, uint32_t bytes)
{
    return (struct nicsim_messages_game){
        .machine = machine,
        .script = NICSIM_PING_PONG,
        .nodes = 2,
        .bytes = bytes,
        .width = 8,
        .warm_up = 1,
        .rounds = 3,
        .seed = 1,
    };
}

static struct nicsim_messages_game waiting(const struct nicsim_machine *machine, uint32_t nodes,
                                           uint32_t width, bool open,
                                           enum nicsim_structure structure)
{
    return (struct nicsim_messages_game){
        .machine = machine,
        .script = NICSIM_WAITING,
        .structure = structure,
        .nodes = nodes,
        .width = width,
        .open = open,
        .warm_up = 4,
        .rounds = 3,
        .seed = 1,
    };
}

/* ---- timelines ---- */

enum {
    HOST = 11 + 37 + 2, /* time to send or receive a message: call, MPI's share, one check */
    CALL = 13 + 17 + 5, /* time until the NIC processes it: doorbell, loop, turn */
    ON_THE_WAY = 91,    /* latency of a packet's head */
    HEADER = 56,        /* time of a packet of a message on a link */
    HEAD = 24,
    HEADS = 48,           /* the header of endpoints */
    FETCH = 17 + 5,       /* loop and turn */
    NOTIFY = 5 + 23 + 32, /* turn, and DMA of an event */
};

static void expect_half_round_trip(uint32_t bytes, enum nicsim_structure structure, uint64_t ns)
{
    struct nicsim_messages_game game = ping_pong(&sim_primes, bytes);
    game.structure = structure;
    assert_int_equal(sim_ps(play(&game).round_us), 2 * 1000 * ns);
}

TEST(messages_without_data)
{
    const uint64_t ns = HOST + CALL + 5 + ON_THE_WAY + HEADER + HEAD + FETCH + NOTIFY + HOST;
    expect_half_round_trip(0, NICSIM_LISTS, ns);
    expect_half_round_trip(0, NICSIM_TABLE, ns + 61);
}

/* The NIC fetches the data, and the other NIC transfers them to its host before the
 * notification. */
TEST(short_messages)
{
    const uint64_t bytes = 100, fetch = 19 + 23 + bytes;
    expect_half_round_trip(bytes, NICSIM_LISTS,
                           HOST + CALL + 5 + fetch + ON_THE_WAY + HEADER + HEAD + bytes + FETCH +
                               fetch + NOTIFY - 5 + HOST);
}

/* If the host copies the data to its NIC, copying takes time on the host, and the NIC does not
 * fetch the data. */
TEST(copied_messages)
{
    struct nicsim_machine machine = sim_primes;
    machine.nic.copy_most = 200;
    machine.nic.copy_bytes_per_us = 500; /* two nanoseconds per byte of message and envelope */
    const struct nicsim_messages_game game = ping_pong(&machine, 100);
    const uint64_t ns = HOST + 2 * (32 + 100) + CALL + 5 + ON_THE_WAY + HEADER + HEAD + 100 +
                        FETCH + (19 + 23 + 100) + NOTIFY - 5 + HOST;
    assert_int_equal(sim_ps(play(&game).round_us), 2 * 1000 * ns);
}

/* A rendezvous consists of an offer, the receiver's request, and the chunks of the data. */
TEST(long_messages)
{
    struct nicsim_machine machine = sim_primes;
    machine.eager_most = 256;
    const struct nicsim_messages_game game = ping_pong(&machine, 250 + 50);
    const uint64_t there = 5 + ON_THE_WAY + HEADER + HEADS + FETCH;
    const uint64_t first = 19 + 23 + 256, last = 23 + 44;
    /* The transfers of the last chunk begin after those of the first one, on both buses. */
    const uint64_t ns = 53 + HOST + CALL + there + there +
                        (5 + first + ON_THE_WAY + HEADER + HEADS + 256 + FETCH + first);
    const double half_us = play(&game).round_us / 2;
    assert_true(sim_ps(half_us) > 1000 * (ns + last));
    assert_true(sim_ps(half_us) < 1000 * (ns + last + HOST + NOTIFY + 100));
}

/* The chunks of a message follow each other without pauses, also if there are more than the
 * receiver acknowledges together. */
TEST(chunks_are_pipelined)
{
    static const uint32_t chunks[] = {6, 16, 96};
    struct nicsim_machine machine = sim_primes;
    uint64_t ps[3];
    machine.eager_most = 256;
    for (uint32_t i = 0; i < 3; ++i) {
        const struct nicsim_messages_game game = ping_pong(&machine, 256 * chunks[i]);
        ps[i] = sim_ps(play(&game).round_us / 2);
    }
    assert_true((ps[2] - ps[1]) / (96 - 16) <= (ps[1] - ps[0]) / (16 - 6) * 101 / 100);
}

/* ---- receives of queued messages ----
 *
 * With fewer than 4 messages per sender, a message that returns credits would arrive in between. */

TEST(table_lookup_takes_constant_time)
{
    for (int open = 0; open < 2; ++open) {
        for (uint32_t nodes = 2; nodes <= 20; nodes += 3) {
            for (uint32_t width = 4; width <= 32; width += 7) {
                const struct nicsim_messages_game game =
                    waiting(&sim_primes, nodes, width, open, NICSIM_TABLE);
                assert_int_equal(sim_ps(play(&game).receive_us),
                                 1000 * (11 + CALL + 61 + NOTIFY + HOST));
            }
        }
    }
}

TEST(list_search_takes_linear_time)
{
    for (uint32_t nodes = 2; nodes <= 20; nodes += 3) {
        for (uint32_t width = 4; width <= 32; width += 7) {
            struct nicsim_messages_game game =
                waiting(&sim_primes, nodes, width, false, NICSIM_LISTS);
            assert_int_equal(sim_ps(play(&game).receive_us),
                             1000 * (11 + CALL + 59 * (width - 1) + NOTIFY + HOST));
            game.open = true;
            assert_int_equal(sim_ps(play(&game).receive_us),
                             1000 * (11 + CALL + 61 + NOTIFY + HOST));
        }
    }
}

/* ---- random machines ---- */

TEST(random_games)
{
    uint64_t random = 18;
    for (uint32_t g = 0; g < GAMES; ++g) {
        const struct nicsim_machine machine = sim_random_machine(&random);
        const enum nicsim_structure structure =
            crew_below(&random, 2) ? NICSIM_LISTS : NICSIM_TABLE;
        struct nicsim_messages_game game =
            crew_below(&random, 2)
                ? ping_pong(&machine, crew_below(&random, 1 << crew_below(&random, 18)))
                : waiting(&machine, 2 + crew_below(&random, 19), 3 + crew_below(&random, 30),
                          crew_below(&random, 2), structure);
        game.structure = structure;
        game.warm_up = crew_below(&random, 5);
        game.rounds = 1 + crew_below(&random, 20);
        const struct nicsim_messages_outcome one = play(&game), other = play(&game);
        assert_memory_equal(&one, &other, sizeof(one));
        assert_true(one.round_us > one.receive_us && one.receive_us > 0);
    }
}
