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
                                   binary = {.algorithm = NICBARR_TREE, .parameter = 2},
                                   both = {.algorithm = NICBARR_DISSEMINATION, .parameter = 2};

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
    double longest_us; /* of a node in a barrier */
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
        seen.longest_us = fmax(seen.longest_us, at_us - seen.enters_us[node][barrier]);
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

/* A single barrier, which the nodes leave at these times; if there is only one, all do. */
struct timeline {
    const struct nicbarr_choice *choice; /* NULL: the ping-pong */
    uint32_t nodes;
    bool on_nics;
    enum nicsim_level level;
    uint64_t ends_ns[4];
    /* The parameters that are not those of sim_primes. */
    struct {
        size_t field; /* offset in struct nicsim_machine; 0: none */
        double value;
    } changes[2];
};

#define NIC(parameter, value)                                                                      \
    {                                                                                              \
        offsetof(struct nicsim_machine, nic.parameter), value                                      \
    }

/* The turns of the NIC's state machines are named SDMA, SEND, RECV and RDMA. */
static const struct timeline timelines[] = {
    /* Both nodes do the same at the same time (ns):
     *
     *     host call    11   11      head there   91  145      RDMA: turn    5  211
     *     doorbell     13   24      link         32  177      DMA (word)   27  238
     *     loop         17   41      loop         17  194      host call    11  249
     *     SDMA: turn    5   46      RECV: turn    5  199
     *     start         3   49      engine        7  206
     *     SEND: turn    5   54
     *
     * MPI adds 41 on the host, and 43 cycles for the single step. The link's header takes time. */
    {&pairwise, 2, true, NICSIM_GM, {249}, {{0}}},
    {&pairwise, 2, true, NICSIM_MPI, {249 + 41 + 43}, {{0}}},
    {&pairwise, 2, true, NICSIM_GM, {249 + 9}, {NIC(link_header_bytes, 9)}},

    /* As with two nodes up to 206. The second step: SEND 211; head there 91, 302; link 32, 334;
     * loop 351; RECV and engine 12, 363; RDMA 368; DMA 27, 395; host call 406. There are three
     * waits for the loop, each longer by 2 for each of the other nodes that the MCP polls. */
    {&pairwise, 4, true, NICSIM_GM, {406}, {{0}}},
    {&pairwise, 4, true, NICSIM_MPI, {406 + 41 + 2 * 43}, {{0}}},
    {&pairwise, 4, true, NICSIM_GM, {406 + 3 * 6}, {NIC(cycles_look, 2)}},

    /* The hosts of nodes 2 and 3 are slower by a factor of 100: 1100 for a call. Nodes 0 and 1
     * exchange until 206 and send to 2 and 3 at 211, where the messages arrive, unexpected, at 363.
     *
     * Node 2: call 1100; doorbell 1113; loop 1130; SDMA, start 1138; SEND to 3 1143; +91 +32 +17
     * +12 = 1295, has 3's; SEND to 0 1300; 0's message is there, so RDMA 1305; DMA 1332; call 2432.
     *
     * Node 0: has 2's at 1300 + 91 + 32 + 17 + 12 = 1452; RDMA 1457; DMA 1484; call 1495. */
    {&pairwise,
     4,
     true,
     NICSIM_GM,
     {1495, 1495, 2432, 2432},
     {NIC(slow_from, 2), NIC(slow_factor, 100)}},

    /* Eight nodes on switches with four ports, two of which lead down: a packet travels for 91 in
     * the first step, 3 x 29 + 4 x 31 = 211 in the second, 5 x 29 + 6 x 31 = 331 in the third. With
     * 32 + 17 + 12 for each: 54 + 91 + 61 = 206; SEND 211 + 211 + 61 = 483; SEND 488 + 331 + 61 =
     * 880; RDMA 885; DMA 912; call 923. */
    {&pairwise, 8, true, NICSIM_GM, {923}, {NIC(switch_ports, 4)}},

    /* Barriers by hosts:
     *
     *     host call    11   11      head there   91  142      RDMA: turn    5  225
     *     doorbell     13   24      link         56  198      DMA (event)  55  280
     *     loop         17   41      loop         17  215      host call    11  291
     *     SDMA: turn    5   46      RECV: turn    5  220
     *     SEND: turn    5   51
     *
     * Acknowledgements are sent much later. With four nodes all of this happens twice. */
    {&pairwise, 2, false, NICSIM_GM, {291}, {{0}}},
    {&pairwise, 4, false, NICSIM_GM, {2 * 291}, {{0}}},

    /* With MPI there is an envelope of 32 bytes. The host takes 37 + 2 longer for each message,
     * with one other node:
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
     * If turns take 105, the payload has left the bus before the event: call 50; doorbell 63; loop
     * 80; SDMA 185; SEND 290, 309; DMA 364; head 455; link 543; loop 560; RECV 665, 684; RDMA 789;
     * DMA 844; call 894. */
    {&pairwise, 2, false, NICSIM_MPI, {544}, {{0}}},
    {&pairwise, 4, false, NICSIM_MPI, {2 * 544 + 4 * 4}, {{0}}},
    {&pairwise, 2, false, NICSIM_MPI, {894}, {NIC(cycles_turn, 105)}},

    /* A link serves one packet. Node 0 is the root of two nodes, which send at 54. Both heads are
     * at its link at 145, which receives one until 177 and the other until 209. They are noticed at
     * 194 and 226. The link is the bottleneck: the first is processed at 206, the second at 238.
     * SEND to 1 at 243, to 2 at 248, when the outgoing link is busy until 275. RDMA 253; DMA 280;
     * call 291.
     *
     * Node 1: 243 + 91 + 32 = 366; loop 383; RECV 395; RDMA 400; DMA 427; call 438. Node 2, whose
     * packet left 32 later: 470. */
    {&binary, 3, true, NICSIM_GM, {291, 438, 470}, {{0}}},

    /* A processor serves one message. A collective message takes 101 cycles, and a link 1 per
     * packet: heads at 145, complete at 146 and 147, noticed at 163 and 164. The processor is the
     * bottleneck: 163 + 106 = 269, and 375. SEND to 1 at 380, to 2 at 385, when the link is free.
     * RDMA 390; DMA 417; call 428. Node 1: 380 + 91 + 1 = 472; loop 489; RECV 595; RDMA 600; DMA
     * 627; call 638. Node 2: 643. */
    {&binary,
     3,
     true,
     NICSIM_GM,
     {428, 638, 643},
     {NIC(cycles_engine, 101), NIC(link_bytes_per_us, 32000)}},

    /* A bus serves one transfer. Three hosts send two messages each in one step. Host calls end at
     * 11 and 22, doorbells at 24 and 35, noticed at 41 and 52. SDMA 46, SEND 51, to the next node;
     * SDMA 57, SEND 62, to the one after it. The outgoing links are busy from 51 to 107, and from
     * then on: heads arrive at 142 and 198, and are complete at 198 and 254; noticed at 215 and
     * 271. RECV 220, RDMA 225; the bus is busy with the event until 280 (358 if a DMA's set-up
     * takes 101). Second message: RECV 276, RDMA 281, DMA 336 (with 101 the bus is the bottleneck:
     * 491). Host call after the second one: 347 (with 101: 502; the first call ended long before).
     */
    {&both, 3, false, NICSIM_GM, {347}, {{0}}},
    {&both, 3, false, NICSIM_GM, {502}, {NIC(dma_us, 0.101)}},

    /* Two calls of a host are sequential, and the NIC sees the second token only after its
     * doorbell. As above, but the hosts of nodes 1 and 2 are slower by a factor of 10.
     *
     * Nodes 1 and 2: calls 110 and 220; doorbells 123 and 233; noticed 140 and 250; SEND 150 and
     * 260. Node 0: calls 11 and 22; SEND 51 and 62, when the link is busy until 107.
     *
     * Node 0 first has a message of node 2: head 241; link 297; loop 314; RECV 319; RDMA 324; DMA
     * 379; call 390. Then node 1's second one: head 351; link 407; loop 424; RECV 429. It carries
     * an acknowledgement, so a token is returned first: RDMA 434; DMA 489; return 47, 536. The
     * message: RDMA 439; bus free 489; DMA 544; call 555. Node 1: node 0's first is in the ring at
     * 280, as above; call 390; node 2's second, sent at 260, is there at 489; call 599. Node 2:
     * node 0's second is there at 336, as above; call 446. Node 1's first at 379; call 556. */
    {&both, 3, false, NICSIM_GM, {555, 599, 556}, {NIC(slow_from, 1), NIC(slow_factor, 10)}},

    /* The ping-pong. Node 0 sends to node 1, which has the message at 291, as above, and answers:
     * call 302 (it is done); doorbell 315; loop 332; SDMA 337; SEND 342; head 433; link 489; loop
     * 506; RECV 511. The answer carries an acknowledgement, so node 0's host gets its token back
     * first: RDMA 516, DMA 571; then the message: RDMA 521, bus free 571, DMA 626. Host: return 571
     * + 47 = 618; call 626 + 11 = 637. If a return takes 71, it is busy until 642: 653. */
    {NULL, 2, false, NICSIM_GM, {637, 302}, {{0}}},
    {NULL, 2, false, NICSIM_GM, {653, 302}, {NIC(host_return_us, 0.071)}},
};

static struct nicsim_game one_barrier(const struct nicsim_machine *machine,
                                      const struct nicbarr_choice *choice, uint32_t nodes,
                                      bool on_nics, enum nicsim_level level)
{
    return (struct nicsim_game){
        .machine = machine,
        .choice = NULL == choice ? (struct nicbarr_choice){0} : *choice,
        .ping_pong = NULL == choice,
        .nodes = nodes,
        .on_nics = on_nics,
        .level = level,
        .barriers = 1,
        .seed = 1,
    };
}

TEST(computed_by_hand)
{
    for (size_t t = 0; t < sizeof(timelines) / sizeof(timelines[0]); ++t) {
        const struct timeline *line = &timelines[t];
        struct nicsim_machine machine = sim_primes;
        for (int c = 0; c < 2 && 0 != line->changes[c].field; ++c) {
            memcpy((char *)&machine + line->changes[c].field, &line->changes[c].value,
                   sizeof(double));
        }
        const struct nicsim_game game =
            one_barrier(&machine, line->choice, line->nodes, line->on_nics, line->level);
        const struct nicsim_outcome outcome = play(game);
        uint64_t sum_ps = 0;
        assert_int_equal(outcome.finished, line->nodes);
        for (uint32_t n = 0; n < line->nodes; ++n) {
            const uint64_t is_ps = sim_ps(seen.leaves_us[n][1]);
            assert_int_equal(sim_ps(seen.enters_us[n][1]), 0);
            if (1000 * line->ends_ns[0 == line->ends_ns[1] ? 0 : n] != is_ps) {
                fail_msg("timeline %zu: node %u leaves at %.3f ns", t, n, (double)is_ps / 1000);
            }
            sum_ps += is_ps;
        }
        assert_int_equal(sim_ps(outcome.barrier_us), llround((double)sum_ps / line->nodes));
    }
}

/* Each barrier follows the previous one immediately. The result excludes the warm-up, but includes
 * the work. */
TEST(several_barriers)
{
    const double work_us[] = {1, 3};
    struct nicsim_game game = one_barrier(&sim_primes, &pairwise, 2, true, NICSIM_GM);
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

/* Up to 16 nodes are on one switch with 16 ports; more are on a tree, with eight nodes on each. */
TEST(fat_tree)
{
    static const struct {
        uint32_t ports, nodes, from, to, switches;
    } cases[] = {
        {16, 16, 0, 15, 1}, {16, 17, 0, 7, 1},   {16, 17, 0, 8, 3},  {16, 17, 7, 8, 3},
        {16, 17, 8, 15, 1}, {16, 17, 15, 16, 3}, {16, 65, 0, 63, 3}, {16, 65, 63, 64, 5},
        {4, 16, 0, 1, 1},   {4, 16, 0, 3, 3},    {4, 16, 1, 7, 5},   {4, 16, 7, 8, 7},
        {4, 16, 12, 15, 3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct sim_machine machine = {.parameters = sim_primes.nic, .nnodes = cases[i].nodes};
        const uint64_t ps = 1000 * (29 * cases[i].switches + 31 * (cases[i].switches + 1));
        machine.parameters.switch_ports = cases[i].ports;
        assert_int_equal(sim_network_ps(&machine, cases[i].from, cases[i].to), ps);
        assert_int_equal(sim_network_ps(&machine, cases[i].to, cases[i].from), ps);
    }
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
    return (struct nicsim_game){
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
}

static uint64_t messages_of(const struct nicsim_game *game)
{
    uint64_t messages = 0;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        struct myr_schedule schedule;
        assert_true(nicbarr_schedule_create(game->choice, game->nodes, n, &schedule));
        messages += myr_schedule_lengths(&schedule).sends;
        nicbarr_schedule_destroy(&schedule);
    }
    return messages;
}

/* Check the property of a barrier: each node leaves it after the last node has entered it, later by
 * at least the time of a packet on the network and of both hosts' calls. */
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

/* Check a run in which NICs executed the barriers and sent `messages` messages in total. */
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
        const struct mcp_counters *c = &o.counters;
        assert_int_equal(c->early + c->refused + c->refusals + c->bad_tokens + c->send_errors, 0);
        assert_int_equal(c->dropped_damaged + c->dropped_foreign + c->dropped_implausible +
                             c->dropped_no_room,
                         0);
        expect_barriers(&game);
        if (game.on_nics) {
            expect_of_nics(&game, &o, messages);
        } else {
            expect_of_hosts(&game, &o, messages);
        }
        assert_true(game.loss > 0 || 0 == o.tally.lost);
        if (0 == game.loss && 1000 * seen.longest_us < (double)MCP_BACKOFF_NS) {
            assert_int_equal(o.counters.asked + o.counters.answered, 0);
            assert_int_equal(o.counters.retransmissions + o.counters.duplicates, 0);
            ++without;
        }
    }
    assert_true(without > GAMES / 20); /* neither losses nor expired timeouts */
}

/* The work of each process is random in each barrier, within the whole range. */
TEST(work_varies)
{
    const double work_us = 100;
    struct nicsim_game game = one_barrier(&sim_primes, &pairwise, 32, true, NICSIM_GM);
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

static bool same(const struct nicsim_outcome *a, const struct nicsim_outcome *b)
{
    return sim_ps(a->barrier_us) == sim_ps(b->barrier_us) && a->finished == b->finished &&
           0 == memcmp(&a->tally, &b->tally, sizeof(a->tally)) &&
           0 == memcmp(&a->counters, &b->counters, sizeof(a->counters)) &&
           a->group_bytes == b->group_bytes && a->events == b->events;
}

/* One packet in ten is lost (within five standard deviations), and requested or retransmitted by
 * the firmware. Parameters and seed determine the game. */
TEST(lossy_games)
{
    const double work_us = 300;
    for (int nics = 0; nics < 2; ++nics) {
        struct nicsim_machine machine = sim_primes;
        struct nicsim_game game = one_barrier(&machine, &pairwise, 12, nics, NICSIM_MPI);
        game.barriers = MOST_BARRIERS;
        game.work_us = &work_us;
        game.works = 1;
        game.variation = 0.5;
        game.loss = 0.1;
        const struct nicsim_outcome first = play(game), second = play(game);
        const double sent = (double)first.tally.sent;
        assert_int_equal(first.finished, game.nodes);
        assert_true(fabs((double)first.tally.lost - 0.1 * sent) < 5 * sqrt(0.09 * sent));
        assert_true(first.tally.timers > 0);
        assert_int_equal(first.counters.asked > 0 && first.counters.answered > 0, nics);
        assert_int_equal(first.counters.retransmissions > 0, !nics);
        assert_true(same(&first, &second));
        struct nicsim_outcome unseen;
        assert_true(nicsim_play(&game, &unseen)); /* observing changes nothing */
        assert_true(same(&first, &unseen));
        machine.nic.loss = game.loss; /* the greater loss applies */
        game.loss = 0.01;
        const struct nicsim_outcome third = play(game);
        assert_true(same(&first, &third));
        ++game.seed;
        /* Two runs may lose equally many packets by chance, but do not take equally long. */
        assert_true(sim_ps(first.barrier_us) != sim_ps(play(game).barrier_us));
    }
}

/* If a packet is lost, the duration of the barrier includes the backoff, and the backoff is derived
 * from measured durations. It must not grow without bound. */
TEST(backoff_does_not_grow)
{
    struct nicsim_game game = one_barrier(&sim_primes, &pairwise, 16, true, NICSIM_MPI);
    struct nicsim_outcome o;
    game.barriers = 500;
    game.loss = 0.1;
    assert_true(nicsim_play(&game, &o));
    assert_int_equal(o.finished, game.nodes);
    assert_true(o.barrier_us < 5 * (double)MCP_BACKOFF_NS / 1000); /* else more than 80 times */
}
