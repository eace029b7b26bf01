/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives that carry data give what a plain reference says, at each start.
 *
 * All processes follow one random plan: make persistent MPI_Allreduce, MPI_Reduce, MPI_Bcast,
 * MPI_Allgather, MPI_Gather and MPI_Scatter on communicators that overlap, start some of them, free
 * some, and call other collectives meanwhile. MPI matches persistent operations when they are made
 * (MPI 4.0, 6.13). So each process starts them in an order of its own, one by one or all at once.
 * It also chooses for itself how it completes them, how its buffers lie in memory, and when it is
 * slow. Each start has new values. Each result is compared with what data_types.h says, byte by
 * byte, with guards on both sides and in gaps.
 *
 * A request that is not active must be as MPI says: it can be waited for at once, and gives an
 * empty status.
 *
 * --ours: the program frees types, operations and communicators as soon as it has made small
 * requests of them, as MPI allows. Open MPI's own persistent requests do not outlive these.
 *
 * Why the plan cannot deadlock by itself: a process waits only for what it has started in an
 * earlier step, or for a blocking collective. The one that is least advanced in the plan waits for
 * what all others have started too.
 *
 * NICBARR_TEST_BREAK=N spoils one result in N before it is checked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include "common.h"
#include "data_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long steps = 200;
static long bits;
static long ours;
static long hosts;
static long requests = 24;

static const struct test_option options[] = {
    {"--steps", OPTION_LONG, &steps, "steps of the plan (200)"},
    {"--bits", OPTION_LONG, &bits,
     "reductions of up to so many bytes combine in the fixed order (0: any order is right)"},
    {"--ours", OPTION_FLAG, &ours, "small ones outlive what the program has made them of"},
    {"--hosts", OPTION_FLAG, &hosts,
     "so much is said only of MPI_Bcast, and of MPI_Allreduce by MPI's own operations: there are "
     "several hosts"},
    {"--requests", OPTION_LONG, &requests, "as many as there are at once (24, at most 1000)"},
};

#ifdef PERSISTENT

enum {
    PLACES = 5,
    REQUESTS = 1000,
    AT_ONCE = 12,  /* started in one step */
    OFTEN = 200,   /* starts in a row of the same */
    SMALL = 512,   /* bytes of what --ours is about: nicbarr's for any number of processes */
    CHUNK = 112,   /* nicbarr's: sizes around multiples of it are tried */
    BLOCK = 1208,  /* what broadcasts across nodes are cut into */
    PIECE = 16256, /* what a ring has at most for one */
    GUARD = 64     /* bytes before and after each buffer */
};

struct place {
    MPI_Comm comm;
    const char *name;
    int rank, size;
};

enum call { ALLREDUCE, REDUCE, BCAST, ALLGATHER, GATHER, SCATTER, CALLS };
static const char *const call_names[CALLS] = {"MPI_Allreduce_init", "MPI_Reduce_init",
                                              "MPI_Bcast_init",     "MPI_Allgather_init",
                                              "MPI_Gather_init",    "MPI_Scatter_init"};

/* A buffer with its guards. */
struct buffer {
    unsigned char *memory, *data;
    size_t bytes; /* of memory */
};

struct persistent {
    enum call call;
    struct place place;
    struct data_values values; /* of the last start */
    int count, root;
    bool in_place;
    MPI_Datatype type; /* of its own, or MPI_DATATYPE_NULL */
    size_t stride;     /* from one element to the next, where it is received */
    struct buffer send, receive, expected, sent;
    uint64_t number, starts; /* the same on all members */
    MPI_Request request;     /* MPI_REQUEST_NULL: not made */
    bool active;
};

static struct rng plan, mine;
static struct place places[PLACES];
static struct persistent all[REQUESTS];
static int n_types, n_reducible;
static uint64_t made;

/* ---- values ---- */

static bool is_root(const struct persistent *p)
{
    return p->place.rank == p->root;
}

static bool copies(const struct persistent *p)
{
    return p->call >= BCAST;
}

static bool gathers(const struct persistent *p)
{
    return p->call == ALLGATHER || p->call == GATHER;
}

static bool gets_result(const struct persistent *p)
{
    return (p->call != REDUCE && p->call != GATHER) || is_root(p);
}

/* Parts of `count` elements. */
static size_t parts_sent(const struct persistent *p)
{
    return p->call == SCATTER ? (size_t)p->place.size : 1;
}

static size_t parts_received(const struct persistent *p)
{
    return gathers(p) ? (size_t)p->place.size : 1;
}

static size_t bytes_of(const struct persistent *p)
{
    return (size_t)p->count * p->values.type->extent;
}

/* What is between the fields of a type of MPI's own is MPI's: it is taken as it was found. */
static void expect_element(const struct persistent *p, size_t i, const unsigned char *value)
{
    const struct data_type *type = p->values.type;
    unsigned char *to = p->expected.data + i * p->stride;
    const unsigned char *found = p->receive.data + i * p->stride;
    for (size_t byte = 0; byte < type->extent; byte++)
        if (!data_is_gap(type, byte))
            to[byte] = value[byte];
        else if (!type->gaps_are_ours)
            to[byte] = found[byte];
}

/* Both are called when the result is there. */
static void expect_copy(const struct persistent *p)
{
    unsigned char value[64];
    size_t count = (size_t)p->count;
    for (size_t i = 0; i < parts_received(p) * count; i++) {
        int rank = p->call == BCAST ? p->root : gathers(p) ? (int)(i / count) : p->place.rank;
        memset(value, 0, sizeof(value));
        data_put(&p->values, rank, i % count, value);
        expect_element(p, i, value);
    }
}

static void expect_reduction(const struct persistent *p)
{
    unsigned char *result = calloc(1, bytes_of(p) + 1);
    if (!result)
        test_fail("reference", "no memory");
    data_reduce(&p->values, p->place.size, (size_t)p->count, true, result);
    for (size_t i = 0; i < (size_t)p->count; i++)
        expect_element(p, i, result + i * p->values.type->extent);
    free(result);
}

/* Values of a rank. */
static void put(const struct persistent *p, int rank, unsigned char *to, size_t stride)
{
    for (size_t i = 0; i < (size_t)p->count; i++)
        data_put(&p->values, rank, i, to + i * stride);
}

/* What this process gives. */
static void put_own(const struct persistent *p)
{
    size_t extent = p->values.type->extent, count = (size_t)p->count;
    size_t first = gathers(p) ? (size_t)p->place.rank * count : 0;
    if (p->call == SCATTER)
        for (int rank = 0; rank < p->place.size && is_root(p); rank++)
            put(p, rank, p->send.data + (size_t)rank * count * extent, extent);
    else if (p->call == BCAST ? is_root(p) : p->in_place)
        put(p, p->place.rank, p->receive.data + first * p->stride, p->stride);
    else if (p->call != BCAST)
        put(p, p->place.rank, p->send.data, extent);
}

/* ---- memory ---- */

static struct buffer buffer_make(size_t bytes, size_t shift)
{
    struct buffer buffer = {.bytes = GUARD + shift + bytes + GUARD};
    buffer.memory = malloc(buffer.bytes);
    if (!buffer.memory)
        test_fail("buffer", "no memory");
    buffer.data = buffer.memory + GUARD + shift;
    return buffer;
}

static void fill(const struct buffer *buffer)
{
    memset(buffer->memory, (int)rng_below(&mine, 256), buffer->bytes);
}

/* ---- the life of a request ---- */

static struct persistent choose(const struct place *place)
{
    static const unsigned borders[] = {CHUNK,      2 * CHUNK, 512,  BLOCK, 5 * CHUNK,
                                       10 * CHUNK, 2048,      4096, 8192,  PIECE};
    struct persistent p = {.call = (enum call)rng_below(&plan, CALLS), .place = *place};
    const struct data_type *type =
        data_type((int)rng_below(&plan, (unsigned)(copies(&p) ? n_types : n_reducible)));
    unsigned lot = rng_below(&plan, 100), border = borders[rng_below(&plan, TEST_COUNT(borders))];
    unsigned more = rng_below(&plan, 3), any = rng_below(&plan, 16),
             op = rng_below(&plan, DATA_OPS);
    p.values.type = type;
    p.values.op = DATA_COPY;
    p.count = lot < 3    ? 0
              : lot < 40 ? 1
              : lot < 65 ? 1 + (int)any
                         : (int)(border / type->extent + more) - 1;
    p.root = (int)(rng_below(&plan, 1 << 16) % (unsigned)place->size);
    p.in_place = rng_below(&plan, 4) == 0;
    bool rough = rng_below(&plan, 4);
    if (!copies(&p)) {
        while (!(type->ops & 1u << op))
            op = (op + 1) % DATA_OPS;
        p.values.op = (enum data_op)op;
        p.values.rough = rough && data_can_be_rough(type, p.values.op) &&
                         (long)bytes_of(&p) <= bits && (p.call != REDUCE || !hosts);
    }
    p.in_place =
        p.in_place && p.call != BCAST && (p.call == SCATTER ? is_root(&p) : gets_result(&p));
    p.number = ++made;
    return p;
}

/* Does --ours say something of it? The plan goes by it, so it may not depend on the place: its
 * size is not the same for all processes. */
static bool is_ours(const struct persistent *p)
{
    bool not_across = (p->call != ALLREDUCE && p->call != BCAST) || p->values.op == DATA_COMPOSE ||
                      p->values.op == DATA_MIX;
    bool blocks = gathers(p) || p->call == SCATTER;
    size_t bytes = bytes_of(p) * (blocks ? (size_t)test.size : 1);
    return ours && p->count > 0 && bytes <= SMALL && !(hosts && not_across);
}

/* A type of the program that has gaps between elements, or one of MPI's. */
static MPI_Datatype make_type(struct persistent *p)
{
    const struct data_type *type = p->values.type;
    bool cut = type->kind == DATA_COMPLEX && type->extent > 16; /* by Open MPI 4.1, see data.c */
    MPI_Datatype inner;
    p->type = MPI_DATATYPE_NULL;
    p->stride = type->extent;
    if (!copies(p) || p->count == 0 || cut || rng_below(&mine, 2))
        return type->mpi;
    p->stride = (1 + rng_below(&mine, 3)) * type->extent;
    /* (Open MPI's own takes what is made of MPI_PACKED by resizing for MPI_PACKED.) */
    MPI_Type_contiguous(1, type->mpi, &inner);
    MPI_Type_create_resized(inner, 0, (MPI_Aint)p->stride, &p->type);
    MPI_Type_free(&inner);
    MPI_Type_commit(&p->type);
    return p->type;
}

static void free_type(struct persistent *p)
{
    if (p->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&p->type);
}

static void check_inactive(struct persistent *p)
{
    MPI_Status status;
    MPI_Request same = p->request;
    int flag = 0, count = -1;
    switch (rng_below(&mine, 3)) {
    case 0:
        MPI_Wait(&p->request, &status);
        flag = 1;
        break;
    case 1:
        MPI_Test(&p->request, &flag, &status);
        break;
    default:
        MPI_Request_get_status(p->request, &flag, &status);
        break;
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    TEST_CHECK(flag && count == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE &&
                   status.MPI_TAG == MPI_ANY_TAG && p->request == same,
               call_names[p->call], "not active, it gives flag %d, count %d, source %d, tag %d",
               flag, count, status.MPI_SOURCE, status.MPI_TAG);
}

static void make(struct persistent *p)
{
    MPI_Datatype type = make_type(p), plain = p->values.type->mpi;
    size_t shift = rng_below(&mine, 4) * p->values.type->align;
    size_t bytes = parts_sent(p) * bytes_of(p);
    p->send = buffer_make(bytes, shift);
    p->sent = buffer_make(bytes, shift);
    shift = rng_below(&mine, 4) * p->values.type->align;
    bytes = parts_received(p) * (size_t)p->count * p->stride;
    p->receive = buffer_make(bytes, shift);
    p->expected = buffer_make(bytes, shift);
    const void *from = p->in_place ? MPI_IN_PLACE : p->send.data;
    void *to = p->receive.data;
    MPI_Op op = copies(p) ? MPI_OP_NULL : data_op_mpi(p->values.op);
    MPI_Comm comm = p->place.comm;
    test_phase(call_names[p->call]);
    switch (p->call) {
    case ALLREDUCE:
        PERSISTENT(Allreduce_init)
        (from, to, p->count, type, op, comm, MPI_INFO_NULL, &p->request);
        break;
    case REDUCE:
        PERSISTENT(Reduce_init)
        (from, to, p->count, type, op, p->root, comm, MPI_INFO_NULL, &p->request);
        break;
    case BCAST:
        PERSISTENT(Bcast_init)(to, p->count, type, p->root, comm, MPI_INFO_NULL, &p->request);
        break;
    case ALLGATHER:
        PERSISTENT(Allgather_init)
        (from, p->count, plain, to, p->count, type, comm, MPI_INFO_NULL, &p->request);
        break;
    case GATHER:
        PERSISTENT(Gather_init)
        (from, p->count, plain, is_root(p) ? to : NULL, p->count,
         is_root(p) ? type : MPI_DATATYPE_NULL, p->root, comm, MPI_INFO_NULL, &p->request);
        break;
    default:
        PERSISTENT(Scatter_init)
        (is_root(p) ? p->send.data : NULL, p->count, is_root(p) ? plain : MPI_DATATYPE_NULL,
         p->in_place ? MPI_IN_PLACE : to, p->count, type, p->root, comm, MPI_INFO_NULL,
         &p->request);
        break;
    }
    if (is_ours(p) && p->place.size > 1) /* alone it is Open MPI's own */
        free_type(p);
    check_inactive(p);
}

/* Values for the next start. */
static void prepare(struct persistent *p)
{
    p->values.key = data_hash(test.seed, p->number, ++p->starts);
    fill(&p->send);
    fill(&p->receive);
    put_own(p);
    memcpy(p->expected.memory, p->receive.memory, p->receive.bytes);
    memcpy(p->sent.memory, p->send.memory, p->send.bytes);
    p->active = true;
}

/* It is complete, MPI says. */
static void finish(struct persistent *p)
{
    p->active = false;
    TEST_CHECK(p->request != MPI_REQUEST_NULL, call_names[p->call], "its request is gone");
    if (p->count > 0 && test.break_every > 0 && rng_below(&mine, (unsigned)test.break_every) == 0)
        p->receive.data[rng_below(&mine, (unsigned)bytes_of(p))] ^= 0xff;
    if (copies(p) && gets_result(p) && !(p->call == SCATTER && p->in_place))
        expect_copy(p);
    else if (!copies(p) && gets_result(p))
        expect_reduction(p);
    size_t i = 0;
    while (i < p->receive.bytes && p->receive.memory[i] == p->expected.memory[i])
        i++;
    TEST_CHECK(i == p->receive.bytes, call_names[p->call],
               "start %llu on %s (rank %d of %d), %d of %s %s%s, root %d%s, %zu apart: byte %td is "
               "%02x, expected %02x",
               (unsigned long long)p->starts, p->place.name, p->place.rank, p->place.size, p->count,
               p->values.type->name, data_op_name(p->values.op), p->values.rough ? ", rounded" : "",
               p->root, p->in_place ? ", in place" : "", p->stride,
               (ptrdiff_t)i - (p->receive.data - p->receive.memory), p->receive.memory[i],
               p->expected.memory[i]);
    TEST_CHECK(memcmp(p->send.memory, p->sent.memory, p->send.bytes) == 0, call_names[p->call],
               "what is only sent has changed");
    if (rng_below(&mine, 8) == 0)
        check_inactive(p);
}

/* ---- completing ---- */

static void complete(struct persistent *p)
{
    if (!p->active)
        return;
    test_phase("completing a start");
    MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    finish(p);
}

static void complete_all(void)
{
    MPI_Request list[REQUESTS];
    for (int i = 0; i < requests; i++)
        list[i] = all[i].request;
    test_phase("completing all");
    MPI_Waitall((int)requests, list, MPI_STATUSES_IGNORE);
    for (int i = 0; i < requests; i++) {
        TEST_CHECK(list[i] == all[i].request, "MPI_Waitall", "a request has changed");
        if (all[i].active)
            finish(&all[i]);
    }
}

/* Some are complete, or none, as this process likes. */
static void complete_at_will(void)
{
    for (int i = 0; i < requests; i++) {
        int flag = 0;
        if (!all[i].active)
            continue;
        switch (rng_below(&mine, 4)) {
        case 0:
            complete(&all[i]);
            break;
        case 1:
            test_phase("testing");
            MPI_Test(&all[i].request, &flag, MPI_STATUS_IGNORE);
            if (flag)
                finish(&all[i]);
            break;
        default:
            break;
        }
    }
}

/* Where it was made, it goes. */
static void unmake(struct persistent *p)
{
    if (p->request == MPI_REQUEST_NULL)
        return;
    complete(p);
    test_phase("MPI_Request_free");
    MPI_Request_free(&p->request);
    TEST_CHECK(p->request == MPI_REQUEST_NULL, "MPI_Request_free", "the request is still there");
    free_type(p);
    free(p->send.memory);
    free(p->sent.memory);
    free(p->receive.memory);
    free(p->expected.memory);
}

/* ---- steps of the plan ---- */

static void make_new(struct persistent *p)
{
    const struct place *place = &places[rng_below(&plan, PLACES)];
    unmake(p);
    *p = choose(place);
    make(p);
}

/* One of each call, whatever chance says. */
static void make_first_ones(void)
{
    for (int call = 0; call < CALLS; call++) {
        struct persistent *p = &all[call];
        unmake(p);
        *p = (struct persistent){.call = (enum call)call, .place = places[0], .count = 1};
        p->values.type = data_type(0);
        p->values.op = copies(p) ? DATA_COPY : DATA_MAX;
        p->number = ++made;
        make(p);
    }
}

/* A random set of all that were made, the same on all processes; each starts it in its own order.
 * (Whoever is no member of a communicator has another request of that number: so all have some.) */
static int choose_set(int *set)
{
    int order[REQUESTS], shuffle[REQUESTS], n = 1 + (int)rng_below(&plan, AT_ONCE);
    rng_permutation(&plan, order, (int)requests);
    n = n < requests ? n : (int)requests;
    rng_permutation(&mine, shuffle, n);
    for (int i = 0; i < n; i++)
        set[i] = order[shuffle[i]];
    return n;
}

static void start_set(const int *set, int n, bool at_once)
{
    MPI_Request list[AT_ONCE];
    for (int i = 0; i < n; i++)
        complete(&all[set[i]]);
    for (int i = 0; i < n; i++) {
        struct persistent *p = &all[set[i]];
        prepare(p);
        list[i] = p->request;
        if (!at_once)
            MPI_Start(&p->request);
    }
    test_phase("MPI_Startall");
    if (at_once)
        MPI_Startall(n, list);
}

static void start_some(void)
{
    int set[AT_ONCE], n = choose_set(set);
    start_set(set, n, rng_below(&mine, 2));
    delay_random(&mine);
    complete_at_will();
}

/* The same ones again and again, in another order each time; now and then somebody is late. */
static void start_often(void)
{
    int set[AT_ONCE], n = choose_set(set);
    for (int i = 0; i < OFTEN; i++) {
        int a = (int)rng_below(&mine, (unsigned)n), b = (int)rng_below(&mine, (unsigned)n),
            t = set[a];
        set[a] = set[b];
        set[b] = t;
        if (rng_below(&mine, 100) == 0)
            usleep(rng_below(&mine, 2000));
        start_set(set, n, rng_below(&mine, 2));
    }
}

/* Others of the communicator's collectives come in their own order. */
static void call_others(void)
{
    const struct place *place = &places[rng_below(&plan, PLACES)];
    uint64_t sum = 0, word = 0;
    int root = (int)(rng_below(&plan, 1 << 16) % (unsigned)place->size);
    MPI_Request pending[2];
    test_phase("other collectives");
    for (int i = 0; i < 12; i++) {
        uint64_t own = (uint64_t)(i * (place->rank + 1)), sent = place->rank == root ? own : 0;
        uint64_t n = (uint64_t)place->size, expected = (uint64_t)i * n * (n + 1) / 2;
        if (rng_below(&plan, 2)) {
            MPI_Iallreduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, place->comm, &pending[0]);
            MPI_Ibcast(&sent, 1, MPI_UINT64_T, root, place->comm, &pending[1]);
            delay_random(&mine);
            MPI_Waitall(2, pending, MPI_STATUSES_IGNORE);
        } else {
            MPI_Allreduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, place->comm);
            MPI_Bcast(&sent, 1, MPI_UINT64_T, root, place->comm);
        }
        word = (uint64_t)(i * (root + 1));
        TEST_CHECK(sum == expected && sent == word, "other collectives",
                   "on %s the sum is %llu, expected %llu; the word is %llu, expected %llu",
                   place->name, (unsigned long long)sum, (unsigned long long)expected,
                   (unsigned long long)sent, (unsigned long long)word);
    }
}

/* One of those that --ours is about. */
static struct persistent choose_ours(const struct place *place)
{
    struct persistent p = choose(place);
    while (!is_ours(&p)) {
        made--;
        p = choose(place);
    }
    return p;
}

/* The requests outlive their communicator's handle. */
static void free_it_first(void)
{
    struct place place = places[rng_below(&plan, PLACES)];
    int count = 1 + (int)rng_below(&plan, 3);
    test_phase("a communicator that is freed first");
    MPI_Comm_dup(place.comm, &place.comm);
    place.name = "a communicator that is freed";
    for (int i = 0; i < count; i++) {
        unmake(&all[i]);
        all[i] = choose_ours(&place);
        make(&all[i]);
    }
    MPI_Comm_free(&place.comm);
    for (int i = 0; i < count; i++) {
        prepare(&all[i]);
        MPI_Start(&all[i].request);
    }
}

static void step(void)
{
    unsigned kind = rng_below(&plan, 100);
    int which = (int)rng_below(&plan, (unsigned)requests);
    if (kind < 25)
        make_new(&all[which]);
    else if (kind < 80)
        start_some();
    else if (kind < 82)
        start_often();
    else if (kind < 95)
        call_others();
    else if (kind < 97)
        complete_all();
    else if (ours)
        free_it_first();
}

/* ---- what MPI keeps for a request ---- */

/* Of two words the one of the higher rank: it does not commute. */
static void last_one(void *left, void *right, int *count, MPI_Datatype *type)
{
    (void)left;
    (void)right;
    (void)count;
    (void)type;
}

/* The program frees all that it has given, before the first start. */
static void check_kept(void)
{
    int from[3], to[3], n = 0;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(last_one, 0, &op);
    PERSISTENT(Allreduce_init)(from, to, 1, type, op, comm, MPI_INFO_NULL, &request);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    for (; n < 5; n++) {
        for (int i = 0; i < 3; i++)
            from[i] = 100 * test.rank + 10 * n + i;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++)
            TEST_CHECK(to[i] == 100 * (test.size - 1) + 10 * n + i, "what the program has freed",
                       "start %d gives %d", n, to[i]);
    }
    MPI_Request_free(&request);
}

/* ---- the program ---- */

static void place_open(struct place *place, MPI_Comm comm, const char *name)
{
    *place = (struct place){.comm = comm, .name = name};
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_size(comm, &place->size);
}

static void open_places(void)
{
    MPI_Comm comms[PLACES] = {MPI_COMM_WORLD};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test.rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank < test.size / 2, test.rank, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, test.rank % 2, test.rank, &comms[4]);
    place_open(&places[0], comms[0], "WORLD");
    place_open(&places[1], comms[1], "a dup of WORLD");
    place_open(&places[2], comms[2], "WORLD in reverse");
    place_open(&places[3], comms[3], "a half");
    place_open(&places[4], comms[4], "odd or even ranks");
}

static void play(void)
{
    int order[REQUESTS];
    plan = rng_make(STREAM_PLAN);
    mine = rng_make(STREAM_PRIVATE + (uint64_t)test.rank);
    open_places();
    for (int i = 0; i < requests; i++) {
        all[i].request = MPI_REQUEST_NULL;
        make_new(&all[i]);
    }
    make_first_ones();
    if (ours && !hosts)
        check_kept();
    for (long i = 0; i < steps; i++)
        step();
    complete_all();
    rng_permutation(&mine, order, (int)requests); /* each process frees in an order of its own */
    for (int i = 0; i < requests; i++)
        unmake(&all[order[i]]);
    for (int i = 1; i < PLACES; i++)
        MPI_Comm_free(&places[i].comm);
}

#else
static void play(void)
{
    (void)bits, (void)ours, (void)hosts;
    test_skip("this MPI has no persistent collectives");
}
#endif

int main(int argc, char **argv)
{
    test_begin(argc, argv, "persistent", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
#ifdef PERSISTENT
    if (requests < CALLS || requests > REQUESTS || test.size > DATA_RANKS)
        test_fail("options", "%d to %d requests, at most %d processes", CALLS, REQUESTS,
                  DATA_RANKS);
    n_types = data_types_open(&n_reducible);
#endif
    play();
    data_types_close();
    char note[60] = "";
#ifdef PERSISTENT
    snprintf(note, sizeof(note), "requests=%llu", (unsigned long long)made);
#endif
    return test_end(note);
}
