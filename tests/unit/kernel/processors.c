/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that two CPUs that execute one group concurrently neither corrupt its data nor move its
 * page back to an earlier epoch, because hosts would then compute with wrong data.
 */
#include <bpf/bpf.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/plans.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* Returns a descriptor of this process for the NIC's program of this name, or -1. */
static int find_program(const char *name)
{
    for (int fd = 3; fd < sysconf(_SC_OPEN_MAX); ++fd) {
        struct bpf_prog_info about = {.type = 0};
        uint32_t bytes = sizeof(about);
        if (0 == bpf_obj_get_info_by_fd(fd, &about, &bytes) && 0 == strcmp(name, about.name)) {
            return fd;
        }
    }
    return -1;
}

/* Run the program with this frame, on this CPU. */
static void receive_now(int program, struct frame *frame, size_t payload_bytes)
{
    union on_wire on_wire;
    struct __sk_buff packet = {.ifindex = if_nametoindex("nicbarr0")};
    struct bpf_test_run_opts run = {
        .sz = sizeof(run),
        .data_in = &on_wire,
        .data_size_in = (uint32_t)go_to_wire(frame, payload_bytes, &on_wire),
        .ctx_in = &packet,
        .ctx_size_in = sizeof(packet),
    };
    assert_int_equal(bpf_prog_test_run_opts(program, &run), 0);
}

/* Two threads, each on its own CPU if there are two, synchronise before and after each round. */
static struct {
    int program;
    uint32_t rounds;
    _Atomic uint32_t met;
} race;

static void run_on(uint32_t number)
{
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(number, &processor);
    (void)sched_setaffinity(0, sizeof(processor), &processor);
}

static void meet_other(uint32_t meetings)
{
    atomic_fetch_add(&race.met, 1);
    for (uint32_t polls = 1; atomic_load(&race.met) < 2 * meetings; ++polls) {
        if (0 == polls % 1024) {
            sched_yield();
        }
    }
}

/* Run two racers, the second of which gets an argument that is not NULL. Returns the last round or
 * epoch in which one of them detected an error, or 0. */
static uint32_t run_race(void *(*racer)(void *))
{
    pthread_t racers[2];
    uint32_t wrong = 0;
    race.program = find_program("mcp_receive");
    atomic_store(&race.met, 0);
    for (int r = 0; r < 2; ++r) {
        assert_int_equal(pthread_create(&racers[r], NULL, racer, 0 == r ? NULL : &race), 0);
    }
    for (int r = 0; r < 2; ++r) {
        void *result;
        pthread_join(racers[r], &result);
        wrong = NULL == result ? wrong : (uint32_t)(uintptr_t)result;
    }
    return wrong;
}

/* In each round two epochs are outstanding. One thread delivers the packet that completes the
 * first epoch, the other one that which completes the second. Both have the highest priority,
 * because on a busy machine they would otherwise wait for each other most of the time. */
static void *race_on(void *second)
{
    const uint32_t one = NULL != second;
    run_on(one);
    (void)setpriority(PRIO_PROCESS, 0, -20);
    for (uint32_t r = 0; r < race.rounds; ++r) {
        struct frame frame;
        const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 2 * r + 1 + one, 0, 1);
        make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
        seal_ip(&frame);
        if (0 == one) {
            ring(pair.bell, pair.key, MCP_RING_START, 2 * r + 1);
            ring(pair.bell, pair.key, MCP_RING_START, 2 * r + 2);
        }
        meet_other(2 * r + 1);
        receive_now(race.program, &frame, MCP_COLLECTIVE_BYTES);
        meet_other(2 * r + 2);
        if (2 * r + 2 != myr_load_acquire(&pair.line->done)) {
            return (void *)(uintptr_t)(r + 1);
        }
    }
    return NULL;
}

/* NICBARR_RACES sets the number of rounds; 10,000 take a second or two. (A page written without a
 * lock was wrong once in some 10,000 rounds. tests/litmus/release.pml finds that each time.) */
TEST(the_last_release_stays)
{
    const char *rounds = getenv("NICBARR_RACES");
    open_small(geteuid());
    race.rounds = NULL == rounds ? 10000 : (uint32_t)strtoul(rounds, NULL, 10);
    if (NULL != rounds) {
        (void)alarm(0); /* no watchdog, because the duration depends on the number of rounds */
    }
    const uint32_t round = run_race(race_on);
    const uint32_t published = myr_load_acquire(&pair.line->done);
    close_pair(&pair);
    drain(wire);
    mcp_kernel_count(kernel, &count);
    if (0 != round) {
        fail_msg("round %u: epoch %u is complete, but the page has %u", round, 2 * round,
                 published);
    }
}

/* The payloads that the two CPUs deliver differ, so that a mixture of both is detected. */
enum { RACED = 608, RACES = 3000 };

static void make_raced(struct frame *frame, size_t *bytes, struct mcp_header header, uint64_t word)
{
    uint64_t packet[(MCP_COLLECTIVE_BYTES + RACED) / 8];
    for (uint32_t w = 0; w < RACED / 8; ++w) {
        packet[MCP_COLLECTIVE_BYTES / 8 + w] = word;
    }
    mcp_seal(&header, &pair.plan.secret, &packet[MCP_COLLECTIVE_BYTES / 8], RACED);
    memcpy(packet, &header, MCP_COLLECTIVE_BYTES);
    make_frame(frame, 1, PORT, packet, sizeof(packet));
    seal_ip(frame);
    *bytes = sizeof(packet);
}

static void make_raced_arrival(struct frame *frame, size_t *bytes, uint32_t epoch, uint32_t slot,
                               uint32_t one)
{
    make_raced(frame, bytes, make_header(&pair, MCP_ARRIVE, epoch, slot, 1 + slot),
               (uint64_t)epoch << 32 | slot << 8 | one);
}

/* Returns whether each node's block is of this epoch, and from one message only. */
static bool is_whole(uint32_t epoch)
{
    for (uint32_t slot = 0; slot < 2; ++slot) {
        const uint64_t *block = &pair.buffer->word[epoch % 2][(1 + slot) * (RACED / 8)];
        const uint64_t first = block[0] & ~UINT64_C(1);
        for (uint32_t w = 0; w < RACED / 8; ++w) {
            if (block[w] != block[0]) {
                return false;
            }
        }
        if (((uint64_t)epoch << 32 | slot << 8) != first) {
            return false;
        }
    }
    return true;
}

static void *race_with_data(void *second)
{
    const uint32_t one = NULL != second;
    uint32_t torn = 0; /* the last epoch with an error */
    run_on(one);
    for (uint32_t epoch = 1; epoch <= RACES; ++epoch) {
        struct frame frame;
        size_t bytes;
        if (0 == one) {
            ring_with(pair.bell, pair.key, MCP_RING_START, epoch, RACED);
        }
        meet_other(2 * epoch - 1);
        for (uint32_t i = 0; i < 2; ++i) { /* each CPU in the opposite order */
            make_raced_arrival(&frame, &bytes, epoch, i ^ one, one);
            receive_now(race.program, &frame, bytes);
            if (epoch == myr_load_acquire(&pair.line->done) && !is_whole(epoch)) {
                torn = epoch;
            }
        }
        meet_other(2 * epoch);
        torn = epoch != myr_load_acquire(&pair.line->done) ? epoch : torn;
    }
    return (void *)(uintptr_t)torn;
}

/* Two CPUs receive the same messages at the same time. In a complete epoch each block is exactly
 * as one of them received it. */
TEST(data_are_whole)
{
    uint64_t random = crew_seed() + 14;
    plan_small(&pair.plan);
    pair.plan.nwaits = 2;
    pair.plan.steps[0].waits = 2;
    pair.plan.buffer_blocks = 3;
    pair.plan.unit_most = RACED;
    for (uint32_t p = 0; p < 3; ++p) {
        pair.plan.peers[p] = peer_at(1 + p / 2, 0);
        pair.plan.peers[p].blocks = 1;
        pair.plan.peers[p].at = (uint16_t)p;
    }
    open_pair(&pair, geteuid(), &random);
    const uint32_t torn = run_race(race_with_data);
    close_pair(&pair);
    skip_sent();
    if (0 != torn) {
        fail_msg("epoch %u is torn or incomplete", torn);
    }
}

static void make_raced_block(struct frame *frame, size_t *bytes, uint32_t number, uint32_t one)
{
    make_raced(frame, bytes, make_header(&pair, MCP_BCAST, number, 1, 1),
               (uint64_t)number << 32 | one);
}

/* Returns whether the block has arrived, and is whole. */
static bool is_whole_block(struct mcp_bcast_slot *slot, uint32_t number)
{
    const bool come = number == myr_load_acquire(&slot->number);
    const uint64_t *block = (const uint64_t *)(slot + 1);
    for (uint32_t w = 0; w < RACED / 8; ++w) {
        if (block[w] != block[0]) {
            return false;
        }
    }
    return come && number == block[0] >> 32 && RACED == slot->bytes;
}

/* Whenever half a window has arrived, the first racer delivers the arrival that grants the next
 * credit. In every other round the second racer polls until the block has arrived, as a waiting
 * host does. */
static void *race_with_blocks(void *second)
{
    const uint32_t one = NULL != second, half = pair.plan.window / 2;
    uint32_t torn = 0;
    run_on(one);
    for (uint32_t number = 1; number <= RACES; ++number) {
        struct mcp_bcast_slot *slot = slot_in(&pair, pair.buffer, number);
        struct frame frame;
        size_t bytes;
        if (0 == one && number > 1 && 1 == number % half) {
            const struct mcp_header header = make_header(&pair, MCP_ARRIVE, number / half, 0, 1);
            make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
            seal_ip(&frame);
            ring(pair.bell, pair.key, MCP_RING_START, number / half);
            receive_now(race.program, &frame, MCP_COLLECTIVE_BYTES);
        }
        make_raced_block(&frame, &bytes, number, one);
        meet_other(2 * number - 1);
        for (uint32_t polls = 1;
             one && 0 != number % 2 && number != myr_load_acquire(&slot->number); ++polls) {
            if (0 == polls % 1024) {
                sched_yield();
            }
        }
        torn = one && 0 != number % 2 && !is_whole_block(slot, number) ? number : torn;
        receive_now(race.program, &frame, bytes);
        torn = is_whole_block(slot, number) ? torn : number;
        meet_other(2 * number);
    }
    return (void *)(uintptr_t)torn;
}

/* Two CPUs receive the same broadcasts at the same time. Each block is exactly as one of them
 * received it. */
TEST(blocks_are_whole)
{
    open_small_with_window(RACED);
    const uint32_t torn = run_race(race_with_blocks);
    close_pair(&pair);
    skip_sent();
    if (0 != torn) {
        fail_msg("broadcast %u is torn or missing", torn);
    }
}
