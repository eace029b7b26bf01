/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests nicsim's simulated cluster, and the barriers that nicsim runs on it. A failure means that
 * it predicts wrong latencies of barriers.
 *
 * Invariants:
 *
 * - Events happen in the order of their times.
 * - Each part of a message's path takes the time that machine.h defines, and resources serve one
 *   request at a time (timelines computed by hand, to the picosecond).
 * - Each packet arrives or is lost.
 * - No node leaves a barrier before all have entered it, and all finish.
 * - Parameters and seed determine a simulation run.
 */
#include <math.h>

#include "bench/nicsim/play.h"
#include "tests/unit/crew.h"
#include "tests/unit/sim_machines.h"
#include "tests/unit/test.h"

enum {
    MOST_NODES = 40,
    MOST_BARRIERS = 24, /* maximum number in a simulation run, including its warm-up */
    GAMES = 300,
    EVENTS = 20000,
};

static const struct nicbarr_choice pairwise = {.algorithm = NICBARR_PAIRWISE},
                                   binary = {.algorithm = NICBARR_TREE, .parameter = 2};

/* ---- events ---- */

struct entry {
    uint64_t at_ps;
    uint32_t number; /* in the order of insertion */
};

static int earlier(const void *first, const void *second)
{
    const struct entry *a = first, *b = second;
    if (a->at_ps != b->at_ps) {
        return a->at_ps < b->at_ps ? -1 : 1;
    }
    return a->number < b->number ? -1 : 1;
}

/* Insert and remove events in random order. The simulation never inserts events of the past;
 * therefore all removed events together are the sorted list of the inserted ones. */
TEST(random_events_as_sorted)
{
    static struct entry all[EVENTS], out[EVENTS];
    struct sim_events events = {0};
    struct sim_event event = {0};
    uint64_t random = crew_seed();
    uint32_t taken = 0;
    assert_false(sim_events_take(&events, &event));
    for (uint32_t i = 0; i < EVENTS; ++i) {
        /* Few distinct times, so that many are equal. */
        all[i] =
            (struct entry){i + 1 < EVENTS ? event.at_ps + crew_below(&random, 40) : UINT64_MAX, i};
        assert_true(sim_events_put(&events, all[i].at_ps, i, i + 1, &out[i]));
        while (i + 1 < EVENTS && 0 == crew_below(&random, 3) && sim_events_take(&events, &event)) {
            out[taken++] = (struct entry){event.at_ps, event.kind};
        }
    }
    while (sim_events_take(&events, &event)) {
        assert_int_equal(event.node, event.kind + 1);
        assert_ptr_equal(event.what, &out[event.kind]);
        out[taken++] = (struct entry){event.at_ps, event.kind};
    }
    assert_int_equal(taken, EVENTS);
    qsort(all, EVENTS, sizeof(all[0]), earlier);
    for (uint32_t i = 0; i < EVENTS; ++i) {
        assert_int_equal(out[i].at_ps, all[i].at_ps);
        assert_int_equal(out[i].number, all[i].number);
    }
    sim_events_free(&events);
}

/* ---- observed simulation runs ---- */

static struct {
    uint32_t nodes, entered[MOST_NODES], left[MOST_NODES]; /* barriers of each node */
    double enters_us[MOST_NODES][MOST_BARRIERS + 1], leaves_us[MOST_NODES][MOST_BARRIERS + 1];
} seen;

static void see(void *observer, uint32_t node, uint32_t barrier, enum nicsim_moment moment,
                double at_us)
{
    assert_ptr_equal(observer, &seen);
    assert_true(node < MOST_NODES && barrier >= 1 && barrier <= MOST_BARRIERS);
    if (NICSIM_ENTERS == moment) {
        assert_int_equal(barrier, ++seen.entered[node]);
        assert_int_equal(barrier, seen.left[node] + 1);
        assert_true(at_us >= seen.leaves_us[node][barrier - 1]);
        seen.enters_us[node][barrier] = at_us;
    } else {
        assert_int_equal(barrier, ++seen.left[node]);
        assert_int_equal(barrier, seen.entered[node]);
        assert_true(at_us > seen.enters_us[node][barrier]);
        seen.leaves_us[node][barrier] = at_us;
    }
}

static struct nicsim_outcome play(struct nicsim_game game)
{
    struct nicsim_outcome outcome;
    memset(&seen, 0, sizeof(seen));
    game.observe = see;
    game.observer = &seen;
    assert_true(nicsim_play(&game, &outcome));
    return outcome;
}

/* ---- timelines ---- */

static struct nicsim_game one_barrier(const struct nicsim_machine *machine,
                                      struct nicbarr_choice choice, uint32_t nodes, bool on_nics,
                                      enum nicsim_level level)
{
    return (struct nicsim_game){
        .machine = machine,
        .choice = choice,
        .nodes = nodes,
        .on_nics = on_nics,
        .level = level,
        .barriers = 1,
        .seed = 1,
    };
}

/* Check that the nodes leave the only barrier at these times (ns). */
static struct nicsim_outcome expect_ends(struct nicsim_game game, const uint64_t *ends_ns)
{
    const struct nicsim_outcome outcome = play(game);
    double sum_us = 0;
    assert_int_equal(outcome.finished, game.nodes);
    for (uint32_t n = 0; n < game.nodes; ++n) {
        assert_int_equal(sim_ps(seen.enters_us[n][1]), 0);
        assert_int_equal(sim_ps(seen.leaves_us[n][1]), 1000 * ends_ns[n]);
        sum_us += (double)ends_ns[n] / 1000;
    }
    assert_int_equal(sim_ps(outcome.barrier_us), sim_ps(sum_us / game.nodes));
    return outcome;
}

/* Check that all nodes leave it at the same time. */
static struct nicsim_outcome expect_end(struct nicsim_game game, uint64_t end_ns)
{
    uint64_t ends_ns[MOST_NODES];
    for (uint32_t n = 0; n < MOST_NODES; ++n) {
        ends_ns[n] = end_ns;
    }
    return expect_ends(game, ends_ns);
}

/*
 * Both nodes do the same at the same time (ns):
 *
 *     host call    11   11      head there   91  145      RDMA: turn    5  211
 *     doorbell     13   24      link         32  177      DMA (word)   27  238
 *     loop         17   41      loop         17  194      host call    11  249
 *     SDMA: turn    5   46      RECV: turn    5  199
 *     start         3   49      engine        7  206
 *     SEND: turn    5   54
 */
TEST(two_nics)
{
    const struct nicsim_outcome o =
        expect_end(one_barrier(&sim_primes, pairwise, 2, true, NICSIM_GM), 249);
    assert_int_equal(o.tally.sent, 2);
    assert_int_equal(o.tally.received, 2);
    assert_int_equal(o.tally.bytes, 2 * MCP_COLLECTIVE_BYTES);
    assert_int_equal(o.tally.starts, 2);
    assert_int_equal(o.tally.releases, 2);
    assert_int_equal(o.tally.dmas, 2);
    assert_int_equal(o.tally.tokens, 0);
    assert_int_equal(o.tally.posts, 0);
    /* MPI adds 41 on the host, and 43 cycles for its single step. */
    expect_end(one_barrier(&sim_primes, pairwise, 2, true, NICSIM_MPI), 249 + 41 + 43);
    /* The link's header takes time, too. */
    struct nicsim_machine machine = sim_primes;
    machine.nic.link_header_bytes = 9;
    expect_end(one_barrier(&machine, pairwise, 2, true, NICSIM_GM), 249 + 9);
}

/* As with two nodes up to 206. The second step: SEND: turn 5, 211; head there 91, 302; link 32,
 * 334; loop 17, 351; RECV and engine 12, 363; RDMA: turn 5, 368; DMA 27, 395; host call 11, 406. */
TEST(four_nics)
{
    const struct nicsim_outcome o =
        expect_end(one_barrier(&sim_primes, pairwise, 4, true, NICSIM_GM), 406);
    assert_int_equal(o.tally.sent, 8);
    expect_end(one_barrier(&sim_primes, pairwise, 4, true, NICSIM_MPI), 406 + 41 + 2 * 43);
    /* There are three waits for the loop, each longer by 2 for each of the three other nodes. */
    struct nicsim_machine polling = sim_primes;
    polling.nic.cycles_look = 2;
    expect_end(one_barrier(&polling, pairwise, 4, true, NICSIM_GM), 406 + 3 * 6);
}

/*
 * The hosts of nodes 2 and 3 are slower by a factor of 100: 1100 for a call.
 *
 * Nodes 0 and 1 exchange until 206 and send to 2 and 3 at 211, where the messages arrive,
 * unexpected, at 363.
 *
 * Node 2: call 1100; doorbell 1113; loop 1130; SDMA, start 1138; SEND to 3 1143; +91 +32 +17 +12 =
 * 1295, has 3's; SEND to 0 1300; 0's message is there, so RDMA 1305; DMA 1332; call 2432.
 *
 * Node 0: has 2's at 1300 + 91 + 32 + 17 + 12 = 1452; RDMA 1457; DMA 1484; call 1495.
 */
TEST(four_nics_two_late)
{
    static const uint64_t ends_ns[] = {1495, 1495, 2432, 2432};
    struct nicsim_machine late = sim_primes;
    late.nic.slow_from = 2;
    late.nic.slow_factor = 100;
    const struct nicsim_outcome o =
        expect_ends(one_barrier(&late, pairwise, 4, true, NICSIM_GM), ends_ns);
    assert_int_equal(o.counters.unexpected, 2);
}

/*
 * Eight nodes on switches with four ports, two of which lead down: a packet travels for 91 in the
 * first step, 3 x 29 + 4 x 31 = 211 in the second, 5 x 29 + 6 x 31 = 331 in the third. With 32 +
 * 17 + 12 for each: 54 + 91 + 61 = 206; SEND 211 + 211 + 61 = 483; SEND 488 + 331 + 61 = 880; RDMA
 * 885; DMA 912; call 923.
 */
TEST(eight_nics_in_a_fat_tree)
{
    struct nicsim_machine tree = sim_primes;
    tree.nic.switch_ports = 4;
    expect_end(one_barrier(&tree, pairwise, 8, true, NICSIM_GM), 923);
}

/*
 * The timeline:
 *
 *     host call    11   11      head there   91  142      RDMA: turn    5  225
 *     doorbell     13   24      link         56  198      DMA (event)  55  280
 *     loop         17   41      loop         17  215      host call    11  291
 *     SDMA: turn    5   46      RECV: turn    5  220
 *     SEND: turn    5   51
 *
 * Acknowledgements are sent much later. With four nodes all of this happens twice.
 */
TEST(hosts_with_gm)
{
    struct nicsim_outcome o =
        expect_end(one_barrier(&sim_primes, pairwise, 2, false, NICSIM_GM), 291);
    assert_int_equal(o.tally.tokens, 2);
    assert_int_equal(o.tally.posts, 4); /* messages, and returned tokens */
    assert_int_equal(o.tally.dmas, 4);
    assert_int_equal(o.tally.sent, 4); /* including acknowledgements */
    assert_int_equal(o.tally.bytes, 4 * MCP_MESSAGE_BYTES);
    assert_int_equal(o.tally.starts, 0);
    assert_int_equal(o.tally.releases, 0);
    o = expect_end(one_barrier(&sim_primes, pairwise, 4, false, NICSIM_GM), 582);
    assert_int_equal(o.tally.tokens, 8);
}

/*
 * An envelope of 32 bytes. The host takes 37 + 2 longer for each message, with one other node:
 *
 *     host call    50   50      head there   91  255      RDMA: turn    5  389
 *     doorbell     13   63      link         88  343      bus free          439
 *     loop         17   80      loop         17  360      DMA (event)  55  494
 *     SDMA: turn    5   85      RECV: turn    5  365      host call    50  544
 *     SEND: turn    5   90      DMA start    19  384
 *     DMA start    19  109        (the bus is busy until 439)
 *     DMA          55  164
 *
 * With three other nodes, the host takes 4 longer in each of four calls.
 *
 * If turns take 105, the payload has left the bus before the event: call 50; doorbell 63; loop 80;
 * SDMA 185; SEND 290, 309; DMA 364; head 455; link 543; loop 560; RECV 665, 684; RDMA 789; DMA
 * 844; call 894.
 */
TEST(hosts_with_mpi)
{
    const struct nicsim_outcome o =
        expect_end(one_barrier(&sim_primes, pairwise, 2, false, NICSIM_MPI), 544);
    assert_int_equal(o.tally.dmas, 8); /* two more per message */
    assert_int_equal(o.tally.bytes, 4 * MCP_MESSAGE_BYTES + 2 * 32);
    expect_end(one_barrier(&sim_primes, pairwise, 4, false, NICSIM_MPI), 2 * 544 + 4 * 4);
    struct nicsim_machine slow = sim_primes;
    slow.nic.cycles_turn = 105;
    expect_end(one_barrier(&slow, pairwise, 2, false, NICSIM_MPI), 894);
}

/*
 * Node 0 is the root of two nodes, which send at 54. Both heads are at its link at 145, which
 * receives one until 177 and the other until 209. They are noticed at 194 and 226. The link is the
 * bottleneck: the first is processed at 206, the second at 238. SEND to 1 at 243, to 2 at 248,
 * when the outgoing link is busy until 275. RDMA 253; DMA 280; call 291.
 *
 * Node 1: 243 + 91 + 32 = 366; loop 383; RECV 395; RDMA 400; DMA 427; call 438. Node 2, whose
 * packet left 32 later: 470.
 */
TEST(a_link_serves_one_packet)
{
    static const uint64_t ends_ns[] = {291, 438, 470};
    const struct nicsim_outcome o =
        expect_ends(one_barrier(&sim_primes, binary, 3, true, NICSIM_GM), ends_ns);
    assert_int_equal(o.tally.sent, 4);
}

/*
 * Here a collective message takes 101 cycles, and a link 1 per packet: heads at
 * 145, complete at 146 and 147, noticed at 163 and 164. The processor is the bottleneck: 163 + 106
 * = 269, and 375. SEND to 1 at 380, to 2 at 385, when the link is free. RDMA 390; DMA 417; call
 * 428. Node 1: 380 + 91 + 1 = 472; loop 489; RECV 595; RDMA 600; DMA 627; call 638. Node 2: 643.
 */
TEST(a_processor_serves_one_message)
{
    static const uint64_t ends_ns[] = {428, 638, 643};
    struct nicsim_machine slow = sim_primes;
    slow.nic.cycles_engine = 101;
    slow.nic.link_bytes_per_us = 32000;
    expect_ends(one_barrier(&slow, binary, 3, true, NICSIM_GM), ends_ns);
}

/*
 * The bus, with messages that arrive at the same time: three hosts send two messages each in one
 * step of dissemination:2. Host calls end at 11 and 22, doorbells at 24 and 35, noticed at 41 and
 * 52. SDMA 46, SEND 51, to the next node; SDMA 57, SEND 62, to the one after it. The outgoing
 * links are busy from 51 to 107, and from then on: heads arrive at 142 and 198, and are complete
 * at 198 and 254; noticed at 215 and 271. RECV 220, RDMA 225; the bus is busy with the event until
 * 280 (358 if a DMA's set-up takes 101). Second message: RECV 276, RDMA 281, DMA 336 (with 101 the
 * bus is the bottleneck: 491). Host call after the second one: 347 (with 101: 502; the first call
 * ended long before).
 */
TEST(a_bus_serves_one_transfer)
{
    const struct nicbarr_choice all = {.algorithm = NICBARR_DISSEMINATION, .parameter = 2};
    struct nicsim_machine slow = sim_primes;
    expect_end(one_barrier(&sim_primes, all, 3, false, NICSIM_GM), 347);
    slow.nic.dma_us = 0.101;
    expect_end(one_barrier(&slow, all, 3, false, NICSIM_GM), 502);
}

/*
 * Two calls of a host are sequential, and the NIC sees the second token only after its doorbell.
 * As above, but the hosts of nodes 1 and 2 are slower by a factor of 10.
 *
 * Nodes 1 and 2: calls 110 and 220; doorbells 123 and 233; noticed 140 and 250; SEND 150 and 260.
 * Node 0: calls 11 and 22; SEND 51 and 62, when the link is busy until 107.
 *
 * Node 0 first has a message of node 2: head 241; link 297; loop 314; RECV 319; RDMA 324; DMA 379;
 * call 390. Then node 1's second one: head 351; link 407; loop 424; RECV 429. It carries an
 * acknowledgement, so a token is returned first: RDMA 434; DMA 489; return 47, 536. The message:
 * RDMA 439; bus free 489; DMA 544; call 555. Node 1: node 0's first is in the ring at 280, as
 * above; call 390; node 2's second, sent at 260, is there at 489; call 599. Node 2: node 0's
 * second is there at 336, as above; call 446. Node 1's first at 379; call 556.
 */
TEST(calls_of_a_host_are_sequential)
{
    static const uint64_t ends_ns[] = {555, 599, 556};
    const struct nicbarr_choice all = {.algorithm = NICBARR_DISSEMINATION, .parameter = 2};
    struct nicsim_machine slow = sim_primes;
    slow.nic.slow_from = 1;
    slow.nic.slow_factor = 10;
    expect_ends(one_barrier(&slow, all, 3, false, NICSIM_GM), ends_ns);
}

/* Barriers follow immediately. The warm-up does not count, but work does. */
TEST(several_barriers)
{
    const double work_us[] = {1, 3};
    struct nicsim_game game = one_barrier(&sim_primes, pairwise, 2, true, NICSIM_GM);
    game.warm_up = 3;
    game.barriers = 4;
    struct nicsim_outcome o = play(game);
    assert_int_equal(sim_ps(o.barrier_us), 249000);
    for (uint32_t b = 1; b <= 7; ++b) {
        assert_int_equal(sim_ps(seen.enters_us[1][b]), 249000 * (b - 1));
        assert_int_equal(sim_ps(seen.leaves_us[1][b]), 249000 * b);
    }
    game.work_us = work_us;
    game.works = 2;
    o = play(game);
    assert_int_equal(sim_ps(o.barrier_us), 2000000 + 249000);
    assert_int_equal(sim_ps(seen.enters_us[0][1]), 1000000);
    assert_int_equal(sim_ps(seen.enters_us[0][2]), 1000000 + 249000 + 3000000);
}

/*
 * Node 0 sends to node 1, which has the message at 291, as above, and answers: call 302 (it is
 * done); doorbell 315; loop 332; SDMA 337; SEND 342; head 433; link 489; loop 506; RECV 511. The
 * answer carries an acknowledgement, so node 0's host gets its token back first: RDMA 516, DMA
 * 571; then the message: RDMA 521, bus free 571, DMA 626. Host: return 571 + 47 = 618; call 626 +
 * 11 = 637. If a return takes 71, it is busy until 642: 653.
 */
TEST(ping_pong)
{
    uint64_t ends_ns[] = {637, 302};
    struct nicsim_machine busy = sim_primes;
    struct nicsim_game game = one_barrier(&sim_primes, pairwise, 2, false, NICSIM_GM);
    game.ping_pong = true;
    expect_ends(game, ends_ns);
    ends_ns[0] = 653;
    busy.nic.host_return_us = 0.071;
    game.machine = &busy;
    expect_ends(game, ends_ns);
}

/* ---- the network ---- */

static uint64_t network_ns(uint32_t ports, uint32_t nodes, uint32_t from, uint32_t to)
{
    struct sim_machine machine = {.parameters = sim_primes.nic, .nnodes = nodes};
    machine.parameters.switch_ports = ports;
    assert_int_equal(sim_network_ps(&machine, from, to), sim_network_ps(&machine, to, from));
    return sim_network_ps(&machine, from, to) / 1000;
}

TEST(fat_tree)
{
    enum { ONE = 29 + 2 * 31, THREE = 3 * 29 + 4 * 31, FIVE = 5 * 29 + 6 * 31, SEVEN = FIVE + 120 };
    assert_int_equal(network_ns(16, 16, 0, 15), ONE); /* all on one switch */
    assert_int_equal(network_ns(16, 17, 0, 7), ONE);  /* eight per switch */
    assert_int_equal(network_ns(16, 17, 0, 8), THREE);
    assert_int_equal(network_ns(16, 17, 7, 8), THREE);
    assert_int_equal(network_ns(16, 17, 8, 15), ONE);
    assert_int_equal(network_ns(16, 17, 15, 16), THREE);
    assert_int_equal(network_ns(16, 65, 0, 63), THREE); /* eight such switches */
    assert_int_equal(network_ns(16, 65, 63, 64), FIVE);
    assert_int_equal(network_ns(4, 16, 0, 1), ONE);
    assert_int_equal(network_ns(4, 16, 0, 3), THREE);
    assert_int_equal(network_ns(4, 16, 1, 7), FIVE);
    assert_int_equal(network_ns(4, 16, 7, 8), SEVEN);
    assert_int_equal(network_ns(4, 16, 12, 15), THREE);
}

/* ---- random simulation runs ---- */

static struct nicbarr_choice random_choice(uint64_t *random)
{
    static const enum nicbarr_algorithm algorithms[] = {NICBARR_PAIRWISE, NICBARR_TREE,
                                                        NICBARR_DISSEMINATION};
    return (struct nicbarr_choice){algorithms[crew_below(random, 3)],
                                   1 + crew_below(random, 1 + crew_below(random, MOST_NODES)), 0};
}

static struct nicsim_game random_game(uint64_t *random, const struct nicsim_machine *machine,
                                      const double *work_us)
{
    struct nicsim_game game = {
        .machine = machine,
        .choice = random_choice(random),
        .nodes = 2 + crew_below(random, MOST_NODES - 1),
        .on_nics = crew_below(random, 2),
        .level = crew_below(random, 2) ? NICSIM_MPI : NICSIM_GM,
        .warm_up = crew_below(random, 4),
        .barriers = 1 + crew_below(random, MOST_BARRIERS - 3),
        .work_us = work_us,
        .works = crew_below(random, 2),
        .variation = sim_between(random, 0, 1),
        .loss = crew_below(random, 2) ? sim_between(random, 0, 0.2) : 0,
        .seed = crew_random(random),
    };
    return game;
}

static uint64_t messages_of(const struct nicsim_game *game)
{
    uint64_t messages = 0;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        struct myr_schedule schedule;
        assert_true(nicbarr_schedule_create(game->choice, game->nodes, n, &schedule));
        for (uint32_t s = 0; s < schedule.nsteps; ++s) {
            messages += schedule.steps[s].sends;
        }
        nicbarr_schedule_destroy(&schedule);
    }
    return messages;
}

/* Check the property of a barrier: a node that leaves it depends on the last one that entered
 * it, which takes at least the time of a packet on the network, and each host's call. */
static void expect_barriers(const struct nicsim_game *game)
{
    const struct sim_parameters *p = &game->machine->nic;
    const double least_us = 2 * p->host_call_us + p->switch_us + 2 * p->cable_us;
    for (uint32_t b = 1; b <= game->warm_up + game->barriers; ++b) {
        uint32_t last = 0;
        for (uint32_t n = 1; n < game->nodes; ++n) {
            last = seen.enters_us[n][b] > seen.enters_us[last][b] ? n : last;
        }
        for (uint32_t n = 0; n < game->nodes; ++n) {
            if (n != last) {
                assert_true(seen.leaves_us[n][b] > seen.enters_us[last][b] + least_us);
            }
        }
    }
}

static void expect_nothing_dropped(const struct mcp_counters *c)
{
    assert_int_equal(c->early, 0);
    assert_int_equal(c->refused, 0);
    assert_int_equal(c->refusals, 0);
    assert_int_equal(c->bad_tokens, 0);
    assert_int_equal(c->dropped_damaged, 0);
    assert_int_equal(c->dropped_foreign, 0);
    assert_int_equal(c->dropped_implausible, 0);
    assert_int_equal(c->dropped_no_room, 0);
    assert_int_equal(c->send_errors, 0);
}

/* Check a run with barriers on NICs, with `messages` in all of them. */
static void expect_of_nics(const struct nicsim_game *game, const struct nicsim_outcome *o,
                           uint64_t messages)
{
    const uint64_t all = (uint64_t)game->nodes * (game->warm_up + game->barriers);
    assert_int_equal(o->tally.starts, all);
    assert_int_equal(o->tally.releases, all);
    assert_int_equal(o->tally.dmas, all);
    assert_int_equal(o->counters.barriers, all);
    assert_int_equal(o->tally.tokens + o->tally.posts, 0);
    assert_int_equal(o->tally.sent,
                     messages + o->counters.asked + o->counters.answered + o->counters.later);
    assert_int_equal(o->tally.bytes, o->tally.sent * MCP_COLLECTIVE_BYTES);
    assert_int_equal(o->counters.messages_sent + o->counters.retransmissions, 0);
    assert_true(o->counters.answered + o->counters.later <= o->counters.asked);
}

static void expect_of_hosts(const struct nicsim_game *game, const struct nicsim_outcome *o,
                            uint64_t messages)
{
    const double bytes = NICSIM_MPI == game->level ? game->machine->mpi_envelope_bytes : 0;
    const bool payload = bytes > 0, copied = bytes <= game->machine->nic.copy_most;
    assert_int_equal(o->tally.starts + o->tally.releases, 0);
    assert_int_equal(o->counters.barriers + o->counters.asked + o->counters.answered, 0);
    assert_int_equal(o->tally.tokens, messages);
    assert_int_equal(o->counters.messages_sent, messages);
    assert_int_equal(o->counters.messages_received, messages);
    assert_int_equal(o->tally.posts, 2 * messages); /* received messages, and returned tokens */
    assert_true(o->tally.sent >= messages + o->counters.retransmissions);
    assert_true(o->tally.dmas >= o->tally.posts + (payload ? (copied ? 1 : 2) * messages : 0));
    assert_true(payload || o->tally.dmas == o->tally.posts);
}

static double longest_us(const struct nicsim_game *game)
{
    double longest = 0;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        for (uint32_t b = 1; b <= game->warm_up + game->barriers; ++b) {
            longest = fmax(longest, seen.leaves_us[n][b] - seen.enters_us[n][b]);
        }
    }
    return longest;
}

/* Check that without loss and expired timeouts, no message is requested or retransmitted. */
static void expect_no_retransmissions(const struct nicsim_outcome *o)
{
    assert_int_equal(o->counters.asked, 0);
    assert_int_equal(o->counters.answered, 0);
    assert_int_equal(o->counters.retransmissions, 0);
    assert_int_equal(o->counters.duplicates, 0);
}

TEST(random_games)
{
    uint64_t random = crew_seed();
    uint32_t without = 0;
    for (uint32_t g = 0; g < GAMES; ++g) {
        const uint64_t seed = random;
        const struct nicsim_machine machine = sim_random_machine(&random);
        const double work_us = sim_between(&random, 1, 3000);
        const struct nicsim_game game = random_game(&random, &machine, &work_us);
        const struct nicsim_outcome o = play(game);
        const uint64_t messages = messages_of(&game) * (game.warm_up + game.barriers);
        char name[NICBARR_CHOICE_TEXT];
        if (o.finished != game.nodes) {
            fail_msg("game %u (NICBARR_SEED=0x%llx): %s, %u nodes, %s: only %u finished", g,
                     (unsigned long long)seed, nicbarr_choice_name(game.choice, name), game.nodes,
                     game.on_nics ? "NICs" : "hosts", o.finished);
        }
        assert_int_equal(o.tally.sent, o.tally.received + o.tally.lost);
        assert_int_equal(o.counters.packets_sent, o.tally.sent);
        assert_int_equal(o.counters.packets_received, o.tally.received);
        expect_nothing_dropped(&o.counters);
        expect_barriers(&game);
        if (game.on_nics) {
            expect_of_nics(&game, &o, messages);
        } else {
            expect_of_hosts(&game, &o, messages);
        }
        assert_true(game.loss > 0 || 0 == o.tally.lost);
        if (0 == game.loss && 1000 * longest_us(&game) < (double)MCP_BACKOFF_NS) {
            expect_no_retransmissions(&o);
            ++without;
        }
    }
    assert_true(without > GAMES / 20); /* there were such runs */
}

/* The work of each process is random in each barrier, within the whole range. */
TEST(work_varies)
{
    const double work_us = 100;
    struct nicsim_game game = one_barrier(&sim_primes, pairwise, 32, true, NICSIM_GM);
    double sum_us = 0, least_us = INFINITY, most_us = 0;
    game.barriers = MOST_BARRIERS;
    game.work_us = &work_us;
    game.works = 1;
    game.variation = 0.5;
    (void)play(game);
    for (uint32_t n = 0; n < game.nodes; ++n) {
        for (uint32_t b = 1; b <= game.barriers; ++b) {
            const double us = seen.enters_us[n][b] - seen.leaves_us[n][b - 1];
            sum_us += us;
            least_us = fmin(least_us, us);
            most_us = fmax(most_us, us);
        }
    }
    assert_true(least_us >= 50 && least_us < 52);
    assert_true(most_us <= 150 && most_us > 148);
    assert_true(fabs(sum_us / (game.nodes * game.barriers) - work_us) < 5);
    expect_barriers(&game);
}

/* ---- loss ---- */

static struct nicsim_game lossy_game(bool on_nics, const double *work_us)
{
    return (struct nicsim_game){
        .machine = &sim_primes,
        .choice = pairwise,
        .nodes = 12,
        .on_nics = on_nics,
        .level = NICSIM_MPI,
        .warm_up = 2,
        .barriers = 20,
        .work_us = work_us,
        .works = 1,
        .variation = 0.5,
        .loss = 0.1,
        .seed = 7,
    };
}

/* Lost packets are requested or retransmitted by the firmware. */
TEST(lost_packets_are_retransmitted)
{
    const double work_us = 20;
    struct nicsim_game game = lossy_game(true, &work_us);
    struct nicsim_outcome o = play(game);
    assert_int_equal(o.finished, 12);
    assert_true(o.tally.lost > 0 && o.tally.timers > 0);
    assert_true(o.counters.asked > 0 && o.counters.answered > 0);
    assert_int_equal(o.counters.retransmissions, 0);
    expect_barriers(&game);
    /* One in ten is lost, within five standard deviations. */
    const double sent = (double)o.tally.sent;
    assert_true(fabs((double)o.tally.lost - 0.1 * sent) < 5 * sqrt(0.09 * sent));

    game = lossy_game(false, &work_us);
    o = play(game);
    assert_int_equal(o.finished, 12);
    assert_true(o.tally.lost > 0 && o.tally.timers > 0);
    assert_true(o.counters.retransmissions > 0);
    assert_int_equal(o.counters.asked, 0);
    expect_barriers(&game);
}

/* A barrier with a loss takes as long as the backoff, which must not grow by that. */
TEST(backoff_does_not_grow)
{
    struct nicsim_game game = lossy_game(true, NULL);
    game.works = 0;
    game.nodes = 16;
    game.barriers = 500;
    struct nicsim_outcome o;
    assert_true(nicsim_play(&game, &o));
    assert_int_equal(o.finished, game.nodes);
    assert_true(o.barrier_us < 5 * (double)MCP_BACKOFF_NS / 1000); /* else more than 80 times */
}

/* The machine's loss applies even if the run's is smaller. */
TEST(the_greater_loss)
{
    const double work_us = 20;
    struct nicsim_machine machine = sim_primes;
    struct nicsim_game game = lossy_game(true, &work_us);
    const struct nicsim_outcome first = play(game);
    machine.nic.loss = game.loss;
    game.machine = &machine;
    game.loss = 0.01;
    const struct nicsim_outcome second = play(game);
    assert_int_equal(first.tally.lost, second.tally.lost);
}

/* ---- determinism ---- */

static bool same(const struct nicsim_outcome *a, const struct nicsim_outcome *b)
{
    return sim_ps(a->barrier_us) == sim_ps(b->barrier_us) && a->finished == b->finished &&
           0 == memcmp(&a->tally, &b->tally, sizeof(a->tally)) &&
           0 == memcmp(&a->counters, &b->counters, sizeof(a->counters)) &&
           a->group_bytes == b->group_bytes && a->events == b->events;
}

TEST(a_seed_determines_the_game)
{
    const double work_us = 300;
    for (int nics = 0; nics < 2; ++nics) {
        struct nicsim_game game = lossy_game(nics, &work_us);
        const struct nicsim_outcome first = play(game), second = play(game);
        assert_true(same(&first, &second));
        game.observe = NULL; /* observing changes nothing */
        struct nicsim_outcome unseen;
        assert_true(nicsim_play(&game, &unseen));
        assert_true(same(&first, &unseen));
        ++game.seed;
        const struct nicsim_outcome other = play(game);
        assert_false(same(&first, &other));
        /* Two runs may lose equally many packets by chance, but do not take equally long. */
        assert_true(sim_ps(first.barrier_us) != sim_ps(other.barrier_us));
    }
}
