/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests broadcasts between NICs (firmware/bcast.c, collective_bcast.c) and their trees
 * (libmyr/groups/spread.c) on a fake board. A failure means that MPI_Bcast across nodes returns
 * another call's data, or hangs or fails when packets are lost. (tests/fuzz/bcast_fuzz.c covers
 * everything that one NIC may receive.)
 *
 * Dissemination schedules have a plan of broadcast trees for all sizes up to 300. Other schedules
 * have none.
 *
 * Invariants over a faulty wire, with random roots and delays:
 *
 * - Each host reads the right block of each broadcast, in order, and each NIC accepts each block
 *   once. Without faults, each node except the root gets one message.
 * - Waiting hosts are woken.
 * - Packets of correct NICs are never implausible.
 * - At the end, all hosts have read all blocks and leave; the groups send their close messages, and
 *   are closed.
 */
#include "tests/unit/crew.h"
#include "tests/unit/test.h"
#include "tests/unit/wire_fake.h"
#include "tests/unit/wire_group.h"

enum { MOST_NODES = 65, MOST_BROADCASTS = 400, FREED = 0xa5 };

static struct nicbarr_choice dissemination(uint32_t n)
{
    return (struct nicbarr_choice){NICBARR_DISSEMINATION, n, 0};
}

/* ---- trees ---- */

static bool has_plan(struct nicbarr_choice choice, uint32_t size, uint32_t rank)
{
    struct myr_schedule schedule;
    struct myr_spread spread;
    assert_true(nicbarr_schedule_create(choice, size, rank, &schedule));
    const bool good = myr_spread_plan(&schedule, size, rank, &spread);
    if (good) {
        myr_spread_free(&spread);
    }
    assert_true(NULL == spread.reach && NULL == spread.up);
    nicbarr_schedule_destroy(&schedule);
    return good;
}

TEST(plans)
{
    for (uint32_t size = 1; size <= 300; ++size) {
        for (uint32_t n = 1; n < size + 1 && n <= 300; n += n < 20 ? 1 : 31) {
            assert_true(has_plan(dissemination(n), size, (n * 7) % size));
        }
        assert_true(has_plan((struct nicbarr_choice){NICBARR_FLAGS, 4, 0}, size, 0));
    }
    for (uint32_t size = 4; size <= 64; ++size) {
        const struct nicbarr_choice others[] = {{NICBARR_PAIRWISE, 0, 0},
                                                {NICBARR_TREE, 1, 0},
                                                {NICBARR_TREE, 2, 0},
                                                {NICBARR_TREE, size - 1, 0}};
        for (size_t c = 0; c < sizeof(others) / sizeof(*others); ++c) {
            uint32_t plans = 0;
            for (uint32_t rank = 0; rank < size; ++rank) {
                plans += has_plan(others[c], size, rank);
            }
            assert_true(plans < size); /* so the schedule is not a candidate */
        }
    }
}

/* ---- random broadcasts ---- */

/* Broadcasts and epochs are numbered from 1 here, and from `base` + 1 and `base_epoch` + 1 on the
 * wire. */
struct game {
    struct wire wire;
    struct wire_group team;
    uint32_t size, count, window, base, base_epoch;
    uint32_t root_of[MOST_BROADCASTS + 1], bytes_of[MOST_BROADCASTS + 1];
    uint64_t pauses; /* about one in this many pauses is long; 0: none */
    struct host {
        struct game *game;
        uint32_t rank;
        struct wire_nic *nic;
        struct mcp_group *group;
        size_t bytes;
        uint32_t read; /* completed broadcasts */
        uint32_t epoch;
        uint64_t waits_since_ns, asks_at_ns, timeout_ns; /* 0 if the host is not waiting */
        enum { PLAYING, LEAVING, GONE } state;
        uint32_t scheduled; /* number of scheduled calls */
    } host[MOST_NODES];
    uint64_t messages; /* number of messages with blocks */
};

static void fill(const struct game *game, uint32_t number, uint8_t *block)
{
    uint64_t random = game->team.key + number;
    for (uint32_t i = 0; i < game->bytes_of[number]; ++i) {
        block[i] = (uint8_t)crew_random(&random);
    }
}

static void continue_host(struct wire_nic *nic, void *context);

static void schedule_host(struct host *host, uint64_t after_ns)
{
    ++host->scheduled;
    wire_after(&host->game->wire, after_ns, host->nic, continue_host, host);
}

/* The host completes a broadcast, and continues some time later. */
static void complete_broadcast(struct host *host)
{
    struct game *game = host->game;
    ++host->read;
    host->waits_since_ns = 0;
    if (0 == host->read % (game->window / 2)) {
        wire_group_start(host->nic, host->group, game->base_epoch + ++host->epoch);
    }
    const bool sleeps = 0 != game->pauses && 0 == wire_between(&game->wire, 0, game->pauses);
    schedule_host(host,
                  wire_between(&game->wire, 0, sleeps ? 300 * MILLISECOND : 20 * MICROSECOND));
}

static void wait_longer(struct host *host, uint32_t number)
{
    struct game *game = host->game;
    const uint64_t now_ns = game->wire.now_ns;
    if (0 == host->waits_since_ns) {
        host->waits_since_ns = now_ns + 1;
        host->timeout_ns = MILLISECOND;
    } else if (now_ns >= host->asks_at_ns) {
        if (game->root_of[number] != host->rank) {
            wire_group_bcast_ask(host->nic, host->group, game->root_of[number],
                                 game->base + number);
        }
        host->timeout_ns =
            host->timeout_ns < 64 * MILLISECOND ? 2 * host->timeout_ns : host->timeout_ns;
    } else {
        return;
    }
    host->asks_at_ns = now_ns + host->timeout_ns;
    schedule_host(host, host->timeout_ns);
}

static void play_root(struct host *host, uint32_t number)
{
    struct game *game = host->game;
    uint8_t block[MCP_PAYLOAD_MOST];
    if (!myr_epoch_reached(wire_group_done(host->group), game->base_epoch + host->epoch - 1)) {
        wait_longer(host, number);
        return;
    }
    fill(game, number, block);
    assert_true(wire_group_bcast(host->nic, host->group, game->base + number, block,
                                 game->bytes_of[number]));
    complete_broadcast(host);
}

static void play_leaf(struct host *host, uint32_t number)
{
    const struct game *game = host->game;
    const struct mcp_bcast_slot *slot = wire_group_slot(host->group, game->base + number);
    uint8_t block[MCP_PAYLOAD_MOST];
    if (!myr_epoch_reached(myr_load_acquire(&slot->number), game->base + number)) {
        wait_longer(host, number);
        return;
    }
    fill(game, number, block);
    assert_int_equal(slot->number, game->base + number);
    assert_int_equal(slot->bytes, game->bytes_of[number]);
    assert_memory_equal(slot + 1, block, slot->bytes);
    complete_broadcast(host);
}

static void leave(struct host *host)
{
    if (PLAYING == host->state) {
        (void)wire_group_begin_closing(host->nic, host->group);
        host->state = LEAVING;
    }
    if (mcp_group_waits_now(host->group)) {
        schedule_host(host, MILLISECOND);
        return;
    }
    host->state = GONE;
    wire_group_close(host->nic, host->group);
    memset(host->group, FREED, host->bytes);
}

static void continue_host(struct wire_nic *nic, void *context)
{
    struct host *host = context;
    const uint32_t number = host->read + 1;
    (void)nic;
    --host->scheduled;
    if (GONE == host->state) {
        return;
    }
    if (number > host->game->count) {
        leave(host);
    } else if (host->game->root_of[number] == host->rank) {
        play_root(host, number);
    } else {
        play_leaf(host, number);
    }
}

/* A waiting host continues at once, whether the word is in its group or in a slot. */
static void woken(void *context, struct wire_nic *nic, myr_word *word)
{
    struct game *game = context;
    (void)word;
    for (uint32_t r = 0; r < game->size; ++r) {
        if (game->host[r].nic == nic && 0 != game->host[r].waits_since_ns) {
            schedule_host(&game->host[r], MICROSECOND);
        }
    }
}

static bool count_blocks(void *context, const struct wire_nic *from, mcp_link to,
                         const struct mcp_header *header, const void *payload, size_t bytes)
{
    struct game *game = context;
    (void)from, (void)to, (void)payload, (void)bytes;
    game->messages += MCP_BCAST == header->type;
    return true;
}

static bool all_gone(void *context)
{
    const struct game *game = context;
    for (uint32_t r = 0; r < game->size; ++r) {
        if (GONE != game->host[r].state) {
            return false;
        }
    }
    return true;
}

static void begin_game(struct game *game, uint64_t seed, uint32_t size, uint32_t n, uint32_t block,
                       uint32_t base_epoch)
{
    memset(game, 0, sizeof(*game));
    game->size = size;
    wire_begin(&game->wire, size, 1 << 20, seed);
    game->wire.transmitted = count_blocks;
    game->wire.woken = woken;
    game->wire.context = game;
    wire_group_begin(&game->team, &game->wire, dissemination(n), size);
    wire_group_broadcast(&game->team, block);
    game->window = mcp_bcast_window(game->team.slot_bytes);
    game->base_epoch = base_epoch;
    game->base = base_epoch * (game->window / 2);
    for (uint32_t r = 0; r < size; ++r) {
        struct host *host = &game->host[r];
        *host = (struct host){.game = game,
                              .rank = r,
                              .nic = wire_group_nic(&game->team, r),
                              .group = wire_group_open(&game->team, r, base_epoch),
                              .bytes = wire_group_bytes(&game->team, r)};
        for (uint32_t s = 0; s < game->window; ++s) {
            wire_group_slot(host->group, s)->number = game->base;
        }
    }
}

static void draw(struct game *game, uint32_t count, uint32_t block)
{
    struct wire *wire = &game->wire;
    const bool one_root = 0 == wire_between(wire, 0, 3);
    game->count = count;
    for (uint32_t b = 1; b <= count; ++b) {
        game->root_of[b] = one_root ? 0 : (uint32_t)wire_between(wire, 0, game->size - 1);
        game->bytes_of[b] = 8 * (uint32_t)wire_between(wire, 1, block / 8);
    }
}

static void end_game(struct game *game)
{
    for (uint32_t r = 0; r < game->size; ++r) {
        const uint8_t *memory = (const uint8_t *)game->host[r].group;
        for (size_t i = 0; GONE == game->host[r].state && i < game->host[r].bytes; ++i) {
            assert_int_equal(memory[i], FREED);
        }
    }
    wire_group_end(&game->team);
    wire_end(&game->wire);
}

static void play_game(uint64_t seed, uint32_t most)
{
    static struct game game;
    uint64_t random = seed;
    const uint32_t size = 1 + crew_below(&random, most);
    const uint32_t block =
        0 == crew_below(&random, 2) ? 8 + 8 * crew_below(&random, 30) : MCP_PAYLOAD_MOST;
    const uint32_t count = 1 + crew_below(&random, MOST_BROADCASTS);
    const bool bad = 0 != crew_below(&random, 3);
    /* Drawn in separate statements, because the order of evaluating arguments is unspecified. */
    const uint32_t base_epoch =
        0 == crew_below(&random, 2) ? 0 : UINT32_MAX - crew_below(&random, 30);
    const uint32_t n = 1 + crew_below(&random, size);
    begin_game(&game, crew_random(&random), size, n, block, base_epoch);
    draw(&game, count, block);
    game.pauses = crew_below(&random, 2) * (1 + crew_below(&random, 200));
    game.wire.faults.delay_most_ns = 10 * MICROSECOND;
    if (bad) {
        game.wire.faults = (struct wire_faults){.loss = crew_below(&random, 300),
                                                .duplication = crew_below(&random, 300),
                                                .reordering = crew_below(&random, 300),
                                                .damage = crew_below(&random, 100),
                                                .delay_most_ns = 10 * MICROSECOND,
                                                .detour_most_ns = 3 * MILLISECOND};
    }
    for (uint32_t r = 0; r < size; ++r) {
        schedule_host(&game.host[r], wire_between(&game.wire, 0, MILLISECOND));
    }
    if (!wire_run(&game.wire, all_gone, &game, 3600 * SECOND)) {
        for (uint32_t r = 0; r < size; ++r) {
            const struct host *host = &game.host[r];
            fprintf(stderr, "rank %u: read %u of %u, epoch %u, done %u, started %u, state %d\n", r,
                    host->read, count, host->epoch, wire_group_done(host->group),
                    host->group->started, host->state);
        }
        fail_msg("the broadcasts with seed %llu do not end", (unsigned long long)seed);
    }
    uint64_t answered = 0; /* after a long wait, a host requests a block, and may get it twice */
    for (uint32_t r = 0; r < size; ++r) {
        const struct mcp_counters *counters = &game.host[r].nic->mcp->counters;
        answered += counters->answered;
        assert_int_equal(counters->broadcasts, count);
        assert_int_equal(counters->dropped_implausible, 0);
        assert_int_equal(counters->failed, 0);
        if (!bad) {
            assert_int_equal(counters->dropped_forged, 0);
        }
    }
    if (!bad && 0 == game.pauses) {
        assert_in_range(game.messages, (uint64_t)count * (size - 1),
                        (uint64_t)count * (size - 1) + answered);
    }
    end_game(&game);
}

TEST(all_hosts_read_all_blocks)
{
    uint64_t random = crew_seed();
    play_game(13864115581393754117U, 20); /* a case in which the last close message is lost */
    for (int g = 0; g < 400; ++g) {
        play_game(crew_random(&random), 0 == g % 16 ? MOST_NODES : 20);
    }
}

/* ---- the window ---- */

/* For every half of a window, nodes execute a barrier that grants credits. To make these barriers
 * rare, a window has as many slots as fit, for blocks of any size. */
TEST(a_window_has_many_slots)
{
    for (uint32_t block = MCP_BLOCK_UNIT; block <= MCP_PAYLOAD_MOST; block += MCP_BLOCK_UNIT) {
        const uint32_t slot_bytes = mcp_bcast_slot_bytes(block);
        const uint32_t window = mcp_bcast_window(slot_bytes);
        assert_true(32 == window || 64 == window);
        assert_true(mcp_bcast_offset(window, slot_bytes, window - 1) + slot_bytes <=
                    MCP_BCAST_BYTES);
        assert_true(64 == window || 2 * window * slot_bytes > MCP_BCAST_BYTES);
    }
}

/* ---- failure ---- */

/*
 * A child of the root requests a block late. The response depends on the root's group:
 *
 * - The group has failed, or was closed before all peers had sent their close messages, so that
 *   some may miss blocks. The child is informed of the failure, even by a closed group.
 * - The group's hosts left long ago, but the group is still open and sends the block.
 * - The group was closed, and there is no block that peers may miss. There is no response.
 */
TEST(late_request)
{
    enum { FAILED, FAILED_AND_CLOSED, CUT_SHORT, LEFT_LONG_AGO, CLOSED, CASES };
    static const uint32_t failures[] = {
        [FAILED] = 3, [FAILED_AND_CLOSED] = 3, [CUT_SHORT] = 1, [LEFT_LONG_AGO] = 0, [CLOSED] = 0};
    static struct game game;
    const uint8_t block[8] = {1};
    for (int way = 0; way < CASES; ++way) {
        begin_game(&game, 1, 4, 1, 8, 0);
        game.wire.woken = NULL;
        const struct host *root = &game.host[0], *child = &game.host[1];
        const struct mcp_bcast_slot *slot = wire_group_slot(child->group, 1);
        if (way <= FAILED_AND_CLOSED) { /* node 2 is missing */
            child->nic->unplugged = true;
            (void)mcp_collective_fail(&root->nic->mcp->collective, &root->nic->board,
                                      &root->nic->mcp->counters, root->group, 2);
            wire_pass(&game.wire, SECOND);
            child->nic->unplugged = false;
        } else if (CLOSED != way) { /* a block that no node gets */
            game.wire.faults.loss = 1000;
            assert_true(wire_group_bcast(root->nic, root->group, 1, block, 8));
            wire_pass(&game.wire, SECOND);
            game.wire.faults.loss = 0;
            assert_true(wire_group_begin_closing(root->nic, root->group));
        }
        if (LEFT_LONG_AGO == way) {
            wire_pass(&game.wire, 3 * 3600 * SECOND);
            assert_true(mcp_group_waits_now(root->group)); /* so the group is not closed */
        } else if (FAILED != way) {
            wire_group_close(root->nic, root->group);
        }
        assert_int_equal(child->group->failed, 0);
        assert_int_not_equal(slot->number, 1);
        wire_group_bcast_ask(child->nic, child->group, 0, 1);
        wire_pass(&game.wire, SECOND);
        assert_int_equal(child->group->failed, failures[way]);
        assert_int_equal(1 == slot->number, LEFT_LONG_AGO == way);
        assert_true(LEFT_LONG_AGO != way || 0 == memcmp(slot + 1, block, 8));
        assert_true(CLOSED != way || 0 == root->nic->mcp->counters.answered);
        end_game(&game);
    }
}

/* Barriers skip slots. An old number in a slot must not be taken for the next broadcast's. */
TEST(slots_of_any_age)
{
    static struct game game;
    const uint8_t block[8] = {1};
    for (uint32_t age = 1; age < 32; ++age) {
        const uint32_t epoch = (UINT32_C(1) << age) + 1;
        begin_game(&game, 1, 2, 1, 1200, epoch);
        game.wire.woken = NULL;
        struct host *root = &game.host[0], *leaf = &game.host[1];
        const uint32_t number = game.base + 1;
        for (uint32_t held = 0; held < 2; ++held) {
            const uint32_t old = 0 == held ? 0 : number + (UINT32_C(1) << 31);
            wire_group_slot(root->group, number)->number = old;
            wire_group_slot(leaf->group, number)->number = old;
            if (old != number) {
                assert_true(wire_group_bcast(root->nic, root->group, number, block, 8));
                wire_pass(&game.wire, SECOND);
                assert_int_equal(wire_group_slot(leaf->group, number)->number, number);
                assert_memory_equal(wire_group_slot(leaf->group, number) + 1, block, 8);
            }
        }
        end_game(&game);
    }
}
