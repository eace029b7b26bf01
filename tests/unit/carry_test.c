/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the plans by which reductions and allgathers across nodes carry data (carry.c). A failure
 * means that they deliver wrong blocks, or write beyond a group's memory.
 *
 * The test executes the plans for groups of all sizes up to 40 and some larger ones, with all
 * algorithms that consist of messages, and for random barriers. (collective_model_test.c executes
 * them with the engine, over a faulty wire.)
 *
 * Invariants:
 *
 * - All nodes compute the same plan, whose sizes are determined by the longest message and the
 *   largest buffer.
 * - At the end, each node finds each node's block at the place that the plan defines.
 * - Schedules that are not barriers have no plan. If memory is exhausted, there is no plan and no
 *   leak.
 * - In rooted schedules, only node 0 gets all blocks.
 */
#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_data.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

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
    uint32_t *blocks;          /* the node whose block is in each place of the buffer */
    uint32_t step, send, wait; /* the next step, and its first message of each direction */
    bool sent;                 /* the step's messages were sent */
};

struct game {
    uint32_t nodes;
    bool rooted; /* only node 0 gets all blocks */
    myr_schedule_fn schedule_of;
    const void *context;
    struct node *node;
};

static void send_message(struct game *game, uint32_t from, uint32_t send)
{
    const struct mcp_peer *to = &mcp_group_sends(game->node[from].group)[send];
    struct node *there = &game->node[to->node];
    const struct mcp_peer *slot = &mcp_group_waits(there->group)[to->slot];
    assert_true(to->blocks <= game->node[from].data.carry.buffer_blocks);
    assert_true((uint32_t)slot->at + to->blocks <= there->data.carry.buffer_blocks);
    memcpy(&there->blocks[slot->at], game->node[from].blocks, to->blocks * sizeof(uint32_t));
    assert_int_equal(mcp_group_arrivals(there->group)[to->slot]++, 0);
}

/* Send the messages of a node's step, and complete it when its messages have arrived. Returns
 * whether anything has happened. */
static bool advance(struct game *game, uint32_t n)
{
    struct node *node = &game->node[n];
    const struct mcp_step *step = &mcp_group_steps(node->group)[node->step];
    if (node->step == node->group->nsteps) {
        return false;
    }
    const bool sends = !node->sent;
    for (uint32_t s = 0; sends && s < step->sends; ++s) {
        send_message(game, n, node->send + s);
    }
    node->sent = true;
    for (uint32_t w = 0; w < step->waits; ++w) {
        if (0 == mcp_group_arrivals(node->group)[node->wait + w]) {
            return sends;
        }
    }
    node->send += step->sends;
    node->wait += step->waits;
    node->sent = false;
    ++node->step;
    return true;
}

/* Execute all steps. Some nodes proceed as far as possible before others begin. */
static void play(struct game *game, uint64_t *random)
{
    for (bool moved = true; moved;) {
        moved = false;
        const uint32_t first = crew_below(random, game->nodes);
        for (uint32_t n = 0; n < game->nodes; ++n) {
            while (advance(game, (first + n) % game->nodes)) {
                moved = true;
            }
        }
    }
    for (uint32_t n = 0; n < game->nodes; ++n) {
        const struct node *node = &game->node[n];
        assert_int_equal(node->step, node->group->nsteps);
        for (uint32_t other = 0; other < (game->rooted && 0 != n ? 0 : game->nodes); ++other) {
            assert_true(node->data.carry.position_of[other] < node->data.carry.buffer_blocks);
            assert_int_equal(node->blocks[node->data.carry.position_of[other]], other);
        }
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
    node->group = crew_require(
        aligned_alloc(MYR_LINE, mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits)));
    mcp_group_init(node->group, 1, game->nodes, n, lengths.steps, lengths.sends, lengths.waits, 0);
    node->blocks = crew_require(malloc(node->data.carry.buffer_blocks * sizeof(*node->blocks)));
    memset(node->blocks, 0xff, node->data.carry.buffer_blocks * sizeof(*node->blocks));
    node->blocks[0] = n;
    assert_true(myr_fill_tables(&schedule, n, game->schedule_of, game->context, &node->data, NULL,
                                mcp_group_steps(node->group), mcp_group_sends(node->group)));
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

static void play_all(uint32_t nodes, myr_schedule_fn schedule_of, const void *context, bool rooted,
                     uint64_t *random)
{
    struct game game = {
        .nodes = nodes, .schedule_of = schedule_of, .context = context, .rooted = rooted};
    game.node = crew_require(calloc(nodes, sizeof(*game.node)));
    for (uint32_t n = 0; n < nodes; ++n) {
        make_node(&game, n);
    }
    check_plan(&game);
    play(&game, random);
    for (uint32_t n = 0; n < nodes; ++n) {
        free(game.node[n].group);
        free(game.node[n].blocks);
        myr_carry_free(&game.node[n].data.carry);
    }
    free(game.node);
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
    enum { SMALL = 40, LARGE = 3 };
    static const uint32_t large[LARGE] = {64, 100, 129};
    uint64_t random = crew_seed();
    for (uint32_t i = 1; i <= SMALL + LARGE; ++i) {
        const uint32_t nodes = i <= SMALL ? i : large[i - SMALL - 1];
        const uint32_t parameters[] = {1, 2, 3, 4, 7, 15, 16, nodes - 1};
        play_choice(NICBARR_PAIRWISE, 0, nodes, &random);
        for (size_t p = 0; p < sizeof(parameters) / sizeof(parameters[0]); ++p) {
            play_choice(NICBARR_DISSEMINATION, parameters[p], nodes, &random);
            play_choice(NICBARR_TREE, parameters[p], nodes, &random);
            play_choice(NICBARR_ROOTED, parameters[p], nodes, &random);
        }
    }
    play_choice(NICBARR_TREE, MYR_CARRY_NODES - 1, MYR_CARRY_NODES, &random);
}

TEST(too_many_nodes)
{
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

/* Draw messages one after the other until every node depends on all others, and then a few more. */
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
    draw_nothing(2); /* a barrier, after which a node waits for a message that is never sent */
    for (uint32_t n = 0; n < 2; ++n) {
        add_send(&drawn.node[n], 1 - n, false);
        add_wait(&drawn.node[n], 1 - n, false);
    }
    add_wait(&drawn.node[1], 0, true);
    expect_no_plan();
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
