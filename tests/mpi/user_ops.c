/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions by operations and on types that the program has made are right, in rank order.
 *
 * All processes follow one random plan. An element is some numbers, in any order and with any gaps
 * in memory, before and behind its address; each process lays them out in its own way. The
 * operation does not commute. What lies in the gaps of a result must stay as it was, and so must
 * what is only sent. Types and operations are freed as soon as MPI allows that.
 *
 * The operation asks MPI for what it needs to know of its type, takes its time now and then, and
 * takes a lock of the program: the one that is held where non-blocking reductions are started.
 *
 * --bits: a sum that the program has defined must have the bits of MPI_SUM. And the order of
 * elements in memory may be reversed, which is too much for Open MPI's own functions.
 *
 * NICBARR_TEST_BREAK=N: the operation does nothing, once in N times.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_mutex_t in all modes */
#endif
#include "common.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static long steps = 200;
static long bits;
static long n_threads = 1;

static const struct test_option options[] = {
    {"--steps", OPTION_LONG, &steps, "steps of the plan (200)"},
    {"--bits", OPTION_FLAG, &bits, "reductions combine in one fixed order"},
    {"--threads", OPTION_LONG, &n_threads, "threads, each with a plan and communicators (1)"},
};

enum {
    MAX_THREADS = 4,
    PLACES = 4,
    LAYOUTS = 8,    /* of a process */
    NUMBERS = 40,   /* of an element, at most */
    CELLS = 64,     /* places of numbers before and behind an element's address */
    ELEMENTS = 100, /* of a vector, at most */
    OUTSTANDING = 6,
    ONLY_BLOCKING = 4096, /* with --bits: bytes of a vector, at most */
    ONLY_NONBLOCKING = 1120,
    ONLY_NONBLOCKING_OF_TWO = 560,
    RANKS = 64
};

/* Where the numbers of an element are, in cells of a number. */
struct layout {
    int n;
    int at[NUMBERS];
    int extent; /* may be negative */
    MPI_Datatype mpi;
};

enum call { ALLREDUCE, REDUCE, IALLREDUCE, IREDUCE, CALLS };
static const char *const call_names[CALLS] = {"MPI_Allreduce", "MPI_Reduce", "MPI_Iallreduce",
                                              "MPI_Ireduce"};

struct place {
    MPI_Comm comm;
    int rank, size;
};

/* One reduction; a result is compared with all of the memory that it should have changed nothing
 * else of. */
struct reduction {
    enum call call;
    const struct place *place;
    const struct layout *layout;
    int count, root;
    bool in_place;
    uint64_t key;
    size_t cells;
    uint32_t *send, *receive, *expected, *sent;
};

struct game {
    pthread_t thread;
    int number;
    struct rng plan, mine;
    struct place places[PLACES];
    struct layout layouts[LAYOUTS];
    int n;
    struct reduction outstanding[OUTSTANDING];
    MPI_Request requests[OUTSTANDING];
};

static struct game games[MAX_THREADS];
static pthread_mutex_t program = PTHREAD_MUTEX_INITIALIZER;
static struct rng of_operation; /* under the lock */

/* ---- the operation ---- */

/* Pairs of numbers are maps x -> a x + b, one after the other; of one that is left over the first
 * rank's counts. */
static void combine(const uint32_t *left, uint32_t *right, const struct layout *layout)
{
    const int *at = layout->at;
    for (int i = 0; i + 1 < layout->n; i += 2) {
        right[at[i + 1]] += right[at[i]] * left[at[i + 1]];
        right[at[i]] *= left[at[i]];
    }
    if (layout->n % 2)
        right[at[layout->n - 1]] = left[at[layout->n - 1]];
}

/* A layout's lower bound says which one it is. */
static MPI_Aint lower_bound(int game, int layout)
{
    return -(MPI_Aint)(4 * (1000 + LAYOUTS * game + layout));
}

static void operation(void *left, void *right, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    int size;
    MPI_Type_get_extent(*type, &lower, &extent);
    MPI_Type_size(*type, &size);
    int which = (int)(-lower / 4) - 1000;
    if (which < 0 || which >= LAYOUTS * MAX_THREADS)
        test_fail("operation", "called with another type");
    const struct layout *layout = &games[which / LAYOUTS].layouts[which % LAYOUTS];
    if (size != 4 * layout->n || extent != 4 * layout->extent || *count <= 0)
        test_fail("operation", "called with another type or with no elements");
    pthread_mutex_lock(&program);
    bool broken = test.break_every > 0 && rng_below(&of_operation, (unsigned)test.break_every) == 0;
    if (rng_below(&of_operation, 16) == 0)
        delay_random(&of_operation);
    for (int i = 0; i < *count && !broken; i++)
        combine((uint32_t *)left + (ptrdiff_t)i * layout->extent,
                (uint32_t *)right + (ptrdiff_t)i * layout->extent, layout);
    pthread_mutex_unlock(&program);
}

static void sum(void *left, void *right, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)right)[i] = ((double *)left)[i] + ((double *)right)[i];
}

/* ---- layouts ---- */

static void make_layout(struct game *game, int number)
{
    static const int sizes[LAYOUTS] = {1, 2, 3, 8, 14, 28, 29, NUMBERS}; /* 112 bytes: a slot */
    struct layout *layout = &game->layouts[number];
    int cells[2 * CELLS], lengths[NUMBERS], low = CELLS, high = -CELLS;
    MPI_Aint places[NUMBERS];
    MPI_Datatype types[NUMBERS], tight;
    layout->n = sizes[number];
    bool dense = rng_below(&game->mine, 4) == 0;
    rng_permutation(&game->mine, cells, 2 * CELLS);
    for (int i = 0; i < layout->n; i++) {
        int at = dense ? i : cells[i] - CELLS;
        layout->at[i] = at;
        low = at < low ? at : low;
        high = at > high ? at : high;
        lengths[i] = 1;
        places[i] = 4 * (MPI_Aint)at;
        types[i] = MPI_UINT32_T;
    }
    layout->extent = dense ? layout->n : high - low + 1 + (int)rng_below(&game->mine, 3);
    if (bits && !dense && rng_below(&game->mine, 4) == 0)
        layout->extent = -layout->extent;
    MPI_Type_create_struct(layout->n, lengths, places, types, &tight);
    MPI_Type_create_resized(tight, lower_bound(game->number, number), 4 * (MPI_Aint)layout->extent,
                            &layout->mpi);
    MPI_Type_free(&tight);
    MPI_Type_commit(&layout->mpi);
}

/* ---- memory ---- */

/* Where the elements' addresses are counted from. */
static uint32_t *base_of(const struct reduction *r, uint32_t *memory)
{
    int extent = r->layout->extent;
    return memory + CELLS + (extent < 0 ? (ptrdiff_t)-extent * r->count : 0);
}

static uint32_t *number(const struct reduction *r, uint32_t *memory, int element, int i)
{
    return base_of(r, memory) + (ptrdiff_t)element * r->layout->extent + r->layout->at[i];
}

static uint32_t *memory_make(struct game *game, const struct reduction *r)
{
    uint32_t *memory = malloc(4 * r->cells);
    if (!memory)
        test_fail("memory", "there is none");
    for (size_t i = 0; i < r->cells; i++)
        memory[i] = (uint32_t)rng_next(&game->mine);
    return memory;
}

static uint32_t value(const struct reduction *r, int rank, int element, int i)
{
    struct rng rng = {r->key + (uint64_t)((rank * ELEMENTS + element) * NUMBERS + i)};
    return (uint32_t)rng_next(&rng) | (i % 2 == 0);
}

static void put_own(const struct reduction *r, uint32_t *memory)
{
    for (int element = 0; element < r->count; element++)
        for (int i = 0; i < r->layout->n; i++)
            *number(r, memory, element, i) = value(r, r->place->rank, element, i);
}

static void expect(const struct reduction *r)
{
    struct layout plain = {.n = r->layout->n};
    for (int i = 0; i < plain.n; i++)
        plain.at[i] = i;
    for (int element = 0; element < r->count; element++) {
        uint32_t so_far[NUMBERS], next[NUMBERS];
        for (int rank = 0; rank < r->place->size; rank++) {
            for (int i = 0; i < plain.n; i++)
                next[i] = value(r, rank, element, i);
            if (rank > 0)
                combine(so_far, next, &plain);
            memcpy(so_far, next, sizeof(so_far));
        }
        for (int i = 0; i < plain.n; i++)
            *number(r, r->expected, element, i) = so_far[i];
    }
}

/* ---- a reduction ---- */

static bool is_nonblocking(enum call call)
{
    return call == IALLREDUCE || call == IREDUCE;
}

static bool has_root(enum call call)
{
    return call == REDUCE || call == IREDUCE;
}

static void prepare(struct game *game, struct reduction *r)
{
    int extent = abs(r->layout->extent);
    bool gets = !has_root(r->call) || r->root == r->place->rank;
    r->cells = (size_t)(2 * CELLS + extent * (r->count + 1));
    r->send = memory_make(game, r);
    r->receive = memory_make(game, r);
    r->expected = memory_make(game, r);
    r->sent = memory_make(game, r);
    put_own(r, r->in_place ? r->receive : r->send);
    memcpy(r->expected, r->receive, 4 * r->cells);
    memcpy(r->sent, r->send, 4 * r->cells);
    if (gets)
        expect(r);
}

/* So that operations meet it locked. */
static void lock_slowly(struct game *game)
{
    pthread_mutex_lock(&program);
    if (n_threads > 1)
        delay_random(&game->mine);
}

/* The lock is held where nothing that blocks is called. */
static void start(struct game *game, const struct reduction *r, MPI_Request *request)
{
    const void *from = r->in_place ? MPI_IN_PLACE : base_of(r, r->send);
    void *to = base_of(r, r->receive);
    MPI_Comm comm = r->place->comm;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_dup(r->layout->mpi, &type);
    MPI_Op_create(operation, 0, &op);
    test_phase(call_names[r->call]);
    switch (r->call) {
    case ALLREDUCE:
        MPI_Allreduce(from, to, r->count, type, op, comm);
        break;
    case REDUCE:
        MPI_Reduce(from, to, r->count, type, op, r->root, comm);
        break;
    case IALLREDUCE:
        lock_slowly(game);
        MPI_Iallreduce(from, to, r->count, type, op, comm, request);
        pthread_mutex_unlock(&program);
        break;
    default:
        lock_slowly(game);
        MPI_Ireduce(from, to, r->count, type, op, r->root, comm, request);
        pthread_mutex_unlock(&program);
        break;
    }
    MPI_Type_free(&type);
    MPI_Op_free(&op);
}

static void finish(struct reduction *r)
{
    size_t i = 0;
    while (i < r->cells && r->receive[i] == r->expected[i])
        i++;
    TEST_CHECK(i == r->cells, call_names[r->call],
               "rank %d of %d, %d elements of %d numbers %d apart, root %d%s: cell %td of %zu is "
               "%08x, expected %08x",
               r->place->rank, r->place->size, r->count, r->layout->n, r->layout->extent, r->root,
               r->in_place ? ", in place" : "",
               (ptrdiff_t)i - (base_of(r, r->receive) - r->receive), r->cells, r->receive[i],
               r->expected[i]);
    TEST_CHECK(memcmp(r->send, r->sent, 4 * r->cells) == 0, call_names[r->call],
               "what is only sent has changed");
    free(r->send);
    free(r->receive);
    free(r->expected);
    free(r->sent);
}

/* ---- the plan ---- */

static void complete_all(struct game *game)
{
    test_phase("completing what is outstanding");
    MPI_Waitall(game->n, game->requests, MPI_STATUSES_IGNORE);
    while (game->n > 0)
        finish(&game->outstanding[--game->n]);
}

static void step(struct game *game)
{
    static const int counts[] = {1, 1, 1, 2, 3, 5, 10, 26, 28, 29, ELEMENTS};
    struct reduction *r = &game->outstanding[game->n];
    const struct place *place = &game->places[rng_below(&game->plan, PLACES)];
    *r = (struct reduction){.call = (enum call)rng_below(&game->plan, CALLS),
                            .place = place,
                            .layout = &game->layouts[rng_below(&game->plan, LAYOUTS)],
                            .count = counts[rng_below(&game->plan, TEST_COUNT(counts))],
                            .root = (int)(rng_below(&game->plan, 1 << 16) % (unsigned)place->size),
                            .key = rng_next(&game->plan) << 20};
    bool in_place = rng_below(&game->plan, 4) == 0, now = rng_below(&game->plan, 8) == 0;
    int most = (!is_nonblocking(r->call) ? ONLY_BLOCKING
                : place->size == 2       ? ONLY_NONBLOCKING_OF_TWO
                                         : ONLY_NONBLOCKING) /
               (4 * r->layout->n);
    if (bits && r->count > most)
        r->count = most;
    if (place->size == 1 && r->layout->extent < 0)
        return;
    r->in_place = in_place && (!has_root(r->call) || r->root == place->rank);
    prepare(game, r);
    start(game, r, &game->requests[game->n]);
    if (is_nonblocking(r->call))
        game->n++;
    else
        finish(r);
    delay_random(&game->mine);
    if (now || game->n == OUTSTANDING)
        complete_all(game);
}

/* The program's sum is combined as MPI's is. */
static void compare_sums(struct game *game, const struct place *place)
{
    enum { MOST = 512 };
    double mine[MOST], ours[MOST], theirs[MOST];
    int count = 1 + (int)rng_below(&game->plan, MOST);
    MPI_Op op;
    for (int i = 0; i < count; i++)
        mine[i] =
            (double)(int64_t)rng_next(&game->mine) / (double)(1 + rng_below(&game->mine, 1000));
    MPI_Op_create(sum, 1, &op);
    MPI_Allreduce(mine, theirs, count, MPI_DOUBLE, MPI_SUM, place->comm);
    MPI_Allreduce(mine, ours, count, MPI_DOUBLE, op, place->comm);
    TEST_CHECK(memcmp(ours, theirs, (size_t)count * sizeof(*ours)) == 0, "sums",
               "the program's sum has other bits than MPI_SUM");
    MPI_Op_free(&op);
}

static void open_game(struct game *game, int which)
{
    MPI_Comm comms[PLACES];
    game->number = which;
    game->plan = rng_make(STREAM_PLAN + (uint64_t)which);
    game->mine = rng_make(STREAM_PRIVATE + (uint64_t)(which + MAX_THREADS * test.rank));
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test.rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank < test.size / 2, test.rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank % 2, test.rank, &comms[3]);
    for (int i = 0; i < PLACES; i++) {
        struct place *place = &game->places[i];
        place->comm = comms[i];
        MPI_Comm_rank(place->comm, &place->rank);
        MPI_Comm_size(place->comm, &place->size);
    }
    for (int i = 0; i < LAYOUTS; i++)
        make_layout(game, i);
}

static void close_game(struct game *game)
{
    for (int i = 0; i < PLACES; i++)
        MPI_Comm_free(&game->places[i].comm);
    for (int i = 0; i < LAYOUTS; i++)
        MPI_Type_free(&game->layouts[i].mpi);
}

static void *game_main(void *argument)
{
    struct game *game = argument;
    for (long i = 0; i < steps; i++) {
        step(game);
        if (bits && i % 8 == 0)
            compare_sums(game, &game->places[i % PLACES]);
    }
    complete_all(game);
    return NULL;
}

int main(int argc, char **argv)
{
    bool threads = false;
    for (int i = 1; i < argc; i++)
        threads = threads || strcmp(argv[i], "--threads") == 0;
    test_begin(argc, argv, "user_ops", options, TEST_COUNT(options),
               threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (threads && test.provided < MPI_THREAD_MULTIPLE)
        test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
    if (n_threads < 1 || n_threads > MAX_THREADS || test.size > RANKS)
        test_fail("options", "1 to %d threads, at most %d processes", MAX_THREADS, RANKS);
    of_operation = rng_make(STREAM_PRIVATE - 1 - (uint64_t)test.rank);
    for (int i = 0; i < n_threads; i++)
        open_game(&games[i], i);
    for (long i = 1; i < n_threads; i++)
        if (pthread_create(&games[i].thread, NULL, game_main, &games[i]) != 0)
            test_fail("threads", "cannot make a thread");
    game_main(&games[0]);
    for (long i = 1; i < n_threads; i++)
        pthread_join(games[i].thread, NULL);
    for (int i = 0; i < n_threads; i++)
        close_game(&games[i]);
    return test_end("");
}
