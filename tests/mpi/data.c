/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that carry data give what a plain reference says, in any mixture.
 *
 * All processes follow one random plan of MPI_Allreduce, MPI_Iallreduce, MPI_Bcast and others on
 * communicators that overlap, of all types, all operations, and sizes around the borders of
 * nicbarr's chunks. Each process chooses for itself in which order it completes what is
 * outstanding, how its buffers lie in memory, and when it is slow. Parts of the plan provoke one
 * kind of mistake each:
 *  - back to back: one communicator again and again, where the last result is taken for this one;
 *  - round: broadcasts or scatterings whose root goes round;
 *  - ahead: hundreds of these while one process sleeps, or reductions while their root does;
 *  - many: up to 40 MPI_Iallreduce, MPI_Ireduce, MPI_Ibcast, MPI_Iscatter, MPI_Igather and others
 *    at once on one communicator, and blocking calls meanwhile;
 *  - passing: communicators that are made, used and freed; MPI_Iallreduce as the first call does
 *    not wait.
 *
 * Each result is compared with what data_types.h says, byte by byte, with guards on both sides and
 * the gaps of derived types. Buffers that are only sent must be as they were.
 *
 * Sums of rounded numbers are compared to the bit, with one order of combining, where --bits says
 * that MPI keeps to it. Else all values are such that every order gives the same bits.
 *
 * Why the plan cannot deadlock by itself: a process only waits for what it has started. The one
 * that is least advanced in the plan waits for operations that all others have started too.
 *
 * --digest: no plan, but a fixed set of reductions of rounded numbers. Its line must be the same
 * wherever the processes run.
 *
 * NICBARR_TEST_BREAK=N spoils one result in N before it is checked, to see the test fail; --spoil
 * says how.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include "common.h"
#include "data_types.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long steps;
static long bits;
static long any_ireduce;
static long n_threads = 1;
static long large = 102400;
static long dups;
static long digest;
static const char *until;
static const char *spoil = "";

static const struct test_option options[] = {
    {"--steps", OPTION_LONG, &steps, "steps of the plan (1200 divided by the number of processes)"},
    {"--bits", OPTION_LONG, &bits,
     "reductions of up to so many bytes combine in the fixed order (0: any order is right)"},
    {"--any-ireduce", OPTION_LONG, &any_ireduce,
     "1: but those of MPI_Ireduce combine in any order (0)"},
    {"--threads", OPTION_LONG, &n_threads, "threads, each with a plan and communicators (1)"},
    {"--large", OPTION_LONG, &large, "the most bytes of an operation, seldom met (102400)"},
    {"--dups", OPTION_LONG, &dups,
     "so many more communicators of all processes, each used at once (0)"},
    {"--digest", OPTION_FLAG, &digest, "only print a digest of a fixed set of reductions"},
    {"--until", OPTION_TEXT, &until, "more steps, until there is a file of that name"},
    {"--spoil", OPTION_TEXT, &spoil,
     "order, chunk, stale or send: what NICBARR_TEST_BREAK does (default: any)"},
};

enum {
    MAX_THREADS = 16,
    PLACES = 7,
    MANY = 40,            /* outstanding on one communicator */
    MAX_OUTSTANDING = 64, /* on all of them */
    CHUNK = 112,          /* nicbarr's: sizes around multiples of it are tried */
    WINDOW = 14 * CHUNK,  /* what one process may be ahead by */
    BLOCK = 1208,         /* what broadcasts across nodes are cut into */
    PIECE = 127 * 128,    /* what large broadcasts are cut into */
    LARGE = 20,           /* one broadcast in so many is about that large */
    ROUND = 40,           /* broadcasts whose root goes round */
    AHEAD = 300,          /* operations while somebody sleeps */
    GUARD = 64,           /* bytes before and after each buffer */
    OFTEN = 10, /* calls, on WORLD: with coll_nicbarr_tune_after less than that, it is measured */
    STEPS_BETWEEN = 50 /* how often --until is looked at */
};

static int n_types, n_reducible;

/* ---- operations ---- */

/* A communicator under test. */
struct place {
    MPI_Comm comm;
    const char *name;
    int rank, size;
    uint64_t identity; /* alike on its members, and on nobody else */
};

enum call {
    ALLREDUCE,
    IALLREDUCE,
    BCAST,
    IBCAST,
    ALLGATHER,
    IALLGATHER,
    GATHER,
    IGATHER,
    SCATTER,
    ISCATTER,
    REDUCE,
    IREDUCE,
    BARRIER,
    IBARRIER,
    CALLS
};
static const char *const call_names[CALLS] = {
    "MPI_Allreduce",  "MPI_Iallreduce", "MPI_Bcast",   "MPI_Ibcast",  "MPI_Allgather",
    "MPI_Iallgather", "MPI_Gather",     "MPI_Igather", "MPI_Scatter", "MPI_Iscatter",
    "MPI_Reduce",     "MPI_Ireduce",    "MPI_Barrier", "MPI_Ibarrier"};

/* Only one gets the result. */
static bool has_root(enum call call)
{
    return call == REDUCE || call == IREDUCE || call == GATHER || call == IGATHER;
}

static bool gathers(enum call call)
{
    return call == ALLGATHER || call == IALLGATHER || call == GATHER || call == IGATHER;
}

static bool scatters(enum call call)
{
    return call == SCATTER || call == ISCATTER;
}

/* Types of both sides may differ. */
static bool has_two_sides(enum call call)
{
    return gathers(call) || scatters(call);
}

static bool is_nonblocking(enum call call)
{
    return call == IALLREDUCE || call == IREDUCE || call == IBCAST || call == IALLGATHER ||
           call == IGATHER || call == ISCATTER || call == IBARRIER;
}

/* Where the elements of a buffer are: blocks of some that touch, a stride apart. What is gathered
 * has a part from each process, one behind the other; what is scattered has one for each. */
struct layout {
    const struct data_type *type;
    MPI_Datatype mpi;
    int count;                     /* of mpi, in a part */
    bool made;                     /* mpi is to be freed */
    size_t parts, apart, elements; /* of a part */
    size_t block, stride;
};

struct buffer {
    unsigned char *memory; /* guards included */
    unsigned char *data;
    size_t bytes; /* of memory */
};

struct operation {
    enum call call;
    const struct place *place;
    struct data_values values;
    int count; /* elements of each process */
    int root;
    bool in_place;
    bool checked;
    struct layout layout, sent_layout; /* of receive, send */
    struct buffer send, receive;
    unsigned char filling; /* what receive had before */
    uint64_t sent;         /* a sum over send */
};

/* What one thread plays. */
struct game {
    pthread_t thread;
    int number;
    MPI_Comm parent; /* only for making communicators from */
    struct place *places;
    int n_places;
    struct rng plan, mine;
    uint64_t started; /* operations of the plan: the same on all processes */
    int n;            /* outstanding */
    MPI_Request requests[MAX_OUTSTANDING];
    struct operation outstanding[MAX_OUTSTANDING];
    unsigned char last[CHUNK]; /* of the last result: for NICBARR_TEST_BREAK */
};

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- buffers ---- */

static size_t place_in_part(const struct layout *layout, size_t element)
{
    return element / layout->block * layout->stride +
           element % layout->block * layout->type->extent;
}

/* From one part to the next, as MPI has it. */
static size_t part_extent(const struct layout *layout)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(layout->mpi, &lower, &extent);
    return (size_t)layout->count * (size_t)extent;
}

static size_t place_of(const struct layout *layout, size_t element)
{
    return element / layout->elements * layout->apart +
           place_in_part(layout, element % layout->elements);
}

static size_t all_elements(const struct layout *layout)
{
    return layout->parts * layout->elements;
}

static size_t span(const struct layout *layout)
{
    size_t all = all_elements(layout);
    return all == 0 ? 0 : place_of(layout, all - 1) + layout->type->extent;
}

static struct buffer buffer_make(struct rng *mine, const struct data_type *type, size_t bytes,
                                 unsigned char filling)
{
    struct buffer buffer;
    size_t shift = rng_below(mine, 4) * type->align;
    buffer.bytes = GUARD + shift + bytes + GUARD;
    buffer.memory = malloc(buffer.bytes);
    if (!buffer.memory)
        test_fail("buffer", "no memory");
    memset(buffer.memory, filling, buffer.bytes);
    buffer.data = buffer.memory + GUARD + shift;
    return buffer;
}

static uint64_t sum_of(const struct buffer *buffer)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < buffer->bytes; i++)
        sum = (sum ^ buffer->memory[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static struct layout plain_layout(const struct data_type *type, size_t elements)
{
    return (struct layout){.type = type,
                           .mpi = type->mpi,
                           .count = (int)elements,
                           .parts = 1,
                           .elements = elements,
                           .block = max_size(elements, 1)};
}

/* Two things that Open MPI 4.1 gets wrong by itself: one element that has no bytes is a message,
 * and count 0 is none; a number of more than 16 bytes that is cut in two by a packet, and has a gap
 * behind it, is more than it has room for. */
static bool must_be_plain(const struct data_type *type, size_t elements)
{
    return elements == 0 || (type->kind == DATA_COMPLEX && type->extent > 16);
}

/* One that has the signature of the plain one. */
static struct layout any_layout(struct rng *mine, const struct data_type *type, size_t elements)
{
    if (type->gaps_are_ours && rng_below(mine, 2))
        type = data_type_twin();
    struct layout layout = plain_layout(type, elements);
    if (must_be_plain(type, elements))
        return layout;
    size_t block = 1 + rng_below(mine, 4), blocks;
    while (elements % block != 0)
        block--;
    blocks = elements / block;
    size_t gap = 1 + rng_below(mine, 3);
    MPI_Datatype inner;
    switch (rng_below(mine, 4)) {
    case 0: /* all in one */
        MPI_Type_contiguous((int)elements, type->mpi, &layout.mpi);
        layout.count = 1;
        break;
    case 1: /* a vector */
        layout.block = block;
        layout.stride = (block + gap) * type->extent;
        MPI_Type_vector((int)blocks, (int)block, (int)(block + gap), type->mpi, &layout.mpi);
        layout.count = 1;
        break;
    case 2: /* blocks with an extent of their own */
        layout.block = block;
        layout.stride = block * type->extent + gap * type->align;
        MPI_Type_contiguous((int)block, type->mpi, &inner);
        MPI_Type_create_resized(inner, 0, (MPI_Aint)layout.stride, &layout.mpi);
        MPI_Type_free(&inner);
        layout.count = (int)blocks;
        break;
    default:
        return layout;
    }
    layout.made = true;
    MPI_Type_commit(&layout.mpi);
    return layout;
}

/* ---- what must be there ---- */

static bool gives_result(const struct operation *op)
{
    return op->call == ALLREDUCE || op->call == IALLREDUCE ||
           ((op->call == REDUCE || op->call == IREDUCE) && op->place->rank == op->root);
}

/* What is between the fields of a type of MPI's own is MPI's: it is taken as it was found. */
static void expect_gaps(const struct layout *layout, const unsigned char *found, unsigned char *to)
{
    const struct data_type *type = layout->type;
    for (size_t byte = 0; byte < type->extent && !type->gaps_are_ours; byte++)
        for (size_t i = 0; i < all_elements(layout) && data_is_gap(type, byte); i++)
            to[place_of(layout, i) + byte] = found[place_of(layout, i) + byte];
}

static void expect_reduction(const struct operation *op, bool tree, unsigned char *to)
{
    const struct data_type *type = op->values.type;
    size_t elements = (size_t)op->count;
    unsigned char *result = malloc(max_size(elements * type->extent, 1));
    if (!result)
        test_fail("reference", "no memory");
    data_reduce(&op->values, op->place->size, elements, tree, result);
    for (size_t i = 0; i < elements; i++)
        for (int field = 0; field < type->n_fields; field++) {
            size_t at = i * type->extent + type->fields[field].offset;
            memcpy(to + at, result + at, data_field_bytes(&type->fields[field]));
        }
    free(result);
}

/* Elements from number `first` on: the values of one rank. */
static void put_values(const struct operation *op, const struct layout *layout, int rank,
                       size_t first, unsigned char *to)
{
    struct data_values values = op->values;
    values.type = layout->type;
    for (size_t i = 0; i < layout->elements; i++)
        data_put(&values, rank, i, to + place_of(layout, first + i));
}

/* A part of each rank. */
static void put_parts(const struct operation *op, const struct layout *layout, unsigned char *to)
{
    for (size_t part = 0; part < layout->parts; part++)
        put_values(op, layout, (int)part, part * layout->elements, to);
}

static void expect_data(const struct operation *op, unsigned char *to)
{
    bool is_root = op->place->rank == op->root;
    if (gives_result(op))
        expect_reduction(op, true, to);
    else if (op->call == BCAST || op->call == IBCAST)
        put_values(op, &op->layout, op->root, 0, to);
    else if (gathers(op->call) && (is_root || !has_root(op->call)))
        put_parts(op, &op->layout, to);
    else if (scatters(op->call) && !op->in_place)
        put_values(op, &op->layout, op->place->rank, 0, to);
}

/* The bytes from there on, as many as a number has at most, in hexadecimal digits. */
static const char *hex(char text[40], const unsigned char *from, const unsigned char *end)
{
    size_t n = end - from < 16 ? (size_t)(end - from) : 16;
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", from[i]);
    return text;
}

static void describe(const struct operation *op, char *text, size_t room)
{
    const struct place *place = op->place;
    const struct layout *layout = &op->layout;
    snprintf(text, room, "%s on %s (rank %d of %d), %d of %s%s%s%s, root %d, %s, layout %zu/%zu",
             call_names[op->call], place->name, place->rank, place->size, op->count,
             op->values.type->name, *data_op_name(op->values.op) ? ", " : "",
             data_op_name(op->values.op), op->values.rough ? ", rounded" : "", op->root,
             op->in_place ? "in place" : "not in place", layout->block, layout->stride);
}

static void check_result(const struct operation *op)
{
    const struct buffer *found = &op->receive;
    const size_t at = (size_t)(found->data - found->memory);
    unsigned char *expected = malloc(found->bytes);
    if (!expected)
        test_fail("reference", "no memory");
    memset(expected, op->filling, found->bytes);
    expect_data(op, expected + at);
    expect_gaps(&op->layout, found->data, expected + at);
    size_t i = 0;
    if (memcmp(expected, found->memory, found->bytes) != 0)
        while (expected[i] == found->memory[i])
            i++;
    else
        i = found->bytes;
    char what[300], a[40], b[40];
    describe(op, what, sizeof(what));
    TEST_CHECK(i == found->bytes, what, "from byte %td of %zu on: expected %s, found %s",
               (ptrdiff_t)i - (ptrdiff_t)at, span(&op->layout),
               hex(a, expected + i, expected + found->bytes),
               hex(b, found->memory + i, found->memory + found->bytes));
    free(expected);
}

/* ---- NICBARR_TEST_BREAK ---- */

static bool spoils(const char *how, unsigned lot, unsigned n)
{
    return *spoil ? strcmp(spoil, how) == 0 : lot == n;
}

static void spoil_result(struct game *game, struct operation *op)
{
    size_t bytes = span(&op->layout);
    unsigned lot = rng_below(&game->mine, 4);
    if (test.break_every > 0 && rng_below(&game->mine, (unsigned)test.break_every) == 0) {
        if (spoils("order", lot, 0) && op->values.rough)
            expect_reduction(op, false, op->receive.data);
        if (spoils("chunk", lot, 1) && op->call <= IBCAST && bytes > CHUNK)
            memset(op->receive.data + CHUNK, op->filling, bytes - CHUNK);
        if (spoils("stale", lot, 2) && op->call <= IBCAST)
            memcpy(op->receive.data, game->last, bytes < CHUNK ? bytes : CHUNK);
        if (spoils("send", lot, 3))
            op->send.data[0] ^= 1;
    }
    if (bytes >= CHUNK)
        memcpy(game->last, op->receive.data, CHUNK);
}

/* ---- the life of an operation ---- */

/* Where a gathering is in place, the own part is where it is received. */
static void fill_own(const struct operation *op, unsigned char *to)
{
    bool in_part = op->in_place && gathers(op->call);
    const struct layout *layout = in_part ? &op->layout : &op->sent_layout;
    size_t first = in_part ? (size_t)op->place->rank * layout->elements : 0;
    put_values(op, layout, op->place->rank, first, to);
}

static void prepare(struct game *game, struct operation *op)
{
    const struct data_type *type = op->values.type;
    size_t count = (size_t)op->count;
    bool copies = op->call == BCAST || op->call == IBCAST, sides = has_two_sides(op->call);
    bool is_root = op->place->rank == op->root, sends = scatters(op->call) ? is_root : !copies;
    op->values.key = data_hash(test.seed, op->place->identity, ++game->started);
    op->filling = (unsigned char)(op->values.key >> 16);
    op->layout = copies || sides ? any_layout(&game->mine, type, count) : plain_layout(type, count);
    op->sent_layout = sides ? any_layout(&game->mine, type, count) : plain_layout(type, count);
    if (sides) {
        struct layout *all = scatters(op->call) ? &op->sent_layout : &op->layout;
        all->parts = (size_t)op->place->size;
        all->apart = part_extent(all);
    }
    op->receive = buffer_make(&game->mine, op->layout.type, span(&op->layout), op->filling);
    /* At a place of the type's own, not of the layout's: nobody but the caller knows of gaps. */
    op->send =
        buffer_make(&game->mine, op->sent_layout.type, sends ? span(&op->sent_layout) : 0, 0);
    if (copies && is_root)
        expect_data(op, op->receive.data);
    else if (scatters(op->call) && is_root)
        put_parts(op, &op->sent_layout, op->send.data);
    else if (sends && op->call != BARRIER && op->call != IBARRIER)
        fill_own(op, op->in_place ? op->receive.data : op->send.data);
    op->sent = sum_of(&op->send);
}

/* What does not count on this process is nothing that MPI could take. */
static void scatter(const struct operation *op, MPI_Request *request)
{
    struct layout sent = op->sent_layout, received = op->layout;
    const void *from = op->send.data;
    void *to = op->receive.data;
    if (op->place->rank != op->root) {
        sent = (struct layout){.mpi = MPI_DATATYPE_NULL, .count = -1};
        from = NULL;
    } else if (op->in_place) {
        received = (struct layout){.mpi = MPI_DATATYPE_NULL, .count = -1};
        to = MPI_IN_PLACE;
    }
    if (op->call == ISCATTER)
        MPI_Iscatter(from, sent.count, sent.mpi, to, received.count, received.mpi, op->root,
                     op->place->comm, request);
    else
        MPI_Scatter(from, sent.count, sent.mpi, to, received.count, received.mpi, op->root,
                    op->place->comm);
}

static void gather(const struct operation *op, MPI_Request *request)
{
    struct layout sent = op->sent_layout, received = op->layout;
    const void *from = op->send.data;
    void *to = op->receive.data;
    if (op->place->rank != op->root) {
        received = (struct layout){.mpi = MPI_DATATYPE_NULL, .count = -1};
        to = NULL;
    } else if (op->in_place) {
        sent = (struct layout){.mpi = MPI_DATATYPE_NULL, .count = -1};
        from = MPI_IN_PLACE;
    }
    if (op->call == IGATHER)
        MPI_Igather(from, sent.count, sent.mpi, to, received.count, received.mpi, op->root,
                    op->place->comm, request);
    else
        MPI_Gather(from, sent.count, sent.mpi, to, received.count, received.mpi, op->root,
                   op->place->comm);
}

static void start(struct operation *op, MPI_Request *request)
{
    const struct layout *layout = &op->layout, *sent = &op->sent_layout;
    const void *from = op->in_place ? MPI_IN_PLACE : op->send.data;
    void *to = op->receive.data;
    MPI_Datatype type = op->values.type->mpi;
    MPI_Op mpi_op = data_op_mpi(op->values.op);
    MPI_Comm comm = op->place->comm;
    test_phase(call_names[op->call]);
    switch (op->call) {
    case ALLREDUCE:
        MPI_Allreduce(from, to, op->count, type, mpi_op, comm);
        break;
    case IALLREDUCE:
        MPI_Iallreduce(from, to, op->count, type, mpi_op, comm, request);
        break;
    case BCAST:
        MPI_Bcast(to, layout->count, layout->mpi, op->root, comm);
        break;
    case IBCAST:
        MPI_Ibcast(to, layout->count, layout->mpi, op->root, comm, request);
        break;
    case ALLGATHER:
        MPI_Allgather(from, sent->count, sent->mpi, to, layout->count, layout->mpi, comm);
        break;
    case IALLGATHER:
        MPI_Iallgather(from, sent->count, sent->mpi, to, layout->count, layout->mpi, comm, request);
        break;
    case GATHER:
    case IGATHER:
        gather(op, request);
        break;
    case SCATTER:
    case ISCATTER:
        scatter(op, request);
        break;
    case REDUCE:
        MPI_Reduce(from, to, op->count, type, mpi_op, op->root, comm);
        break;
    case IREDUCE:
        MPI_Ireduce(from, to, op->count, type, mpi_op, op->root, comm, request);
        break;
    case BARRIER:
        MPI_Barrier(comm);
        break;
    default:
        MPI_Ibarrier(comm, request);
        break;
    }
    /* MPI keeps it as long as it needs it. */
    if (layout->made)
        MPI_Type_free(&op->layout.mpi);
    if (sent->made)
        MPI_Type_free(&op->sent_layout.mpi);
}

/* It is complete, MPI says. */
static void finish(struct game *game, struct operation *op)
{
    spoil_result(game, op);
    if (op->checked)
        check_result(op);
    TEST_CHECK(sum_of(&op->send) == op->sent, call_names[op->call],
               "a buffer that is only sent has changed");
    free(op->send.memory);
    free(op->receive.memory);
}

/* ---- what is outstanding ---- */

/* The last one takes its place. */
static void completed(struct game *game, int i)
{
    TEST_CHECK(game->requests[i] == MPI_REQUEST_NULL, call_names[game->outstanding[i].call],
               "a request that is complete is not MPI_REQUEST_NULL");
    finish(game, &game->outstanding[i]);
    game->n--;
    game->requests[i] = game->requests[game->n];
    game->outstanding[i] = game->outstanding[game->n];
}

static void wait_for_all(struct game *game)
{
    test_phase("MPI_Waitall");
    MPI_Waitall(game->n, game->requests, MPI_STATUSES_IGNORE);
    while (game->n > 0)
        completed(game, game->n - 1);
}

/* Removed from the highest index down, so that the others' indices stay valid. */
static void complete_some(struct game *game)
{
    int n_done, done[MAX_OUTSTANDING];
    bool is_done[MAX_OUTSTANDING] = {false};
    MPI_Testsome(game->n, game->requests, &n_done, done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n_done; i++)
        is_done[done[i]] = true;
    for (int i = game->n - 1; i >= 0; i--)
        if (is_done[i])
            completed(game, i);
}

/* Completes none, some or all, as this process likes. */
static void complete_at_will(struct game *game)
{
    int flag = 0, i;
    if (game->n == 0)
        return;
    i = (int)rng_below(&game->mine, (unsigned)game->n);
    test_phase("completing what is outstanding");
    switch (rng_below(&game->mine, 16)) {
    case 0:
    case 1:
        MPI_Wait(&game->requests[i], MPI_STATUS_IGNORE);
        completed(game, i);
        break;
    case 2:
        MPI_Waitany(game->n, game->requests, &i, MPI_STATUS_IGNORE);
        completed(game, i);
        break;
    case 3:
    case 4:
    case 5:
        MPI_Test(&game->requests[i], &flag, MPI_STATUS_IGNORE);
        if (flag)
            completed(game, i);
        break;
    case 6:
    case 7:
        complete_some(game);
        break;
    case 8:
        if (rng_below(&game->mine, 4) == 0)
            wait_for_all(game);
        break;
    default:
        break;
    }
}

static void play(struct game *game, struct operation op)
{
    if (is_nonblocking(op.call)) {
        if (game->n == MAX_OUTSTANDING)
            wait_for_all(game);
        struct operation *kept = &game->outstanding[game->n];
        *kept = op;
        prepare(game, kept);
        start(kept, &game->requests[game->n++]);
    } else {
        prepare(game, &op);
        start(&op, NULL);
        finish(game, &op);
    }
}

/* ---- choices that all processes make alike ---- */

/* How many elements: mostly few, often a size at which something changes. */
static int choose_count(struct rng *plan, const struct data_type *type)
{
    static const unsigned borders[] = {CHUNK,     2 * CHUNK, 3 * CHUNK, 512,  BLOCK, WINDOW, 2048,
                                       2 * BLOCK, 3 * BLOCK, 3 * BLOCK, 4096, 8192,  16256};
    unsigned lot = rng_below(plan, 100), border = borders[rng_below(plan, TEST_COUNT(borders))];
    unsigned more = rng_below(plan, 3), any = rng_below(plan, 1000);
    unsigned long bytes = border;
    if (lot < 5)
        return 0;
    if (lot < 35)
        return 1;
    if (lot < 60)
        return 1 + (int)any % 16;
    if (lot < 80) /* that many bytes, an element less or more */
        return (int)(border / type->extent + more) - 1;
    if (lot < 97)
        bytes = 1 + any;
    else if (lot == 97 && large > 0)
        bytes = (unsigned long)large;
    unsigned long count = bytes / type->extent;
    return count < 16384 ? (int)count : 16384; /* the reference takes its time */
}

static enum data_op choose_op(struct rng *plan, const struct data_type *type)
{
    unsigned op = rng_below(plan, DATA_OPS);
    while (!(type->ops & 1u << op))
        op = (op + 1) % DATA_OPS;
    return op;
}

/* MPI is to combine it in the fixed order. */
static bool has_fixed_bits(const struct operation *op)
{
    return op->count * (long)op->values.type->extent <= bits &&
           (op->call != IREDUCE || !any_ireduce);
}

static struct operation reduction(struct rng *plan, const struct place *place, enum call call)
{
    const struct data_type *type = data_type((int)rng_below(plan, (unsigned)n_reducible));
    struct operation op = {.call = call, .place = place, .checked = true};
    op.values.type = type;
    op.values.op = choose_op(plan, type);
    op.count = choose_count(plan, type);
    op.root = (int)(rng_below(plan, 1 << 16) % (unsigned)place->size);
    op.in_place = rng_below(plan, 4) == 0 && (!has_root(call) || place->rank == op.root);
    op.values.rough =
        rng_below(plan, 4) && data_can_be_rough(type, op.values.op) && has_fixed_bits(&op);
    return op;
}

/* The same for a broadcast of several pieces. */
static int choose_pieces(struct rng *plan, const struct data_type *type)
{
    unsigned long pieces = 1 + rng_below(plan, 3);
    return (int)(pieces * PIECE / type->extent + rng_below(plan, 3)) - 1;
}

static struct operation copying(struct rng *plan, const struct place *place, enum call call)
{
    const struct data_type *type = data_type((int)rng_below(plan, (unsigned)n_types));
    struct operation op = {.call = call, .place = place, .checked = true};
    op.values.type = type;
    op.values.op = DATA_COPY;
    op.count = (call == BCAST || call == SCATTER) && rng_below(plan, LARGE) == 0
                   ? choose_pieces(plan, type)
                   : choose_count(plan, type);
    op.root = (int)(rng_below(plan, 1 << 16) % (unsigned)place->size);
    return op;
}

/* Or a scattering. What nicbarr does is small in all. */
static struct operation gathering(struct rng *plan, const struct place *place, enum call call)
{
    struct operation op = copying(plan, place, call);
    bool small = rng_below(plan, 4), in_place = rng_below(plan, 4) == 0;
    if (small && op.count > 0)
        op.count = 1 + (op.count - 1) / place->size;
    op.in_place = in_place && ((gathers(call) && !has_root(call)) || place->rank == op.root);
    return op;
}

static struct operation nothing(const struct place *place, enum call call)
{
    struct operation op = {.call = call, .place = place, .checked = true};
    op.values.type = data_type(0);
    op.values.op = DATA_COPY;
    return op;
}

static struct operation any_operation(struct rng *plan, const struct place *place)
{
    static const enum call calls[] = {
        ALLREDUCE, ALLREDUCE, ALLREDUCE, IALLREDUCE, IALLREDUCE, IALLREDUCE, BCAST,
        BCAST,     BCAST,     BCAST,     IBCAST,     ALLGATHER,  IALLGATHER, GATHER,
        IGATHER,   SCATTER,   ISCATTER,  REDUCE,     IREDUCE,    BARRIER,    IBARRIER};
    enum call call = calls[rng_below(plan, TEST_COUNT(calls))];
    switch (call) {
    case ALLREDUCE:
    case IALLREDUCE:
    case REDUCE:
    case IREDUCE:
        return reduction(plan, place, call);
    case ALLGATHER:
    case IALLGATHER:
    case GATHER:
    case IGATHER:
    case SCATTER:
    case ISCATTER:
        return gathering(plan, place, call);
    case BARRIER:
    case IBARRIER:
        return nothing(place, call);
    default:
        return copying(plan, place, call);
    }
}

/* ---- parts of the plan ---- */

static void back_to_back(struct game *game, const struct place *place)
{
    struct operation op = reduction(&game->plan, place, ALLREDUCE);
    op.count = 1 + op.count % 32;
    op.values.rough = op.values.rough && has_fixed_bits(&op);
    for (int i = 0; i < 20; i++)
        play(game, op);
}

/* What one has for all. */
static struct operation spreading(struct rng *plan, const struct place *place)
{
    return rng_below(plan, 2) ? copying(plan, place, rng_below(plan, 3) ? BCAST : IBCAST)
                              : gathering(plan, place, rng_below(plan, 3) ? SCATTER : ISCATTER);
}

static void round_and_round(struct game *game, const struct place *place)
{
    struct operation op = spreading(&game->plan, place);
    op.in_place = false;
    op.count %= 64;
    for (int i = 0; i < ROUND; i++) {
        op.root = i % place->size;
        play(game, op);
    }
}

/* Broadcasts or scatterings while a leaf sleeps, or reductions while their root does: short ones,
 * and now and then one of several chunks. */
static void run_ahead(struct game *game, const struct place *place)
{
    bool reduces = rng_below(&game->plan, 2);
    int sleeper = (int)(rng_below(&game->plan, 1 << 16) % (unsigned)place->size);
    struct operation op =
        reduces ? reduction(&game->plan, place, REDUCE) : spreading(&game->plan, place);
    op.in_place = false;
    op.values.rough = false;
    if (place->rank == (reduces ? op.root : sleeper))
        usleep(1000 + rng_below(&game->mine, 10000));
    for (int i = 0; i < AHEAD; i++) {
        op.count = rng_below(&game->plan, 10) ? 1 : (int)rng_below(&game->plan, 60);
        play(game, op);
    }
}

static struct operation nonblocking(struct rng *plan, const struct place *place)
{
    static const enum call sided[] = {IALLGATHER, IGATHER, ISCATTER};
    switch (rng_below(plan, 3)) {
    case 0:
        return copying(plan, place, IBCAST);
    case 1:
        return gathering(plan, place, sided[rng_below(plan, TEST_COUNT(sided))]);
    default:
        return reduction(plan, place, rng_below(plan, 4) ? IALLREDUCE : IREDUCE);
    }
}

static void many_at_once(struct game *game, const struct place *place)
{
    static const enum call sided[] = {GATHER, ALLGATHER, SCATTER};
    wait_for_all(game);
    for (int i = 0; i < MANY; i++) {
        if (rng_below(&game->plan, 16) == 0)
            play(game, reduction(&game->plan, place, ALLREDUCE));
        if (rng_below(&game->plan, 16) == 0)
            play(game, copying(&game->plan, place, BCAST));
        if (rng_below(&game->plan, 16) == 0)
            play(game, gathering(&game->plan, place, sided[rng_below(&game->plan, 3)]));
        play(game, nonblocking(&game->plan, place));
        delay_random(&game->mine);
    }
    /* The rest stays outstanding, while this process goes on with other communicators. */
    while (game->n > 0 && rng_below(&game->mine, 20))
        complete_at_will(game);
}

/* identity: which of several communicators that are made at once a process is in is told by its
 * first member. */
static void place_open(struct place *place, MPI_Comm comm, const char *name, uint64_t number)
{
    MPI_Group group, world;
    int zero = 0, first;
    *place = (struct place){.comm = comm, .name = name};
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_size(comm, &place->size);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &zero, world, &first);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    place->identity = data_hash(number, (uint64_t)first, 9);
}

/* MPI_Iallreduce does not wait for anybody, also as the first call on a communicator: else the
 * message that the others wait for was never sent. */
static void start_at_once(struct game *game, const struct place *place)
{
    int leader = (int)(rng_below(&game->plan, 1 << 16) % (unsigned)place->size);
    struct operation op = reduction(&game->plan, place, IALLREDUCE);
    test_phase("a message of one who has called MPI_Iallreduce");
    if (place->rank != leader)
        MPI_Recv(NULL, 0, MPI_BYTE, leader, game->number, place->comm, MPI_STATUS_IGNORE);
    play(game, op);
    for (int rank = 0; rank < place->size && place->rank == leader; rank++)
        if (rank != leader)
            MPI_Send(NULL, 0, MPI_BYTE, rank, game->number, place->comm);
}

/* A communicator is made while others are in use. It is freed when all on it is complete. */
static void make_use_free(struct game *game)
{
    MPI_Comm comm;
    struct place place;
    unsigned kind = rng_below(&game->plan, 3), uses = rng_below(&game->plan, 12);
    test_phase("making a communicator");
    if (kind == 0)
        MPI_Comm_split(game->parent, test.rank % 3, -test.rank, &comm);
    else
        MPI_Comm_dup(game->parent, &comm);
    place_open(&place, comm, kind == 0 ? "a passing third" : "a passing dup",
               game->started << 8 | (unsigned)game->number);
    if (uses % 2)
        start_at_once(game, &place);
    while (uses-- > 0)
        play(game, any_operation(&game->plan, &place));
    wait_for_all(game);
    test_phase("freeing a communicator");
    MPI_Comm_free(&comm);
}

static void step(struct game *game)
{
    const struct place *place = &game->places[rng_below(&game->plan, (unsigned)game->n_places)];
    unsigned kind = rng_below(&game->plan, 100);
    if (kind < 84)
        play(game, any_operation(&game->plan, place));
    else if (kind < 89)
        back_to_back(game, place);
    else if (kind < 92)
        round_and_round(game, place);
    else if (kind < 93)
        run_ahead(game, place);
    else if (kind < 96)
        many_at_once(game, place);
    else
        make_use_free(game);
    delay_random(&game->mine);
    complete_at_will(game);
}

/* ---- games ---- */

static void open_game(struct game *game, int number)
{
    static const char *const names[PLACES] = {
        "WORLD", "SELF", "a dup of WORLD", "WORLD in reverse", "a half", "odd or even ranks",
        "a pair"};
    MPI_Comm comms[PLACES];
    int rank = test.rank;
    game->number = number;
    game->plan = rng_make(STREAM_PLAN + (uint64_t)number);
    game->mine = rng_make(STREAM_PRIVATE + (uint64_t)(number + MAX_THREADS * rank));
    MPI_Comm_dup(MPI_COMM_WORLD, &game->parent);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_SELF, &comms[1]);
    if (number == 0) {
        MPI_Comm_free(&comms[0]);
        comms[0] = MPI_COMM_WORLD;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, rank < test.size / 2, rank, &comms[4]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[5]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comms[6]);
    game->n_places = PLACES + (int)dups;
    game->places = calloc((size_t)game->n_places, sizeof(*game->places));
    if (!game->places)
        test_fail("start", "no memory");
    for (int i = 0; i < game->n_places; i++) {
        MPI_Comm comm;
        if (i < PLACES)
            comm = comms[i];
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        place_open(&game->places[i], comm, i < PLACES ? names[i] : "one of many dups",
                   data_hash((uint64_t)number, (uint64_t)i, 11));
    }
}

static void close_game(struct game *game)
{
    for (int i = 0; i < game->n_places; i++)
        if (game->places[i].comm != MPI_COMM_WORLD)
            MPI_Comm_free(&game->places[i].comm);
    free(game->places);
    MPI_Comm_free(&game->parent);
}

/* Is there one more step? The line is for a script that disturbs the job. */
static bool goes_on(long done)
{
    if (done < steps)
        return true;
    if (!until || done % STEPS_BETWEEN != 0)
        return until;
    if (done < steps + STEPS_BETWEEN)
        test_report("data: under way\n");
    int more = access(until, F_OK) != 0;
    test_phase("asking whether there is more");
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

/* Of MPI's own operations, and not nothing: a communicator gets what it needs for them, and after
 * some calls it is measured, whatever chance says. */
static void use(struct game *game, const struct place *place, int times)
{
    struct operation op = {.place = place, .checked = true};
    op.values.type = data_type(0);
    while (times-- > 0) {
        op.count = 1;
        op.values.op = DATA_MAX;
        op.call = ALLREDUCE;
        play(game, op);
        op.call = REDUCE;
        play(game, op);
        op.values.op = DATA_COPY;
        op.call = ALLGATHER;
        play(game, op);
        op.call = GATHER;
        play(game, op);
        op.call = SCATTER;
        play(game, op);
        op.call = BCAST;
        play(game, op);
        op.count = 2 * PIECE / (int)op.values.type->extent;
        play(game, op);
        op.call = SCATTER;
        op.count = 1 + op.count / place->size;
        play(game, op);
    }
}

static void *game_main(void *argument)
{
    struct game *game = argument;
    use(game, &game->places[0], OFTEN);
    for (int i = PLACES; i < game->n_places; i++)
        use(game, &game->places[i], 1);
    for (long done = 0; game->number == 0 && n_threads == 1 ? goes_on(done) : done < steps; done++)
        step(game);
    wait_for_all(game);
    return NULL;
}

/* A type may have absolute addresses; then a buffer's own address is NULL. */
static void use_absolute_addresses(void)
{
    static int all[DATA_RANKS];
    int own, one = 1, rank = test.rank;
    MPI_Aint at;
    MPI_Datatype integer = MPI_INT, absolute, apart;
    MPI_Request request;
    MPI_Get_address(all, &at);
    MPI_Type_create_struct(1, &one, &at, &integer, &absolute);
    MPI_Type_create_resized(absolute, 0, (MPI_Aint)sizeof(int), &apart);
    MPI_Type_commit(&apart);
    test_phase("absolute addresses");
    for (int i = 0; i < OFTEN; i++) {
        int root = i % test.size;
        own = 100 * i + rank;
        memset(all, 0, sizeof(all));
        if (i % 3 == 0)
            MPI_Igather(&own, 1, MPI_INT, MPI_BOTTOM, 1, apart, root, MPI_COMM_WORLD, &request);
        else
            MPI_Iallgather(&own, 1, MPI_INT, MPI_BOTTOM, 1, apart, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < test.size && (i % 3 != 0 || rank == root); r++)
            TEST_CHECK(all[r] == 100 * i + r, "absolute addresses", "rank %d's is %d", r, all[r]);
        MPI_Iscatter(MPI_BOTTOM, 1, apart, &own, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        TEST_CHECK(own == 100 * i + rank, "absolute addresses", "the own one is %d", own);
    }
    MPI_Type_free(&absolute);
    MPI_Type_free(&apart);
}

/* ---- the digest ---- */

static uint64_t digest_of(const struct operation *op, uint64_t so_far)
{
    const struct data_type *type = op->values.type;
    for (int i = 0; i < op->count; i++)
        for (int field = 0; field < type->n_fields; field++) {
            const unsigned char *from =
                op->receive.data + (size_t)i * type->extent + type->fields[field].offset;
            for (size_t byte = 0; byte < data_field_bytes(&type->fields[field]); byte++)
                so_far = data_hash(so_far, from[byte], 10);
        }
    return so_far;
}

/* One of them, blocking or not. */
static uint64_t digest_one(struct game *game, struct operation op, uint64_t so_far)
{
    MPI_Request request = MPI_REQUEST_NULL;
    prepare(game, &op);
    start(&op, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    so_far = digest_of(&op, so_far);
    finish(game, &op);
    return so_far;
}

/* All types and operations whose bits depend on the order, on WORLD and in reverse. Nothing but the
 * seed and the number of processes decides what is computed. */
static void print_digest(struct game *game)
{
    static const int counts[] = {1, 2, 3, 7, 8, 15, 16, 29, 30, 31, 64};
    uint64_t mine = 0, all[DATA_RANKS];
    for (int i = 0; i < n_reducible; i++)
        for (unsigned j = 0; j < 2 * TEST_COUNT(counts); j++) {
            const struct data_type *type = data_type(i);
            struct operation op = {.call = j / 3 % 2 ? IALLREDUCE : ALLREDUCE,
                                   .place = &game->places[j % 3 == 0 ? 3 : 0],
                                   .values = {.type = type, .rough = true},
                                   .count = counts[j / 2]};
            op.values.op = j % 2 ? DATA_PROD : DATA_SUM;
            op.checked = has_fixed_bits(&op);
            if (data_can_be_rough(type, op.values.op))
                mine = digest_one(game, op, mine);
        }
    MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int rank = 0; rank < test.size; rank++)
        TEST_CHECK(all[rank] == mine, "digest", "rank %d has other bits: %016llx, expected %016llx",
                   rank, (unsigned long long)all[rank], (unsigned long long)mine);
    test_report("digest %016llx\n", (unsigned long long)mine);
}

int main(int argc, char **argv)
{
    static struct game games[MAX_THREADS];
    /* Threads are asked for before the options can be read; one thread is all that most need. */
    bool threads = false;
    for (int i = 1; i < argc; i++)
        threads = threads || strcmp(argv[i], "--threads") == 0;
    test_begin(argc, argv, "data", options, TEST_COUNT(options),
               threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (threads && test.provided < MPI_THREAD_MULTIPLE)
        test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
    if (n_threads < 1 || n_threads > MAX_THREADS || test.size > DATA_RANKS)
        test_fail("options", "1 to %d threads, at most %d processes", MAX_THREADS, DATA_RANKS);
    if (steps <= 0)
        steps = 1200 / test.size;

    n_types = data_types_open(&n_reducible);
    for (int i = 0; i < n_threads; i++)
        open_game(&games[i], i);
    if (digest)
        print_digest(&games[0]);
    for (long i = 1; i < n_threads && !digest; i++)
        if (pthread_create(&games[i].thread, NULL, game_main, &games[i]) != 0)
            test_fail("threads", "cannot make a thread");
    if (!digest) {
        game_main(&games[0]);
        use_absolute_addresses();
    }
    unsigned long long operations = games[0].started;
    for (long i = 1; i < n_threads && !digest; i++) {
        pthread_join(games[i].thread, NULL);
        operations += games[i].started;
    }
    for (int i = 0; i < n_threads; i++)
        close_game(&games[i]);
    data_types_close();

    char note[60];
    snprintf(note, sizeof(note), "types=%d operations=%llu", n_types, operations);
    return test_end(note);
}
