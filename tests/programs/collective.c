/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of collectives and their expected results; see collective.h. */
#include "collective.h"
#include "../mpi/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[COLLECTIVES] = {"barrier",   "allreduce", "reduce", "bcast",
                                               "allgather", "gather",    "scatter"};
static int n_types;

void collectives_open(void)
{
    n_types = data_types_open();
}

void collectives_close(void)
{
    layouts_close();
    data_types_close();
}

/* ---- the words of a step ---- */

/* Compare a name with a word of a step, in which dashes replace the blanks. */
static bool same_name(const char *name, const char *word)
{
    while (*name && *word && (*name == *word || (*name == ' ' && *word == '-'))) {
        name++;
        word++;
    }
    return *name == *word;
}

const struct data_type *type_of_step(const struct step *step)
{
    const char *word = step_word(step, "type", "MPI_INT");
    for (int i = 0; i < n_types; i++)
        if (same_name(data_type(i)->name, word))
            return data_type(i);
    test_skip("this MPI lacks a type of the program");
}

static enum data_op op_of(const struct step *step)
{
    const char *word = step_word(step, "op", "MPI_SUM");
    for (int op = 0; op < DATA_OPS; op++)
        if (same_name(data_op_name((enum data_op)op), word))
            return (enum data_op)op;
    test_fail("program", "step %u: unknown operation %s", step->id, word);
}

static enum collective what_of(const struct step *step)
{
    for (int what = 0; what < COLLECTIVES; what++)
        if (step_is(step, "what", names[what]))
            return (enum collective)what;
    test_fail("program", "step %u: unknown collective %s", step->id, step_word(step, "what", ""));
}

static bool is_reduction(enum collective what)
{
    return what == ALLREDUCE || what == REDUCE;
}

static bool has_root(enum collective what)
{
    return what == REDUCE || what == BCAST || what == GATHER || what == SCATTER;
}

/* Returns the root's rank: it is constant, cyclic, or random. */
static int root_rank_of(const struct call *call, int size)
{
    long first = step_number(call->step, "root", 0);
    if (step_is(call->step, "walk", "round"))
        first += call->iteration;
    else if (step_is(call->step, "walk", "jump"))
        first = (long)(call->key >> 33);
    return (int)(first % size);
}

/* ---- roles ---- */

/* Returns whether this process is in the group of an intercommunicator that has the lower first
 * member. */
static bool on_left(const struct place *place)
{
    return place->members[0] < place->remote[0];
}

static void find_root_between(struct call *call)
{
    const struct place *place = &call->place;
    bool mine = on_left(place) == (step_number(call->step, "side", 0) == 0);
    call->root_rank = root_rank_of(call, mine ? place->size : place->remote_size);
    bool is_root = mine && place->rank == call->root_rank;
    call->root = !mine ? call->root_rank : is_root ? MPI_ROOT : MPI_PROC_NULL;
    bool from_root = call->what == BCAST || call->what == SCATTER;
    call->gives = from_root ? is_root : !mine;
    call->takes = from_root ? !mine : is_root;
}

static void find_roles(struct call *call)
{
    if (call->what == BARRIER)
        return;
    call->gives = call->takes = true;
    if (!has_root(call->what))
        return;
    if (call->place.inter) {
        find_root_between(call);
        return;
    }
    call->root = call->root_rank = root_rank_of(call, call->place.size);
    bool is_root = call->place.rank == call->root;
    if (call->what == BCAST || call->what == SCATTER)
        call->gives = is_root;
    else
        call->takes = is_root;
    if (call->what == BCAST)
        call->takes = true;
}

/* ---- data ---- */

/* Returns the values of a group of processes. */
static struct data_values values_of(const struct call *call, const unsigned char *members)
{
    struct data_values values = call->values;
    values.key = data_hash(call->key, (uint64_t)members[0], 21);
    return values;
}

static struct data_values my_values(const struct call *call)
{
    return values_of(call, call->place.members);
}

static struct data_values their_values(const struct call *call)
{
    return values_of(call, call->place.inter ? call->place.remote : call->place.members);
}

static void put(const struct call *call, const struct data_values *values, int rank, size_t first,
                const struct layout *layout, unsigned char *copy, size_t block)
{
    for (size_t i = 0; i < call->n; i++) {
        unsigned char *at = layout_at(layout, block, i);
        data_put(values, rank, first + i, copy ? layout_at_copy(layout, copy, at) : at);
    }
}

/* Returns the first of the root's elements that a rank gets by MPI_Scatter. */
static size_t first_of(const struct call *call, size_t block)
{
    return call->what == SCATTER ? block * call->n : 0;
}

static void fill_send(struct call *call)
{
    struct data_values values = my_values(call);
    layout_clear(&call->send);
    for (size_t block = 0; block < call->send.blocks; block++)
        put(call, &values, call->place.rank, first_of(call, block), &call->send, NULL, block);
}

/* Fill the receive buffer before the call; if the call is in place, with the input. */
static void fill_receive(struct call *call)
{
    layout_clear(&call->receive);
    if (!call->in_place && !(call->what == BCAST && call->gives && !call->place.inter))
        return;
    struct data_values values = my_values(call);
    size_t block = call->receive.blocks > 1 ? (size_t)call->place.rank : 0;
    put(call, &values, call->place.rank, 0, &call->receive, NULL, block);
}

static void expect_reduction(struct call *call, unsigned char *expected)
{
    struct data_values values = their_values(call);
    size_t extent = values.type->extent;
    unsigned char *result = calloc(call->n + 1, extent);
    if (!result)
        test_fail("expected", "no memory");
    int from = call->place.inter ? call->place.remote_size : call->place.size;
    if (from > DATA_RANKS)
        test_fail("program", "step %u: more than %d ranks reduce", call->step->id, DATA_RANKS);
    data_reduce(&values, from, call->n, values.rough, result);
    for (size_t i = 0; i < call->n; i++) {
        unsigned char *to =
            layout_at_copy(&call->receive, expected, layout_at(&call->receive, 0, i));
        for (int f = 0; f < values.type->n_fields; f++) {
            const struct data_field *field = &values.type->fields[f];
            memcpy(to + field->offset, result + i * extent + field->offset,
                   data_field_bytes(field));
        }
    }
    free(result);
}

static void expect(struct call *call)
{
    free(call->expected);
    call->expected = layout_copy(&call->receive);
    struct data_values values = their_values(call);
    switch (call->what) {
    case ALLREDUCE:
    case REDUCE:
        expect_reduction(call, call->expected);
        break;
    case BCAST:
        put(call, &values, call->root_rank, 0, &call->receive, call->expected, 0);
        break;
    case SCATTER:
        if (!call->in_place)
            put(call, &values, call->root_rank, first_of(call, (size_t)call->place.rank),
                &call->receive, call->expected, 0);
        break;
    default:
        for (size_t block = 0; block < call->receive.blocks; block++)
            put(call, &values, (int)block, 0, &call->receive, call->expected, block);
    }
}

/* ---- buffers ---- */

static char letter_of(const struct call *call, const char *key)
{
    return *step_word(call->step, key, "P");
}

static enum layout_kind kind_of(const struct call *call, const char *key)
{
    uint64_t lot = data_hash(call->step->id, (uint64_t)test.rank + 1, (uint64_t)*key);
    return layout_kind(letter_of(call, key), lot, call->n);
}

static size_t blocks_of(const struct call *call, bool receive)
{
    if (receive ? call->what == ALLGATHER || call->what == GATHER : call->what == SCATTER)
        return (size_t)(call->place.inter ? call->place.remote_size : call->place.size);
    return 1;
}

/* Returns whether MPI_IN_PLACE is passed, so that the input is in the receive buffer. A
 * reduction with absolute addresses must be in place, because both buffers have one type. */
static bool is_in_place(const struct call *call)
{
    if (call->place.inter || call->what == BCAST || call->what == BARRIER || !call->takes ||
        !call->gives)
        return false;
    bool absolute = is_reduction(call->what) && letter_of(call, "send") == 'A' && call->n;
    return absolute || step_number(call->step, "inplace", 0);
}

/* Open the buffers. Both buffers of a reduction have the type of `send`. */
static void open_buffers(struct call *call)
{
    const struct data_type *type = call->values.type;
    enum layout_kind send = kind_of(call, "send"),
                     receive = is_reduction(call->what) ? send : kind_of(call, "recv");
    call->in_place = is_in_place(call);
    bool in_bcast = call->what == BCAST && !call->place.inter;
    bool only_send = call->what == SCATTER;
    if (call->gives && !in_bcast && (!call->in_place || only_send))
        layout_open(&call->send, send, type, blocks_of(call, false), call->n);
    if (call->takes && !(call->in_place && only_send))
        layout_open(&call->receive, receive, type, blocks_of(call, true), call->n);
}

static void fill(struct call *call)
{
    free(call->sent);
    call->sent = NULL;
    if (call->send.memory) {
        fill_send(call);
        call->sent = layout_copy(&call->send);
    }
    if (call->receive.memory) {
        fill_receive(call);
        expect(call);
    }
}

void call_open(struct call *call, const struct step *step, int iteration, int thread)
{
    *call = (struct call){.step = step, .iteration = iteration, .thread = thread};
    call->place = *place_of(step, "c");
    call->what = what_of(step);
    call->key = data_hash(step->id, (uint64_t)iteration, test.seed);
    call->n = (size_t)step_number(step, "n", 1);
    find_roles(call);
    if (call->what == BARRIER)
        return;
    call->values.type = type_of_step(step);
    call->values.op = is_reduction(call->what) ? op_of(step) : DATA_COPY;
    call->values.rough =
        step_number(step, "bits", 0) && data_can_be_rough(call->values.type, call->values.op);
    call->op = MPI_OP_NULL;
    if (is_reduction(call->what))
        call->op = layout_op(call->values.op, step_number(step, "users", 0));
    open_buffers(call);
    fill(call);
}

static void free_op(struct call *call)
{
    if (call->values.type && call->op != MPI_OP_NULL && call->op != data_op_mpi(call->values.op))
        MPI_Op_free(&call->op);
    call->op = MPI_OP_NULL;
}

void call_free_types(struct call *call)
{
    free_op(call);
    layout_free_type(&call->send);
    layout_free_type(&call->receive);
}

void call_refill(struct call *call, const struct step *step)
{
    call->key = data_hash(step->id, (uint64_t)call->iteration, test.seed + 1);
    if (call->what != BARRIER)
        fill(call);
}

/* ---- calls ---- */

/* The arguments of the call; those that are not significant in this process are invalid, because
 * MPI must not use them. */
struct arguments {
    const void *send;
    void *receive;
    int send_count, receive_count;
    MPI_Datatype send_type, receive_type;
    MPI_Op op;
};

static struct arguments arguments_of(const struct call *call)
{
    struct arguments a = {NULL, NULL, 0, 0, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_OP_NULL};
    if (call->send.memory) {
        a.send = call->send.buffer;
        a.send_count = call->send.count;
        a.send_type = call->send.type;
    }
    if (call->receive.memory) {
        a.receive = call->receive.buffer;
        a.receive_count = call->receive.count;
        a.receive_type = call->receive.type;
    }
    if (call->in_place && call->what != SCATTER)
        a.send = MPI_IN_PLACE;
    if (call->in_place && call->what == SCATTER)
        a.receive = MPI_IN_PLACE;
    if (is_reduction(call->what))
        a.op = call->op;
    return a;
}

/* Returns arguments with one type and one count for both sides, or for the side that
 * participates. */
static struct arguments joined(const struct call *call)
{
    struct arguments a = arguments_of(call);
    if (!call->send.memory) {
        a.send_count = a.receive_count;
        a.send_type = a.receive_type;
    }
    if (a.send_type == MPI_DATATYPE_NULL) /* in the group of the root of an intercommunicator */
        a.send_type = call->values.type->mpi;
    if (call->what == BCAST && call->send.memory)
        a.receive = call->send.buffer;
    return a;
}

void call_blocking(struct call *call)
{
    const struct arguments a = arguments_of(call);
    const struct arguments j = call->what == BARRIER ? a : joined(call);
    MPI_Comm comm = call->place.comm;
    call->position = board_position(call->step, call->iteration);
    board_enter(call->thread, call->position);
    switch (call->what) {
    case BARRIER:
        if (!getenv("NICBARR_TEST_BREAK")) /* run_broken.sh checks that this is detected */
            MPI_Barrier(comm);
        break;
    case ALLREDUCE:
        MPI_Allreduce(j.send, j.receive, j.send_count, j.send_type, j.op, comm);
        break;
    case REDUCE:
        MPI_Reduce(j.send, j.receive, j.send_count, j.send_type, j.op, call->root, comm);
        break;
    case BCAST:
        MPI_Bcast(j.receive, j.send_count, j.send_type, call->root, comm);
        break;
    case ALLGATHER:
        MPI_Allgather(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type,
                      comm);
        break;
    case GATHER:
        MPI_Gather(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type,
                   call->root, comm);
        break;
    default:
        MPI_Scatter(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type,
                    call->root, comm);
    }
}

void call_nonblocking(struct call *call, MPI_Request *request)
{
    const struct arguments a = arguments_of(call);
    const struct arguments j = call->what == BARRIER ? a : joined(call);
    MPI_Comm comm = call->place.comm;
    call->position = board_position(call->step, call->iteration);
    board_enter(call->thread, call->position);
    switch (call->what) {
    case BARRIER:
        MPI_Ibarrier(comm, request);
        break;
    case ALLREDUCE:
        MPI_Iallreduce(j.send, j.receive, j.send_count, j.send_type, j.op, comm, request);
        break;
    case REDUCE:
        MPI_Ireduce(j.send, j.receive, j.send_count, j.send_type, j.op, call->root, comm, request);
        break;
    case BCAST:
        MPI_Ibcast(j.receive, j.send_count, j.send_type, call->root, comm, request);
        break;
    case ALLGATHER:
        MPI_Iallgather(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                       a.receive_type, comm, request);
        break;
    case GATHER:
        MPI_Igather(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type,
                    call->root, comm, request);
        break;
    default:
        MPI_Iscatter(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type,
                     call->root, comm, request);
    }
}

#ifdef PERSISTENT
void call_persistent(struct call *call, MPI_Request *request)
{
    const struct arguments a = arguments_of(call);
    const struct arguments j = call->what == BARRIER ? a : joined(call);
    MPI_Comm comm = call->place.comm;
    MPI_Info info = MPI_INFO_NULL;
    board_enter(call->thread, board_position(call->step, call->iteration));
    switch (call->what) {
    case BARRIER:
        PERSISTENT(Barrier_init)(comm, info, request);
        break;
    case ALLREDUCE:
        PERSISTENT(Allreduce_init)
        (j.send, j.receive, j.send_count, j.send_type, j.op, comm, info, request);
        break;
    case REDUCE:
        PERSISTENT(Reduce_init)
        (j.send, j.receive, j.send_count, j.send_type, j.op, call->root, comm, info, request);
        break;
    case BCAST:
        PERSISTENT(Bcast_init)
        (j.receive, j.send_count, j.send_type, call->root, comm, info, request);
        break;
    case ALLGATHER:
        PERSISTENT(Allgather_init)
        (a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type, comm, info,
         request);
        break;
    case GATHER:
        PERSISTENT(Gather_init)
        (a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type, call->root,
         comm, info, request);
        break;
    default:
        PERSISTENT(Scatter_init)
        (a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type, call->root,
         comm, info, request);
    }
}
#else
void call_persistent(struct call *call, MPI_Request *request)
{
    (void)call;
    (void)request;
    test_skip("this MPI has no persistent collectives");
}
#endif

/* ---- results ---- */

/* Returns "line 4, step 17, call 3, ...", for a message. */
static const char *describe(const struct call *call, char text[200])
{
    snprintf(text, 200, "line %d, step %u, call %d, %s c=%s", call->step->line, call->step->id,
             call->iteration, names[call->what], step_word(call->step, "c", "0"));
    return text;
}

static void dump(const unsigned char *bytes, char text[64])
{
    for (int i = 0; i < 16; i++)
        snprintf(text + i * 3, 4, "%02x ", bytes[i]);
}

static void compare(const struct call *call, const struct layout *layout,
                    const unsigned char *expected, const char *what)
{
    test_count_check();
    long at = layout_difference(layout, expected);
    if (at < 0)
        return;
    char where[200], got[64], wanted[64];
    long begin = layout->data - layout->memory, last = (long)layout->bytes + 2 * begin - 16;
    long first = begin + at / 8 * 8 < last ? begin + at / 8 * 8 : last;
    dump(expected + first, wanted);
    dump(layout->memory + first, got);
    test_fail(describe(call, where), "%s: byte %ld of %zu, from %ld on got %s, expected %s", what,
              at, layout->bytes, at / 8 * 8, got, wanted);
}

void call_check(struct call *call)
{
    char where[200];
    if (call->what == BARRIER)
        board_check(&call->place, call->thread, call->position, describe(call, where));
    if (call->send.memory)
        compare(call, &call->send, call->sent, "the send buffer");
    if (call->receive.memory)
        compare(call, &call->receive, call->expected, "the result");
}

void call_close(struct call *call)
{
    free_op(call);
    layout_close(&call->send);
    layout_close(&call->receive);
    free(call->sent);
    free(call->expected);
    call->sent = call->expected = NULL;
}
