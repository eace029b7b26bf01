/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests nicsim's simulation of broadcasts. A failure means that it predicts wrong latencies.
 *
 * Invariants:
 *
 * - Each part of a block's path takes the time that machine.h defines (timelines computed by hand,
 *   to the picosecond).
 * - Each node receives each broadcast once, in order, and all finish.
 * - If broadcasts are answered, the root waits for each response. Otherwise it is ahead by at most
 *   the window.
 * - A simulation run is deterministic.
 */
#include "bench/nicsim/play_bcast.h"
#include "firmware/bcast.h"
#include "tests/unit/crew.h"
#include "tests/unit/sim_machines.h"
#include "tests/unit/test.h"

enum { MOST_NODES = 40, MOST_BROADCASTS = 60, GAMES = 300 };

static struct {
    uint32_t had[MOST_NODES];
    double at_us[MOST_NODES][MOST_BROADCASTS + 1];
} seen;

static void see(void *observer, uint32_t node, uint32_t broadcast, double at_us)
{
    assert_ptr_equal(observer, &seen);
    assert_true(node < MOST_NODES && broadcast <= MOST_BROADCASTS);
    assert_int_equal(broadcast, ++seen.had[node]);
    assert_true(at_us > seen.at_us[node][broadcast - 1]);
    seen.at_us[node][broadcast] = at_us;
}

static struct nicsim_bcast_outcome play(struct nicsim_bcast_game game)
{
    struct nicsim_bcast_outcome outcome;
    memset(&seen, 0, sizeof(seen));
    game.observe = see;
    game.observer = &seen;
    assert_true(nicsim_play_bcast(&game, &outcome));
    assert_int_equal(outcome.finished, game.nodes);
    for (uint32_t n = 0; n < game.nodes; ++n) {
        assert_int_equal(seen.had[n], game.warm_up + game.broadcasts);
    }
    return outcome;
}

/* ---- timelines ---- */

static struct nicsim_bcast_game one(const struct nicsim_machine *machine, uint32_t nodes,
                                    bool on_nics)
{
    return (struct nicsim_bcast_game){
        .machine = machine,
        .nodes = nodes,
        .bytes = 8,
        .on_nics = on_nics,
        .fan_out = 1,
        .level = NICSIM_GM,
        .broadcasts = 1,
        .seed = 1,
    };
}

/* Check that the nodes return from the only broadcast at these times (ns). */
static struct nicsim_bcast_outcome expect_ends(struct nicsim_bcast_game game,
                                               const uint64_t *ends_ns)
{
    const struct nicsim_bcast_outcome outcome = play(game);
    for (uint32_t n = 0; n < game.nodes; ++n) {
        assert_int_equal(sim_ps(seen.at_us[n][1]), 1000 * ends_ns[n]);
    }
    assert_int_equal(sim_ps(outcome.root_us), 1000 * ends_ns[0]);
    return outcome;
}

/* A machine whose host copies data to its NIC at 500 bytes per microsecond. */
static struct nicsim_machine copying(void)
{
    struct nicsim_machine machine = sim_primes;
    machine.nic.copy_most = 16;
    machine.nic.copy_bytes_per_us = 500;
    return machine;
}

/*
 * A block of 16 bytes (8 of data, 8 of header) in a packet of 48:
 *
 *     host call    11   11      SEND: turn    5  109      RECV: turn    5  270
 *     doorbell     13   24      head there   91  200      engine        7  277
 *     loop         17   41      link         48  248      RDMA: turn    5  282
 *     turn          5   46      loop         17  265      DMA (word and block)  43  325
 *     DMA start    19   65                                host call    11  336
 *     DMA          39  104
 *
 * The root: RDMA turn 114, DMA of the word 27, 141, host call 152.
 *
 * If the host copies the 16 bytes in 32: call 43; 56; 73; 78; SEND 83; head 174; 222; 239; 251;
 * 256; 299; 310. The root: 88, 115, 126.
 */
TEST(two_nics)
{
    static const uint64_t fetched_ns[] = {152, 336}, copied_ns[] = {126, 310};
    const struct nicsim_machine machine = copying();
    const struct nicsim_bcast_outcome o = expect_ends(one(&sim_primes, 2, true), fetched_ns);
    assert_int_equal(o.tally.sent, 1);
    assert_int_equal(o.tally.bytes, MCP_COLLECTIVE_BYTES + 16);
    assert_int_equal(o.tally.dmas, 3);
    assert_int_equal(o.counters.broadcasts, 2);
    assert_int_equal(expect_ends(one(&machine, 2, true), copied_ns).tally.dmas, 2);
}

/* Each wait for the loop takes 2 cycles more, whatever the number of nodes. A leaf has the block
 * after two such waits. */
TEST(cost_of_checking_a_node)
{
    static const uint64_t ends_ns[] = {154, 340};
    struct nicsim_machine machine = sim_primes;
    machine.nic.cycles_look = 2;
    (void)expect_ends(one(&machine, 2, true), ends_ns);
    const struct nicsim_bcast_outcome few = play(one(&machine, 3, true));
    const struct nicsim_bcast_outcome many = play(one(&machine, 4, true));
    assert_int_equal(sim_ps(few.root_us), sim_ps(many.root_us));
}

/*
 * The root sends to 1 at 109, as above, and to 2 at 114, when the link is busy until 157. RDMA
 * 119; DMA 146; call 157.
 *
 * Node 1: has it at 277; sends to 3 at 282; RDMA 287; DMA 330; call 341.
 *
 * Node 2: 157 + 91 + 48 = 296; loop 313; RECV and engine 325; RDMA 330; DMA 373; call 384.
 *
 * Node 3: 282 + 91 + 48 = 421; 438; 450; 455; 498; 509.
 */
TEST(four_nics)
{
    static const uint64_t ends_ns[] = {157, 341, 384, 509};
    assert_int_equal(expect_ends(one(&sim_primes, 4, true), ends_ns).tally.sent, 3);
}

/*
 * The timeline:
 *
 *     host call    11   11      DMA start    19   70      loop         17  273
 *     doorbell     13   24      DMA          31  101      RECV: turn    5  278
 *     loop         17   41      head there   91  192      DMA start    19  297
 *     SDMA: turn    5   46      link         64  256      DMA          31  328
 *     SEND: turn    5   51                                DMA (event)  55  383
 *                                                         host call    11  394
 *
 * If the host copies the 8 bytes in 16: call 27; 40; 57; 62; 67; head 158; 222; 239; 244; 263; DMA
 * 294 and 349; call 360.
 */
TEST(two_hosts)
{
    static const uint64_t fetched_ns[] = {11, 394}, copied_ns[] = {27, 360};
    const struct nicsim_machine machine = copying();
    (void)expect_ends(one(&sim_primes, 2, false), fetched_ns);
    (void)expect_ends(one(&machine, 2, false), copied_ns);
}

/* Node 1 has the block at 336 and responds: call 347; doorbell 360; loop 377; SDMA 382; SEND
 * 387; head 478; link 534; loop 551; RECV 556; RDMA 561; DMA 616; call 627. */
TEST(the_root_waits_for_the_answer)
{
    struct nicsim_bcast_game game = one(&sim_primes, 2, true);
    game.answered = true;
    assert_int_equal(sim_ps(play(game).round_us), 627000);
}

/* There are more responses than the last node has tokens. */
TEST(many_answers)
{
    struct nicsim_bcast_game game = one(&sim_primes, 2, true);
    struct nicsim_bcast_outcome outcome;
    game.answered = true;
    game.broadcasts = 1000;
    assert_true(nicsim_play_bcast(&game, &outcome));
    assert_int_equal(outcome.finished, 2);
    assert_int_equal(outcome.counters.messages_received, 1000);
}

/* ---- random simulation runs ---- */

/* Check that the root has received the response to a broadcast, if there is one, before it
 * begins the next one. */
static void expect_order(const struct nicsim_bcast_game *game)
{
    const struct sim_parameters *p = &game->machine->nic;
    const double least_us = p->switch_us + 2 * p->cable_us;
    const uint32_t last = game->warm_up + game->broadcasts;
    for (uint32_t b = 1; b < last && game->answered; ++b) {
        assert_true(seen.at_us[0][b + 1] > seen.at_us[game->nodes - 1][b] + least_us);
    }
}

static void expect_window(const struct nicsim_bcast_game *game)
{
    const uint32_t last = game->warm_up + game->broadcasts;
    const uint32_t block = 8 + (game->bytes + MCP_BLOCK_UNIT - 1) / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT;
    const uint32_t window = mcp_bcast_window(mcp_bcast_slot_bytes(block));
    for (uint32_t b = window + 1; b <= last; ++b) {
        for (uint32_t n = 1; n < game->nodes; ++n) {
            assert_true(seen.at_us[0][b] > seen.at_us[n][b - window]);
        }
    }
}

/* All hosts except the root's are slower by a factor of 100. */
TEST(the_root_waits_for_the_window)
{
    struct nicsim_machine machine = sim_primes;
    machine.nic.slow_from = 1;
    machine.nic.slow_factor = 100;
    struct nicsim_bcast_game game = one(&machine, 4, true);
    game.bytes = NICSIM_BLOCK_MOST;
    game.broadcasts = MOST_BROADCASTS;
    const struct nicsim_bcast_outcome o = play(game);
    expect_window(&game);
    assert_true(o.root_us > 50 * machine.nic.host_call_us);
}

static struct nicsim_bcast_game random_game(uint64_t *random, const struct nicsim_machine *machine)
{
    const uint32_t most = crew_below(random, 2) ? 64 : NICSIM_BLOCK_MOST;
    return (struct nicsim_bcast_game){
        .machine = machine,
        .nodes = 2 + crew_below(random, MOST_NODES - 1),
        .bytes = 1 + crew_below(random, most),
        .on_nics = crew_below(random, 2),
        .fan_out = 1 + crew_below(random, 5),
        .level = crew_below(random, 2) ? NICSIM_MPI : NICSIM_GM,
        .answered = crew_below(random, 2),
        .answer_bytes = crew_below(random, 100),
        .warm_up = crew_below(random, 4),
        .broadcasts = 1 + crew_below(random, MOST_BROADCASTS - 3),
        .seed = crew_random(random),
    };
}

TEST(random_games)
{
    uint64_t random = crew_seed();
    for (uint32_t g = 0; g < GAMES; ++g) {
        const struct nicsim_machine machine = sim_random_machine(&random);
        const struct nicsim_bcast_game game = random_game(&random, &machine);
        const struct nicsim_bcast_outcome o = play(game);
        const uint64_t all = game.warm_up + game.broadcasts;
        assert_int_equal(o.tally.sent, o.tally.received);
        assert_int_equal(o.counters.broadcasts, game.on_nics ? game.nodes * all : 0);
        assert_int_equal(o.counters.messages_received,
                         (game.on_nics ? 0 : (game.nodes - 1) * all) + (game.answered ? all : 0));
        assert_int_equal(o.counters.dropped_implausible, 0);
        assert_true(o.root_us > 0 && o.root_us <= o.round_us + 1e-6);
        expect_order(&game);
        if (game.on_nics) {
            expect_window(&game);
        }
        const struct nicsim_bcast_outcome again = play(game);
        assert_int_equal(sim_ps(o.round_us), sim_ps(again.round_us));
        assert_int_equal(sim_ps(o.root_us), sim_ps(again.root_us));
        assert_memory_equal(&o.tally, &again.tally, sizeof(o.tally));
    }
}
