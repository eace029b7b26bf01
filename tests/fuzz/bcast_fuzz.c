/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the broadcasts of one NIC (firmware/bcast.c, collective_bcast.c), to find packets or host
 * behaviour that make a NIC deliver a wrong block or overwrite one that is still being read. run.sh
 * builds and runs it. collective_fuzz.c covers the other packets of collectives.
 *
 * Packets have any content, but most of them carry a valid key, and the host does anything that it
 * may. The NIC has a group that broadcasts, a group without a window, and a closed one. The first
 * byte of an input selects the number of nodes and the schedule, the second one this node and the
 * window, and the third one the slots and whether the group is opened late. The rest is a sequence
 * of steps (see `enum step`). There are three sorts of packets:
 *
 * - raw packets;
 * - packets sealed by the harness, because the fuzzer would never find a valid authentication code;
 * - nearly correct packets with a plausible number, root and node, some of them forged.
 *
 * The harness has a model of the window with trees of its own: in each step of the schedule, the
 * nodes that have the block send it to those that do not. Invariants:
 *
 * - After each step each slot is as in the model. Therefore a number and a block come only from a
 *   genuine packet or from the host, they are within the credit, and no slot is overwritten that
 *   the host may still read.
 * - The NIC sends exactly the broadcast messages of the model: each new block once to each child;
 *   an ASK to the parent, and only without the block; and in response to a child's ASK the slot's
 *   block, a LATER or a FAIL.
 * - The NIC's counters count these messages.
 * - A packet that is not genuine changes no byte of a group and causes no packet.
 * - The tables never change, nor does the memory around them.
 */
#include "coll_nicbarr/schedule.h"
#include "firmware/bcast.h"
#include "firmware/mcp.h"
#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"
#include "tests/fuzz/fuzz.h"

enum {
    NODES = 9,
    MEMORY = 3 << 14,
    GUARD = 0x5a,
    CAST = 0,            /* the index of the group that broadcasts */
    PLAIN,               /* the index of the group without a window */
    TESTED_GROUPS,       /* one more key is that of a closed group, and one is unknown */
    FIRST_EPOCH = -3,    /* so that epochs and numbers soon wrap around */
    AHEAD = 4,           /* largest number of outstanding epochs of the host */
    SLOTS = 8,           /* maximum number */
    ROOM = 4 * 8,        /* maximum size of a slot */
    PACKET = UINT8_MAX,  /* maximum size */
    SENT = 4 * NODES,    /* maximum number of broadcast messages in a step */
    GROUP = 2048,        /* maximum size of a group */
    NOBODY = UINT16_MAX, /* the parent of a root */
};

enum step {
    RAW,
    SEALED,
    NEARLY,
    NEARLY_AGAIN,
    START,
    BCAST,
    ASK,
    TIME,
    OPEN,
    LEAVE,
    GIVE_UP,
    STEPS
};

struct tested_group {
    struct mcp_group *group; /* NULL if the group is closed, or not opened yet */
    uint8_t *block;
    size_t bytes, tables;
    uint8_t as_filled[GROUP];       /* the tables up to the arrivals */
    uint32_t entered, done, failed; /* after the last step */
    bool opened, left;              /* the group was opened at some time; its hosts have left */
};

/* The expected window. */
struct model_slot {
    uint32_t number, heard_ms, bytes; /* `bytes` is 0 if the slot has no block */
    uint8_t block[ROOM];
};

/* A broadcast message. */
struct message {
    uint8_t type;
    uint32_t node; /* its destination */
    uint32_t root, number;
};

struct messages {
    struct message message[SENT];
    uint32_t count;
};

static struct mcp_board board;
static struct mcp_nic *nic;
static uint64_t clock_ns;
static struct tested_group tested_groups[TESTED_GROUPS];
static struct model_slot model[SLOTS];
static struct {
    uint32_t nodes, node, window, room;
    uint16_t parent[NODES][NODES]; /* [root][node] */
} shape;
static struct { /* the state of this step */
    bool
        bcast; /* a broadcast packet has arrived, or the host has called a function of broadcasts */
    struct messages sent, expected;
    bool answered; /* a request gets the block, or the failure */
    struct mcp_counters before;
    uint32_t to_peers;               /* number of packets to peers */
    const myr_word *woken, *to_wake; /* words of slots */
    uint8_t content;
} current;

static uint64_t key_of(uint32_t g)
{
    return 0x1111111111111111u * (uint64_t)(g + 1);
}

static struct mcp_secret secret_of(uint64_t key)
{
    return (struct mcp_secret){{key, ~key}};
}

static struct mcp_bcast_slot *slot_at(uint32_t index)
{
    struct mcp_group *group = (struct mcp_group *)tested_groups[CAST].block;
    return (struct mcp_bcast_slot *)(mcp_group_window(group) +
                                     index * mcp_bcast_slot_bytes(shape.room));
}

static uint32_t half(void)
{
    return shape.window / 2;
}

/* ---- the model ---- */

static void expect(uint8_t type, uint32_t node, uint32_t root, uint32_t number)
{
    CHECK(current.expected.count < SENT);
    current.expected.message[current.expected.count++] = (struct message){type, node, root, number};
}

static struct model_slot *model_of(uint32_t number)
{
    return &model[number % shape.window];
}

/* Returns whether the block is in its slot, or the node has entered the epoch after it. (A
 * failed group is in no epoch.) */
static bool model_had(uint32_t number)
{
    return model_of(number)->number == number ||
           myr_epoch_reached(tested_groups[CAST].group->started * half(), number);
}

static void expect_ask(uint32_t root, uint32_t number)
{
    if (root != shape.node && 0 == tested_groups[CAST].failed) {
        expect(MCP_BCAST_ASK, shape.parent[root][shape.node], root, number);
    }
}

/* Offer a block to the model. Returns whether it is acceptable. */
static bool model_take(uint32_t root, uint32_t number, const uint8_t *block, size_t bytes)
{
    const uint32_t entered = tested_groups[CAST].entered;
    struct model_slot *slot = model_of(number);
    if (root >= shape.nodes || 0 != tested_groups[CAST].failed || bytes > shape.room ||
        !myr_epoch_reached(mcp_bcast_credit(shape.window, entered), number)) {
        return false;
    }
    if (model_had(number)) {
        return true;
    }
    /* The host must have read the block that is replaced. */
    CHECK(0 == slot->bytes || myr_epoch_reached(entered * half(), slot->number));
    slot->number = number;
    slot->bytes = (uint32_t)bytes;
    memcpy(slot->block, block, bytes);
    current.to_wake = &slot_at(number % shape.window)->number;
    for (uint32_t node = 0; node < shape.nodes; ++node) {
        if (shape.node == shape.parent[root][node]) {
            expect(MCP_BCAST, node, root, number);
        }
    }
    return true;
}

static void model_answer(uint32_t node, uint32_t root, uint32_t number)
{
    const struct model_slot *slot = model_of(number);
    if (root >= shape.nodes || node >= shape.nodes || shape.node != shape.parent[root][node]) {
        return;
    }
    if (slot->number == number && 0 != slot->bytes) {
        expect(MCP_BCAST, node, root, number);
        current.answered = true;
    } else if (0 != tested_groups[CAST].failed) {
        expect(MCP_FAIL, node, root, number);
        current.answered = true;
    } else if (!model_had(number)) {
        expect(MCP_BCAST_LATER, node, root, number);
        expect_ask(root, number);
    }
}

static void model_later(uint32_t node, uint32_t root, uint32_t number)
{
    struct model_slot *slot = model_of(number);
    const uint32_t now_ms = (uint32_t)(clock_ns / 1000000);
    if (root < shape.nodes && node < shape.nodes && node == shape.parent[root][shape.node] &&
        !model_had(number)) {
        slot->heard_ms = 0 == now_ms ? 1 : now_ms;
    }
}

/* Update the model after a genuine packet for an open group. */
static void model_receive(const struct mcp_header *header, const uint8_t *payload)
{
    const struct mcp_collective_part *part = &header->collective;
    current.bcast = mcp_is_bcast(header->type);
    if (!current.bcast || header->key != key_of(CAST)) {
        return;
    }
    CHECK((MCP_BCAST == header->type) == (0 != header->payload_bytes));
    if (MCP_BCAST == header->type) {
        (void)model_take(part->slot, part->epoch, payload, header->payload_bytes);
    } else if (MCP_BCAST_ASK == header->type) {
        model_answer(part->node, part->slot, part->epoch);
    } else {
        model_later(part->node, part->slot, part->epoch);
    }
}

/* ---- the board ---- */

static void record_sent(mcp_link to, const struct mcp_header *header, const void *payload,
                        size_t payload_bytes)
{
    const struct mcp_collective_part *part = &header->collective;
    CHECK(current.sent.count < SENT && key_of(CAST) == header->key && MCP_LINK_SENDER != to);
    current.sent.message[current.sent.count++] =
        (struct message){header->type, to - 1, part->slot, part->epoch};
    if (MCP_BCAST == header->type) {
        const struct mcp_bcast_slot *slot = slot_at(part->epoch % shape.window);
        CHECK(payload == slot + 1 && payload_bytes == slot->bytes && part->epoch == slot->number);
    }
}

static void send_packet(struct mcp_board *of, mcp_link to, const struct mcp_header *header,
                        const void *payload, size_t payload_bytes)
{
    const struct mcp_secret secret = secret_of(header->key);
    struct mcp_header parsed;
    uint8_t packet[MCP_COLLECTIVE_BYTES + ROOM];
    CHECK(&board == of && mcp_is_collective(header->type) && payload_bytes <= ROOM);
    CHECK((MCP_BCAST == header->type) == (0 != payload_bytes));
    memcpy(packet, header, MCP_COLLECTIVE_BYTES);
    memcpy(packet + MCP_COLLECTIVE_BYTES, payload_bytes > 0 ? payload : packet, payload_bytes);
    CHECK(mcp_parse(packet, MCP_COLLECTIVE_BYTES + payload_bytes, &parsed));
    CHECK(mcp_genuine(&parsed, &secret, packet + MCP_COLLECTIVE_BYTES));
    if (MCP_LINK_SENDER == to) { /* a message of a closed group */
        CHECK(MCP_DONE == header->type || MCP_FAIL == header->type);
        return;
    }
    ++current.to_peers;
    CHECK(to <= shape.nodes && to - 1 != shape.node && MCP_DONE != header->type);
    CHECK(MCP_FAIL == header->type ||
          (MCP_ARRIVE == header->type ? to - 1 : shape.node) == header->collective.node);
    if (mcp_is_bcast(header->type) || current.bcast) {
        record_sent(to, header, payload, payload_bytes);
    }
}

static mcp_link hold_sender(struct mcp_board *of)
{
    (void)of;
    return MCP_LINK_SENDER; /* no capacity left */
}

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
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g) {
        if (NULL != tested_groups[g].group && word == &tested_groups[g].group->done) {
            return;
        }
    }
    CHECK(NULL == current.woken);
    current.woken = word;
}

/* ---- groups ---- */

/* Compute the trees: in each step the nodes that have the block send it to those that do not. */
static void flood(const struct myr_schedule *schedules, uint32_t root)
{
    bool has[NODES] = {false};
    uint32_t first[NODES] = {0};
    memset(shape.parent[root], 0xff, sizeof(shape.parent[root]));
    has[root] = true;
    for (uint32_t s = 0; s < schedules[0].nsteps; ++s) {
        bool had[NODES];
        memcpy(had, has, sizeof(had));
        for (uint32_t r = 0; r < shape.nodes; ++r) {
            const struct mcp_step *step = &schedules[r].steps[s];
            for (uint32_t i = 0; had[r] && i < step->sends; ++i) {
                const uint32_t peer = schedules[r].peers[first[r] + i];
                CHECK(had[peer] || !has[peer]);
                shape.parent[root][peer] = had[peer] ? shape.parent[root][peer] : (uint16_t)r;
                has[peer] = true;
            }
            first[r] += step->sends + step->waits;
        }
    }
    for (uint32_t r = 0; r < shape.nodes; ++r) {
        CHECK(has[r] && (NOBODY == shape.parent[root][r]) == (root == r));
    }
}

static void fill(struct tested_group *tested_group, uint32_t g, const struct nicbarr_among *among,
                 const struct myr_schedule *schedule)
{
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    struct mcp_group *group = (struct mcp_group *)tested_group->block;
    struct myr_nic_bcast bcast;
    mcp_group_init(group, key_of(g), shape.nodes, shape.node, lengths.steps, lengths.sends,
                   lengths.waits, (uint32_t)FIRST_EPOCH);
    group->secret = secret_of(key_of(g));
    group->window = CAST == g ? shape.window : 0;
    group->slot_bytes = CAST == g ? mcp_bcast_slot_bytes(shape.room) : 0;
    CHECK(myr_spread_plan(schedule, shape.nodes, shape.node, &bcast.spread));
    CHECK(myr_fill_tables(schedule, shape.node, nicbarr_schedule_of, among, NULL, &bcast,
                          mcp_group_steps(group), mcp_group_sends(group)));
    myr_spread_free(&bcast.spread);
    for (uint32_t p = 0; p < group->nsends + group->nwaits; ++p) {
        mcp_group_sends(group)[p].link = mcp_group_sends(group)[p].node + 1u;
    }
    tested_group->bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits) +
                          group->window * group->slot_bytes;
    tested_group->tables = (size_t)((uint8_t *)mcp_group_arrivals(group) - (uint8_t *)(group + 1));
    CHECK(tested_group->bytes <= GROUP);
    memcpy(tested_group->as_filled, group + 1, tested_group->tables);
    tested_group->entered = tested_group->done = (uint32_t)FIRST_EPOCH;
    memset(mcp_group_window(group), 0, group->window * group->slot_bytes);
}

static void open_tested_group(uint32_t g)
{
    struct tested_group *tested_group = &tested_groups[g];
    tested_group->group = (struct mcp_group *)tested_group->block;
    tested_group->opened = true;
    mcp_collective_open(&nic->collective, &board, &nic->counters, tested_group->group);
}

static void close_tested_group(struct tested_group *tested_group)
{
    mcp_collective_close(&nic->collective, &board, tested_group->group);
    memset(tested_group->block, GUARD, tested_group->bytes);
    tested_group->group = NULL;
}

/* Set all slots to the state before the first broadcast, whose predecessor's number they have.
 * (In a new group the number is 0.) */
static void fill_window(void)
{
    memset(model, 0, sizeof(model));
    for (uint32_t s = 0; s < shape.window; ++s) {
        model[s].number = (uint32_t)FIRST_EPOCH * half();
        slot_at(s)->number = model[s].number;
    }
}

static void fill_groups(uint32_t n)
{
    const struct nicbarr_among among = {{NICBARR_DISSEMINATION, n, 0}, shape.nodes};
    struct myr_schedule schedules[NODES];
    for (uint32_t r = 0; r < shape.nodes; ++r) {
        CHECK(nicbarr_schedule_of(&among, r, &schedules[r]));
    }
    for (uint32_t root = 0; root < shape.nodes; ++root) {
        flood(schedules, root);
    }
    fill(&tested_groups[PLAIN], TESTED_GROUPS, &among, &schedules[shape.node]);
    open_tested_group(PLAIN);
    close_tested_group(&tested_groups[PLAIN]);
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g) {
        fill(&tested_groups[g], g, &among, &schedules[shape.node]);
    }
    fill_window();
    for (uint32_t r = 0; r < shape.nodes; ++r) {
        nicbarr_schedule_destroy(&schedules[r]);
    }
}

static void begin(struct input *in)
{
    static uint8_t *memory;
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
    nic = (struct mcp_nic *)(memory + MYR_LINE);
    const size_t nic_bytes = mcp_nic_bytes(1, 1);
    memset(nic, 0, nic_bytes);
    mcp_init(nic, key_of(TESTED_GROUPS + 2), 1, 1);
    uint8_t *free_memory = memory + (nic_bytes + 3 * MYR_LINE) / MYR_LINE * MYR_LINE;
    CHECK(free_memory + TESTED_GROUPS * (GROUP + MYR_LINE) <= memory + MEMORY);
    memset(tested_groups, 0, sizeof(tested_groups));
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g, free_memory += GROUP + MYR_LINE) {
        tested_groups[g].block = free_memory;
    }
    memset(&current, 0, sizeof(current));
    clock_ns = 1;
    const uint8_t nodes = take_byte(in), window = take_byte(in), slots = take_byte(in);
    shape.nodes = NODES - nodes % NODES;
    shape.node = window % shape.nodes;
    shape.window = 2u << window / 16 % 3;
    shape.room = 8 * (1 + slots % (ROOM / 8));
    fill_groups(1 + nodes / NODES % (shape.nodes < 4 ? shape.nodes : 4));
    open_tested_group(PLAIN);
    if (0 == slots / 128) {
        open_tested_group(CAST);
    }
}

/* ---- invariants ---- */

static bool is_closed(const struct tested_group *tested_group)
{
    return tested_group->opened && NULL == tested_group->group;
}

static void check_guard(const uint8_t *from, const uint8_t *to)
{
    for (; from < to; ++from) {
        CHECK(GUARD == *from);
    }
}

static void check_memory(void)
{
    check_guard(board.memory, (const uint8_t *)nic);
    const uint8_t *free_memory = (const uint8_t *)nic + mcp_nic_bytes(1, 1);
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g) {
        check_guard(free_memory, tested_groups[g].block);
        free_memory =
            tested_groups[g].block + (is_closed(&tested_groups[g]) ? 0 : tested_groups[g].bytes);
    }
    check_guard(free_memory, board.memory + board.memory_bytes);
}

static void check_group(uint32_t g)
{
    struct tested_group *tested_group = &tested_groups[g];
    const struct mcp_group *group = (const struct mcp_group *)tested_group->block;
    const uint32_t done = myr_load_acquire(&group->done), failed = myr_load_acquire(&group->failed);
    CHECK(key_of(g) == group->key && shape.node == group->node);
    CHECK(group->last_node + 1u == shape.nodes && 0 == group->buffer_blocks &&
          0 == group->sleepers);
    CHECK((CAST == g ? shape.window : 0) == group->window);
    CHECK((CAST == g ? mcp_bcast_slot_bytes(shape.room) : 0) == group->slot_bytes);
    CHECK(0 == memcmp(group + 1, tested_group->as_filled, tested_group->tables));
    CHECK(myr_epoch_reached(done, tested_group->done) && myr_epoch_reached(group->started, done));
    CHECK(group->started == (0 != failed ? done : tested_group->entered));
    CHECK(failed <= shape.nodes && (0 == tested_group->failed || tested_group->failed == failed));
    tested_group->done = done;
    tested_group->failed = failed;
}

static void check_window(void)
{
    for (uint32_t s = 0; s < shape.window; ++s) {
        const struct mcp_bcast_slot *slot = slot_at(s);
        CHECK(model[s].number == slot->number && model[s].bytes == slot->bytes);
        CHECK(model[s].heard_ms == slot->heard_ms && 0 == slot->sleepers);
        CHECK(0 == memcmp(model[s].block, slot + 1, shape.room));
    }
}

static bool is_expected(const struct message *one)
{
    for (uint32_t e = 0; e < current.expected.count; ++e) {
        const struct message *other = &current.expected.message[e];
        if (one->type == other->type && one->node == other->node && one->root == other->root &&
            one->number == other->number) {
            current.expected.message[e].type = 0; /* each expected message only once */
            return true;
        }
    }
    return false;
}

static uint32_t count_sent(uint8_t type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < current.sent.count; ++i) {
        count += type == current.sent.message[i].type;
    }
    return count;
}

static void check_counters(void)
{
    const struct mcp_counters *now = &nic->counters, *before = &current.before;
    CHECK(now->broadcasts - before->broadcasts == (NULL != current.to_wake));
    if (current.bcast) { /* otherwise barriers count, too */
        CHECK(now->asked - before->asked == count_sent(MCP_BCAST_ASK));
        CHECK(now->later - before->later == count_sent(MCP_BCAST_LATER));
        CHECK(now->answered - before->answered == current.answered);
    }
}

static void check_step(void)
{
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g) {
        if (!is_closed(&tested_groups[g])) {
            check_group(g);
        }
    }
    if (!is_closed(&tested_groups[CAST])) {
        check_window();
    }
    check_counters();
    CHECK(current.expected.count == current.sent.count && current.to_wake == current.woken);
    for (uint32_t i = 0; i < current.sent.count; ++i) {
        CHECK(is_expected(&current.sent.message[i]));
    }
}

/* ---- packets ---- */

static struct tested_group *open_group_of(uint64_t key)
{
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g) {
        if (NULL != tested_groups[g].group && key_of(g) == key) {
            return &tested_groups[g];
        }
    }
    return NULL;
}

/* Returns whether the packet was sealed with the group's secret. */
static bool is_sealed(const struct mcp_header *header, const void *payload)
{
    const struct mcp_secret secret = secret_of(header->key);
    struct mcp_header again = *header;
    mcp_seal(&again, &secret, payload, header->payload_bytes);
    return again.check == header->check;
}

/* Deliver a packet that is damaged, forged, or for no open group. */
static void receive_useless(const uint8_t *packet, size_t count)
{
    static uint8_t before[TESTED_GROUPS][GROUP];
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g) {
        memcpy(before[g], tested_groups[g].block, GROUP);
    }
    mcp_receive(nic, &board, packet, count);
    for (uint32_t g = 0; g < TESTED_GROUPS; ++g) {
        CHECK(0 == memcmp(before[g], tested_groups[g].block, GROUP));
    }
    CHECK(0 == current.to_peers);
}

static void receive(const uint8_t *bytes, size_t count)
{
    /* exactly of the packet's size, so that overruns are detected */
    uint8_t *packet = malloc(0 == count ? 1 : count);
    struct mcp_header header;
    CHECK(NULL != packet);
    memcpy(packet, bytes, count);
    const uint8_t *payload = packet + MCP_COLLECTIVE_BYTES;
    if (!mcp_parse(packet, count, &header) || !mcp_is_collective(header.type) ||
        !is_sealed(&header, payload) || NULL == open_group_of(header.key)) {
        receive_useless(packet, count);
    } else {
        model_receive(&header, payload);
        mcp_receive(nic, &board, packet, count);
    }
    free(packet);
}

static void receive_raw(struct input *in, bool sealed)
{
    uint8_t bytes[PACKET];
    const size_t count = take_bytes(in, bytes, take_byte(in));
    if (sealed && count >= MCP_COLLECTIVE_BYTES) {
        struct mcp_header header = {.magic = 0};
        memcpy(&header, bytes, MCP_COLLECTIVE_BYTES);
        header.type = MCP_ARRIVE + header.type % MCP_BCAST_LATER;
        header.key = key_of((uint32_t)(header.key % (TESTED_GROUPS + 2)));
        const struct mcp_secret secret = secret_of(header.key);
        mcp_seal(&header, &secret, bytes + MCP_COLLECTIVE_BYTES, count - MCP_COLLECTIVE_BYTES);
        memcpy(bytes, &header, MCP_COLLECTIVE_BYTES);
    }
    receive(bytes, count);
}

/* Returns the length of a block: a multiple of MCP_BLOCK_UNIT that fits. */
static uint32_t take_length(struct input *in)
{
    return MCP_BLOCK_UNIT * (1 + take_below(in, shape.room / MCP_BLOCK_UNIT));
}

/* Fill a block, each one differently. */
static void make_block(uint8_t *block, size_t bytes)
{
    memset(block, ++current.content, bytes);
}

/* Returns a number near those that the host uses now. */
static uint32_t number_near(uint32_t off)
{
    return (tested_groups[CAST].entered - 1) * half() + 1 + off;
}

/* Deliver a plausible packet. `off` makes some of its fields wrong. */
static void receive_nearly(struct input *in, uint8_t argument)
{
    static const uint8_t types[] = {MCP_BCAST,     MCP_BCAST,       MCP_BCAST,       MCP_BCAST,
                                    MCP_BCAST,     MCP_BCAST,       MCP_BCAST_ASK,   MCP_BCAST_ASK,
                                    MCP_BCAST_ASK, MCP_BCAST_LATER, MCP_BCAST_LATER, MCP_ARRIVE,
                                    MCP_ARRIVE,    MCP_ARRIVE,      MCP_DONE,        MCP_FAIL};
    const uint8_t kind = take_byte(in), ids = take_byte(in), off = take_byte(in);
    const uint8_t type = types[kind % sizeof(types)];
    const uint32_t g = argument % 8 < 5 ? CAST : argument % 8 - 4;
    const uint32_t near = mcp_is_bcast(type)
                              ? number_near(kind / 16)
                              : tested_groups[CAST == g ? CAST : PLAIN].done + 1 + kind / 128;
    const uint32_t node = MCP_ARRIVE == type ? shape.node : ids / 16 % shape.nodes;
    uint8_t bytes[MCP_COLLECTIVE_BYTES + PACKET];
    struct mcp_header header = {
        .type = type,
        .key = key_of(g),
        .collective = {near + (off & 1 ? take_step(in) : 0),
                       (uint16_t)(ids % shape.nodes + (off & 2 ? take_step(in) : 0)),
                       (uint16_t)(node + (off & 4 ? take_step(in) : 0))},
    };
    const size_t payload = MCP_BCAST != type ? 0 : off & 8 ? take_byte(in) : take_length(in);
    const struct mcp_secret secret = secret_of(header.key);
    make_block(bytes + MCP_COLLECTIVE_BYTES, payload);
    mcp_seal(&header, &secret, bytes + MCP_COLLECTIVE_BYTES, payload);
    header.check ^= off >= 224 ? UINT64_C(1) << argument : 0;
    memcpy(bytes, &header, MCP_COLLECTIVE_BYTES);
    receive(bytes, MCP_COLLECTIVE_BYTES + payload);
}

/* ---- the host ---- */

static bool has_hosts(const struct tested_group *tested_group)
{
    return NULL != tested_group->group && !tested_group->left;
}

static void start(struct tested_group *tested_group)
{
    if (has_hosts(tested_group) &&
        !myr_epoch_reached(tested_group->entered, tested_group->done + AHEAD)) {
        tested_group->entered += 0 == tested_group->failed;
        mcp_collective_start(&nic->collective, &board, &nic->counters, tested_group->group,
                             tested_group->entered);
    }
}

/* Broadcast as the root, perhaps with a number that is too early. */
static void broadcast(struct input *in, struct tested_group *tested_group)
{
    uint8_t block[ROOM];
    const uint32_t number = number_near(take_byte(in) % 16), bytes = take_length(in);
    if (!has_hosts(tested_group)) {
        return;
    }
    make_block(block, bytes);
    current.bcast = true;
    const bool taken =
        &tested_groups[CAST] == tested_group && model_take(shape.node, number, block, bytes);
    CHECK(taken ==
          mcp_collective_bcast(&board, &nic->counters, tested_group->group, number, block, bytes));
}

/* Request a block that has not arrived, as a waiting host does. */
static void ask(struct input *in)
{
    const uint8_t argument = take_byte(in);
    const uint32_t number = number_near(argument % 16), root = argument / 16 % shape.nodes;
    if (has_hosts(&tested_groups[CAST]) && !model_had(number)) {
        current.bcast = true;
        expect_ask(root, number);
        mcp_collective_bcast_ask(&board, &nic->counters, tested_groups[CAST].group, root, number);
    }
}

/* Let the hosts leave. The second call closes the group, as eviction does. */
static void leave(struct tested_group *tested_group)
{
    if (NULL == tested_group->group) {
        return;
    }
    tested_group->entered +=
        !tested_group->left && 0 == tested_group->failed && 0 != tested_group->group->window;
    if (tested_group->left || !mcp_collective_begin_closing(&nic->collective, &board,
                                                            &nic->counters, tested_group->group)) {
        close_tested_group(tested_group);
    }
    tested_group->left = true;
}

static void take_step_of(struct input *in)
{
    const uint8_t byte = take_byte(in), argument = byte / STEPS;
    struct tested_group *tested_group = &tested_groups[0 == argument % 4 ? PLAIN : CAST];
    switch ((enum step)(byte % STEPS)) {
    case RAW:
    case SEALED:
        receive_raw(in, SEALED == byte % STEPS);
        break;
    case NEARLY:
    case NEARLY_AGAIN:
        receive_nearly(in, argument);
        break;
    case START:
        start(tested_group);
        break;
    case BCAST:
        broadcast(in, tested_group);
        break;
    case ASK:
        ask(in);
        break;
    case TIME:
        clock_ns += UINT64_C(100000) << argument % 12;
        mcp_timer(nic, &board);
        break;
    case OPEN:
        if (!tested_groups[CAST].opened) { /* a key is used once */
            open_tested_group(CAST);
        }
        break;
    case LEAVE:
        leave(tested_group);
        break;
    case GIVE_UP:
        if (has_hosts(tested_group)) {
            (void)mcp_collective_fail(&nic->collective, &board, &nic->counters, tested_group->group,
                                      argument / 4);
        }
        break;
    case STEPS:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    begin(&in);
    while (in.left > 0) {
        current.bcast = current.answered = false;
        current.before = nic->counters;
        current.sent.count = current.expected.count = current.to_peers = 0;
        current.woken = current.to_wake = NULL;
        take_step_of(&in);
        check_step();
    }
    check_memory();
    return 0;
}
