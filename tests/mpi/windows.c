/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests one-sided communication: puts arrive, a get returns the current contents, and no
 * accumulation is lost, for all kinds of windows, synchronisation, sizes and types.
 *
 * The operations are random. Each process keeps a copy of all processes' windows as the reference.
 * In a round each window is divided into extents that do not overlap. A plan that all processes
 * compute without communication assigns operations and processes to each extent:
 *
 * - puts by one process, also of derived types;
 * - gets, accumulations, fetch-and-adds and compare-and-swaps by several.
 *
 * Therefore the contents after the round are known, except for the winner of a compare-and-swap,
 * which reports itself. Each process then compares its window with the reference, byte by byte.
 * Fetched values are compared at once if they do not depend on the order.
 *
 * --no-read forbids this process to read and write other processes' memory. --spoil shows that the
 * test can fail: now and then a byte of a window is changed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long windows = 12;
static long rounds = 6;
static long largest = 300000;
static long no_read;
static long spoil;

static const struct test_option options[] = {
    {"--windows", OPTION_LONG, &windows, "windows that are created (12)"},
    {"--rounds", OPTION_LONG, &rounds, "rounds on each window (6)"},
    {"--largest", OPTION_LONG, &largest, "largest window, bytes (300000)"},
    {"--no-read", OPTION_FLAG, &no_read, "forbid reading and writing other processes' memory"},
    {"--spoil", OPTION_FLAG, &spoil, "change a byte now and then, to see the test fail"},
};

/* ---- the window and its reference ---- */

enum flavor { CREATED, ALLOCATED, DYNAMIC, FLAVORS };
static const char *const flavor_name[] = {"created", "allocated", "dynamic"};

enum synchronisation { FENCE, LOCK_SHARED, LOCK_EXCLUSIVE, LOCK_ALL, GROUPS, SYNCHRONISATIONS };
static const char *const synchronisation_name[] = {"fence", "lock, shared", "lock, exclusive",
                                                   "lock_all and flush", "post and start"};

struct game {
    enum flavor flavor;
    MPI_Win window;
    uint8_t *memory;     /* this process's window */
    size_t *bytes;       /* sizes of all processes' windows */
    MPI_Aint *base;      /* added to a displacement */
    uint8_t **reference; /* copies of all processes' windows */
    enum synchronisation synchronisation;
    char name[80];
};

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes + 1) != 0)
        test_fail("memory", "out of memory");
    return memory;
}

static void fill(uint8_t *to, size_t bytes, uint64_t key)
{
    struct rng content = {key};
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)rng_next(&content);
}

static void game_open(struct game *game, struct rng *plan, unsigned number)
{
    const size_t size = (size_t)test.size;
    game->flavor = (enum flavor)(number % FLAVORS);
    game->bytes = allocate(size * sizeof(size_t));
    game->base = allocate(size * sizeof(MPI_Aint));
    game->reference = allocate(size * sizeof(uint8_t *));
    for (int r = 0; r < test.size; r++) {
        const size_t most[] = {64, 5000, (size_t)largest, 0};
        game->bytes[r] = rng_below(plan, (unsigned)most[rng_below(plan, 4)] + 1) & ~(size_t)7;
        if (r == 0) /* at least one has enough space for all extents */
            game->bytes[r] = (size_t)largest & ~(size_t)7;
        game->base[r] = 0;
        game->reference[r] = allocate(game->bytes[r]);
        fill(game->reference[r], game->bytes[r], number * 1000 + (uint64_t)r);
    }
    const size_t mine = game->bytes[test.rank];
    const MPI_Aint bytes = (MPI_Aint)mine;
    switch (game->flavor) {
    case CREATED:
        game->memory = allocate(mine);
        MPI_Win_create(game->memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &game->window);
        break;
    case ALLOCATED:
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &game->memory, &game->window);
        break;
    default:
        game->memory = allocate(mine);
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &game->window);
        if (mine > 0)
            MPI_Win_attach(game->window, game->memory, bytes);
        MPI_Get_address(game->memory, &game->base[test.rank]);
        MPI_Allgather(MPI_IN_PLACE, 1, MPI_AINT, game->base, 1, MPI_AINT, MPI_COMM_WORLD);
    }
    if (mine > 0) /* otherwise MPI_Win_allocate may have given no memory */
        memcpy(game->memory, game->reference[test.rank], mine);
}

static void game_close(struct game *game)
{
    if (game->flavor == DYNAMIC && game->bytes[test.rank] > 0)
        MPI_Win_detach(game->window, game->memory);
    MPI_Win_free(&game->window);
    if (game->flavor != ALLOCATED)
        free(game->memory);
    for (int r = 0; r < test.size; r++)
        free(game->reference[r]);
    free(game->reference);
    free(game->base);
    free(game->bytes);
}

/* ---- a round ---- */

enum kind { PUT, PUT_STRIDED, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_ADD, SWAP, KINDS };

struct number_type {
    MPI_Datatype mpi;
    size_t bytes;
    bool whole;
};

/* The operation on one extent of one process's window. */
struct extent {
    enum kind kind;
    int target;
    size_t begin, bytes;
    struct number_type type; /* of accumulations */
    unsigned operation;
    int count;      /* number of elements; of a strided put: number of blocks */
    uint64_t key;   /* determines its contents */
    uint8_t *by;    /* for each process: whether it participates */
    uint8_t *mine;  /* this process's input */
    uint8_t *found; /* the values that this process fetched */
};

enum { BLOCK = 3, STRIDE = 5, MOST_EXTENTS = 60 };

static struct number_type some_type(struct rng *plan)
{
    const struct number_type all[] = {{MPI_INT32_T, 4, true},  {MPI_INT64_T, 8, true},
                                      {MPI_UINT64_T, 8, true}, {MPI_UINT16_T, 2, true},
                                      {MPI_INT8_T, 1, true},   {MPI_DOUBLE, 8, false},
                                      {MPI_FLOAT, 4, false},   {MPI_UINT32_T, 4, true}};
    return all[rng_below(plan, TEST_COUNT(all))];
}

static const struct {
    const char *name;
    MPI_Op operation;
} operations[] = {{"sum", MPI_SUM},     {"max", MPI_MAX},        {"min", MPI_MIN},
                  {"band", MPI_BAND},   {"bor", MPI_BOR},        {"bxor", MPI_BXOR},
                  {"land", MPI_LAND},   {"lor", MPI_LOR},        {"lxor", MPI_LXOR},
                  {"no-op", MPI_NO_OP}, {"replace", MPI_REPLACE}};
/* Operations whose order does not matter come first, and of these those for all numbers. */
enum { SUM = 0, BXOR = 5, FOR_ALL = 3, IN_ANY_ORDER = 9, NO_OP = 9, OPERATIONS = 11 };

/* Write numbers whose sums are exact. All bits of integers are random. */
static void some_numbers(const struct extent *extent, int rank, uint8_t *to)
{
    struct rng content = {extent->key + (uint64_t)rank};
    for (int i = 0; i < extent->count; i++, to += extent->type.bytes) {
        const uint64_t bits = rng_next(&content);
        const double exact = (double)(bits % 1000);
        const float shorter = (float)exact;
        memcpy(to,
               extent->type.whole        ? (const void *)&bits
               : extent->type.bytes == 4 ? (const void *)&shorter
                                         : &exact,
               extent->type.bytes);
    }
}

/* Returns the value that a process swaps in: different for each process, and for each round. */
static int64_t swapped_in(const struct extent *extent, int rank)
{
    return (int64_t)(extent->key % 8000000) * 256 + rank + 1;
}

static bool takes_part(const struct extent *extent)
{
    return extent->by[test.rank];
}

/* Draw the operation on the bytes from `begin` on, up to `room` of them. */
static struct extent some_extent(struct rng *plan, int target, size_t begin, size_t room)
{
    struct extent extent = {.kind = (enum kind)rng_below(plan, KINDS),
                            .target = target,
                            .begin = begin,
                            .type = some_type(plan),
                            .key = rng_next(plan),
                            .by = allocate((size_t)test.size)};
    const bool alone =
        extent.kind == PUT || extent.kind == PUT_STRIDED || extent.kind == GET_ACCUMULATE;
    const unsigned chosen = rng_below(plan, (unsigned)test.size);
    /* drawn for each process, so that the plan remains the same on all */
    for (int r = 0; r < test.size; r++)
        extent.by[r] = rng_below(plan, 2) ? !alone : false;
    extent.by[chosen] = true;
    extent.operation = rng_below(plan, extent.type.whole ? IN_ANY_ORDER : FOR_ALL);
    if (extent.type.bytes < 4 && extent.operation == SUM)
        extent.operation = BXOR; /* sums of short numbers saturate in Open MPI 4.1.4 */
    switch (extent.kind) {
    case PUT:
    case GET:
        extent.begin += rng_below(plan, 8);
        extent.count = 1 + (int)rng_below(plan, (unsigned)room - 8);
        extent.bytes = (size_t)extent.count;
        break;
    case PUT_STRIDED:
        extent.count = 1 + (int)rng_below(plan, (unsigned)(room < 4000 ? room : 4000) / STRIDE);
        extent.bytes = (size_t)(extent.count - 1) * STRIDE + BLOCK;
        break;
    case FETCH_AND_ADD:
    case SWAP:
        extent.type = rng_below(plan, 2) ? (struct number_type){MPI_INT64_T, 8, true}
                                         : (struct number_type){MPI_INT32_T, 4, true};
        extent.count = 1;
        extent.bytes = extent.type.bytes;
        break;
    default: /* mostly few numbers, which use another code path */
        extent.count =
            1 + (int)rng_below(plan, (unsigned)(rng_below(plan, 2) && room > 40 ? 40 : room) /
                                         (unsigned)extent.type.bytes);
        if (extent.kind == GET_ACCUMULATE && rng_below(plan, 3) == 0)
            extent.operation = NO_OP + rng_below(plan, OPERATIONS - NO_OP);
        if (extent.kind == GET_ACCUMULATE && extent.operation == SUM && extent.count > 512)
            extent.count = 512; /* Open MPI 4.1.4 returns wrong bytes for more, with any BTL */
        extent.bytes = (size_t)extent.count * extent.type.bytes;
    }
    return extent;
}

/* Floating-point extents start with valid numbers instead of random bits. */
static void prepare(const struct game *game, const struct extent *extent)
{
    const bool numbers = extent->kind == ACCUMULATE || extent->kind == GET_ACCUMULATE;
    if (!numbers || extent->type.whole)
        return;
    uint8_t *content = game->reference[extent->target] + extent->begin;
    some_numbers(extent, -1, content);
    if (extent->target == test.rank)
        memcpy(game->memory + extent->begin, content, extent->bytes);
}

static void start(const struct game *game, struct extent *extent)
{
    const MPI_Win window = game->window;
    const MPI_Datatype type = extent->type.mpi;
    const MPI_Op operation = operations[extent->operation].operation;
    const int target = extent->target, count = extent->count;
    const MPI_Aint at = game->base[target] + (MPI_Aint)extent->begin;
    MPI_Datatype strided;
    MPI_Request request;
    int64_t unit = 0;
    extent->mine = allocate(extent->bytes + sizeof(int64_t));
    extent->found = allocate(extent->bytes + sizeof(int64_t));
    const bool passive = game->synchronisation != FENCE && game->synchronisation != GROUPS;
    const bool request_based = passive && extent->key % 2 == 0;
    switch (extent->kind) {
    case PUT:
        fill(extent->mine, extent->bytes, extent->key);
        if (request_based) {
            MPI_Rput(extent->mine, count, MPI_BYTE, target, at, count, MPI_BYTE, window, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Put(extent->mine, count, MPI_BYTE, target, at, count, MPI_BYTE, window);
        }
        break;
    case PUT_STRIDED:
        fill(extent->mine, (size_t)count * BLOCK, extent->key);
        MPI_Type_vector(count, BLOCK, STRIDE, MPI_BYTE, &strided);
        MPI_Type_commit(&strided);
        MPI_Put(extent->mine, count * BLOCK, MPI_BYTE, target, at, 1, strided, window);
        MPI_Type_free(&strided);
        break;
    case GET:
        if (request_based) {
            MPI_Rget(extent->found, count, MPI_BYTE, target, at, count, MPI_BYTE, window, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Get(extent->found, count, MPI_BYTE, target, at, count, MPI_BYTE, window);
        }
        break;
    case ACCUMULATE:
        some_numbers(extent, test.rank, extent->mine);
        MPI_Accumulate(extent->mine, count, type, target, at, count, type, operation, window);
        break;
    case GET_ACCUMULATE:
        some_numbers(extent, test.rank, extent->mine);
        MPI_Get_accumulate(extent->mine, count, type, extent->found, count, type, target, at, count,
                           type, operation, window);
        break;
    case FETCH_AND_ADD: /* each process adds a bit of its own */
        unit = INT64_C(1) << test.rank % 30;
        memcpy(extent->mine, &unit, extent->bytes);
        MPI_Fetch_and_op(extent->mine, extent->found, type, target, at, MPI_SUM, window);
        break;
    default:
        unit = swapped_in(extent, test.rank);
        memcpy(extent->mine, &unit, extent->bytes);
        MPI_Compare_and_swap(extent->mine, game->reference[target] + extent->begin, extent->found,
                             type, target, at, window);
    }
}

static const char *describe(const struct extent *extent)
{
    static const char *const kind_name[] = {
        "put",           "strided put",     "get", "accumulate", "get-accumulate",
        "fetch-and-add", "compare-and-swap"};
    static char text[200];
    char type[MPI_MAX_OBJECT_NAME];
    int length, by = 0;
    MPI_Type_get_name(extent->type.mpi, type, &length);
    for (int r = 0; r < test.size; r++)
        by += extent->by[r];
    snprintf(text, sizeof(text), "%s of %d by %d processes, %s, %s, rank %d from %zu on",
             kind_name[extent->kind], extent->count, by, type, operations[extent->operation].name,
             extent->target, extent->begin);
    return text;
}

/* Check the fetched values, and update the reference. */
static void settle(const struct game *game, struct extent *extent)
{
    uint8_t *content = game->reference[extent->target] + extent->begin;
    const bool me = takes_part(extent);
    uint8_t *given = allocate(extent->bytes);
    int64_t winner = 0, won = 0, swapped;
    switch (extent->kind) {
    case PUT:
        fill(content, extent->bytes, extent->key);
        break;
    case PUT_STRIDED:
        fill(given, (size_t)extent->count * BLOCK, extent->key);
        for (int b = 0; b < extent->count; b++)
            memcpy(content + (size_t)b * STRIDE, given + (size_t)b * BLOCK, BLOCK);
        break;
    case GET:
        TEST_CHECK(!me || memcmp(extent->found, content, extent->bytes) == 0, game->name,
                   "MPI_Get returned wrong bytes: %s", describe(extent));
        break;
    case ACCUMULATE:
    case GET_ACCUMULATE:
        TEST_CHECK(!me || extent->kind == ACCUMULATE ||
                       memcmp(extent->found, content, extent->bytes) == 0,
                   game->name, "wrong numbers were fetched: %s", describe(extent));
        for (int r = 0; r < test.size; r++) {
            some_numbers(extent, r, given);
            if (extent->by[r] && extent->operation > NO_OP)
                memcpy(content, given, extent->bytes);
            else if (extent->by[r] && extent->operation < NO_OP)
                MPI_Reduce_local(given, content, extent->count, extent->type.mpi,
                                 operations[extent->operation].operation);
        }
        break;
    case FETCH_AND_ADD: {
        int64_t before = 0, all = 0, found = 0;
        memcpy(&before, content, extent->bytes);
        for (int r = 0; r < test.size; r++)
            all += extent->by[r] ? INT64_C(1) << r % 30 : 0;
        if (me) {
            memcpy(&found, extent->found, extent->bytes);
            const int64_t others = (int64_t)((uint64_t)found - (uint64_t)before) &
                                   (extent->bytes == 4 ? INT64_C(0xffffffff) : -1);
            TEST_CHECK(test.size > 30 || (others & ~(all - (INT64_C(1) << test.rank))) == 0,
                       game->name, "fetch-and-add returned an impossible value: %lx",
                       (unsigned long)others);
        }
        const int64_t after = (int64_t)((uint64_t)before + (uint64_t)all);
        memcpy(content, &after, extent->bytes);
        break;
    }
    default:
        if (me && memcmp(extent->found, content, extent->bytes) == 0)
            won = test.rank + 1;
        MPI_Allreduce(&won, &winner, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        TEST_CHECK(winner >= 1 && winner <= test.size && extent->by[winner - 1], game->name,
                   "a compare-and-swap does not have one winner (sum %ld)", (long)winner);
        swapped = swapped_in(extent, (int)winner - 1);
        TEST_CHECK(!me || won != 0 || memcmp(extent->found, &swapped, extent->bytes) == 0,
                   game->name,
                   "a process that lost a compare-and-swap did not get the winner's value");
        memcpy(content, &swapped, extent->bytes);
    }
    free(given);
}

static void free_extent(struct extent *extent)
{
    free(extent->by);
    free(extent->mine);
    free(extent->found);
}

/* Execute this process's part of a round, between opening and closing the epoch. */
static void play(struct game *game, struct extent *extents, int n)
{
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    const enum synchronisation how = game->synchronisation;
    if (how == FENCE)
        MPI_Win_fence(0, game->window);
    if (how == LOCK_ALL)
        MPI_Win_lock_all(0, game->window);
    if (how == GROUPS) {
        MPI_Win_post(all, 0, game->window);
        MPI_Win_start(all, 0, game->window);
    }
    int locked = -1; /* extents are in the order of their targets */
    for (int e = 0; e < n; e++) {
        const int target = extents[e].target;
        if (!takes_part(&extents[e]))
            continue;
        if ((how == LOCK_SHARED || how == LOCK_EXCLUSIVE) && locked != target) {
            if (locked >= 0)
                MPI_Win_unlock(locked, game->window);
            MPI_Win_lock(how == LOCK_SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0,
                         game->window);
            locked = target;
        }
        start(game, &extents[e]);
        if (how == LOCK_ALL && extents[e].key % 4 == 0)
            MPI_Win_flush(target, game->window);
        if (how == LOCK_ALL && extents[e].key % 4 == 1)
            MPI_Win_flush_local(target, game->window);
    }
    if (locked >= 0)
        MPI_Win_unlock(locked, game->window);
    if (how == LOCK_ALL) {
        MPI_Win_flush_all(game->window);
        MPI_Win_unlock_all(game->window);
    }
    if (how == GROUPS) {
        MPI_Win_complete(game->window);
        MPI_Win_wait(game->window);
    }
    if (how == FENCE)
        MPI_Win_fence(0, game->window);
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void compare(const struct game *game, const struct extent *extents, int n)
{
    const uint8_t *expected = game->reference[test.rank];
    if (spoil && game->bytes[test.rank] > 0)
        game->memory[game->bytes[test.rank] / 2] ^= 1;
    MPI_Win_lock(MPI_LOCK_SHARED, test.rank, 0, game->window);
    size_t i = 0;
    while (i < game->bytes[test.rank] && game->memory[i] == expected[i])
        i++;
    const int found = i < game->bytes[test.rank] ? game->memory[i] : 0;
    MPI_Win_unlock(test.rank, game->window);
    int e = 0;
    while (e < n - 1 &&
           (extents[e].target != test.rank || i >= extents[e].begin + extents[e].bytes))
        e++;
    TEST_CHECK(i == game->bytes[test.rank], game->name, "byte %zu of %zu is %d, expected %d: %s", i,
               game->bytes[test.rank], found, expected[i], describe(&extents[e]));
}

static void round_of(struct game *game, struct rng *plan, unsigned number)
{
    struct extent extents[MOST_EXTENTS];
    int n = 0;
    game->synchronisation = (enum synchronisation)rng_below(plan, SYNCHRONISATIONS);
    snprintf(game->name, sizeof(game->name), "window %s, round %u, %s", flavor_name[game->flavor],
             number, synchronisation_name[game->synchronisation]);
    test_phase(game->name);
    for (int target = 0; target < test.size; target++) {
        size_t begin = 0;
        while (n < MOST_EXTENTS) {
            const size_t left = game->bytes[target] - begin;
            if (left < 24)
                break;
            const size_t room = 24 + rng_below(plan, (unsigned)(left - 23));
            extents[n] = some_extent(plan, target, begin, room & ~(size_t)7);
            begin = (extents[n].begin + extents[n].bytes + 7) & ~(size_t)7;
            prepare(game, &extents[n]);
            n++;
            if (rng_below(plan, 12) == 0)
                break;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD); /* all have prepared their windows */
    play(game, extents, n);
    for (int e = 0; e < n; e++)
        settle(game, &extents[e]);
    compare(game, extents, n);
    for (int e = 0; e < n; e++)
        free_extent(&extents[e]);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- a word that is used like a lock of Open MPI's ---- */

static void expect_found(MPI_Win window, int to, const uint64_t *compare, uint64_t operand,
                         uint64_t expected)
{
    uint64_t found = ~expected;
    if (compare != NULL)
        MPI_Compare_and_swap(&operand, compare, &found, MPI_UINT64_T, to, 0, window);
    else
        MPI_Fetch_and_op(&operand, &found, MPI_UINT64_T, to, 0, MPI_SUM, window);
    MPI_Win_flush(to, window);
    TEST_CHECK(found == expected, "word", "found %#llx, and not %#llx", (unsigned long long)found,
               (unsigned long long)expected);
}

/* Lets each process use a word of the next one. */
static void use_word_like_a_lock(MPI_Comm comm, bool exclusively)
{
    const uint64_t highest = UINT64_C(1) << 63, zero = 0;
    uint64_t word = 0;
    int rank, size;
    MPI_Win window;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int to = (rank + 1) % size;
    MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, comm, &window);
    MPI_Win_lock(exclusively ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, window);
    expect_found(window, to, &zero, highest, 0);
    for (int times = 0; times < 3; times++) {
        expect_found(window, to, NULL, 1, highest);
        expect_found(window, to, NULL, UINT64_MAX, highest + 1);
    }
    MPI_Win_unlock(to, window);
    MPI_Win_free(&window);
}

/* The program may do with a word what osc/rdma does with its locks: set the highest bit, and add
 * and subtract 1. osc/rdma passes such operations on to the BTL if the window is on one node, or if
 * the process has the window's exclusive lock. */
static void use_words_like_locks(void)
{
    MPI_Comm node;
    use_word_like_a_lock(MPI_COMM_WORLD, false);
    use_word_like_a_lock(MPI_COMM_WORLD, true);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    use_word_like_a_lock(node, false);
    use_word_like_a_lock(node, true);
    MPI_Comm_free(&node);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "windows", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    struct rng plan = rng_make(STREAM_PLAN);
    if (no_read)
        forbid_reading();
    use_words_like_locks();
    for (long w = 0; w < windows; w++) {
        struct game game = {0};
        game_open(&game, &plan, (unsigned)w);
        for (long round = 0; round < rounds; round++)
            round_of(&game, &plan, (unsigned)round);
        game_close(&game);
    }
    return test_end("");
}
