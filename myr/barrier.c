/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers of a group of processes; see myr.h.
 *
 * To create a barrier, members agree through allgathers in which each reports success or failure.
 * All members evaluate the same data, so they all continue or all give up.
 */
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/census.h"
#include "coll_nicbarr/schedule.h"
#include "firmware/wire.h"
#include "libmyr/groups/secrets.h"
#include "myr/inside.h"
#include "os/clock.h"

enum { SIZE_MOST = NICBARR_DATA_RANKS, LISTED = 64 };

struct myr_barrier {
    struct myr_host *host;
    struct myr_members members;
    struct nicbarr_nodes nodes;
    struct nicbarr_among among; /* the algorithm that runs among the nodes */
    struct myr_nic_group group;
};

/* ---- the first exchange ---- */

struct card {
    uint32_t version, size, nic; /* equal on all members, like the algorithm */
    enum nicbarr_algorithm algorithm;
    uint32_t parameter;
    uint32_t number;          /* number in its segment */
    uint64_t segment;         /* identity of its segment */
    struct myr_nic_name name; /* address of its NIC */
    struct mcp_secret secret; /* only the secret of process 0 is used */
};

static bool write_card(const struct myr_barrier *barrier, struct card *card)
{
    const struct myr_host *host = barrier->host;
    memset(card, 0, sizeof(*card)); /* clears the padding, too, because it is sent */
    card->version = MCP_WIRE_VERSION;
    card->size = barrier->members.size;
    card->nic = host->nic;
    card->algorithm = barrier->among.choice.algorithm;
    card->parameter = barrier->among.choice.parameter;
    card->number = myr_segment_number(host->segment);
    card->segment = myr_segment_identity(host->segment);
    nicbarr_kind(host->nic)->query(host->nics.nic[host->nic], &card->name);
    return myr_secret_draw(&card->secret);
}

static bool compare_cards(const struct card *cards, uint32_t size, char *why)
{
    for (uint32_t r = 0; r < size; ++r) {
        if (0 != memcmp(&cards[r], &cards[0], offsetof(struct card, number))) {
            return myr_refuse(why,
                              "process %u has another size, algorithm or NIC than process 0, or "
                              "another version of libmyr",
                              r);
        }
    }
    return true;
}

/* ---- nodes ---- */

/* Returns a number for the process's segment: 1 plus the first rank in the same segment. */
static uint32_t number_of_segment(const struct card *cards, uint32_t rank)
{
    uint32_t first = 0;
    while (cards[first].segment != cards[rank].segment) {
        ++first;
    }
    return first + 1;
}

static uint32_t number_of_nic(const struct card *cards, uint32_t rank)
{
    uint32_t first = 0;
    while (cards[first].name.key != cards[rank].name.key) {
        ++first;
    }
    return first + 1;
}

/* Counts the nodes. `names` is filled with pointers into the cards, by rank, and must remain valid
 * as long as `nodes`. */
static enum nicbarr_census_result count_nodes(struct myr_barrier *barrier, const struct card *cards,
                                              const struct myr_nic_name **names)
{
    const uint32_t size = barrier->members.size, nic = barrier->host->nic;
    const bool by_segment = 0 != (nicbarr_kind(nic)->caps.flags & MYR_SHARES_SEGMENT);
    struct nicbarr_known known = {.segments = size};
    struct nicbarr_peer *peers = calloc(size, sizeof(*peers));
    /* The array consists of pointers. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    const struct nicbarr_peer **list = calloc(size, sizeof(*list));
    enum nicbarr_census_result counted = NICBARR_NO_MEMORY;
    known.nics[nic] = size;
    known.names[nic] = names;
    if (NULL != peers && NULL != list) {
        for (uint32_t r = 0; r < size; ++r) {
            peers[r].segment = number_of_segment(cards, r);
            peers[r].number = cards[r].number;
            peers[r].nic[nic] = number_of_nic(cards, r);
            list[r] = &peers[r];
            names[r] = &cards[r].name;
        }
        counted = nicbarr_census(list, size, barrier->members.rank, &known,
                                 (by_segment ? UINT32_C(1) : 0) << nic, &barrier->nodes);
    }
    free(list);
    free(peers);
    return counted;
}

static bool find_nodes(struct myr_barrier *barrier, const struct card *cards,
                       const struct myr_nic_name **names, char *why)
{
    switch (count_nodes(barrier, cards, names)) {
    case NICBARR_NO_MEMORY:
        return myr_refuse(why, "out of memory");
    case NICBARR_NO_COMMON_NIC:
    case NICBARR_MIXED:
        return myr_refuse(why,
                          "processes share %s, but not the memory of their node: give all "
                          "processes of a node the same directory",
                          nicbarr_kind(barrier->host->nic)->title);
    case NICBARR_COUNTED:
        break;
    }
    barrier->among.size = barrier->nodes.nodes;
    return true;
}

/* ---- joining the NIC's group, in two phases (nic_kind.h) ---- */

/* A member's status in a phase, and the blob from the phase `prepare`. */
struct status {
    uint32_t good;
    uint8_t blob[MYR_BLOB_MOST];
};

static struct myr_nic_members group_members(const struct myr_barrier *barrier,
                                            const struct mcp_secret *secret)
{
    const struct nicbarr_nodes *nodes = &barrier->nodes;
    struct myr_nic_members members = {
        .nodes = nodes->nodes,
        .node = nodes->node,
        .locals = nodes->locals,
        .local = nodes->local,
        .names = nodes->names[barrier->host->nic],
        .firsts = nodes->firsts,
    };
    members.key = myr_secret_derive(secret, 0, &members.secret);
    return members;
}

static bool prepare_barrier_group(struct myr_barrier *barrier,
                                  const struct myr_nic_members *members, uint8_t *blob, char *why)
{
    struct nicbarr_nics *nics = &barrier->host->nics;
    const uint32_t nic = barrier->host->nic;
    struct myr_error error = {0};
    return NULL == nicbarr_kind(nic)->prepare ||
           MYR_OK == nicbarr_kind(nic)->prepare(nics->nic[nic], &nics->site, members,
                                                nicbarr_schedule_of, &barrier->among,
                                                &barrier->group, blob, &error) ||
           myr_refuse(why, "%s", error.text);
}

/* Connects to all nodes. For this purpose, the nodes' blobs are moved to the beginning of the
 * statuses. */
static bool connect_all(struct myr_barrier *barrier, const struct myr_nic_members *members,
                        struct status *statuses, char *why)
{
    struct nicbarr_nics *nics = &barrier->host->nics;
    const uint32_t nic = barrier->host->nic, bytes = nicbarr_kind(nic)->caps.blob;
    uint8_t *blobs = (uint8_t *)statuses;
    struct myr_error error = {0};
    /* In ascending order, a blob never overwrites one that is moved later. */
    for (uint32_t n = 0; n < members->nodes; ++n) {
        memmove(blobs + (size_t)n * bytes, statuses[barrier->nodes.ranks[n]].blob, bytes);
    }
    return MYR_OK == nicbarr_kind(nic)->connect(
                         nics->nic[nic], &nics->site, members, nicbarr_schedule_of, &barrier->among,
                         0 == bytes ? NULL : blobs, &barrier->group, &error) ||
           myr_refuse(why, "%s", error.text);
}

/* Exchanges the status of all members. Returns false if the exchange itself has failed. */
static bool exchange_status(const struct myr_barrier *barrier, bool *good, struct status *own,
                            struct status *statuses, char *why)
{
    const struct myr_members *members = &barrier->members;
    own->good = *good;
    if (!members->allgather(members->context, own, statuses, sizeof(*own))) {
        return myr_refuse(why, "the program's allgather function has failed");
    }
    for (uint32_t r = 0; *good && r < members->size; ++r) {
        *good = 0 != statuses[r].good ||
                myr_refuse(why, "process %u could not create its part of the barrier", r);
    }
    return true;
}

/* ---- creation ---- */

/* Temporary memory for the creation of a barrier. */
struct creation {
    struct card *cards;                /* [size] cards of all members, then the own one; likewise
                                          for statuses */
    const struct myr_nic_name **names; /* [size]; pointers into the cards */
    struct status *statuses;
};

static bool join_barrier_group(struct myr_barrier *barrier, struct creation *with, char *why)
{
    const struct myr_members *members = &barrier->members;
    struct card *card = &with->cards[members->size];
    struct status *status = &with->statuses[members->size];
    bool good =
        write_card(barrier, card) || myr_refuse(why, "cannot get random numbers from the system");
    if (!members->allgather(members->context, card, with->cards, sizeof(*card))) {
        return myr_refuse(why, "the program's allgather function has failed");
    }
    good = good && compare_cards(with->cards, members->size, why) &&
           find_nodes(barrier, with->cards, with->names, why);
    const struct myr_nic_members group = group_members(barrier, &with->cards[0].secret);
    good = good && prepare_barrier_group(barrier, &group, status->blob, why);
    if (!exchange_status(barrier, &good, status, with->statuses, why)) {
        return false;
    }
    good = good && connect_all(barrier, &group, with->statuses, why);
    return exchange_status(barrier, &good, status, with->statuses, why) && good;
}

static bool parse_algorithm(struct myr_barrier *barrier, const char *algorithm, char *why)
{
    const struct myr_members *members = &barrier->members;
    struct nicbarr_choice *choice = &barrier->among.choice;
    if (0 == members->size || members->size > SIZE_MOST || members->rank >= members->size) {
        return myr_refuse(why, "a barrier has 1 to %d processes; process %u of %u is not possible",
                          SIZE_MOST, members->rank, members->size);
    }
    return (nicbarr_choice_parse(NULL == algorithm ? "dissemination" : algorithm, choice) &&
            nicbarr_algorithm_messages(choice->algorithm)) ||
           myr_refuse(why,
                      "\"%.40s\" is not an algorithm for NICs: those are tree:N, dissemination:N "
                      "and pairwise",
                      algorithm);
}

/* Frees a barrier, which may be incomplete. */
static void dissolve(struct myr_barrier *barrier)
{
    if (myr_nic_group_joined(&barrier->group)) {
        myr_nic_group_leave(&barrier->group);
    }
    nicbarr_nodes_free(&barrier->nodes);
    free(barrier);
}

bool myr_barrier_create(struct myr_host *host, const struct myr_members *members,
                        const char *algorithm, struct myr_barrier **barrier, char *why)
{
    struct myr_barrier *made = calloc(1, sizeof(*made));
    *barrier = NULL;
    if (NULL == made) {
        return myr_refuse(why, "out of memory");
    }
    made->host = host;
    made->members = *members;
    bool good = parse_algorithm(made, algorithm, why);
    if (good) {
        struct creation with = {
            .cards = calloc(members->size + UINT32_C(1), sizeof(*with.cards)),
            /* See above. NOLINTNEXTLINE(bugprone-sizeof-expression) */
            .names = calloc(members->size, sizeof(*with.names)),
            .statuses = calloc(members->size + UINT32_C(1), sizeof(*with.statuses)),
        };
        good = NULL != with.cards && NULL != with.names && NULL != with.statuses
                   ? join_barrier_group(made, &with, why)
                   : myr_refuse(why, "out of memory");
        free(with.statuses);
        free(with.names);
        free(with.cards);
    }
    if (good) {
        *barrier = made;
    } else {
        dissolve(made);
    }
    return good;
}

void myr_barrier_free(struct myr_barrier *barrier)
{
    const struct myr_members *members = &barrier->members;
    uint8_t own = 0, *all = malloc(members->size);
    /* This allgather only synchronizes: its data are ignored, and so are failures. */
    if (NULL != all && !myr_nic_group_over(&barrier->group)) {
        (void)members->allgather(members->context, &own, all, sizeof(own));
    }
    free(all);
    dissolve(barrier);
}

/* ---- use ---- */

uint32_t myr_barrier_arrive(struct myr_barrier *barrier)
{
    return myr_nic_group_arrive(&barrier->group);
}

static enum myr_outcome outcome(const struct myr_barrier *barrier, uint32_t epoch)
{
    /* `over` is read first, because an epoch may complete before the failure. */
    const bool over = myr_nic_group_over(&barrier->group);
    return myr_nic_group_test(&barrier->group, epoch) ? MYR_DONE : over ? MYR_OVER : MYR_LATE;
}

enum myr_outcome myr_barrier_test(struct myr_barrier *barrier, uint32_t epoch)
{
    if (!myr_nic_group_test(&barrier->group, epoch)) {
        (void)nicbarr_nics_run(&barrier->host->nics, true);
        myr_nic_group_remind(&barrier->group);
    }
    return outcome(barrier, epoch);
}

enum myr_outcome myr_barrier_wait(struct myr_barrier *barrier, uint32_t epoch, uint32_t timeout_us)
{
    return myr_nic_group_wait(&barrier->group, epoch, timeout_us) ? MYR_DONE
                                                                  : outcome(barrier, epoch);
}

uint32_t myr_barrier_missing(struct myr_barrier *barrier, struct myr_missing *list, uint32_t most)
{
    struct mcp_missing nodes[LISTED];
    const uint32_t count =
        myr_nic_group_missing(&barrier->group, nodes, most < LISTED ? most : LISTED);
    const uint32_t now_ms = (uint32_t)os_now_ms();
    for (uint32_t m = 0; m < count; ++m) {
        list[m].rank = barrier->nodes.ranks[nodes[m].node];
        list[m].silent_ms = 0 == nodes[m].heard_ms ? UINT32_MAX : now_ms - nodes[m].heard_ms;
    }
    return count;
}

void myr_barrier_give_up(struct myr_barrier *barrier, uint32_t rank)
{
    myr_nic_group_fail(&barrier->group, barrier->nodes.of[rank]);
}

bool myr_barrier_failed(const struct myr_barrier *barrier, uint32_t *rank)
{
    uint32_t node;
    const bool failed = myr_nic_group_failed(&barrier->group, &node);
    *rank = failed ? barrier->nodes.ranks[node] : 0;
    return failed;
}
