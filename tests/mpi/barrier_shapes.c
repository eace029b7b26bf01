/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The barrier property on communicators of every shape and descent, many of them alive at once.
 *
 * All processes follow one plan, a random sequence that they agree on by the seed: make a
 * communicator from a living one, do barriers on some, free some. A step concerns the members of a
 * communicator. The others skip it. So the order is the same everywhere, and nothing can deadlock.
 * Disjoint communicators run at the same time and drift apart. Communicators are freed in random
 * order, so Open MPI gives the same context ids to other groups, disjoint or overlapping.
 *
 * Invariant of the plan: all processes know whether an entry is occupied (the `used` flags agree).
 * Whether I belong to it is `mine`. Making a communicator is collective over the parent. So an
 * entry becomes a parent only if everybody is a member of it, or all its members treat it alike.
 *
 * MPI_Ibarrier on an intercommunicator is left out unless --inter-ibarrier is given: Open MPI's own
 * (coll/libnbc of 4.1.4 and 5.0.7) lets processes leave before the other group has entered.
 *
 * --spawn adds processes by MPI_Comm_spawn and does barriers on what connects them. It is an option
 * since spawning needs slots, and depends on the launcher.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

static long alive = 200;
static long steps = 1500;
static long spawn;
static long spawned;
static long inter_ibarrier;

static const struct test_option options[] = {
    {"--alive", OPTION_LONG, &alive, "communicators alive at once (200)"},
    {"--steps", OPTION_LONG, &steps, "steps of the plan after the first filling (1500)"},
    {"--inter-ibarrier", OPTION_FLAG, &inter_ibarrier,
     "also MPI_Ibarrier on intercommunicators (Open MPI's own one leaves early)"},
    {"--spawn", OPTION_FLAG, &spawn, "also spawn 2 processes and merge with them"},
    {"--spawned", OPTION_FLAG, &spawned, "(this is a process that --spawn made)"},
};

/* One living communicator of the plan. */
struct entry {
    bool used; /* agreed on by all processes */
    bool mine; /* I am a member: comm and ledger are set */
    bool inter;
    bool may_be_parent; /* exists on all processes, intra */
    MPI_Comm comm;
    struct ledger ledger;
};

/* ---- the shapes ---- */

/* Each makes a communicator out of parent, whose members all call it; for some of them it may be
 * MPI_COMM_NULL. */

static MPI_Comm shape_dup(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    (void)plan;
    MPI_Comm_dup(parent, &comm);
    return comm;
}

static MPI_Comm shape_idup(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    MPI_Request request;
    (void)plan;
    MPI_Comm_idup(parent, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return comm;
}

/* With the info key by which a user chooses components; whatever it chooses has to be a barrier. An
 * MPI that does not know the key ignores it. */
static MPI_Comm shape_dup_with_info(MPI_Comm parent, struct rng *plan)
{
    static const char *const preferences[] = {"^nicbarr", "nicbarr", "nicbarr,tuned", "basic"};
    MPI_Comm comm;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_comm_coll_preference", preferences[rng_below(plan, 4)]);
    MPI_Comm_dup_with_info(parent, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

/* A few colours, some processes in none, random keys. */
static MPI_Comm shape_split(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    int rank;
    unsigned colours = 1 + rng_below(plan, 4), left_out = rng_below(plan, 3);
    uint64_t salt = rng_next(plan);
    MPI_Comm_rank(parent, &rank);
    struct rng lot = {salt + (uint64_t)rank};
    int colour = rng_below(&lot, 4) < left_out ? MPI_UNDEFINED : (int)rng_below(&lot, colours);
    MPI_Comm_split(parent, colour, (int)rng_below(&lot, 1000), &comm);
    return comm;
}

static MPI_Comm shape_reversed(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    int rank;
    (void)plan;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_split(parent, 7, -rank, &comm);
    return comm;
}

static MPI_Comm shape_singles(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    int rank;
    (void)plan;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_split(parent, rank, 0, &comm);
    return comm;
}

static MPI_Comm shape_shared(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    (void)plan;
    MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    return comm;
}

/* The ranks first, first + stride, ... below last (inclusive) of parent. */
static MPI_Group range_group(MPI_Comm parent, int first, int last, int stride)
{
    MPI_Group whole, part;
    int range[1][3] = {{first, last, stride}};
    MPI_Comm_group(parent, &whole);
    MPI_Group_range_incl(whole, 1, range, &part);
    MPI_Group_free(&whole);
    return part;
}

/* Every second process; the others get none. */
static MPI_Comm shape_create(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    int size;
    (void)plan;
    MPI_Comm_size(parent, &size);
    MPI_Group group = range_group(parent, 0, size - 1, 2);
    MPI_Comm_create(parent, group, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* One call, two disjoint groups, both communicators with one context id (MPI 2.2 allows it). */
static MPI_Comm shape_create_disjoint(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    int rank, size;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    int cut = (int)rng_below(plan, (unsigned)size + 1);
    MPI_Group group =
        rank < cut ? range_group(parent, 0, cut - 1, 1) : range_group(parent, size - 1, cut, -1);
    MPI_Comm_create(parent, group, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Only the members call MPI_Comm_create_group: a window of consecutive ranks, so that the windows
 * of different steps overlap in any way. */
static MPI_Comm shape_create_group(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int rank, size;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    int first = (int)rng_below(plan, (unsigned)size);
    int last = first + (int)rng_below(plan, (unsigned)(size - first));
    if (rank >= first && rank <= last) {
        MPI_Group group = range_group(parent, first, last, 1);
        MPI_Comm_create_group(parent, group, 5, &comm);
        MPI_Group_free(&group);
    }
    return comm;
}

/* Two rows when that fits, else one process is left out; sometimes the rows of it. */
static MPI_Comm shape_cartesian(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm, rows;
    int size, periods[2] = {1, 0}, remain[2] = {0, 1};
    bool cut_into_rows = rng_below(plan, 2);
    MPI_Comm_size(parent, &size);
    int dims[2] = {size > 1 ? 2 : 1, size > 1 ? size / 2 : 1};
    MPI_Cart_create(parent, 2, dims, periods, 1, &comm);
    if (comm == MPI_COMM_NULL || !cut_into_rows)
        return comm;
    MPI_Cart_sub(comm, remain, &rows);
    MPI_Comm_free(&comm);
    return rows;
}

/* A ring as MPI-1 graph. */
static MPI_Comm shape_graph(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    int size;
    (void)plan;
    MPI_Comm_size(parent, &size);
    int *index = malloc(sizeof(int) * (size_t)size), *edges = malloc(sizeof(int) * (size_t)size);
    for (int i = 0; i < size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    MPI_Graph_create(parent, size, index, edges, 0, &comm);
    free(index);
    free(edges);
    return comm;
}

/* A ring as distributed graph. */
static MPI_Comm shape_distributed_graph(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm comm;
    int rank, size;
    (void)plan;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    int from = (rank + size - 1) % size, to = (rank + 1) % size, weight = 1;
    MPI_Dist_graph_create_adjacent(parent, 1, &from, &weight, 1, &to, &weight, MPI_INFO_NULL, 0,
                                   &comm);
    return comm;
}

/* Two groups that face each other; parent needs two processes. */
static MPI_Comm shape_inter(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm half, inter;
    int rank, size;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    if (size < 2)
        return MPI_COMM_NULL;
    int cut = 1 + (int)rng_below(plan, (unsigned)size - 1);
    MPI_Comm_split(parent, rank < cut, rank, &half);
    MPI_Intercomm_create(half, 0, parent, rank < cut ? cut : 0, 9, &inter);
    MPI_Comm_free(&half);
    return inter;
}

static MPI_Comm shape_merged(MPI_Comm parent, struct rng *plan)
{
    MPI_Comm inter = shape_inter(parent, plan), merged;
    int rank;
    if (inter == MPI_COMM_NULL)
        return MPI_COMM_NULL;
    MPI_Comm_rank(inter, &rank);
    MPI_Group local, remote;
    int n_local, n_remote;
    MPI_Comm_group(inter, &local);
    MPI_Comm_remote_group(inter, &remote);
    MPI_Group_size(local, &n_local);
    MPI_Group_size(remote, &n_remote);
    MPI_Group_free(&local);
    MPI_Group_free(&remote);
    /* Which half comes first: by size when they differ; equal flags let MPI choose. */
    MPI_Intercomm_merge(inter, n_local > n_remote, &merged);
    MPI_Comm_free(&inter);
    return merged;
}

static const struct shape {
    const char *name;
    MPI_Comm (*make)(MPI_Comm parent, struct rng *plan);
    bool whole; /* one communicator of all of the parent's members, so it can be a parent itself */
    bool inter;
} shapes[] = {
    {"dup", shape_dup, true, false},
    {"idup", shape_idup, true, false},
    {"dup with info", shape_dup_with_info, true, false},
    {"split", shape_split, false, false},
    {"reversed", shape_reversed, true, false},
    {"singles", shape_singles, true, false},
    {"shared", shape_shared, true, false},
    {"create", shape_create, false, false},
    {"create disjoint", shape_create_disjoint, true, false},
    {"create_group", shape_create_group, false, false},
    {"cartesian", shape_cartesian, false, false},
    {"graph", shape_graph, true, false},
    {"dist graph", shape_distributed_graph, true, false},
    {"inter", shape_inter, false, true},
    {"merged", shape_merged, false, false},
};

/* ---- the plan's steps ---- */

static struct arena arena;
static struct entry *entries;
static unsigned next_slot;

/* A parent that every process has: one of the living, or WORLD, or (by size) SELF. */
static MPI_Comm random_parent(struct rng *plan, const char **name)
{
    unsigned choice = rng_below(plan, (unsigned)alive + 20);
    if (choice < (unsigned)alive && entries[choice].used && entries[choice].may_be_parent) {
        *name = entries[choice].ledger.name;
        return entries[choice].comm;
    }
    *name = choice % 20 == 0 ? "SELF" : "WORLD";
    return choice % 20 == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

/* A communicator by shape number `kind`, into an empty entry. Every process takes part: parents
 * exist everywhere. What differs between disjoint parents must not enter the plan: the shape draws
 * from a stream of its own. */
static void make_entry(struct entry *entry, struct rng *plan, unsigned kind)
{
    const struct shape *shape = &shapes[kind];
    const char *parent_name;
    MPI_Comm parent = random_parent(plan, &parent_name);
    struct rng own = {rng_next(plan)};

    test_phase(shape->name);
    entry->used = true;
    entry->inter = shape->inter;
    entry->may_be_parent = shape->whole;
    entry->comm = shape->make(parent, &own);
    entry->mine = entry->comm != MPI_COMM_NULL;
    unsigned slot = next_slot++; /* counted by all, so that it is agreed */
    if (entry->mine)
        ledger_open(&entry->ledger, &arena, slot, entry->comm, "#%u %s of %.20s", slot, shape->name,
                    parent_name);
}

static void free_entry(struct entry *entry)
{
    test_phase("MPI_Comm_free");
    if (entry->mine) {
        MPI_Comm_free(&entry->comm);
        ledger_close(&entry->ledger);
    }
    entry->used = false;
}

/* MPI_Barrier most of the time, sometimes the other way to say it. Not every process is delayed. */
static void use_entry(struct entry *entry, bool nonblocking, struct rng *mine)
{
    if (!entry->mine)
        return;
    test_phase(entry->inter ? "barrier on an intercommunicator" : "barrier");
    delay_random(mine);
    if (nonblocking && (!entry->inter || inter_ibarrier))
        checked_ibarrier(&entry->ledger);
    else
        checked_barrier(&entry->ledger);
}

static void follow_plan(struct rng *plan, struct rng *mine)
{
    for (long i = 0; i < alive; i++)
        make_entry(&entries[i], plan, (unsigned)i % TEST_COUNT(shapes));
    for (long step = 0; step < steps; step++) {
        struct entry *entry = &entries[rng_below(plan, (unsigned)alive)];
        switch (rng_below(plan, 8)) {
        case 0:
            free_entry(entry);
            make_entry(entry, plan, rng_below(plan, TEST_COUNT(shapes)));
            break;
        case 1: {
            /* One after another, each twice: the second barrier is the first one's reuse. */
            unsigned first = rng_below(plan, (unsigned)alive);
            for (unsigned i = first; i < first + 10 && i < (unsigned)alive; i++) {
                use_entry(&entries[i], false, mine);
                use_entry(&entries[i], false, mine);
            }
            break;
        }
        default:
            use_entry(entry, rng_below(plan, 8) == 0, mine);
        }
    }
    int *order = malloc(sizeof(int) * (size_t)alive);
    rng_permutation(plan, order, (int)alive);
    for (long i = 0; i < alive; i++) {
        /* The last use is the first one for those that no step has met. */
        use_entry(&entries[order[i]], false, mine);
        free_entry(&entries[order[i]]);
    }
    free(order);
}

/* ---- processes that come later ---- */

/* On both sides of the connection: barriers on the intercommunicator, the merged one and its
 * children. The arena covers all processes of both jobs. */
static void barriers_with_spawned(MPI_Comm inter)
{
    MPI_Comm merged, dup;
    struct arena both;
    struct ledger on_inter, on_merged, on_dup;
    struct rng mine = rng_make(STREAM_PRIVATE + 500 + (uint64_t)test.rank + (spawned ? 100 : 0));

    test_phase("spawned processes");
    MPI_Intercomm_merge(inter, spawned != 0, &merged);
    arena_open(&both, merged, 3);
    MPI_Comm_dup(merged, &dup);
    ledger_open(&on_inter, &both, 0, inter, "intercommunicator with the spawned");
    ledger_open(&on_merged, &both, 1, merged, "merged with the spawned");
    ledger_open(&on_dup, &both, 2, dup, "dup of merged with the spawned");
    for (int i = 0; i < 100; i++) {
        delay_random(&mine);
        checked_barrier(&on_merged);
        delay_random(&mine);
        checked_barrier(&on_dup);
        if (i % 10 == 0)
            checked_barrier(&on_inter);
    }
    ledger_close(&on_inter);
    ledger_close(&on_merged);
    ledger_close(&on_dup);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&merged);
    arena_close(&both);
    MPI_Comm_disconnect(&inter);
}

static void spawn_processes(char *program)
{
    char seed[32];
    char spawned_option[] = "--spawned", seed_option[] = "--seed";
    char *arguments[] = {spawned_option, seed_option, seed, NULL};
    MPI_Comm inter;
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)test.seed);
    test_phase("MPI_Comm_spawn");
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    barriers_with_spawned(inter);
}

/* MPI_Barrier returns at once to a process that is alone, without asking the component. Open MPI's
 * own code does ask: for example in each fence of a window of one process. */
static void fences_alone(void)
{
    enum { FENCES = 100 };
    MPI_Win window;
    void *memory;
    test_phase("fences of a process alone");
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window);
    for (int i = 0; i < FENCES; i++)
        MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "barrier_shapes", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    if (spawned) {
        MPI_Comm parent;
        MPI_Comm_get_parent(&parent);
        barriers_with_spawned(parent);
        return test_end("(spawned processes)");
    }

    struct rng plan = rng_make(STREAM_PLAN);
    struct rng mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    arena_open(&arena, MPI_COMM_WORLD, (unsigned)(alive + steps) + 2);
    entries = calloc((size_t)alive, sizeof(*entries));

    struct ledger world, self;
    ledger_open(&world, &arena, next_slot++, MPI_COMM_WORLD, "MPI_COMM_WORLD");
    ledger_open(&self, &arena, next_slot++, MPI_COMM_SELF, "MPI_COMM_SELF");
    checked_barrier(&self);
    checked_barrier(&world);
    fences_alone();
    follow_plan(&plan, &mine);
    checked_barrier(&self);
    checked_barrier(&world);
    if (spawn)
        spawn_processes(argv[0]);

    ledger_close(&world);
    ledger_close(&self);
    free(entries);
    arena_close(&arena);
    return test_end("");
}
