/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the plans by which reductions and allgathers across nodes carry data (carry.c). A failure
 * means that they deliver wrong blocks, or write beyond a group's memory.
 *
 * The real engine executes the plans: for groups of all sizes up to 40 and some larger ones, with
 * all algorithms that consist of messages, and for random barriers. Messages arrive in random
 * order, and some are lost and requested again.
 *
 * Invariants:
 *
 * - All nodes compute the same plan, whose sizes are determined by the longest message and the
 *   largest buffer.
 * - At the end of each epoch, each node finds each node's block at the place that the plan defines,
 *   until it begins the next epoch.
 * - The memory around a group is unchanged.
 * - Schedules that are not barriers have no plan. If out of memory, there is no plan and no leak.
 * - In rooted schedules, only node 0 gets all blocks.
 */
#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_data.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    EPOCHS = 6,
    GUARD = 0x5a,
    GUARD_BYTES = 256, /* size of the guard after each group */
    LOSS = 16,         /* one of this many messages is lost */
};

/* ---- allocation failures ---- */

static int allocations_left = -1; /* -1: unlimited */
static long allocated;            /* number of allocations that were not freed */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void __real_free(void *memory);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static bool allocation_fails(bool new)
{
    const bool fails = 0 == allocations_left;
    allocations_left -= allocations_left > 0;
    allocated += new && !fails;
    return fails;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails(true) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails(true) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return allocation_fails(NULL == memory) ? NULL : __real_realloc(memory, bytes);
}

void __wrap_free(void *memory)
{
    allocated -= NULL != memory;
    __real_free(memory);
}

/* ---- nodes and the messages between them ---- */

struct node {
    struct myr_nic_data data; /* only the plan is used */
    struct mcp_group *group;
    size_t bytes;
    uint32_t begun;
};

struct packet {
    uint32_t to, bytes;
    struct mcp_collective_part part;
    uint8_t *payload; /* an allocation of exactly its size */
};

struct game {
    uint32_t nodes, unit_most;
    uint32_t first; /* the epoch before the first one */
    bool rooted;    /* only node 0 gets all blocks, for which the others wait */
    myr_schedule_fn schedule_of;
    const void *context;
    uint64_t random;
    uint32_t unit[EPOCHS + 1];
    struct node *node;
    struct packet *packets;
    uint32_t npackets, room;
};

static uint32_t done(const struct game *game, uint32_t node)
{
    return myr_load_acquire(&game->node[node].group->done) - game->first;
}

/* Write a block, each one with different contents. */
static void write_block(uint8_t *block, uint32_t epoch, uint32_t node, uint32_t unit)
{
    uint64_t random = (uint64_t)epoch << 32 | node;
    for (uint32_t i = 0; i < unit; i += 8) {
        const uint64_t word = crew_random(&random);
        memcpy(block + i, &word, 8);
    }
}

static void expect_blocks(const struct game *game, uint32_t node)
{
    const uint32_t epoch = done(game, node), unit = game->unit[epoch];
    const struct node *one = &game->node[node];
    const uint8_t *blocks = mcp_group_buffer(one->group, game->first + epoch);
    uint8_t expected[MCP_PAYLOAD_MOST];
    if (game->rooted && 0 != node) {
        return;
    }
    for (uint32_t other = 0; other < game->nodes && 0 != epoch; ++other) {
        write_block(expected, epoch, other, unit);
        assert_true(one->data.carry.position_of[other] < one->data.carry.buffer_blocks);
        assert_memory_equal(blocks + (size_t)one->data.carry.position_of[other] * unit, expected,
                            unit);
    }
}

static void put_on_wire(struct game *game, struct mcp_group *from,
                        const struct mcp_message *message)
{
    if (game->npackets == game->room) {
        game->room = 2 * game->room + 64;
        game->packets = crew_require(realloc(game->packets, game->room * sizeof(*game->packets)));
    }
    struct packet *packet = &game->packets[game->npackets++];
    *packet = (struct packet){message->to - 1, message->bytes, message->header.collective,
                              crew_require(malloc(0 == message->bytes ? 1 : message->bytes))};
    assert_int_equal(message->header.type, MCP_ARRIVE);
    memcpy(packet->payload, mcp_group_buffer(from, message->header.collective.epoch),
           message->bytes);
}

static void send_pending(struct game *game, uint32_t node)
{
    struct mcp_message message;
    while (mcp_group_next(game->node[node].group, &message)) {
        put_on_wire(game, game->node[node].group, &message);
    }
}

static void deliver_one(struct game *game)
{
    const uint32_t which = crew_below(&game->random, game->npackets);
    const struct packet packet = game->packets[which];
    game->packets[which] = game->packets[--game->npackets];
    struct mcp_group *group = game->node[packet.to].group;
    if (0 != crew_below(&game->random, LOSS)) {
        uint32_t bytes = packet.bytes, offset = 0;
        const enum mcp_recorded claimed =
            mcp_group_claim(group, packet.part.slot, packet.part.epoch, &bytes, &offset);
        assert_int_not_equal(claimed, MCP_IMPLAUSIBLE);
        if (MCP_RECORDED == claimed) {
            const size_t buffer = (size_t)group->buffer_blocks * group->unit_most;
            assert_int_equal(bytes, packet.bytes); /* the whole payload fits */
            assert_true(offset + bytes <= buffer);
            memcpy(mcp_group_buffer(group, packet.part.epoch) + offset, packet.payload, bytes);
            (void)mcp_group_record(group, packet.part.slot, packet.part.epoch);
            send_pending(game, packet.to);
        }
    }
    free(packet.payload);
}

/* Let all nodes request their missing messages. */
static void ask(struct game *game)
{
    struct mcp_message message, answer;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        uint32_t cursor = 0;
        while (mcp_group_missing(game->node[n].group, &cursor, &message)) {
            const struct mcp_collective_part *part = &message.header.collective;
            struct mcp_group *sender = game->node[message.to - 1].group;
            assert_int_equal(message.bytes, 0);
            if (mcp_group_answer(sender, part->node, part->slot, part->epoch, &answer) &&
                MCP_ARRIVE == answer.header.type) {
                assert_int_equal(answer.header.collective.epoch, part->epoch);
                put_on_wire(game, sender, &answer);
            }
        }
    }
    assert_int_not_equal(game->npackets, 0); /* otherwise it hangs */
}

/* If a node's epoch is complete, its host checks the blocks and begins the next epoch. */
static bool host_continues(struct game *game, uint32_t node)
{
    struct node *one = &game->node[node];
    if (one->begun == EPOCHS || one->begun != done(game, node) ||
        (game->rooted && one->begun != done(game, 0))) {
        return false;
    }
    expect_blocks(game, node);
    const uint32_t epoch = ++one->begun;
    assert_true(mcp_group_offer(one->group, game->first + epoch, game->unit[epoch]));
    write_block(mcp_group_buffer(one->group, game->first + epoch), epoch, node, game->unit[epoch]);
    mcp_group_start(one->group, game->first + epoch);
    send_pending(game, node);
    return true;
}

static bool all_done(const struct game *game)
{
    uint32_t n = 0;
    while (n < game->nodes && EPOCHS == done(game, n)) {
        ++n;
    }
    return n == game->nodes;
}

static void play(struct game *game)
{
    while (!all_done(game)) {
        bool moved = 0 == crew_below(&game->random, 4) &&
                     host_continues(game, crew_below(&game->random, game->nodes));
        if (!moved && 0 != game->npackets) {
            deliver_one(game);
            moved = true;
        }
        for (uint32_t n = 0; n < game->nodes && !moved; ++n) {
            moved = host_continues(game, n);
        }
        if (!moved) {
            ask(game);
        }
    }
    while (0 != game->npackets) { /* late messages are ignored */
        deliver_one(game);
    }
    for (uint32_t n = 0; n < game->nodes; ++n) {
        expect_blocks(game, n);
    }
}

/* ---- the plan ---- */

static void make_node(struct game *game, uint32_t n)
{
    struct node *node = &game->node[n];
    struct myr_schedule schedule;
    assert_true(myr_carry_plan(game->nodes, n, game->schedule_of, game->context, game->rooted,
                               &node->data.carry));
    assert_true(game->schedule_of(game->context, n, &schedule));
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    const struct myr_carry *carry = &node->data.carry;
    node->bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits) +
                  (size_t)2 * carry->buffer_blocks * game->unit_most;
    node->group = crew_require(
        aligned_alloc(MYR_LINE, (node->bytes + GUARD_BYTES + MYR_LINE) & -(size_t)MYR_LINE));
    memset(node->group, GUARD, node->bytes + GUARD_BYTES);
    mcp_group_init(node->group, 1, game->nodes, n, lengths.steps, lengths.sends, lengths.waits,
                   game->first);
    node->group->buffer_blocks = carry->buffer_blocks;
    node->group->unit_most = game->unit_most;
    assert_true(myr_fill_tables(&schedule, n, game->schedule_of, game->context, &node->data, NULL,
                                mcp_group_steps(node->group), mcp_group_sends(node->group)));
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        mcp_group_sends(node->group)[p].link = mcp_group_sends(node->group)[p].node + 1;
    }
    free(schedule.steps);
}

/* Sender and receiver agree on a message's blocks, and the sizes are the maxima. */
static void check_plan(const struct game *game)
{
    const struct myr_carry *first = &game->node[0].data.carry;
    uint32_t buffer_blocks = 0, most = 0;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        struct mcp_group *group = game->node[n].group;
        const struct myr_carry *carry = &game->node[n].data.carry;
        uint32_t count = 1;
        assert_int_equal(carry->buffer_blocks, first->buffer_blocks);
        assert_int_equal(carry->most, first->most);
        for (uint32_t s = 0; s < group->nsends; ++s) {
            const struct mcp_peer *to = &mcp_group_sends(group)[s];
            struct mcp_group *there = game->node[to->node].group;
            assert_true(to->slot < there->nwaits);
            assert_int_equal(mcp_group_waits(there)[to->slot].node, n);
            assert_int_equal(mcp_group_waits(there)[to->slot].blocks, to->blocks);
            most = to->blocks > most ? to->blocks : most;
        }
        for (uint32_t w = 0; w < group->nwaits; ++w) {
            const struct mcp_peer *from = &mcp_group_waits(group)[w];
            assert_int_equal(from->at, count);
            count += from->blocks;
        }
        buffer_blocks = count > buffer_blocks ? count : buffer_blocks;
        assert_int_equal(carry->position_of[n], 0);
    }
    assert_int_equal(most, first->most);
    assert_int_equal(buffer_blocks, first->buffer_blocks);
}

static void end_game(struct game *game)
{
    for (uint32_t n = 0; n < game->nodes; ++n) {
        const uint8_t *end = (const uint8_t *)game->node[n].group + game->node[n].bytes;
        for (uint32_t i = 0; i < GUARD_BYTES; ++i) {
            assert_int_equal(end[i], GUARD);
        }
        free(game->node[n].group);
        myr_carry_free(&game->node[n].data.carry);
    }
    free(game->node);
    free(game->packets);
}

static void play_all(uint32_t nodes, myr_schedule_fn schedule_of, const void *context, bool rooted,
                     uint64_t *random)
{
    struct game game = {
        .nodes = nodes, .schedule_of = schedule_of, .context = context, .rooted = rooted};
    game.random = crew_random(random);
    game.unit_most = MCP_BLOCK_UNIT * (1 + crew_below(random, 4));
    game.first = UINT32_MAX - crew_below(random, 2 * EPOCHS);
    for (uint32_t e = 1; e <= EPOCHS; ++e) { /* sometimes there are no data */
        game.unit[e] = MCP_BLOCK_UNIT * crew_below(random, game.unit_most / MCP_BLOCK_UNIT + 1);
    }
    game.node = crew_require(calloc(nodes, sizeof(*game.node)));
    for (uint32_t n = 0; n < nodes; ++n) {
        make_node(&game, n);
    }
    check_plan(&game);
    play(&game);
    end_game(&game);
}

/* ---- the algorithms ---- */

static void play_choice(enum nicbarr_algorithm algorithm, uint32_t parameter, uint32_t nodes,
                        uint64_t *random)
{
    const struct nicbarr_among among = {{algorithm, parameter, 0}, nodes};
    const uint32_t most = nicbarr_parameter_max(algorithm, nodes);
    if (parameter <= (0 == most ? 1 : most)) {
        play_all(nodes, nicbarr_schedule_of, &among, !nicbarr_algorithm_barrier(algorithm), random);
    }
}

TEST(every_algorithm)
{
    static const uint32_t ways[] = {1, 2, 3, 7, 15}, degrees[] = {1, 2, 4, 16};
    uint64_t random = crew_seed();
    for (uint32_t nodes = 1; nodes <= 40; ++nodes) {
        play_choice(NICBARR_PAIRWISE, 0, nodes, &random);
        for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); ++w) {
            play_choice(NICBARR_DISSEMINATION, ways[w], nodes, &random);
        }
        for (size_t d = 0; d < sizeof(degrees) / sizeof(degrees[0]); ++d) {
            play_choice(NICBARR_TREE, degrees[d], nodes, &random);
            play_choice(NICBARR_ROOTED, degrees[d], nodes, &random);
        }
        play_choice(NICBARR_DISSEMINATION, nodes - 1, nodes, &random);
        play_choice(NICBARR_TREE, nodes - 1, nodes, &random);
        play_choice(NICBARR_ROOTED, nodes - 1, nodes, &random);
    }
}

TEST(many_nodes)
{
    static const uint32_t sizes[] = {64, 100, 129};
    uint64_t random = crew_seed() + 1;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        play_choice(NICBARR_PAIRWISE, 0, sizes[s], &random);
        play_choice(NICBARR_DISSEMINATION, 1, sizes[s], &random);
        play_choice(NICBARR_DISSEMINATION, 7, sizes[s], &random);
        play_choice(NICBARR_TREE, 4, sizes[s], &random);
    }
    play_choice(NICBARR_TREE, MYR_CARRY_NODES - 1, MYR_CARRY_NODES, &random);
    const struct nicbarr_among among = {{NICBARR_TREE, 4, 0}, MYR_CARRY_NODES + 1};
    struct myr_carry carry;
    assert_false(
        myr_carry_plan(MYR_CARRY_NODES + 1, 0, nicbarr_schedule_of, &among, false, &carry));
}

/* ---- random barriers, and schedules that are not barriers ---- */

enum { MOST_DRAWN = 12, MOST_MESSAGES = 600 };

struct drawn_node {
    uint32_t nsteps, npeers;
    struct mcp_step steps[MOST_MESSAGES];
    uint32_t peers[MOST_MESSAGES];
};

struct drawn {
    uint32_t nodes;
    struct drawn_node node[MOST_DRAWN];
};

/* A schedule is a single allocation. */
static bool drawn_schedule(const void *context, uint32_t rank, struct myr_schedule *schedule)
{
    const struct drawn_node *node = &((const struct drawn *)context)->node[rank];
    const size_t step_bytes = node->nsteps * sizeof(node->steps[0]);
    const size_t peer_bytes = node->npeers * sizeof(node->peers[0]);
    uint8_t *memory = malloc(step_bytes + peer_bytes + 1);
    if (NULL == memory) {
        return false;
    }
    memcpy(memory, node->steps, step_bytes);
    memcpy(memory + step_bytes, node->peers, peer_bytes);
    *schedule = (struct myr_schedule){node->nsteps, (struct mcp_step *)memory, node->npeers,
                                      (uint32_t *)(memory + step_bytes)};
    return true;
}

static void add_send(struct drawn_node *node, uint32_t peer, bool new_step)
{
    node->nsteps += 0 == node->nsteps || new_step || 0 != node->steps[node->nsteps - 1].waits;
    ++node->steps[node->nsteps - 1].sends;
    node->peers[node->npeers++] = peer;
}

static void add_wait(struct drawn_node *node, uint32_t peer, bool new_step)
{
    node->nsteps += 0 == node->nsteps || new_step;
    ++node->steps[node->nsteps - 1].waits;
    node->peers[node->npeers++] = peer;
}

/* Random messages one after the other, until all nodes depend on all others, and some more. */
static void draw_barrier(struct drawn *drawn, uint64_t *random)
{
    uint32_t reached[MOST_DRAWN], more = crew_below(random, 5), complete = 0;
    memset(drawn, 0, sizeof(*drawn));
    drawn->nodes = 2 + crew_below(random, MOST_DRAWN - 1);
    for (uint32_t n = 0; n < drawn->nodes; ++n) {
        reached[n] = 1U << n;
    }
    while (complete != drawn->nodes || 0 != more--) {
        const uint32_t from = crew_below(random, drawn->nodes);
        const uint32_t to = (from + 1 + crew_below(random, drawn->nodes - 1)) % drawn->nodes;
        assert_true(drawn->node[from].npeers < MOST_MESSAGES);
        assert_true(drawn->node[to].npeers < MOST_MESSAGES);
        add_send(&drawn->node[from], to, 0 == crew_below(random, 3));
        add_wait(&drawn->node[to], from, 0 == crew_below(random, 3));
        reached[to] |= reached[from];
        complete = 0;
        for (uint32_t n = 0; n < drawn->nodes; ++n) {
            complete += (1U << drawn->nodes) - 1 == reached[n];
        }
        more += complete != drawn->nodes && 0 == more;
    }
}

static struct drawn drawn;

TEST(any_barrier)
{
    uint64_t random = crew_seed() + 2;
    for (uint32_t i = 0; i < 300; ++i) {
        struct myr_carry carry;
        draw_barrier(&drawn, &random);
        if (myr_carry_plan(drawn.nodes, 0, drawn_schedule, &drawn, false, &carry)) {
            const bool small = carry.buffer_blocks < 2000;
            myr_carry_free(&carry);
            if (small) {
                play_all(drawn.nodes, drawn_schedule, &drawn, false, &random);
            }
        }
    }
}

static void expect_no_plan(void)
{
    struct myr_carry carry;
    for (uint32_t n = 0; n < drawn.nodes; ++n) {
        assert_false(myr_carry_plan(drawn.nodes, n, drawn_schedule, &drawn, false, &carry));
        assert_null(carry.blocks);
        assert_null(carry.at);
        assert_null(carry.position_of);
    }
}

static void draw_nothing(uint32_t nodes)
{
    memset(&drawn, 0, sizeof(drawn));
    drawn.nodes = nodes;
}

TEST(no_barrier)
{
    draw_nothing(2); /* no messages */
    expect_no_plan();
    draw_nothing(3); /* each node receives from one other */
    for (uint32_t n = 0; n < 3; ++n) {
        add_send(&drawn.node[n], (n + 1) % 3, false);
        add_wait(&drawn.node[n], (n + 2) % 3, false);
    }
    expect_no_plan();
    for (uint32_t n = 0; n < 3; ++n) { /* with a second round it is a barrier */
        add_send(&drawn.node[n], (n + 1) % 3, false);
        add_wait(&drawn.node[n], (n + 2) % 3, false);
    }
    uint64_t random = crew_seed() + 3;
    play_all(3, drawn_schedule, &drawn, false, &random);
    draw_nothing(3); /* not even node 0 receives from all */
    add_send(&drawn.node[1], 0, false);
    add_wait(&drawn.node[0], 1, false);
    struct myr_carry carry;
    assert_false(myr_carry_plan(3, 0, drawn_schedule, &drawn, true, &carry));
    draw_nothing(2); /* deadlock */
    for (uint32_t n = 0; n < 2; ++n) {
        add_wait(&drawn.node[n], 1 - n, false);
        add_send(&drawn.node[n], 1 - n, true);
    }
    expect_no_plan();
    draw_nothing(2); /* a barrier, but a node waits for another message */
    for (uint32_t n = 0; n < 2; ++n) {
        add_send(&drawn.node[n], 1 - n, false);
        add_wait(&drawn.node[n], 1 - n, false);
    }
    add_wait(&drawn.node[1], 0, true);
    expect_no_plan();
}

/* Node 0 sends all its blocks to another node, which adds one before and one after them and
 * sends them back. Therefore node 0's buffer more than doubles in each round. */
TEST(growing_buffers)
{
    draw_nothing(MOST_DRAWN);
    for (uint32_t round = 0; round < 30; ++round) {
        const uint32_t front = 1 + round % (MOST_DRAWN - 1),
                       last = 1 + (round + 1) % (MOST_DRAWN - 1);
        add_send(&drawn.node[0], front, true);
        add_wait(&drawn.node[front], 0, true);
        add_send(&drawn.node[last], front, true);
        add_wait(&drawn.node[front], last, true);
        add_send(&drawn.node[front], 0, true);
        add_wait(&drawn.node[0], front, true);
    }
    for (uint32_t n = 1; n < MOST_DRAWN; ++n) {
        add_send(&drawn.node[0], n, true);
        add_wait(&drawn.node[n], 0, true);
    }
    uint64_t random = crew_seed() + 4;
    play_all(MOST_DRAWN, drawn_schedule, &drawn, false, &random);
}

/* ---- lack of memory ---- */

TEST(without_memory)
{
    const struct nicbarr_among some[] = {{{NICBARR_TREE, 1, 0}, 9},
                                         {{NICBARR_DISSEMINATION, 2, 0}, 11}};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); ++i) {
        const long before = allocated;
        struct myr_carry carry;
        bool good = false;
        int more = 0;
        for (; !good; ++more) {
            allocations_left = more;
            good = myr_carry_plan(some[i].size, 3, nicbarr_schedule_of, &some[i], false, &carry);
            allocations_left = -1;
            assert_int_equal(allocated - before, good ? 3 : 0);
        }
        assert_true(more > 6 * (int)some[i].size); /* each node allocates some */
        myr_carry_free(&carry);
        assert_int_equal(allocated, before);
    }
}
