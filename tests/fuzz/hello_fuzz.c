/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the parser of hellos (coll_nicbarr/hello.c), the records in which processes publish their
 * addresses, and the count of nodes that is derived from them (census.c). A bug there could make
 * members of a communicator disagree about its nodes, and hang. run.sh builds and runs it.
 *
 * An input is a list of hellos, each preceded by its length. Invariants:
 *
 * - The values that are read are within their bounds, and are written as the same bytes again.
 * - Whatever processes publish, all members count the same nodes, and the count is that of a plain
 *   comparison of all pairs.
 */
#include "coll_nicbarr/census.h"
#include "coll_nicbarr/hello.h"
#include "tests/fuzz/fuzz.h"

/* Kinds of NICs, of which only the number matters here. */
static const struct myr_nic_kind first = {.name = "first"}, second = {.name = "second"};
const struct myr_nic_kind *const nicbarr_kinds[] = {&first, &second, NULL};

enum { MOST = 12, NICS = 3 };

static struct {
    uint32_t size;
    struct nicbarr_hello hello[MOST];
    struct nicbarr_peer peer[MOST];
    const struct nicbarr_peer *peers[MOST];
    const struct myr_nic_name *names[NICS][MOST];
    struct nicbarr_known known;
} w;

static bool is_same(const struct nicbarr_hello *a, const struct nicbarr_hello *b)
{
    return a->identity == b->identity && a->digest == b->digest && a->number == b->number &&
           a->later == b->later && 0 == memcmp(a->nic, b->nic, sizeof(a->nic)) &&
           0 == strcmp(a->why, b->why);
}

static void check_hello(const struct nicbarr_hello *hello, size_t count)
{
    uint8_t again[NICBARR_HELLO_BYTES];
    struct nicbarr_hello same;
    CHECK(NULL != memchr(hello->why, '\0', sizeof(hello->why)));
    for (uint32_t nic = 0; nic < NICBARR_NICS_MOST; ++nic) {
        CHECK(hello->nic[nic].count <= MYR_NIC_ADDRESSES);
    }
    const size_t length = nicbarr_hello_write(hello, again);
    CHECK(length <= count && length <= sizeof(again));
    CHECK(nicbarr_hello_read(again, length, &same) && is_same(hello, &same));
}

/* Returns the number of this identity among those seen so far, as peers.c assigns it. */
static uint32_t number_of(uint32_t nic, uint32_t rank, uint64_t identity)
{
    if (0 == identity) {
        return 0;
    }
    for (uint32_t r = 0; r < rank; ++r) {
        const struct nicbarr_hello *other = &w.hello[r];
        if (identity == (0 == nic ? other->identity : other->nic[nic].key)) {
            return 0 == nic ? w.peer[r].segment : w.peer[r].nic[nic];
        }
    }
    if (0 == nic) {
        return ++w.known.segments;
    }
    w.names[nic][w.known.nics[nic]] = &w.hello[rank].nic[nic];
    return ++w.known.nics[nic];
}

static void describe(uint32_t rank)
{
    w.peers[rank] = &w.peer[rank];
    w.peer[rank].segment = number_of(0, rank, w.hello[rank].identity);
    w.peer[rank].number = w.hello[rank].number;
    for (uint32_t nic = 1; nic < NICS; ++nic) {
        w.peer[rank].nic[nic] = number_of(nic, rank, w.hello[rank].nic[nic].key);
    }
}

/* Check that the nodes are the sets of ranks that share a NIC of kind `by`. */
static void check_nodes(uint32_t rank, const struct nicbarr_nodes *nodes)
{
    uint32_t distinct = 0, node = 0, locals = 0, local = 0;
    CHECK(nodes->by > 0 && nodes->by < NICS && 0 != (nodes->nics >> nodes->by & 1));
    for (uint32_t r = 0; r < w.size; ++r) {
        const uint32_t number = w.peer[r].nic[nodes->by];
        bool fresh = true;
        for (uint32_t s = 0; s < r; ++s) {
            fresh = fresh && w.peer[s].nic[nodes->by] != number;
        }
        const bool ours = number == w.peer[rank].nic[nodes->by];
        node = fresh && ours ? distinct : node;
        distinct += fresh;
        local += ours && r < rank;
        locals += ours;
        CHECK(0 != number);
    }
    CHECK(distinct == nodes->nodes && node == nodes->node);
    CHECK(locals == nodes->locals && local == nodes->local);
    for (uint32_t nic = 1; nic < NICS; ++nic) {
        CHECK((0 != (nodes->nics >> nic & 1)) == (NULL != nodes->names[nic]));
        for (uint32_t n = 0; NULL != nodes->names[nic] && n < nodes->nodes; ++n) {
            CHECK(0 != nodes->names[nic][n]->key);
        }
    }
}

static void count(uint32_t by_segment)
{
    struct nicbarr_nodes all = {0};
    enum nicbarr_census_result same = NICBARR_NO_MEMORY;
    for (uint32_t rank = 0; rank < w.size; ++rank) {
        struct nicbarr_nodes nodes;
        const enum nicbarr_census_result counted =
            nicbarr_census(w.peers, w.size, rank, &w.known, by_segment, &nodes);
        same = 0 == rank ? counted : same;
        CHECK(counted == same);
        if (NICBARR_COUNTED == counted) {
            check_nodes(rank, &nodes);
            all = 0 == rank ? nodes : all;
            CHECK(all.nodes == nodes.nodes && all.by == nodes.by && all.nics == nodes.nics);
            nicbarr_nodes_free(&nodes);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    memset(&w, 0, sizeof(w));
    for (uint32_t nic = 1; nic < NICS; ++nic) {
        w.known.names[nic] = w.names[nic];
    }
    const uint32_t by_segment = take_byte(&in);
    while (in.left > 0 && w.size < MOST) {
        const size_t length = take_byte(&in) + (size_t)(take_byte(&in) & 3) * 256;
        /* exactly of the hello's size, or one byte if it is empty */
        uint8_t *bytes = malloc(length + 1);
        CHECK(NULL != bytes);
        const size_t count = take_bytes(&in, bytes, length);
        uint8_t *exact = realloc(bytes, 0 == count ? 1 : count);
        CHECK(NULL != exact);
        struct nicbarr_hello *hello = &w.hello[w.size];
        if (nicbarr_hello_read(exact, count, hello)) {
            check_hello(hello, count);
            describe(w.size++);
        }
        free(exact);
    }
    count(by_segment);
    return 0;
}
