/* SPDX-License-Identifier: BSD-3-Clause */
/* See schedule.h for callers and invariants.
 *
 * Each algorithm is a row of a table, with a function that emits its steps. The function runs
 * twice: first with a builder that has no storage and only counts the steps, then with a builder of
 * the right size. Therefore a schedule is a single allocation, and no algorithm has to compute its
 * size. */
#include "coll_nicbarr/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct builder;
/* Emit the steps of `rank`. The parameter is from 1 to size - 1, and ignored by algorithms without
 * one. */
typedef void emit_steps(struct builder *builder, uint32_t parameter, uint32_t size, uint32_t rank);
/* Returns an upper bound on the messages that any rank waits for. */
typedef uint32_t count_waits(uint32_t parameter, uint32_t size);

static emit_steps emit_star, emit_all_to_all, emit_tree, emit_dissemination, emit_pairwise,
    emit_gather;
static count_waits tree_waits, dissemination_waits, pairwise_waits;

static const struct {
    const char *name, *parameter; /* names of the algorithm, and of its parameter in help texts;
                                     NULL: no parameter */
    uint32_t least, most, usual;  /* bounds and default of the parameter; 0 if there is none */
    emit_steps *emit;             /* NULL: no schedule */
    /* NULL: it does not consist of messages; otherwise any NIC can execute it */
    count_waits *waits;
} algorithms[NICBARR_ALGORITHMS] = {
    [NICBARR_OPENMPI] = {"openmpi", NULL, 0, 0, 0, NULL, NULL},
    [NICBARR_COUNTER] = {"counter", "leaves", 1, 4096, 1, emit_star, NULL},
    [NICBARR_FLAGS] = {"flags", "bytes apart: 4, 8 to 128", 4, 128, 4, emit_all_to_all, NULL},
    [NICBARR_TREE] = {"tree", "degree", 1, 4096, 4, emit_tree, tree_waits},
    [NICBARR_DISSEMINATION] = {"dissemination", "n", 1, 4096, 1, emit_dissemination,
                               dissemination_waits},
    [NICBARR_PAIRWISE] = {"pairwise", NULL, 0, 0, 0, emit_pairwise, pairwise_waits},
    [NICBARR_ROOTED] = {"rooted", "degree", 1, 4096, 4, emit_gather, tree_waits},
    [NICBARR_EXCHANGE] = {"exchange", NULL, 0, 0, 0, NULL, NULL},
    [NICBARR_RING] = {"ring", NULL, 0, 0, 0, NULL, NULL},
};

static const char *const none[] = {NULL};
static const char *const *nics = none; /* from number 1 on; terminated by NULL */

void nicbarr_choice_nics(const char *const *names)
{
    nics = names;
}

bool nicbarr_choice_equal(struct nicbarr_choice a, struct nicbarr_choice b)
{
    return a.algorithm == b.algorithm && a.parameter == b.parameter && a.nic == b.nic;
}

const char *nicbarr_choice_name(struct nicbarr_choice choice, char *text)
{
    const char *at = 0 == choice.nic ? "" : "@", *nic = 0 == choice.nic ? "" : nics[choice.nic - 1];
    const char *name = algorithms[choice.algorithm].name;
    if (0 == algorithms[choice.algorithm].most) {
        snprintf(text, NICBARR_CHOICE_TEXT, "%s%s%s", name, at, nic);
    } else {
        snprintf(text, NICBARR_CHOICE_TEXT, "%s:%u%s%s", name, choice.parameter, at, nic);
    }
    return text;
}

/* Parse an optional parameter such as ":4" from *text, which is advanced. */
static bool parse_parameter(const char **text, struct nicbarr_choice *choice)
{
    const uint32_t least = algorithms[choice->algorithm].least;
    const uint32_t most = algorithms[choice->algorithm].most;
    choice->parameter = algorithms[choice->algorithm].usual;
    if (':' != **text) {
        return true;
    }
    const char *digits = *text + 1;
    char *end;
    const unsigned long value = strtoul(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || 0 == most || value < least || value > most) {
        return false;
    }
    choice->parameter = (uint32_t)value;
    *text = end;
    /* The distance is a power of two, and at least the size of a word, so that no flag crosses a
     * cache line. */
    return NICBARR_FLAGS != choice->algorithm || 0 == (value & (value - 1));
}

/* Parse the rest: "@" and the name of a NIC, or nothing. */
static bool parse_nic(const char *text, struct nicbarr_choice *choice)
{
    choice->nic = 0;
    if ('\0' == *text) {
        return true;
    }
    for (uint32_t n = 0; NULL != nics[n] && 0 == choice->nic; ++n) {
        choice->nic = '@' == *text && 0 == strcmp(text + 1, nics[n]) ? n + 1 : 0;
    }
    return 0 != choice->nic && nicbarr_algorithm_messages(choice->algorithm);
}

bool nicbarr_algorithm_messages(enum nicbarr_algorithm algorithm)
{
    return NULL != algorithms[algorithm].waits;
}

bool nicbarr_algorithm_barrier(enum nicbarr_algorithm algorithm)
{
    return algorithm < NICBARR_ROOTED;
}

const char *nicbarr_algorithm_list(bool by_nics, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (int a = NICBARR_OPENMPI + 1; nicbarr_algorithm_barrier((enum nicbarr_algorithm)a); ++a) {
        const char *parameter = by_nics ? NULL : algorithms[a].parameter;
        if ((!by_nics || NULL != algorithms[a].waits) && length < bytes) {
            length +=
                (size_t)snprintf(text + length, bytes - length, "%s%s%s%s%s",
                                 0 == length ? "" : ", ", algorithms[a].name,
                                 NULL == parameter ? "" : "[:", NULL == parameter ? "" : parameter,
                                 NULL == parameter ? "" : "]");
        }
    }
    return text;
}

bool nicbarr_choice_parse(const char *text, struct nicbarr_choice *choice)
{
    return nicbarr_choice_parse_data(text, choice) && nicbarr_algorithm_barrier(choice->algorithm);
}

bool nicbarr_choice_parse_data(const char *text, struct nicbarr_choice *choice)
{
    const size_t length = strcspn(text, ":@");
    for (int a = 0; a < NICBARR_ALGORITHMS; ++a) {
        if (strlen(algorithms[a].name) == length && 0 == memcmp(text, algorithms[a].name, length)) {
            const char *rest = text + length;
            choice->algorithm = (enum nicbarr_algorithm)a;
            return parse_parameter(&rest, choice) && parse_nic(rest, choice);
        }
    }
    return false;
}

uint32_t nicbarr_parameter_max(enum nicbarr_algorithm algorithm, uint32_t size)
{
    const uint32_t most = algorithms[algorithm].most;
    if (NICBARR_FLAGS == algorithm || 0 == most) {
        return most;
    }
    const uint32_t others = size > 1 ? size - 1 : 1;
    return others < most ? others : most;
}

/* Returns the parameter, limited to the greatest value that makes a difference, and at least 1,
 * because algorithms divide by it. */
static uint32_t effective_parameter(struct nicbarr_choice choice, uint32_t size)
{
    const uint32_t others = size > 1 ? size - 1 : 1;
    const uint32_t parameter = choice.parameter < others ? choice.parameter : others;
    return parameter > 0 ? parameter : 1;
}

uint32_t nicbarr_most_waits(struct nicbarr_choice choice, uint32_t size)
{
    count_waits *waits = algorithms[choice.algorithm].waits;
    return NULL == waits ? 0 : waits(effective_parameter(choice, size), size);
}

/* A schedule under construction. Without storage, its steps and peers are only counted. */
struct builder {
    uint32_t nsteps, npeers;
    struct mcp_step *steps;
    uint32_t *peers;
};

static void new_step(struct builder *builder)
{
    if (NULL != builder->steps) {
        builder->steps[builder->nsteps] = (struct mcp_step){0, 0};
    }
    ++builder->nsteps;
}

static void add_peer(struct builder *builder, uint32_t peer)
{
    if (NULL != builder->peers) {
        builder->peers[builder->npeers] = peer;
    }
    ++builder->npeers;
}

/* Within a step, all sends precede all waits. */
static void add_send(struct builder *builder, uint32_t peer)
{
    if (NULL != builder->steps) {
        ++builder->steps[builder->nsteps - 1].sends;
    }
    add_peer(builder, peer);
}

static void add_wait(struct builder *builder, uint32_t peer)
{
    if (NULL != builder->steps) {
        ++builder->steps[builder->nsteps - 1].waits;
    }
    add_peer(builder, peer);
}

static uint32_t dissemination_waits(uint32_t n, uint32_t size)
{
    uint32_t steps = 0;
    for (uint64_t reach = 1; reach < size; reach *= (uint64_t)n + 1) {
        ++steps;
    }
    return steps * n;
}

/* Hoefler et al., "Fast Barrier Synchronization for InfiniBand", section 3, equations 1 and 2.
 * After step r, a rank knows that the (n+1)^(r+1) ranks up to and including itself have arrived. A
 * message from a rank at a distance of i (n+1)^r >= P would therefore contain nothing new, and is
 * omitted. */
static void emit_dissemination(struct builder *builder, uint32_t n, uint32_t size, uint32_t rank)
{
    for (uint64_t distance = 1; distance < size; distance *= (uint64_t)n + 1) {
        new_step(builder);
        for (uint64_t i = 1; i <= n && i * distance < size; ++i) {
            add_send(builder, (uint32_t)((rank + i * distance) % size));
        }
        for (uint64_t i = 1; i <= n && i * distance < size; ++i) {
            add_wait(builder, (uint32_t)((rank + size - i * distance) % size));
        }
    }
}

/* Emit one step in which all ranks send to all others, which is dissemination with the largest
 * n. */
static void emit_all_to_all(struct builder *builder, uint32_t parameter, uint32_t size,
                            uint32_t rank)
{
    (void)parameter;
    emit_dissemination(builder, size > 1 ? size - 1 : 1, size, rank);
}

/* Returns an upper bound on the messages that a rank waits for in a pairwise exchange: one for each
 * exchange among the ranks of S, and two for those between a rank of S and its partner in S'
 * (emit_pairwise()). */
static uint32_t pairwise_waits(uint32_t parameter, uint32_t size)
{
    uint32_t log2 = 0;
    (void)parameter;
    while ((UINT64_C(1) << log2) < size) {
        ++log2;
    }
    return log2 + 2;
}

/* Buntinas et al., "Fast NIC-Based Barrier over Myrinet/GM": recursive doubling in the set S of the
 * first 2^k ranks. Each of the remaining ranks (S') sends to its partner in S at the beginning, and
 * receives from it at the end. */
static void emit_pairwise(struct builder *builder, uint32_t parameter, uint32_t size, uint32_t rank)
{
    uint32_t core = 1;
    (void)parameter;
    while (core <= size / 2) {
        core *= 2;
    }
    if (rank >= core) {
        new_step(builder);
        add_send(builder, rank - core);
        add_wait(builder, rank - core);
        return;
    }
    const bool partner = rank + core < size;
    if (partner) {
        new_step(builder);
        add_wait(builder, rank + core);
    }
    for (uint32_t mask = 1; mask < core; mask *= 2) {
        new_step(builder);
        add_send(builder, rank ^ mask);
        add_wait(builder, rank ^ mask);
    }
    if (partner) {
        new_step(builder);
        add_send(builder, rank + core);
    }
}

/* Gather over the tree in which the children of p are d p + 1 ... d p + d, then broadcast, unless
 * it is `rooted`. */
static void emit_over_tree(struct builder *builder, uint64_t degree, uint32_t size, uint32_t rank,
                           bool rooted)
{
    const uint64_t first = degree * rank + 1;
    const uint64_t end = first + degree < size ? first + degree : size;
    if (first < end) {
        new_step(builder);
        for (uint64_t child = first; child < end; ++child) {
            add_wait(builder, (uint32_t)child);
        }
    }
    if (0 != rank) {
        const uint32_t parent = (uint32_t)((rank - 1) / degree);
        new_step(builder);
        add_send(builder, parent);
        if (!rooted) {
            add_wait(builder, parent);
        }
    }
    if (first < end && !rooted) {
        new_step(builder);
        for (uint64_t child = first; child < end; ++child) {
            add_send(builder, (uint32_t)child);
        }
    }
}

/* Returns the number of children, plus one for the parent. */
static uint32_t tree_waits(uint32_t degree, uint32_t size)
{
    (void)size;
    return degree + 1;
}

static void emit_tree(struct builder *builder, uint32_t degree, uint32_t size, uint32_t rank)
{
    emit_over_tree(builder, degree, size, rank, false);
}

static void emit_gather(struct builder *builder, uint32_t degree, uint32_t size, uint32_t rank)
{
    emit_over_tree(builder, degree, size, rank, true);
}

/* Emit a star. This is the schedule of a counter, in which the last process to arrive acts as the
 * root. */
static void emit_star(struct builder *builder, uint32_t parameter, uint32_t size, uint32_t rank)
{
    (void)parameter;
    emit_over_tree(builder, size > 1 ? size - 1 : 1, size, rank, false);
}

static void emit_ping_pong(struct builder *builder, uint32_t peers, uint32_t rank)
{
    if (0 == rank) {
        new_step(builder);
        for (uint32_t peer = 1; peer <= peers; ++peer) {
            add_send(builder, peer);
        }
        for (uint32_t peer = 1; peer <= peers; ++peer) {
            add_wait(builder, peer);
        }
    } else if (rank <= peers) {
        new_step(builder);
        add_wait(builder, 0);
        new_step(builder);
        add_send(builder, 0);
    }
}

/* The arguments of a schedule. */
struct schedule_arguments {
    bool ping_pong; /* the ping-pong; otherwise the schedule of the choice */
    struct nicbarr_choice choice;
    uint32_t size, rank;
};

static void emit_schedule(struct builder *builder, const struct schedule_arguments *arguments)
{
    if (arguments->ping_pong) {
        emit_ping_pong(builder, arguments->size - 1, arguments->rank);
    } else if (NULL != algorithms[arguments->choice.algorithm].emit) {
        algorithms[arguments->choice.algorithm].emit(
            builder, effective_parameter(arguments->choice, arguments->size), arguments->size,
            arguments->rank);
    }
}

static bool create_schedule(const struct schedule_arguments *arguments,
                            struct myr_schedule *schedule)
{
    struct builder count = {0};
    emit_schedule(&count, arguments);

    struct builder builder = {0};
    builder.steps =
        malloc(count.nsteps * sizeof(*builder.steps) + count.npeers * sizeof(*builder.peers) + 1);
    if (NULL == builder.steps) {
        return false;
    }
    builder.peers = (uint32_t *)(builder.steps + count.nsteps);
    emit_schedule(&builder, arguments);
    *schedule = (struct myr_schedule){builder.nsteps, builder.steps, builder.npeers, builder.peers};
    return true;
}

bool nicbarr_schedule_create(struct nicbarr_choice choice, uint32_t size, uint32_t rank,
                             struct myr_schedule *schedule)
{
    return create_schedule(&(struct schedule_arguments){false, choice, size, rank}, schedule);
}

bool nicbarr_schedule_ping_pong(uint32_t peers, uint32_t rank, struct myr_schedule *schedule)
{
    return create_schedule(
        &(struct schedule_arguments){.ping_pong = true, .size = peers + 1, .rank = rank}, schedule);
}

bool nicbarr_schedule_of(const void *among, uint32_t rank, struct myr_schedule *schedule)
{
    const struct nicbarr_among *all = among;
    return nicbarr_schedule_create(all->choice, all->size, rank, schedule);
}

void nicbarr_schedule_destroy(struct myr_schedule *schedule)
{
    free(schedule->steps);
    *schedule = (struct myr_schedule){0};
}
