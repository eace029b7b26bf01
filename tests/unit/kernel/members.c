/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that only members of a group can change its state: packets with any flipped bit, and intact
 * ones sealed with another secret, are dropped.
 */
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* A packet with the group's key and a wrong UDP checksum is dropped, whatever it carries. The
 * system would not accept it either. */
TEST(wrong_checks)
{
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 23;
    if (!SIX) { /* over IPv4, NICs send no UDP checksum */
        skip();
    }
    open_small_with_data(BYTES);
    start_epoch(1);
    for (uint32_t bytes = 0; bytes <= BYTES; bytes += BYTES) {
        struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 1);
        fill_carried(bytes, &random);
        mcp_seal(&header, &pair.plan.secret, carried, bytes);
        for (uint32_t bit = 0; bit < 16; ++bit) {
            struct frame frame;
            union on_wire on_wire;
            const size_t udp_bytes = make_collective(&frame, 1, &header, bytes);
            frame.udp.check = (uint16_t)(1 << bit);
            (void)go_to_wire(&frame, udp_bytes, &on_wire);
            if (0 != on_wire.of_6.udp.check) { /* 0 would mean that there is no checksum */
                ++count.packets_received;
                ++count.dropped_forged;
                inject(&frame, udp_bytes);
                expect_untouched();
            }
        }
    }
    close_pair(&pair);
}

/* Send all packets that differ from a valid one of the other node in one bit of the header or of a
 * short payload (of a long one, every few bits), and all that are sealed with a secret that differs
 * in one bit. None has an effect. */
static void forge(const struct mcp_header *good, uint32_t bytes)
{
    for (uint32_t bit = 0; bit < 8 * MCP_COLLECTIVE_BYTES; ++bit) {
        struct mcp_header changed = *good;
        flip(&changed, bit);
        inject_strange(&pair, 1, &changed, bytes);
    }
    for (uint32_t bit = 0; bit < 8 * bytes; bit += 1 + bytes / 128) {
        flip(carried, bit);
        inject_strange(&pair, 1, good, bytes);
        flip(carried, bit);
    }
    for (uint32_t bit = 0; bit < 128; ++bit) {
        struct mcp_header forged = *good;
        struct mcp_secret other = pair.plan.secret;
        flip(&other, bit);
        mcp_seal(&forged, &other, carried, bytes);
        inject_strange(&pair, 1, &forged, bytes);
    }
}

/* For each type of packet that has an effect, forged ones have none, and a valid one that follows
 * has it. Arrivals carry no payload, a short one, and the longest one. */
TEST(forged_packets_are_dropped)
{
    static const uint32_t payloads[] = {0, 16, MCP_PAYLOAD_MOST};
    uint64_t random = crew_seed() + 12;
    for (uint8_t type = MCP_ARRIVE; type <= MCP_FAIL; ++type) {
        for (uint32_t p = 0; p < (MCP_ARRIVE == type ? 3 : 1); ++p) {
            const uint32_t bytes = payloads[p];
            if (0 == bytes) {
                open_small(geteuid());
            } else {
                open_small_with_data(bytes);
            }
            start_epoch(1);
            struct mcp_header good = make_header(&pair, type, 1, 0, 1);
            fill_carried(bytes, &random);
            mcp_seal(&good, &pair.plan.secret, carried, bytes);
            forge(&good, bytes);
            if (MCP_FAIL != type) {
                event_packet(&pair, good, &random);
                assert_int_equal(done(&pair), MCP_ARRIVE == type || MCP_DONE == type);
            }
            if (0 != bytes) {
                assert_memory_equal((uint8_t *)pair.buffer->word[1] + bytes, carried, bytes);
            }
            close_pair(&pair);
            expect_nothing_more();
        }
    }
}

TEST(forged_broadcasts_are_dropped)
{
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 18;
    for (uint8_t type = MCP_BCAST; type <= MCP_BCAST_LATER; ++type) {
        open_small_with_window(BYTES);
        const uint32_t bytes = MCP_BCAST == type ? BYTES : 0;
        struct mcp_header good = make_block(1, BYTES, &random);
        good.type = type;
        mcp_seal(&good, &pair.plan.secret, carried, bytes);
        forge(&good, bytes);
        assert_int_equal(slot_in(&pair, pair.buffer, 1)->number, 0);
        event_packet(&pair, good, &random);
        assert_int_equal(slot_in(&pair, pair.buffer, 1)->number, MCP_BCAST == type);
        close_pair(&pair);
        expect_nothing_more();
    }
}

/* A closed group does not answer forged ASKs. */
TEST(closed_groups_answer_members_only)
{
    open_small(geteuid());
    close_pair(&pair);
    for (uint32_t bit = 0; bit < 128; ++bit) {
        struct mcp_header forged = make_header(&pair, MCP_ASK, 0, 0, 1);
        struct mcp_secret other = pair.plan.secret;
        flip(&other, bit);
        mcp_seal(&forged, &other, NULL, 0);
        ++count.packets_received;
        ++count.dropped_forged;
        inject_collective(1, &forged);
    }
    expect_nothing_more();
}
