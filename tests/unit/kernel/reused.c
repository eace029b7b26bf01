/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a program that still uses a closed group does not change another group that got its
 * memory: since Linux 6.1 the memory of a deleted map element is reused immediately.
 *
 * The test changes the key inside the element, so that it differs from the key by which the program
 * finds it.
 */
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/elements.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

enum { BYTES = 64 };

/* The element before and after a packet or doorbell for the old group. */
static void *before, *after;

static void expect_unchanged(const char *what, uint32_t type)
{
    expect_silence();
    copy_element(pair.key, after);
    if (0 != memcmp(before, after, element_bytes()) || 0 != myr_load_acquire(&pair.line->done) ||
        0 != pair.line->failed ||
        (broadcasts(&pair) && 0 != slot_in(&pair, pair.buffer, 1)->number)) {
        set_inner_key(pair.key, pair.key);
        fail_msg("%s %u has changed another group", what, (unsigned)type);
    }
}

/* Check that no packet and no doorbell for the old group changes the new one. */
static void expect_no_effect(uint64_t *random)
{
    start_epoch(1);
    set_inner_key(pair.key, pair.key + 2);
    copy_element(pair.key, before);
    for (uint8_t type = MCP_ARRIVE; type <= MCP_BCAST_LATER; ++type) {
        const bool carries = MCP_BCAST == type || MCP_ARRIVE == type;
        const uint32_t bytes = carries && has_buffer(&pair) ? BYTES : 0;
        if (MCP_BCAST == type && 0 == bytes) {
            continue; /* not a valid packet */
        }
        struct mcp_header header = make_header(&pair, type, 1, 0, 1);
        header.collective.slot = mcp_is_bcast(type) && MCP_BCAST_ASK != type;
        fill_carried(bytes, random);
        mcp_seal(&header, &pair.plan.secret, carried, bytes);
        inject_collective(1, &header);
        expect_unchanged("packet", type);
    }
    for (uint8_t what = MCP_RING_START; what <= MCP_RING_BCAST_ASK; ++what) {
        ring_with(pair.bell, pair.key, what, 1 + (MCP_RING_START == what),
                  MCP_RING_BCAST == what && has_buffer(&pair) ? BYTES : 0);
        expect_unchanged("doorbell", what);
    }
    set_inner_key(pair.key, pair.key);
    close_pair(&pair);
    skip_sent();
}

TEST(reused_memory_is_recognized)
{
    uint64_t random = crew_seed() + 29;
    before = test_malloc(element_bytes());
    after = test_malloc(element_bytes());
    open_small(geteuid());
    expect_no_effect(&random);
    open_small_with_window(BYTES);
    expect_no_effect(&random);
    open_small_with_data(BYTES);
    expect_no_effect(&random);
    test_free(before);
    test_free(after);
}
