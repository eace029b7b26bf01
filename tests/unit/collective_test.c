/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests collectives of a complete NIC on a fake board. A failure means that barriers hang or are
 * slow when packets are lost or early, or that unknown senders release or break them. (Random
 * collectives are in collective_model_test.c, and random packets in tests/fuzz/collective_fuzz.c.)
 *
 * Invariants:
 *
 * - A message that arrives before its group is opened is kept, or requested later.
 * - A peer's request to a closed group is answered with DONE; no other request is.
 * - A packet without a known key, or not sealed with the group's secret, changes nothing and gets
 *   no response.
 * - A waiting group requests exactly the missing messages, with exponential backoff.
 *
 * In groups that carry data, a node retransmits data that a peer misses even after its own hosts
 * have left. If the data are gone, the peer fails, and does not accept other data in their place.
 */
#include "tests/unit/crew.h"
#include "tests/unit/test.h"
#include "tests/unit/wire_fake.h"
#include "tests/unit/wire_group.h"

enum {
    MOST_LOGGED = 4096,
    MOST_NODES = 33,
    FREED = 0xa5,
};

static const struct nicbarr_choice flags = {NICBARR_FLAGS, 4, 0},
                                   dissemination = {NICBARR_DISSEMINATION, 1, 0};

struct logged {
    uint64_t at_ns;
    uint32_t from;
    mcp_link to;
    struct mcp_header header;
    size_t payload_bytes;
};
static struct logged log_of[MOST_LOGGED];
static uint32_t logged;

static struct wire wire;
static struct wire_group team;
static struct mcp_group *member[MOST_NODES];

static bool log_packet(void *context, const struct wire_nic *from, mcp_link to,
                       const struct mcp_header *header, const void *payload, size_t payload_bytes)
{
    (void)context, (void)payload;
    assert_true(0 == payload_bytes || 0 != team.unit_most);
    if (logged < MOST_LOGGED) {
        log_of[logged++] = (struct logged){wire.now_ns, from->number, to, *header, payload_bytes};
    }
    return true;
}

static void begin(uint32_t nnics, struct nicbarr_choice choice)
{
    wire_begin(&wire, nnics, 1 << 20, 1);
    wire.transmitted = log_packet;
    logged = 0;
    wire_group_begin(&team, &wire, choice, nnics);
}

static void end(void)
{
    wire_group_end(&team);
    wire_end(&wire);
}

static void open_all(uint32_t epoch)
{
    for (uint32_t r = 0; r < team.size; ++r) {
        member[r] = wire_group_open(&team, r, epoch);
    }
}

static void start(uint32_t rank, uint32_t epoch)
{
    wire_group_start(wire_group_nic(&team, rank), member[rank], epoch);
}

static uint32_t done(uint32_t rank)
{
    return wire_group_done(member[rank]);
}

static struct mcp_nic *mcp(uint32_t number)
{
    return wire.nics[number].mcp;
}

static struct mcp_counters *counters(uint32_t number)
{
    return &mcp(number)->counters;
}

/* Inject a packet that no control program has sent. (An ARRIVE names its receiver, not `node`.) */
static void inject(uint32_t from, uint32_t to, uint8_t type, uint64_t key, uint32_t epoch,
                   uint32_t slot, uint32_t node)
{
    struct mcp_header header = {.type = type, .key = key};
    header.collective = (struct mcp_collective_part){epoch, (uint16_t)slot,
                                                     (uint16_t)(MCP_ARRIVE == type ? to : node)};
    mcp_seal(&header, &team.secret, NULL, 0);
    wire_inject(&wire, &wire.nics[from], &wire.nics[to], &header, MCP_COLLECTIVE_BYTES);
}

/* Process the packets in flight, and those that they cause. */
static void settle(void)
{
    wire_pass(&wire, 10 * MICROSECOND);
}

static uint32_t count_sent(uint8_t type)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < logged; ++i) {
        found += type == log_of[i].header.type;
    }
    return found;
}

static void expect_idle(uint32_t number)
{
    static const mcp_offset none[MCP_BUCKETS];
    assert_memory_equal(mcp(number)->collective.bucket, none, sizeof(none));
    assert_int_equal(mcp(number)->collective.active, 0);
    assert_int_equal(mcp_deadline_ns(mcp(number)), 0);
}

/* ---- data ---- */

enum { UNIT = 32 };

static void begin_with_data(uint32_t nnics, struct nicbarr_choice choice)
{
    begin(nnics, choice);
    assert_int_equal(wire_group_carry(&team, UNIT), UNIT);
    open_all(0);
}

static void make_block(uint32_t rank, uint32_t epoch, uint8_t *block)
{
    memset(block, (int)(0x40 + 16 * epoch + rank), UNIT);
}

static void offer(uint32_t rank, uint32_t epoch)
{
    uint8_t block[UNIT];
    make_block(rank, epoch, block);
    assert_true(wire_group_offer(wire_group_nic(&team, rank), member[rank], epoch, block, UNIT));
}

/* Check that a node has completed the epoch, with all its blocks. */
static void expect_blocks(uint32_t rank, uint32_t epoch)
{
    assert_int_equal(done(rank), epoch);
    assert_int_equal(myr_load_acquire(&member[rank]->failed), 0);
    for (uint32_t of = 0; of < team.size; ++of) {
        uint8_t block[UNIT];
        make_block(of, epoch, block);
        assert_memory_equal(wire_group_block(&team, rank, member[rank], epoch, UNIT, of), block,
                            UNIT);
    }
}

/* ---- without loss ---- */

/* Each message is sent once, and each host woken once, also if the wire duplicates all packets, and
 * if groups carry data. */
TEST(each_message_once)
{
    for (uint32_t way = 0; way < 4; ++way) {
        const bool data = 0 != (way & 1), twice = 0 != (way & 2);
        const uint8_t block[UNIT] = {0};
        begin(5, dissemination);
        assert_int_equal(wire_group_carry(&team, data ? UNIT : 0), data ? UNIT : 0);
        open_all(0);
        wire.faults.duplication = twice ? 1000 : 0;
        for (uint32_t epoch = 1; epoch < 6; ++epoch) {
            for (uint32_t r = 0; r < 5; ++r) {
                (data ? offer : start)((r + epoch) % 5, epoch);
            }
            for (uint32_t e = epoch; data && e < epoch + 2; ++e) { /* offered already; too early */
                assert_false(wire_group_offer(&wire.nics[0], member[0], e, block, UNIT));
            }
            settle();
            for (uint32_t r = 0; r < 5; ++r) {
                assert_int_equal(done(r), epoch);
                assert_int_equal(counters(r)->barriers, epoch);
                assert_int_equal(counters(r)->packets_sent, 3 * epoch);
                assert_int_equal(counters(r)->packets_received, (twice ? 6 : 3) * epoch);
                assert_int_equal(counters(r)->duplicates, (twice ? 3 : 0) * epoch);
                assert_int_equal(wire.nics[r].wakes, epoch);
                if (data) {
                    expect_blocks(r, epoch);
                }
            }
        }
        wire_pass(&wire, SECOND); /* no further packets */
        assert_int_equal(count_sent(MCP_ARRIVE), 5 * 5 * 3);
        assert_int_equal(logged, 5 * 5 * 3);
        end();
    }
}

/* N - 1 messages arrive at once, before the host arrives or has even opened the group. They are
 * kept, so that the host need not wait. */
TEST(all_before_one)
{
    for (uint32_t opened = 0; opened < 2; ++opened) {
        begin(MOST_NODES, flags);
        for (uint32_t r = 1 - opened; r < MOST_NODES; ++r) {
            member[r] = wire_group_open(&team, r, UINT32_MAX);
        }
        for (uint32_t r = 1; r < MOST_NODES; ++r) {
            start(r, 0);
        }
        settle();
        assert_int_equal(counters(0)->unexpected, opened * (MOST_NODES - 1));
        assert_int_equal(counters(0)->early, (1 - opened) * (MOST_NODES - 1));
        assert_int_equal(counters(0)->packets_sent, 0);
        assert_int_equal(wire.nics[0].wakes, 0);
        if (0 == opened) {
            member[0] = wire_group_open(&team, 0, UINT32_MAX);
        }
        assert_int_equal(done(0), UINT32_MAX);
        start(0, 0);
        assert_int_equal(done(0), 0); /* immediately */
        assert_int_equal(wire.nics[0].wakes, 1);
        settle();
        for (uint32_t r = 0; r < MOST_NODES; ++r) {
            assert_int_equal(done(r), 0);
        }
        assert_int_equal(count_sent(MCP_ASK), 0);
        for (uint32_t i = 0; i < MCP_EARLY; ++i) { /* they are no longer stored as early messages */
            assert_int_equal(mcp(0)->collective.early[i].key, 0);
        }
        end();
    }
}

/* ---- after it is closed ---- */

TEST(closed)
{
    begin(2, flags);
    open_all(UINT32_MAX - 1);
    for (uint32_t epoch = UINT32_MAX; epoch != 1; ++epoch) {
        start(0, epoch);
        start(1, epoch);
        settle();
    }
    start(0, 1); /* not complete when the group is closed */
    settle();
    wire_group_close(&wire.nics[0], member[0]);
    logged = 0;
    static const uint32_t past[] = {0, UINT32_MAX, UINT32_MAX - 1000};
    for (uint32_t i = 0; i < 3; ++i) {
        inject(1, 0, MCP_ASK, team.key, past[i], 5, 1);
        settle();
        assert_int_equal(logged, i + 1);
        const struct logged *answer = &log_of[i];
        assert_int_equal(answer->from, 0);
        assert_int_equal(answer->to, wire.nics[1].link);
        assert_int_equal(answer->header.type, MCP_DONE);
        assert_int_equal(answer->header.key, team.key);
        assert_int_equal(answer->header.collective.epoch, past[i]);
    }
    assert_int_equal(counters(0)->answered, 3);
    /* An incomplete epoch gets no DONE, and its messages must not count as early ones. */
    inject(1, 0, MCP_ASK, team.key, 1, 0, 1);
    inject(1, 0, MCP_ARRIVE, team.key, 0, 0, 1);
    inject(1, 0, MCP_ARRIVE, team.key, 1, 0, 1);
    inject(1, 0, MCP_DONE, team.key, 1, 0, 1);
    settle();
    assert_int_equal(logged, 3);
    assert_int_equal(counters(0)->duplicates, 4);
    assert_int_equal(counters(0)->early, 0);
    assert_int_equal(counters(0)->dropped_foreign, 0);
    wire_pass(&wire, SECOND);
    expect_idle(0);
    end();
}

/* The NIC keeps entries of the last MCP_LATE closed groups. */
TEST(many_closed)
{
    begin(1, flags);
    struct mcp_group *group = wire_memory(&wire.nics[0], wire_group_bytes(&team, 0));
    struct mcp_collective *collective = &mcp(0)->collective;
    for (uint32_t i = 0; i <= MCP_LATE; ++i) {
        team.key = 1 + i;
        wire_group_fill(&team, 0, i, group);
        mcp_collective_open(collective, &wire.nics[0].board, counters(0), group);
        wire_group_close(&wire.nics[0], group);
    }
    for (uint32_t i = 0; i <= MCP_LATE; ++i) {
        logged = 0;
        inject(0, 0, MCP_ASK, 1 + i, i, 0, 0);
        wire_next(&wire);
        assert_int_equal(logged, 0 != i);
        wire_next(&wire); /* the response arrives, and changes nothing */
    }
    assert_int_equal(counters(0)->dropped_foreign, 1);
    assert_int_equal(counters(0)->answered, MCP_LATE);
    assert_int_equal(counters(0)->duplicates, MCP_LATE);
    expect_idle(0);
    end();
}

/* ---- implausible and forged packets ---- */

/* Inject a packet that is sealed with a secret of which one bit differs. */
static void inject_with_other_secret(uint8_t type, uint32_t bit)
{
    struct mcp_header forged = {
        .type = type, .key = team.key, .collective = {1, 0, MCP_ARRIVE != type}};
    struct mcp_secret other = team.secret;
    other.word[bit / 64] ^= UINT64_C(1) << bit % 64;
    mcp_seal(&forged, &other, NULL, 0);
    wire_inject(&wire, &wire.nics[1], &wire.nics[0], &forged, MCP_COLLECTIVE_BYTES);
}

/* Inject packets of all types that have an effect from NIC 1 to NIC 0: with each single bit
 * flipped, and sealed with each secret that differs in one bit. Returns the number of packets. */
static uint32_t inject_forged(void)
{
    uint32_t packets = 0;
    for (uint8_t type = MCP_ARRIVE; type <= MCP_FAIL; ++type) {
        struct mcp_header good = {
            .type = type, .key = team.key, .collective = {1, 0, MCP_ARRIVE != type}};
        mcp_seal(&good, &team.secret, NULL, 0);
        for (uint32_t bit = 0; bit < 8 * MCP_COLLECTIVE_BYTES; ++bit, ++packets) {
            uint8_t packet[MCP_COLLECTIVE_BYTES];
            memcpy(packet, &good, sizeof(packet));
            packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
            wire_inject(&wire, &wire.nics[1], &wire.nics[0], packet, sizeof(packet));
        }
        for (uint32_t bit = 0; bit < 128; ++bit, ++packets) {
            inject_with_other_secret(type, bit);
        }
    }
    return packets;
}

/* Packets without the secret change nothing and get no response, in a waiting group and in a
 * closed one. */
TEST(only_members_are_accepted)
{
    static uint8_t before[4096];
    for (uint32_t closed = 0; closed < 2; ++closed) {
        begin(2, flags);
        open_all(0);
        start(0, 1);
        if (0 != closed) {
            start(1, 1);
            settle();
            wire_group_close(wire_group_nic(&team, 0), member[0]);
        }
        settle();
        const size_t bytes = wire_group_bytes(&team, 0);
        assert_true(bytes <= sizeof(before));
        memcpy(before, member[0], bytes);
        logged = 0;
        const uint32_t packets = inject_forged();
        settle();
        const struct mcp_counters *c = counters(0);
        assert_int_equal(c->dropped_damaged + c->dropped_forged + c->dropped_foreign + c->early,
                         packets);
        assert_int_equal(logged, 0);
        assert_memory_equal(before, member[0], bytes);
        inject(1, 0, 0 != closed ? MCP_ASK : MCP_ARRIVE, team.key, 1, 0, 1); /* a member's packet */
        settle();
        assert_int_equal(count_sent(MCP_DONE), closed);
        assert_int_equal(done(0), 1);
        end();
    }
}

/* Packets without the secret have no effect in a group that is opened later, either. */
TEST(early_packets_are_authenticated_later)
{
    begin(2, flags);
    for (uint32_t bit = 0; bit < MCP_EARLY; ++bit) {
        inject_with_other_secret(MCP_ARRIVE, bit);
    }
    settle();
    assert_int_equal(counters(0)->early, MCP_EARLY);
    open_all(0);
    start(0, 1);
    settle();
    assert_int_equal(counters(0)->dropped_forged, MCP_EARLY);
    assert_int_equal(done(0), 0);
    end();
}

/* All members have the same secret, so an attacker could send the ARRIVE of one member to another
 * one, which misses the message of a third member in that slot. */
TEST(arrivals_for_other_members_are_dropped)
{
    for (uint32_t early = 0; early < 2; ++early) { /* also before the group is open */
        begin(3, dissemination);
        for (uint32_t r = early; r < 3; ++r) {
            member[r] = wire_group_open(&team, r, 0);
        }
        start(1, 1);
        settle();
        assert_int_equal(logged, 1); /* for slot 0 of node 2 */
        wire_inject(&wire, &wire.nics[1], &wire.nics[0], &log_of[0].header, MCP_COLLECTIVE_BYTES);
        settle();
        if (0 != early) {
            member[0] = wire_group_open(&team, 0, 0);
        }
        start(0, 1);
        settle();
        assert_int_equal(done(0), 0); /* slot 0 is for a message of node 2, which has not arrived */
        assert_int_equal(counters(0)->dropped_implausible, 1);
        start(2, 1);
        settle();
        for (uint32_t r = 0; r < 3; ++r) {
            assert_int_equal(done(r), 1);
        }
        end();
    }
}

/* ---- requests and responses ---- */

/* Waiting groups send requests after 1, 3, 7, 15, 31, 63, 127 ms, and from then on every 64 ms,
 * each since its own start, although they share one deadline. The next barrier starts with the
 * initial backoff. */
TEST(requests_with_growing_backoff)
{
    enum { GROUPS = 3, FIRST = 1 };
    struct mcp_group *groups[GROUPS];
    begin(2, flags);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        ++team.key;
        groups[g] = wire_group_open(&team, 0, 0);
    }
    for (uint32_t g = 0; g < GROUPS; ++g) {
        wire_group_start(&wire.nics[0], groups[(g + FIRST) % GROUPS], 1);
        wire_pass(&wire, MCP_BACKOFF_NS / 3);
    }
    wire_pass(&wire, SECOND);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        uint64_t backoff_ns = 0, next_ns = 0;
        uint32_t asked = 0;
        for (uint32_t i = 0; i < logged; ++i) {
            const struct logged *packet = &log_of[i];
            if (packet->header.key != groups[g]->key) {
                continue;
            }
            if (MCP_ARRIVE == packet->header.type) {
                backoff_ns = MCP_BACKOFF_NS;
                next_ns = packet->at_ns + backoff_ns;
                continue;
            }
            assert_int_equal(packet->header.type, MCP_ASK);
            assert_int_equal(packet->at_ns, next_ns);
            assert_int_equal(packet->to, wire.nics[1].link);
            assert_int_equal(packet->header.collective.epoch, 1);
            backoff_ns =
                2 * backoff_ns < MCP_BACKOFF_MOST_NS ? 2 * backoff_ns : MCP_BACKOFF_MOST_NS;
            next_ns += backoff_ns;
            ++asked;
        }
        assert_int_equal(asked, 7 + (1000 - 127) / 64);
    }
    assert_int_equal(counters(0)->asked, count_sent(MCP_ASK));
    struct mcp_group *const other = wire_group_open(&team, 1, 0), *const last = groups[GROUPS - 1];
    wire_group_start(&wire.nics[1], other, 1);
    settle();
    assert_int_equal(wire_group_done(last), 1);
    for (uint32_t g = 0; g + 1 < GROUPS; ++g) {
        wire_group_close(&wire.nics[0], groups[g]);
    }
    wire_group_start(&wire.nics[0], last, 2);
    logged = 0;
    wire_pass(&wire, MCP_BACKOFF_NS + 1);
    assert_int_equal(count_sent(MCP_ASK), 1);
    end();
}

/* ---- late and missing hosts ---- */

TEST(late_hosts_respond)
{
    begin(3, flags);
    open_all(0);
    start(0, 1);
    start(1, 1);
    wire.nics[2].unplugged = true;
    wire_pass(&wire, 200 * MILLISECOND);
    struct mcp_missing missing;
    uint32_t cursor = 0;
    assert_true(mcp_group_awaits(member[0], &cursor, &missing));
    assert_int_equal(missing.node, 2);
    assert_int_equal(missing.heard_ms, 0);
    wire.nics[2].unplugged = false;
    wire_pass(&wire, 200 * MILLISECOND);
    cursor = 0;
    assert_true(mcp_group_awaits(member[0], &cursor, &missing));
    assert_int_equal(missing.node, 2);
    assert_true((uint32_t)(wire.now_ns / MILLISECOND) - missing.heard_ms < 70);
    assert_false(mcp_group_awaits(member[0], &cursor, &missing));
    assert_true(counters(2)->later > 2 && counters(0)->heard > 1);
    assert_int_equal(counters(2)->later, counters(0)->heard + counters(1)->heard);
    start(2, 1);
    wire_pass(&wire, 10 * MILLISECOND);
    for (uint32_t r = 0; r < 3; ++r) {
        assert_int_equal(done(r), 1);
    }
    end();
}

/* ---- data ---- */

static bool begin_closing(uint32_t rank)
{
    return wire_group_begin_closing(wire_group_nic(&team, rank), member[rank]);
}

static void close_it(uint32_t rank)
{
    assert_false(mcp_group_waits_now(member[rank]));
    wire_group_close(wire_group_nic(&team, rank), member[rank]);
    memset(member[rank], FREED, wire_group_bytes(&team, rank));
}

/* If the data that a peer misses are gone, the peer accepts no other data in their place. */
TEST(closed_with_data)
{
    for (uint32_t closes = 0; closes < 2; ++closes) {
        begin_with_data(2, flags);
        offer(0, 1);
        wire.faults.loss = 1000;
        settle();
        offer(1, 1); /* this block is lost */
        settle();
        wire.faults.loss = 0;
        inject(0, 1, MCP_ARRIVE, team.key, 1, 0, 0); /* node 1 certainly completes the epoch */
        settle();
        assert_int_equal(done(1), 1);
        wire.faults.loss = 1000;
        if (0 != closes) { /* the group is closed before all close messages were exchanged */
            assert_true(begin_closing(1));
        }
        wire_group_close(&wire.nics[1], member[1]);
        memset(member[1], FREED, wire_group_bytes(&team, 1));
        wire.faults.loss = 0;
        const uint64_t wakes = wire.nics[0].wakes;
        logged = 0;
        wire_pass(&wire, 2 * MCP_BACKOFF_MOST_NS);
        assert_int_equal(count_sent(MCP_DONE), 0);
        assert_int_equal(done(0), 0);
        assert_int_equal(myr_load_acquire(&member[0]->failed), 2);
        assert_int_equal(wire.nics[0].wakes, wakes + 1);
        end();
    }
}

/* A peer that does not leave gets requests, finally once a minute. When it leaves, the exchange
 * of close messages is complete. */
TEST(a_closing_epoch_has_a_long_backoff)
{
    begin_with_data(2, flags);
    offer(0, 1);
    offer(1, 1);
    settle();
    logged = 0;
    assert_true(begin_closing(0));
    assert_false(begin_closing(0)); /* the close messages are sent only once */
    wire_pass(&wire, 60 * SECOND);
    const uint32_t asked = count_sent(MCP_ASK);
    assert_in_range(asked, 20, 100);
    assert_int_equal(count_sent(MCP_LATER), asked);
    logged = 0;
    wire_pass(&wire, 10 * 60 * SECOND);
    assert_in_range(count_sent(MCP_ASK), 9, 10);
    expect_blocks(1, 1);
    assert_true(begin_closing(1));
    settle();
    close_it(0);
    close_it(1);
    wire_pass(&wire, SECOND);
    expect_idle(0);
    expect_idle(1);
    end();
}
