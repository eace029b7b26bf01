/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that `nicbarr status`, which reads other processes' memory, neither crashes nor hangs,
 * whatever that memory contains.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "libmyr/soft/nic_inspect.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/test.h"

enum { CORRUPTED = 256 /* bytes after each occurrence of the key */ };

/* Overwrite bytes of an image of a segment at random, most of them in the group and its record,
 * whose positions are those of the key. */
static void corrupt(uint8_t *memory, size_t bytes, uint64_t key, uint64_t *random)
{
    for (size_t at = 0; at + sizeof(key) <= bytes; at += sizeof(key)) {
        if (0 == memcmp(memory + at, &key, sizeof(key))) {
            for (uint64_t b = 1 + crew_random(random) % 4; b > 0; --b) {
                const size_t off =
                    8 + crew_random(random) %
                            CORRUPTED; /* the key stays, so that the group is still found */
                memory[at + off < bytes ? at + off : at] = (uint8_t)crew_random(random);
            }
        }
    }
    for (uint64_t b = crew_random(random) % 64; b > 0; --b) {
        memory[crew_random(random) % bytes] = (uint8_t)crew_random(random);
    }
}

/* Whatever the memory contains, the view is within its bounds. */
TEST(corrupted_memory_is_viewed)
{
    enum { ROUNDS = 400, KEPT = 1 << 20 };
    const uint64_t key = UINT64_C(0x6e6f6e73656e7365);
    struct myr_nic_group group[2];
    struct member member;
    struct myr_soft_view view;
    uint64_t random = crew_seed() + 77;
    uint8_t *original = calloc(1, KEPT), *corrupted = malloc(KEPT);
    const int copy = memfd_create("corrupted", MFD_CLOEXEC);
    uint32_t seen = 0;
    open_alone(&member, KEPT);
    join_with_absent(&member, key, 2, group);
    for (int round = 0; round < ROUNDS; ++round) {
        /* the group waits for a process, and later for a node */
        if (0 == round || ROUNDS / 2 == round) {
            (void)myr_nic_group_arrive(&group[0 != round]);
            assert_true(pread(myr_segment_fd(member.segment), original, KEPT, 0) > 0);
        }
        memcpy(corrupted, original, KEPT);
        corrupt(corrupted, KEPT, key, &random);
        assert_int_equal(pwrite(copy, corrupted, KEPT, 0), KEPT);
        if (MYR_OK != myr_inspect_nic(copy, &view, NULL)) {
            continue;
        }
        for (uint32_t g = 0; g < view.groups; ++g) {
            seen += view.group[g].nodes + view.group[g].absent;
            assert_true(view.group[g].named <= MYR_VIEW_NODES);
            assert_true(view.group[g].named <= view.group[g].nodes);
            assert_true(view.group[g].absent <= view.group[g].locals);
        }
        myr_soft_view_free(&view);
    }
    assert_true(seen > ROUNDS / 4); /* not all views were refused */
    for (int local = 0; local < 2; ++local) {
        myr_nic_group_leave(&group[local]);
    }
    close_nic(&member);
    close(copy);
    free(original);
    free(corrupted);
}

/* The view of a group that is its own successor ends, even in a sparse file of 1 TiB. */
TEST(a_view_of_a_cycle_ends)
{
    enum { BYTES = 1 << 20 };
    struct myr_nic_group group;
    struct member member;
    struct myr_soft_view view;
    uint8_t *original = calloc(1, BYTES);
    const int copy = memfd_create("sparse", MFD_CLOEXEC);
    open_alone(&member, BYTES);
    join_with_absent(&member, 3, 1, &group);
    assert_int_equal(myr_inspect_nic(myr_segment_fd(member.segment), &view, NULL), MYR_OK);
    assert_int_equal(view.groups, 1);
    const uint32_t offset = view.group[0].offset;
    myr_soft_view_free(&view);
    assert_true(pread(myr_segment_fd(member.segment), original, BYTES, 0) > 0);
    memcpy(original + offset + offsetof(struct mcp_group, next), &offset, sizeof(offset));
    assert_int_equal(pwrite(copy, original, BYTES, 0), BYTES);
    assert_int_equal(ftruncate(copy, (off_t)1 << 40), 0);
    assert_int_equal(myr_inspect_nic(copy, &view, NULL), MYR_OK);
    assert_true(view.groups > 0 && view.groups <= MYR_VIEW_ENTRIES);
    myr_soft_view_free(&view);
    myr_nic_group_leave(&group);
    close_nic(&member);
    close(copy);
    free(original);
}
