/* SPDX-License-Identifier: BSD-3-Clause */
/* See events.h. */
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/test.h"

void expect_woken(struct pair *pair, bool wakes)
{
    struct frame frame;
    char packet[MOST_PAYLOAD];
    if (pair->sleeps && wakes) {
        pair->sleeps = false;
        assert_int_equal(recv(pair->bell, packet, sizeof(packet), 0), MCP_COLLECTIVE_BYTES);
        assert_int_equal(take(passed, &frame, true), BEFORE_PAYLOAD + MCP_COLLECTIVE_BYTES);
    }
    assert_int_equal(recv(pair->bell, packet, sizeof(packet), MSG_DONTWAIT), -1);
    assert_int_equal(take(passed, &frame, false), 0);
}

void event_packet(struct pair *pair, struct mcp_header header, uint64_t *random)
{
    const uint32_t before = done(pair);
    const uint64_t blocks = count.broadcasts;
    receive_here(pair, &header);
    inject_collective(crew_below(random, MOST_NODES), &header);
    expect_same(pair);
    expect_woken(pair, before != done(pair) || blocks != count.broadcasts);
}

/* Returns whether a packet of this type can have a payload of this length. */
static bool length_fits(const struct mcp_header *header)
{
    return MCP_BCAST == header->type ? 0 != header->payload_bytes
                                     : 0 == header->payload_bytes || MCP_ARRIVE == header->type;
}

void inject_strange(struct pair *pair, uint32_t from, const struct mcp_header *header,
                    uint32_t payload_bytes)
{
    struct frame frame;
    bool passes = true;
    ++count.packets_received;
    const size_t bytes = make_collective(&frame, from, header, payload_bytes);
    if (MCP_MAGIC != header->magic || MCP_WIRE_VERSION != header->version ||
        !mcp_is_collective(header->type) || payload_bytes != header->payload_bytes ||
        !length_fits(header)) {
        ++count.dropped_damaged;
    } else if (pair->key != header->key) {
        ++count.dropped_foreign;
    } else {
        ++count.dropped_forged;
        passes = false;
    }
    inject(&frame, bytes);
    if (passes) {
        expect_passed(&frame, bytes);
    }
    expect_same(pair);
}

void flip(void *bytes, uint32_t bit)
{
    ((uint8_t *)bytes)[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

static void event_bad_packet(struct pair *pair, uint64_t *random)
{
    struct mcp_header header = broadcasts(pair) && 0 == crew_below(random, 2)
                                   ? some_bcast(pair, random)
                                   : some_arrival(pair, random);
    struct mcp_secret other = pair->plan.secret;
    const uint32_t bytes = header.payload_bytes;
    switch (crew_below(random, 5)) {
    case 0: /* another group's key */
        header.key = 0 == crew_below(random, 3) ? 0 : header.key + 2;
        break;
    case 1: /* a damaged header */
        flip(&header, crew_below(random, 8 * MCP_COLLECTIVE_BYTES));
        break;
    case 2: /* a damaged payload */
        if (0 == bytes) {
            return;
        }
        flip(carried, crew_below(random, 8 * bytes));
        break;
    case 3: /* sealed with another secret */
        flip(&other, crew_below(random, 8 * sizeof(other)));
        mcp_seal(&header, &other, carried, bytes);
        break;
    default: /* intact, but of a type without the short header */
        header.type = (uint8_t)(0 == crew_below(random, 2) ? 0 : MCP_DATA);
        break;
    }
    inject_strange(pair, crew_below(random, MOST_NODES), &header, bytes);
}

/* Deliver a packet whose length is wrong for a collective packet; the program passes it to the
 * system. If groups carry data, the length may be valid for another packet, and it counts as
 * damaged. */
static void event_wrong_length(struct pair *pair, uint64_t *random)
{
    struct frame frame;
    uint8_t packet[MOST_PAYLOAD] = {0};
    const struct mcp_header header = some_arrival(pair, random);
    size_t bytes = crew_below(random, MOST_PAYLOAD);
    bytes += MCP_COLLECTIVE_BYTES + header.payload_bytes == bytes;
    const size_t payload_bytes = bytes - MCP_COLLECTIVE_BYTES;
    memcpy(packet, &header, MCP_COLLECTIVE_BYTES);
    make_frame(&frame, crew_below(random, MOST_NODES), PORT, packet, bytes);
    if (bytes == MCP_COLLECTIVE_BYTES ||
        (has_buffer(pair) && bytes > MCP_COLLECTIVE_BYTES && payload_bytes <= MCP_PAYLOAD_MOST &&
         0 == payload_bytes % MCP_BLOCK_UNIT)) {
        ++count.packets_received;
        ++count.dropped_damaged;
    }
    inject(&frame, bytes);
    expect_passed(&frame, bytes);
    expect_same(pair);
}

/* Let the host arrive with a block in a group that carries data, or ring with a wrong doorbell. */
static void event_start_with(struct pair *pair, uint64_t *random)
{
    const uint32_t before = done(pair);
    const bool wrong = 0 == crew_below(random, 8);
    const uint32_t most = pair->plan.unit_most / MCP_BLOCK_UNIT;
    const uint32_t bytes =
        wrong ? some_bytes(random) : MCP_BLOCK_UNIT * crew_below(random, most + 1);
    const uint32_t epoch = wrong ? some_epoch(pair, random) : before + 1;
    fill_carried(bytes, random);
    if (mcp_group_offer(pair->group, epoch, bytes)) {
        memcpy(mcp_group_buffer(pair->group, epoch), carried, bytes);
        mcp_group_start(pair->group, epoch);
        play_here(pair);
    }
    ring_with(pair->bell, pair->key, MCP_RING_START, epoch, bytes);
    expect_same(pair);
    expect_woken(pair, before != done(pair));
}

void event_start(struct pair *pair, uint64_t *random)
{
    if (0 != pair->plan.buffer_blocks) {
        event_start_with(pair, random);
        return;
    }
    const bool allowed = !mcp_group_waits_now(pair->group);
    const bool wrong_epoch = allowed && 0 == crew_below(random, 8); /* as after a lost doorbell */
    const uint32_t before = done(pair);
    const uint32_t epoch = allowed ? before + 1 : pair->group->started;
    mcp_group_start(pair->group, epoch);
    play_here(pair);
    ring(pair->bell, pair->key, MCP_RING_START,
         wrong_epoch ? epoch + crew_below(random, INT32_MAX) : epoch);
    expect_same(pair);
    expect_woken(pair, before != done(pair));
}

static void event_ring(struct pair *pair, uint64_t *random)
{
    struct mcp_doorbell stray;
    switch (crew_below(random, 5)) {
    case 0:
    case 1:
        ask_here(pair);
        ring_with(pair->bell, pair->key, MCP_RING_ASK, pair->group->started,
                  has_buffer(pair) ? some_bytes(random) : 0);
        break;
    case 2:
        pair->sleeps = true;
        ring(pair->bell, pair->key, MCP_RING_SLEEP, done(pair) + 1);
        break;
    case 3: /* for an unknown group */
        stray = make_doorbell(pair->key + 2, MCP_RING_START, done(pair) + 1);
        ring(pair->bell, stray.key, stray.ring, stray.epoch);
        expect_left(&stray, sizeof(stray));
        break;
    default: /* an unknown type of doorbell */
        ring(pair->bell, pair->key, 0 == crew_below(random, 2) ? 0 : 77, done(pair) + 1);
        break;
    }
    expect_same(pair);
}

/* Let the host broadcast as the root, or as a node that is not the root, or request a broadcast. */
static void event_ring_bcast(struct pair *pair, uint64_t *random)
{
    const uint32_t number = some_number(pair, random);
    const uint64_t blocks = count.broadcasts;
    if (has_buffer(pair) && 0 != crew_below(random, 4)) {
        const uint32_t bytes = fill_block(pair, random);
        (void)take_block_here(pair, pair->plan.node, number, bytes);
        ring_with(pair->bell, pair->key, MCP_RING_BCAST, number, bytes);
    } else if (0 == crew_below(random, 8)) { /* without a block */
        ring(pair->bell, pair->key, MCP_RING_BCAST, number);
    } else {
        struct mcp_doorbell bell = make_doorbell(pair->key, MCP_RING_BCAST_ASK, number);
        bell.root = some_root(pair, random);
        ask_bcast_here(pair, bell.root, number);
        assert_int_equal(send(pair->bell, &bell, sizeof(bell), 0), sizeof(bell));
    }
    expect_same(pair);
    expect_woken(pair, blocks != count.broadcasts);
}

static void event_bcast(struct pair *pair, uint64_t *random)
{
    if (0 == crew_below(random, 4)) {
        event_ring_bcast(pair, random);
    } else {
        event_packet(pair, some_bcast(pair, random), random);
    }
}

static void event(struct pair *pair, uint64_t *random)
{
    const uint32_t kind = crew_below(random, 32);
    if (0 == crew_below(random, broadcasts(pair) ? 2 : 32)) {
        event_bcast(pair, random);
    } else if (kind < 8) {
        event_start(pair, random);
    } else if (kind < 13) {
        event_packet(pair, some_arrival(pair, random), random);
    } else if (kind < 23) {
        event_packet(pair, missing_arrival(pair, random), random);
    } else if (kind < 26) {
        event_packet(pair, some_ask(pair, random), random);
    } else if (kind < 27) {
        event_packet(pair, make_header(pair, MCP_DONE, some_epoch(pair, random), 0, 0), random);
    } else if (kind < 28) {
        event_packet(pair, some_later(pair, random), random);
    } else if (kind < 29) {
        event_bad_packet(pair, random);
    } else if (kind < 30) {
        event_wrong_length(pair, random);
    } else {
        event_ring(pair, random);
    }
}

/* If no open group carries data, the program must ignore packets with data. */
static void expect_unseen(uint32_t from, const struct mcp_header *header)
{
    struct frame frame;
    const size_t bytes = make_collective(&frame, from, header, header->payload_bytes);
    inject(&frame, bytes);
    expect_passed(&frame, bytes);
    expect_nothing_more();
}

void event_late(struct pair *pair, struct mcp_header header, uint64_t *random)
{
    const uint32_t from = crew_below(random, MOST_NODES);
    const uint32_t epoch = header.collective.epoch;
    if (0 != header.payload_bytes) {
        expect_unseen(from, &header);
        return;
    }
    ++count.packets_received;
    const bool data = 0 != pair->group->unit[done(pair) % 2]; /* not kept after the close */
    const bool lost = data || (broadcasts(pair) && mcp_group_waits_now(pair->group));
    const bool asks = MCP_ASK == header.type;
    const bool over = asks && myr_epoch_reached(done(pair) - data, epoch);
    const uint32_t missing = myr_load_relaxed(&pair->group->failed);
    const uint32_t failed = lost && 0 == missing ? pair->plan.node + 1 : missing;
    if ((asks || MCP_BCAST_ASK == header.type) && (over || 0 != failed)) {
        struct mcp_message answer = {
            .to = peer_ip(from),
            .header = {.type = over ? MCP_DONE : MCP_FAIL, .key = pair->key},
        };
        answer.header.collective = header.collective;
        if (!over) {
            answer.header.collective.node = (uint16_t)(failed - 1);
        }
        ++count.answered;
        send_one(pair, &answer);
    } else {
        ++count.duplicates;
    }
    inject_collective(from, &header);
    expect_sent();
    expect_nothing_more();
}

void play_trace(struct pair *pair, uint32_t events, uint64_t *random)
{
    open_pair(pair, geteuid(), random);
    for (uint32_t e = 0; e < events; ++e) {
        event(pair, random);
    }
    expect_nothing_more();
    close_pair(pair);
    event_late(pair, missing_arrival(pair, random), random);
    for (uint32_t q = 0; q < 4; ++q) {
        event_late(pair, some_ask(pair, random), random);
    }
    const struct mcp_header late = some_ask(pair, random);
    struct frame frame;
    mcp_kernel_group_forget(kernel, pair->key);
    ++count.packets_received;
    ++count.dropped_foreign;
    make_frame(&frame, 0, PORT, &late, MCP_COLLECTIVE_BYTES);
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_passed(&frame, MCP_COLLECTIVE_BYTES);
    expect_nothing_more();
}
