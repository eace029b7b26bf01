/* SPDX-License-Identifier: BSD-3-Clause */
/* See census.h. */
#include "coll_nicbarr/census.h"

#include <stdlib.h>
#include <string.h>

/* A partition of the processes. */
struct parts {
    /* [size]: the part of each rank, numbered from 0 in the order of their first ranks */
    uint32_t *of;
    uint32_t count; /* number of parts */
};

/* Returns the number of a process's NIC; for NIC 0, the number of its segment. */
static uint32_t segment_or_nic(const struct nicbarr_peer *peer, uint32_t nic)
{
    return 0 == nic ? peer->segment : peer->nic[nic];
}

static void parts_free(struct parts *parts)
{
    free(parts->of);
    parts->of = NULL;
}

/* Partition the processes by their NIC; all processes without one form a part. Returns false if out
 * of memory. */
static bool partition_processes(const struct nicbarr_peer *const *peers, uint32_t size,
                                uint32_t nic, uint32_t numbers, struct parts *parts)
{
    /* part of each NIC, by its number; 0: no part yet */
    uint32_t *part_of = calloc(numbers + 1, sizeof(*part_of));
    *parts = (struct parts){.of = malloc(size * sizeof(*parts->of))};
    const bool good = NULL != part_of && NULL != parts->of;
    for (uint32_t r = 0; good && r < size; ++r) {
        uint32_t *part = &part_of[segment_or_nic(peers[r], nic)];
        *part = 0 == *part ? ++parts->count : *part;
        parts->of[r] = *part - 1;
    }
    free(part_of);
    if (!good) {
        parts_free(parts);
    }
    return good;
}

static bool all_have_nic(const struct nicbarr_peer *const *peers, uint32_t size, uint32_t nic)
{
    bool all = true;
    for (uint32_t r = 0; all && r < size; ++r) {
        all = 0 != peers[r]->nic[nic];
    }
    return all;
}

/* The arguments and intermediate results of a census. */
struct count {
    const struct nicbarr_peer *const *peers;
    uint32_t size, rank;
    const struct nicbarr_known *known;
    struct parts segments, nodes; /* nodes.of is NULL until a NIC defines the nodes */
};

static bool is_same_partition(const struct count *count, const struct parts *a,
                              const struct parts *b)
{
    return 0 == memcmp(a->of, b->of, count->size * sizeof(*a->of));
}

/* Mark NIC `nic` as usable if all processes have it, and if the processes that share it are the
 * same as for the other usable NICs. The first usable NIC defines the nodes. */
static enum nicbarr_census_result consider_nic(struct count *count, uint32_t nic, bool by_segment,
                                               struct nicbarr_nodes *nodes)
{
    struct parts parts;
    if (!all_have_nic(count->peers, count->size, nic)) {
        return NICBARR_NO_COMMON_NIC;
    }
    if (!partition_processes(count->peers, count->size, nic, count->known->nics[nic], &parts)) {
        return NICBARR_NO_MEMORY;
    }
    const bool first = NULL == count->nodes.of;
    if ((by_segment && !is_same_partition(count, &parts, &count->segments)) ||
        (!first && !is_same_partition(count, &parts, &count->nodes))) {
        parts_free(&parts);
        return NICBARR_MIXED;
    }
    nodes->nics |= UINT32_C(1) << nic;
    if (first) {
        nodes->by = nic;
        count->nodes = parts;
    } else {
        parts_free(&parts);
    }
    return NICBARR_COUNTED;
}

/* Collect the names of the nodes' NICs. */
static bool collect_names(const struct count *count, uint32_t nic, struct nicbarr_nodes *nodes)
{
    /* The analyzer does not know that there is at least one process, and therefore one node.
     * NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI,bugprone-sizeof-expression) */
    const struct myr_nic_name **names = calloc(nodes->nodes, sizeof(*names));
    nodes->names[nic] = names;
    for (uint32_t r = 0; NULL != names && r < count->size; ++r) {
        const uint32_t number = count->peers[r]->nic[nic];
        names[count->nodes.of[r]] = count->known->names[nic][number - 1];
    }
    return NULL != names;
}

static bool describe_nodes(const struct count *count, struct nicbarr_nodes *nodes)
{
    nodes->nodes = count->nodes.count;
    nodes->node = count->nodes.of[count->rank];
    /* (As above.) NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI) */
    nodes->firsts = calloc(nodes->nodes, sizeof(*nodes->firsts));
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI) */
    nodes->ranks = calloc(nodes->nodes, sizeof(*nodes->ranks));
    bool good = NULL != nodes->firsts && NULL != nodes->ranks;
    /* backwards, so that the first rank of a node is stored last */
    for (uint32_t r = count->size; good && r > 0; --r) {
        nodes->firsts[count->nodes.of[r - 1]] = count->peers[r - 1]->number;
        nodes->ranks[count->nodes.of[r - 1]] = r - 1;
    }
    for (uint32_t r = 0; r < count->size; ++r) {
        if (nodes->node == count->nodes.of[r]) {
            nodes->local = r == count->rank ? nodes->locals : nodes->local;
            ++nodes->locals;
        }
    }
    for (uint32_t nic = 1; good && nic < nicbarr_nics_end(); ++nic) {
        good = 0 == (nodes->nics >> nic & 1) || collect_names(count, nic, nodes);
    }
    return good;
}

enum nicbarr_census_result nicbarr_census(const struct nicbarr_peer *const *peers, uint32_t size,
                                          uint32_t rank, const struct nicbarr_known *known,
                                          uint32_t by_segment, struct nicbarr_nodes *nodes)
{
    struct count count = {.peers = peers, .size = size, .rank = rank, .known = known};
    enum nicbarr_census_result worst = NICBARR_NO_COMMON_NIC;
    *nodes = (struct nicbarr_nodes){0};
    bool good = partition_processes(peers, size, 0, known->segments, &count.segments);
    for (uint32_t nic = 1; good && nic < nicbarr_nics_end(); ++nic) {
        const enum nicbarr_census_result counted =
            consider_nic(&count, nic, 0 != (by_segment >> nic & 1), nodes);
        good = NICBARR_NO_MEMORY != counted;
        worst = NICBARR_MIXED == counted ? NICBARR_MIXED : worst;
    }
    if (good && NULL != count.nodes.of) {
        good = describe_nodes(&count, nodes);
        worst = NICBARR_COUNTED;
    }
    if (size <= NICBARR_DATA_RANKS) {
        nodes->of = count.nodes.of;
        count.nodes.of = NULL;
    }
    parts_free(&count.segments);
    parts_free(&count.nodes);
    if (!good || NICBARR_COUNTED != worst) {
        nicbarr_nodes_free(nodes);
    }
    return good ? worst : NICBARR_NO_MEMORY;
}

void nicbarr_nodes_free(struct nicbarr_nodes *nodes)
{
    for (uint32_t nic = 0; nic < NICBARR_NICS_MOST; ++nic) {
        free(nodes->names[nic]);
    }
    free(nodes->firsts);
    free(nodes->ranks);
    free(nodes->of);
    *nodes = (struct nicbarr_nodes){0};
}
