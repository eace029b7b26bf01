/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group that is closed, and whose memory is another group's, while a program is at it: since
 * Linux 6.1 the memory of a deleted element of a map is given away at once.
 *
 * What the program has found by a key here says of itself that it has another key.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/doorbells.h"
#include "tests/unit/kernel/elements.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/kernel/tests.h"

enum { BYTES = 64 };

/* What the other group is like, before something comes for the one whose memory this was. */
static void *before, *after;

static void expect_as_before(const char *what, uint32_t type)
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

/* Whatever comes for the group that was. */
static void nothing_reaches(uint64_t *random)
{
    start_epoch(1);
    set_inner_key(pair.key, pair.key + 2);
    copy_element(pair.key, before);
    for (uint8_t type = MCP_ARRIVE; type <= MCP_BCAST_LATER; ++type) {
        const bool carries = MCP_BCAST == type || MCP_ARRIVE == type;
        const uint32_t bytes = carries && has_buffer(&pair) ? BYTES : 0;
        if (MCP_BCAST == type && 0 == bytes) {
            continue; /* no packet of ours */
        }
        struct mcp_header header = make_header(&pair, type, 1, 0, 1);
        header.collective.slot = mcp_is_bcast(type) && MCP_BCAST_ASK != type;
        fill_carried(bytes, random);
        mcp_seal(&header, &pair.plan.secret, carried, bytes);
        inject_collective(1, &header);
        expect_as_before("packet", type);
    }
    for (uint8_t what = MCP_RING_START; what <= MCP_RING_BCAST_ASK; ++what) {
        ring_with(pair.bell, pair.key, what, 1 + (MCP_RING_START == what),
                  MCP_RING_BCAST == what && has_buffer(&pair) ? BYTES : 0);
        expect_as_before("doorbell", what);
    }
    set_inner_key(pair.key, pair.key);
    close_pair(&pair);
    skip_sent();
}

void what_comes_for_a_group_reaches_no_other(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 29;
    before = test_malloc(element_bytes());
    after = test_malloc(element_bytes());
    open_small(geteuid());
    nothing_reaches(&random);
    open_small_with_window(BYTES);
    nothing_reaches(&random);
    open_small_with_data(BYTES);
    nothing_reaches(&random);
    test_free(before);
    test_free(after);
}
