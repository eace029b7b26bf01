/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on the parts of a window and their results; see window_parts.h. */
#include "window_parts.h"
#include "../mpi/common.h"
#include "collective.h"
#include "payload.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 8, SHARED_BITS = 30 };
static const uint64_t LOCKED = UINT64_C(1) << 63;

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes + WORD, 1);
    if (!memory)
        test_fail("window", "out of memory");
    return memory;
}

/* ---- which operations there are ---- */

void epoch_open(struct epoch *epoch, const struct step *step, const struct place *place, int number,
                char sync)
{
    *epoch = (struct epoch){.step = step,
                            .type = type_of_step(step),
                            .rank = place->rank,
                            .size = place->size,
                            .lot = data_hash(step->id, (uint64_t)number, test.seed + 111),
                            .passive = sync != 'F' && sync != 'G',
                            .groups = sync == 'G'};
    /* (Layouts have gaps as large as the elements.) */
    size_t n = (size_t)step_number(step, "n", 1) + 1;
    epoch->room = (2 * n * epoch->type->extent + WORD) & ~(size_t)(WORD - 1);
}

int parts_of(const struct epoch *epoch, int target)
{
    bool none = data_hash(epoch->step->id, (uint64_t)target, 112) % 5 == 0;
    return none ? 0 : (int)step_number(epoch->step, "parts", 1);
}

bool may_access(const struct epoch *epoch, int origin, int target)
{
    return !epoch->groups || data_hash(epoch->lot, (uint64_t)(origin << 8 | target), 113) % 3;
}

/* (Open MPI 4.1 saturates sums of short integers.) */
static enum data_op op_of(const struct data_type *type, uint64_t lot)
{
    enum data_op op = (enum data_op)(lot % DATA_OPS);
    while (!(type->ops >> op & 1) || (type->extent < 4 && (op == DATA_SUM || op == DATA_PROD)))
        op = (enum data_op)((op + 1) % DATA_OPS);
    return op;
}

struct part part_of(const struct epoch *epoch, int target, int i)
{
    uint64_t lot = data_hash(epoch->lot, (uint64_t)(target << 8 | i), 114);
    size_t most = (size_t)step_number(epoch->step, "n", 1), few = most < 4 ? most : 4;
    unsigned kinds = step_number(epoch->step, "copies", 0) ? COPIES : PART_KINDS;
    struct part part = {.kind = (enum part_kind)(lot % kinds),
                        .target = target,
                        .at = (size_t)i * epoch->room,
                        .n = (lot >> 8) % ((lot >> 7 & 1 ? most : few) + 1),
                        .lot = lot >> 24,
                        .op = op_of(epoch->type, lot >> 16),
                        .wide = lot >> 6 & 1};
    if (part.kind == GET_ACCUMULATE && part.lot % 3 == 0)
        part.op = DATA_COPY;
    part.no_op = part.lot % 2;
    part.wide |= part.kind == LOCK;
    /* (Open MPI 4.1 returns wrong bytes for more sums, with any BTL.) */
    if (part.kind == GET_ACCUMULATE && part.n > 512)
        part.n = 512;
    return part;
}

const char *part_name(const struct part *part)
{
    static const char *const names[PART_KINDS] = {
        "put", "get", "accumulate", "get-accumulate", "fetch-and-op", "swap", "lock"};
    return names[part->kind];
}

bool takes_part(const struct epoch *epoch, const struct part *part, int origin)
{
    bool alone = part->kind == PUT || part->kind == GET_ACCUMULATE || part->kind == LOCK ||
                 (part->kind == SWAP && !epoch->passive);
    if (part->kind == LOCK && !epoch->passive)
        return false;
    if (!may_access(epoch, origin, part->target))
        return false;
    return origin == (int)(part->lot % (unsigned)epoch->size) ||
           (!alone && data_hash(part->lot, (uint64_t)origin, 115) % 2);
}

/* ---- values ---- */

static bool is_word(const struct part *part)
{
    return part->kind == FETCH_AND_OP || part->kind == SWAP || part->kind == LOCK;
}

/* Writes the operands of an accumulation: those of a process, or with `rank` 0 the initial values
 * in the window. */
static void put_numbers(const struct epoch *epoch, const struct part *part, int rank,
                        unsigned char *to)
{
    const struct data_values values = {.type = epoch->type, .op = part->op, .key = part->lot};
    for (size_t i = 0; i < part->n; i++)
        data_put(&values, rank, i, to + i * epoch->type->extent);
}

static uint64_t word_before(const struct part *part)
{
    uint64_t word = part->kind == LOCK ? 0 : data_hash(part->lot, 0, 116);
    return part->wide ? word : word & UINT32_MAX;
}

/* Returns what a process adds to a word: a bit of its own, unless there are more than SHARED_BITS
 * processes. */
static uint64_t word_of(int origin)
{
    return UINT64_C(1) << origin % SHARED_BITS;
}

/* Returns whether a swap (which then has only one origin) compares with a wrong value, and must not
 * change the word. */
static bool is_refused(const struct epoch *epoch, const struct part *part)
{
    return !epoch->passive && part->lot >> 10 & 1;
}

static void store(const struct part *part, uint64_t word, unsigned char *to)
{
    uint32_t narrow = (uint32_t)word;
    memcpy(to, part->wide ? (void *)&word : (void *)&narrow, part->wide ? 8 : 4);
}

static uint64_t load(const struct part *part, const unsigned char *from)
{
    uint64_t word = 0;
    uint32_t narrow;
    memcpy(part->wide ? (void *)&word : (void *)&narrow, from, part->wide ? 8 : 4);
    return part->wide ? word : narrow;
}

static void open_target(const struct epoch *epoch, const struct part *part, struct layout *layout)
{
    char kind = *step_word(epoch->step, "recv", "P");
    layout_open(layout, layout_kind(kind, part->lot, part->n), epoch->type, 1, part->n);
}

void part_contents(const struct epoch *epoch, const struct part *part, bool after,
                   unsigned char *to)
{
    uint64_t word = word_before(part);
    unsigned char *given = allocate(epoch->room);
    struct layout shape;
    if (part->kind == PUT || part->kind == GET) {
        bool put = after && part->kind == PUT &&
                   takes_part(epoch, part, (int)(part->lot % (unsigned)epoch->size));
        open_target(epoch, part, &shape);
        payload_put(&shape, part->lot, put || part->kind == GET ? part->n : 0);
        memcpy(to, shape.data, shape.bytes);
        layout_close(&shape);
    } else if (!is_word(part)) {
        put_numbers(epoch, part, 0, to);
    }
    for (int origin = 0; after && origin < epoch->size; origin++) {
        if (!takes_part(epoch, part, origin))
            continue;
        if (is_word(part) && !(part->kind == SWAP && is_refused(epoch, part)))
            word += part->kind == LOCK ? LOCKED : word_of(origin);
        if (part->kind != ACCUMULATE && part->kind != GET_ACCUMULATE)
            continue;
        put_numbers(epoch, part, 1 + origin, given);
        if (part->op != DATA_COPY)
            MPI_Reduce_local(given, to, (int)part->n, epoch->type->mpi, data_op_mpi(part->op));
        else if (!part->no_op)
            memcpy(to, given, part->n * epoch->type->extent);
    }
    if (is_word(part))
        store(part, word, to);
    free(given);
}

/* ---- operations ---- */

void access_open(struct access *access, const struct epoch *epoch, const struct part *part)
{
    char kind = *step_word(epoch->step, "send", "P");
    *access = (struct access){.part = *part};
    access->given = allocate(epoch->room);
    access->found = allocate(epoch->room);
    layout_open(&access->origin, layout_kind(kind, part->lot / 8, part->n), epoch->type, 1,
                part->n);
    if (part->kind == PUT)
        payload_put(&access->origin, part->lot, part->n);
    if (part->kind == ACCUMULATE || part->kind == GET_ACCUMULATE)
        put_numbers(epoch, part, 1 + epoch->rank, access->given);
}

static void copy(struct access *access, const struct epoch *epoch, MPI_Win win, MPI_Aint base,
                 MPI_Request *request)
{
    const struct layout *o = &access->origin;
    struct layout t;
    int to = access->part.target;
    open_target(epoch, &access->part, &t);
    MPI_Aint at = base + ((unsigned char *)t.buffer - t.data);
    if (access->part.kind == PUT && request)
        MPI_Rput(o->buffer, o->count, o->type, to, at, t.count, t.type, win, request);
    else if (access->part.kind == PUT)
        MPI_Put(o->buffer, o->count, o->type, to, at, t.count, t.type, win);
    else if (request)
        MPI_Rget(o->buffer, o->count, o->type, to, at, t.count, t.type, win, request);
    else
        MPI_Get(o->buffer, o->count, o->type, to, at, t.count, t.type, win);
    layout_close(&t);
}

static void accumulate(struct access *access, const struct epoch *epoch, MPI_Win win, MPI_Aint at,
                       MPI_Request *request)
{
    const struct part *part = &access->part;
    MPI_Datatype type = epoch->type->mpi;
    MPI_Op op = part->op != DATA_COPY ? data_op_mpi(part->op)
                : part->no_op         ? MPI_NO_OP
                                      : MPI_REPLACE;
    int n = (int)part->n, to = part->target;
    if (part->kind == ACCUMULATE && request)
        MPI_Raccumulate(access->given, n, type, to, at, n, type, op, win, request);
    else if (part->kind == ACCUMULATE)
        MPI_Accumulate(access->given, n, type, to, at, n, type, op, win);
    else if (request)
        MPI_Rget_accumulate(access->given, n, type, access->found, n, type, to, at, n, type, op,
                            win, request);
    else
        MPI_Get_accumulate(access->given, n, type, access->found, n, type, to, at, n, type, op,
                           win);
}

/* Adds the process's number by MPI_Compare_and_swap: in a passive epoch repeatedly until it
 * succeeds, otherwise in one attempt. */
static void swap(struct access *access, const struct epoch *epoch, MPI_Win win, MPI_Aint at)
{
    const struct part *part = &access->part;
    MPI_Datatype type = part->wide ? MPI_INT64_T : MPI_INT32_T;
    unsigned char *expected = access->given + WORD;
    uint64_t word = word_before(part) ^ is_refused(epoch, part);
    for (bool again = true; again;) {
        store(part, word, expected);
        store(part, word + word_of(epoch->rank), access->given);
        MPI_Compare_and_swap(access->given, expected, access->found, type, part->target, at, win);
        if (!epoch->passive)
            return;
        MPI_Win_flush(part->target, win);
        again = load(part, access->found) != word;
        word = load(part, access->found);
    }
}

static void use_lock(const struct access *access, const struct epoch *epoch, MPI_Win win,
                     MPI_Aint at, bool swaps, uint64_t operand, uint64_t expected)
{
    uint64_t found = ~expected;
    int to = access->part.target;
    if (swaps)
        MPI_Compare_and_swap(&operand, &expected, &found, MPI_UINT64_T, to, at, win);
    else
        MPI_Fetch_and_op(&operand, &found, MPI_UINT64_T, to, at, MPI_SUM, win);
    MPI_Win_flush(to, win);
    TEST_CHECK(found == expected, "window", "line %d: a lock is %#llx, not %#llx",
               epoch->step->line, (unsigned long long)found, (unsigned long long)expected);
}

void access_start(struct access *access, const struct epoch *epoch, MPI_Win win, MPI_Aint base,
                  bool passive)
{
    const struct part *part = &access->part;
    MPI_Aint at = base + (MPI_Aint)part->at;
    MPI_Request request, *wanted = passive && part->lot >> 5 & 1 ? &request : NULL;
    switch (part->kind) {
    case PUT:
    case GET:
        copy(access, epoch, win, at, wanted);
        break;
    case FETCH_AND_OP:
        store(part, word_of(epoch->rank), access->given);
        MPI_Fetch_and_op(access->given, access->found, part->wide ? MPI_INT64_T : MPI_INT32_T,
                         part->target, at, MPI_SUM, win);
        return;
    case SWAP:
        swap(access, epoch, win, at);
        return;
    case LOCK:
        use_lock(access, epoch, win, at, true, LOCKED, 0);
        for (int i = 0; i < 3; i++) {
            use_lock(access, epoch, win, at, false, 1, LOCKED);
            use_lock(access, epoch, win, at, false, UINT64_MAX, LOCKED + 1);
        }
        return;
    default:
        accumulate(access, epoch, win, at, wanted);
    }
    if (wanted)
        MPI_Wait(wanted, MPI_STATUS_IGNORE);
}

/* ---- checks ---- */

/* Checks the word that a process has fetched: it may contain what other processes have added
 * before, but not what this process adds itself. */
static void check_word(const struct access *access, const struct epoch *epoch)
{
    const struct part *part = &access->part;
    uint64_t before = word_before(part), found = load(part, access->found), others = 0;
    if (part->kind == SWAP && !epoch->passive)
        TEST_CHECK(found == before, "window", "line %d: a swap found %#llx, not %#llx",
                   epoch->step->line, (unsigned long long)found, (unsigned long long)before);
    for (int origin = 0; origin < epoch->size; origin++)
        others |= origin != epoch->rank && takes_part(epoch, part, origin) ? word_of(origin) : 0;
    uint64_t added = part->wide ? found - before : (uint32_t)(found - before);
    TEST_CHECK(epoch->size > SHARED_BITS || (added & ~others) == 0, "window",
               "line %d: a %s by %d found %#llx, which is not a sum of %#llx", epoch->step->line,
               part_name(part), epoch->rank, (unsigned long long)added, (unsigned long long)others);
}

void access_close(struct access *access, const struct epoch *epoch)
{
    const struct part *part = &access->part;
    if (part->kind == PUT || part->kind == GET)
        payload_check(&access->origin, part->lot, part->n, part->n, "window", epoch->step->line,
                      part->target);
    if (part->kind == FETCH_AND_OP || part->kind == SWAP)
        check_word(access, epoch);
    if (part->kind == GET_ACCUMULATE) {
        unsigned char *before = allocate(epoch->room);
        put_numbers(epoch, part, 0, before);
        TEST_CHECK(memcmp(before, access->found, part->n * epoch->type->extent) == 0, "window",
                   "line %d: get-accumulate of %zu has fetched wrong numbers", epoch->step->line,
                   part->n);
        free(before);
    }
    layout_close(&access->origin);
    free(access->given);
    free(access->found);
}
