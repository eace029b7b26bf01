/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the collectives of one NIC (firmware/engine.c, collective.c, wire.c), to find packets that
 * release hosts too early or overwrite memory. run.sh builds and runs it.
 *
 * Packets have any content, but most of them carry a valid key. The NIC has a few open groups, a
 * closed one, and one that is opened late; some groups carry data. An input is a sequence of steps
 * (see `enum step`). There are three sorts of packets:
 *
 * - raw packets;
 * - packets that the harness seals with the magic number, a valid key and its authentication code,
 *   because the fuzzer would never find these;
 * - nearly correct packets with a plausible epoch and slot.
 *
 * Invariants after each step:
 *
 * - The groups are in a possible state, and no host was released from an epoch that it has not
 *   started.
 * - The groups' tables never change, nor does the memory around them.
 * - Packets sent are well formed, and their destination is a member of a group or the sender of a
 *   packet. Their payload is the beginning of their epoch's buffer.
 * - A packet changes only the bytes of a buffer that belong to its slot, and none if it is not
 *   sealed.
 */
#include "firmware/mcp.h"
#include "tests/fuzz/fuzz.h"

enum {
    PORTS = 4,       /* none of which is open */
    CONNECTIONS = 3, /* few, so that they are soon used up */
    MEMORY = 1 << 17,
    GROUPS = 4, /* the last one is opened by a step of the input; another one is closed */
    GUARD = 0x5a,
    PEERS = 3,
    FIRST_EPOCH = -3, /* so that epochs soon wrap around */
    STRANGER = 99,
    BUFFER_BLOCKS = 1 + 0 + 1 + 2, /* number of blocks in a buffer */
    UNIT_MOST = 24,
    BUFFERS = 2 * BUFFER_BLOCKS * UNIT_MOST,
};

enum step { RAW, SEALED, NEARLY, START, TIME, OPEN, CLOSE, GIVE_UP, STEPS };

/* The schedules: one step with several peers, and several steps with one each. */
static const struct mcp_step all_at_once[] = {{PEERS, PEERS}},
                             one_by_one[] = {{1, 1}, {1, 1}, {1, 1}};

struct tested_group {
    struct mcp_group *group; /* NULL if the group is closed */
    uint8_t *block;
    size_t bytes, tables;
    const uint8_t *as_filled; /* the tables up to the arrivals */
    uint32_t done, failed;    /* after the last step */
};

static struct mcp_board board;
static struct mcp_nic *nic;
static struct tested_group tested_groups[GROUPS];
static uint64_t clock_ns;
static uint32_t transmitted, asked;
static uint32_t held; /* number of links to senders */

/* ---- keys ---- */

static uint64_t key_of(int g)
{
    return 0x1111111111111111u * (uint64_t)(g + 1);
}

/* Returns the secret of a packet's group; messages between ports have none. */
static struct mcp_secret secret_of(uint8_t type, uint64_t key)
{
    return mcp_is_collective(type) ? (struct mcp_secret){{key, ~key}} : (struct mcp_secret){{0, 0}};
}

/* ---- data ---- */

static bool carries_data(int g)
{
    return g >= GROUPS / 2;
}

static struct mcp_group *group_of(uint64_t key)
{
    for (int g = 0; g < GROUPS; ++g) {
        if (NULL != tested_groups[g].group && key == tested_groups[g].group->key) {
            return tested_groups[g].group;
        }
    }
    return NULL;
}

static uint8_t *buffers_of(const struct tested_group *tested_group)
{
    return mcp_group_buffer(tested_group->group, 0);
}

static void check_payload(mcp_link to, const struct mcp_header *header, const uint8_t *payload,
                          size_t payload_bytes)
{
    const uint32_t epoch = header->collective.epoch;
    struct mcp_group *group = group_of(header->key);
    CHECK(MCP_ARRIVE == header->type && NULL != group && 0 != group->buffer_blocks);
    CHECK(payload == mcp_group_buffer(group, epoch) && to >= 1 && to <= PEERS);
    CHECK(payload_bytes == mcp_group_sends(group)[to - 1].blocks * group->unit[epoch % 2]);
    CHECK(payload_bytes <= BUFFER_BLOCKS * UNIT_MOST);
}

/* ---- the board ---- */

static void send_packet(struct mcp_board *of, mcp_link to, const struct mcp_header *header,
                        const void *payload, size_t payload_bytes)
{
    const struct mcp_secret secret = secret_of(header->type, header->key);
    struct mcp_header parsed;
    uint8_t packet[MCP_COLLECTIVE_BYTES + BUFFER_BLOCKS * UNIT_MOST + MCP_MESSAGE_BYTES];
    const size_t head = mcp_header_bytes(header->type);
    CHECK(&board == of && (NULL == payload) == (0 == payload_bytes));
    memcpy(packet, header, head);
    if (0 != payload_bytes) {
        check_payload(to, header, payload, payload_bytes);
        memcpy(packet + head, payload, payload_bytes);
    }
    CHECK(mcp_parse(packet, head + payload_bytes, &parsed));
    CHECK(mcp_genuine(&parsed, &secret, packet + head));
    CHECK(0 != header->key && MCP_DATA != header->type);
    if (!mcp_is_collective(header->type)) {
        CHECK(STRANGER == to);
    } else if (MCP_LINK_SENDER == to) { /* a message of a closed group */
        CHECK(MCP_DONE == header->type || MCP_FAIL == header->type);
    } else {
        CHECK(MCP_DONE != header->type && to <= PEERS);
    }
    asked += MCP_ASK == header->type;
    ++transmitted;
}

static mcp_link hold_sender(struct mcp_board *of)
{
    CHECK(&board == of && ++held <= CONNECTIONS);
    return STRANGER;
}

/* No link may be dropped, because connections that packets have created stay open. */
static void drop(struct mcp_board *of, mcp_link link)
{
    (void)of;
    (void)link;
    CHECK(!"a link is dropped");
}

static uint64_t now_ns(struct mcp_board *of)
{
    (void)of;
    return clock_ns;
}

static void wake(struct mcp_board *of, myr_word *word)
{
    (void)of;
    bool ours = false;
    for (int g = 0; g < GROUPS; ++g) {
        ours = ours || (NULL != tested_groups[g].group && word == &tested_groups[g].group->done);
    }
    CHECK(ours);
}

/* ---- groups ---- */

static void fill(struct tested_group *tested_group, uint64_t key, const struct mcp_step *steps,
                 uint32_t nsteps, bool data)
{
    struct mcp_group *group = tested_group->group;
    uint32_t at = 1;
    mcp_group_init(group, key, PEERS + 1, 0, nsteps, PEERS, PEERS, (uint32_t)FIRST_EPOCH);
    group->secret = secret_of(MCP_ARRIVE, key);
    memcpy(mcp_group_steps(group), steps, nsteps * sizeof(*steps));
    for (uint32_t p = 0; p < PEERS; ++p) {
        const uint16_t blocks = data ? (uint16_t)p : 0;
        mcp_group_sends(group)[p] =
            (struct mcp_peer){p + 1, (uint16_t)(p + 1), (uint16_t)p, blocks, 0};
        mcp_group_waits(group)[p] =
            (struct mcp_peer){p + 1, (uint16_t)(p + 1), 0, blocks, (uint16_t)at};
        at += blocks;
    }
    group->buffer_blocks = data ? BUFFER_BLOCKS : 0;
    group->unit_most = data ? UNIT_MOST : 0;
    tested_group->tables = (size_t)((uint8_t *)mcp_group_arrivals(group) - (uint8_t *)(group + 1));
    tested_group->done = (uint32_t)FIRST_EPOCH;
    tested_group->failed = 0;
}

static void close_tested_group(struct tested_group *tested_group)
{
    mcp_collective_close(&nic->collective, &board, tested_group->group);
    memset(tested_group->block, GUARD, tested_group->bytes);
    tested_group->group = NULL;
}

static void open_tested_group(int g)
{
    mcp_collective_open(&nic->collective, &board, &nic->counters, tested_groups[g].group);
}

static void begin(void)
{
    static uint8_t *memory;
    static uint8_t tables[GROUPS][512];
    if (NULL == memory) {
        memory = aligned_alloc(MYR_LINE, MEMORY);
        CHECK(NULL != memory);
    }
    memset(memory, GUARD, MEMORY);
    board = (struct mcp_board){.ops = {.send = send_packet,
                                       .hold_sender = hold_sender,
                                       .drop = drop,
                                       .now_ns = now_ns,
                                       .wake = wake},
                               .memory = memory,
                               .memory_bytes = MEMORY};
    held = 0;
    uint8_t *free_memory = memory + MYR_LINE;
    nic = (struct mcp_nic *)free_memory;
    const size_t nic_bytes = mcp_nic_bytes(PORTS, CONNECTIONS);
    memset(nic, 0, nic_bytes);
    mcp_init(nic, key_of(GROUPS + 1), PORTS, CONNECTIONS);
    free_memory += (nic_bytes + 2 * MYR_LINE) / MYR_LINE * MYR_LINE;
    clock_ns = 1;
    transmitted = asked = 0;
    for (int g = 0; g < GROUPS; ++g) {
        const uint32_t nsteps = g % 2 ? 3 : 1;
        struct tested_group *tested_group = &tested_groups[g];
        tested_group->bytes =
            mcp_group_bytes(nsteps, PEERS, PEERS) + (carries_data(g) ? BUFFERS : 0);
        tested_group->block = free_memory;
        tested_group->group = (struct mcp_group *)free_memory;
        free_memory += (tested_group->bytes + 2 * MYR_LINE - 1) / MYR_LINE * MYR_LINE;
        fill(tested_group, key_of(g), g % 2 ? one_by_one : all_at_once, nsteps, carries_data(g));
        CHECK(tested_group->tables <= sizeof(tables[g]));
        memcpy(tables[g], tested_group->group + 1, tested_group->tables);
        tested_group->as_filled = tables[g];
    }
    CHECK(free_memory < memory + MEMORY);
    /* The closed group used the memory that the last one will use. */
    struct tested_group *last = &tested_groups[GROUPS - 1];
    last->group->key = key_of(GROUPS);
    last->group->secret = secret_of(MCP_ARRIVE, key_of(GROUPS));
    open_tested_group(GROUPS - 1);
    close_tested_group(last);
    for (int g = 0; g < GROUPS - 1; ++g) {
        open_tested_group(g);
    }
}

/* ---- invariants ---- */

static void check_guard(const uint8_t *from, const uint8_t *to)
{
    for (; from < to; ++from) {
        CHECK(GUARD == *from);
    }
}

static void check_group(struct tested_group *tested_group)
{
    struct mcp_group *group = tested_group->group;
    const uint32_t done = myr_load_acquire(&group->done);
    CHECK(myr_epoch_reached(group->started, done));
    CHECK(myr_epoch_reached(done, tested_group->done));
    /* The NIC accepts a FAIL with the key. After that no epoch is completed or waited for. */
    CHECK(0 == tested_group->failed ||
          (group->failed == tested_group->failed && done == tested_group->done));
    CHECK(0 == group->failed ||
          (group->failed <= PEERS + 1 && !mcp_group_waits_now(group) && !group->active));
    tested_group->done = done;
    tested_group->failed = group->failed;
    CHECK(0 == group->sleepers && 0 == group->node);
    CHECK(PEERS == group->nsends && PEERS == group->nwaits);
    CHECK(0 == memcmp(group + 1, tested_group->as_filled, tested_group->tables));
    uint32_t sends = 0, waits = 0;
    for (uint32_t s = 0; s < group->step; ++s) {
        sends += mcp_group_steps(group)[s].sends;
        waits += mcp_group_steps(group)[s].waits;
    }
    CHECK(sends == group->first_send && waits == group->first_wait);
    if (mcp_group_waits_now(group)) { /* all messages are sent, and an arrival is missing */
        struct mcp_message message;
        uint32_t cursor = 0;
        CHECK(group->step < group->nsteps);
        CHECK(group->sent == mcp_group_steps(group)[group->step].sends);
        CHECK(mcp_group_missing(group, &cursor, &message));
        /* after a close message the group need not send anything */
        if (0 == group->closing || 0 != group->backoff.ends_ns) {
            CHECK(group->active && 0 != group->backoff.ends_ns && 0 != mcp_deadline_ns(nic));
            CHECK(mcp_deadline_ns(nic) <= group->backoff.ends_ns);
        }
    } else if (0 == group->failed) {
        CHECK(0 == group->step && 0 == group->sent);
    }
    /* in a failed group the buffers are not used */
    for (uint32_t w = 0; 0 == group->failed && w < PEERS; ++w) {
        CHECK(myr_epoch_reached(done + 2, mcp_group_arrivals(group)[w]));
    }
    CHECK(0 == group->buffer_blocks || myr_epoch_reached(done + 1, group->started));
    for (uint32_t w = 0; 0 != group->buffer_blocks && w < PEERS; ++w) {
        CHECK(mcp_group_arrivals(group)[w] == mcp_group_claims(group)[w]);
    }
}

static void check_groups(void)
{
    for (int g = 0; g < GROUPS; ++g) {
        if (NULL != tested_groups[g].group) {
            check_group(&tested_groups[g]);
        }
    }
    CHECK(asked == nic->counters.asked && transmitted >= asked + nic->counters.answered);
}

/* Check the memory between the groups, where closed ones were, before the NIC and after all of
 * it. */
static void check_memory(void)
{
    check_guard(board.memory, (const uint8_t *)nic);
    const uint8_t *free_memory = (const uint8_t *)nic + mcp_nic_bytes(PORTS, CONNECTIONS);
    for (int g = 0; g < GROUPS; ++g) {
        check_guard(free_memory, tested_groups[g].block);
        free_memory = tested_groups[g].block + tested_groups[g].bytes;
        if (NULL == tested_groups[g].group) {
            check_guard(tested_groups[g].block, free_memory);
        }
    }
    check_guard(free_memory, board.memory + board.memory_bytes);
}

static uint8_t buffers_before[GROUPS][BUFFERS];

static void copy_buffers(void)
{
    for (int g = 0; g < GROUPS; ++g) {
        if (NULL != tested_groups[g].group && carries_data(g)) {
            memcpy(buffers_before[g], buffers_of(&tested_groups[g]), BUFFERS);
        }
    }
}

/* Check the buffers after a message may have arrived for this group (-1: for none), slot and
 * epoch. */
static void check_buffers(int of, uint32_t slot, uint32_t epoch)
{
    for (int g = 0; g < GROUPS; ++g) {
        if (NULL == tested_groups[g].group || !carries_data(g)) {
            continue;
        }
        const uint8_t *buffers = buffers_of(&tested_groups[g]);
        for (uint32_t i = 0; i < BUFFERS; ++i) {
            const uint32_t offset = i % (BUFFER_BLOCKS * UNIT_MOST);
            const bool its = g == of && slot < PEERS &&
                             epoch % 2 == i / (BUFFER_BLOCKS * UNIT_MOST) &&
                             offset >= mcp_group_waits(tested_groups[g].group)[slot].at;
            CHECK(its || buffers_before[g][i] == buffers[i]);
        }
    }
}

/* ---- steps ---- */

static void receive(const uint8_t *bytes, size_t count, bool sealed)
{
    /* exactly of the packet's size, so that overruns are detected */
    uint8_t *packet = malloc(0 == count ? 1 : count);
    CHECK(NULL != packet);
    memcpy(packet, bytes, count);
    struct mcp_header header;
    if (sealed && count >= MCP_LEAST_BYTES) {
        memset(&header, 0, sizeof(header));
        memcpy(&header, packet, MCP_LEAST_BYTES);
        header.type = header.type % MCP_TYPES;
        const size_t head = mcp_header_bytes(header.type);
        if (count >= head) {
            memcpy(&header, packet, head);
            header.type = header.type % MCP_TYPES;
            header.key = key_of((int)(header.key % (GROUPS + 2)));
            const struct mcp_secret secret = secret_of(header.type, header.key);
            mcp_seal(&header, &secret, packet + head, count - head);
            memcpy(packet, &header, head);
        }
    }
    copy_buffers();
    mcp_receive(nic, &board, packet, count);
    if (!sealed) {
        check_buffers(-1, 0, 0);
    }
    free(packet);
}

static void offer(struct input *in, struct tested_group *tested_group)
{
    uint8_t block[2 * UNIT_MOST];
    const uint8_t argument = take_byte(in);
    const uint32_t unit = argument % (2 * UNIT_MOST),
                   epoch = tested_group->done + 1 + argument / 128;
    memset(block, argument, sizeof(block));
    (void)mcp_collective_offer(&nic->collective, &board, &nic->counters, tested_group->group, epoch,
                               block, unit);
}

static void start(struct input *in, struct tested_group *tested_group)
{
    if (NULL != tested_group->group && 0 != tested_group->group->buffer_blocks) {
        offer(in, tested_group);
    } else if (NULL != tested_group->group &&
               !myr_epoch_reached(tested_group->group->started, tested_group->done + 4)) {
        mcp_collective_start(&nic->collective, &board, &nic->counters, tested_group->group,
                             tested_group->group->started + 1);
    }
}

static void open_last(void)
{
    struct tested_group *last = &tested_groups[GROUPS - 1];
    if (NULL == last->group) {
        const uint32_t nsteps = (GROUPS - 1) % 2 ? 3 : 1;
        last->group = (struct mcp_group *)last->block;
        fill(last, key_of(GROUPS - 1), nsteps > 1 ? one_by_one : all_at_once, nsteps,
             carries_data(GROUPS - 1));
        open_tested_group(GROUPS - 1);
    }
}

/* Let the hosts leave. The second call closes the group, as eviction does. */
static void leave(struct tested_group *tested_group)
{
    if (0 != tested_group->group->closing ||
        !mcp_collective_begin_closing(&nic->collective, &board, &nic->counters,
                                      tested_group->group)) {
        close_tested_group(tested_group);
    }
}

/* Deliver a plausible packet for one of the groups. */
static void receive_nearly(struct input *in, uint8_t argument)
{
    const uint8_t kind = take_byte(in), off = take_byte(in);
    const struct tested_group *tested_group = &tested_groups[argument % GROUPS];
    const bool data = NULL != tested_group->group && 0 != tested_group->group->buffer_blocks;
    const uint8_t type = MCP_ARRIVE + kind % MCP_FAIL;
    const uint32_t node = MCP_ARRIVE == type ? 0 : 1 + kind / 32 % PEERS; /* this node is 0 */
    struct mcp_header header = {
        .type = type,
        .key = key_of(argument % (GROUPS + 1)),
        .collective = {tested_group->done + 1 + (off & 1 ? take_step(in) : 0),
                       (uint16_t)(kind / 8 % PEERS + (off & 2 ? take_step(in) : 0)),
                       (uint16_t)(node + (off & 4 ? take_step(in) : 0))},
    };
    const struct mcp_secret secret = secret_of(header.type, header.key);
    const size_t payload = data && MCP_ARRIVE == header.type ? take_byte(in) : 0;
    /* exactly of the packet's size, so that overruns are detected */
    uint8_t *packet = calloc(1, MCP_COLLECTIVE_BYTES + payload);
    CHECK(NULL != packet);
    memset(packet + MCP_COLLECTIVE_BYTES, kind, payload);
    mcp_seal(&header, &secret, packet + MCP_COLLECTIVE_BYTES, payload);
    memcpy(packet, &header, MCP_COLLECTIVE_BYTES);
    copy_buffers();
    mcp_receive(nic, &board, packet, MCP_COLLECTIVE_BYTES + payload);
    const int of = argument % (GROUPS + 1); /* sometimes another group, or none */
    const bool arrives = MCP_ARRIVE == type && 0 == header.collective.node;
    check_buffers(arrives && of < GROUPS ? of : -1, header.collective.slot,
                  header.collective.epoch);
    free(packet);
}

static void take_step_of(struct input *in, bool *opened)
{
    uint8_t bytes[UINT8_MAX];
    const uint8_t step = take_byte(in), argument = step / STEPS;
    struct tested_group *tested_group = &tested_groups[argument % GROUPS];
    switch ((enum step)(step % STEPS)) {
    case RAW:
    case SEALED:
        receive(bytes, take_bytes(in, bytes, take_byte(in)), SEALED == step % STEPS);
        break;
    case NEARLY:
        receive_nearly(in, argument);
        break;
    case START:
        start(in, tested_group);
        break;
    case TIME:
        clock_ns += UINT64_C(100000) << argument % 12;
        mcp_timer(nic, &board);
        break;
    case OPEN:
        if (!*opened) { /* a key is used once */
            open_last();
            *opened = true;
        }
        break;
    case CLOSE:
        if (NULL != tested_group->group) {
            leave(tested_group);
        }
        break;
    case GIVE_UP:
        if (NULL != tested_group->group) {
            (void)mcp_collective_fail(&nic->collective, &board, &nic->counters, tested_group->group,
                                      argument / GROUPS);
        }
        break;
    case STEPS:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    bool opened = false;
    begin();
    while (in.left > 0) {
        take_step_of(&in, &opened);
        check_groups();
    }
    check_memory();
    return 0;
}
