/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts of messages; see layout.h. */
#include "layout.h"
#include "../mpi/common.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, PATTERN = 0xa5 };

/* The properties that an operation needs of a type, unless the type is plain. After MPI_Type_free
 * MPI may keep the type, but not its attributes. Therefore the handle identifies the type, until
 * another type gets this handle. */
static struct hint {
    MPI_Datatype type;
    enum layout_kind kind;
    size_t n, extent;
    MPI_Aint base; /* the address of the first element, for absolute addresses */
    struct hint *next;
} * hints;
static pthread_mutex_t hints_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t spread(enum layout_kind kind)
{
    return kind == LAYOUT_GAPS || kind == LAYOUT_NEGATIVE || kind == LAYOUT_VECTOR ? 2 : 1;
}

static bool is_whole(enum layout_kind kind)
{
    return kind == LAYOUT_REVERSED || kind == LAYOUT_VECTOR || kind == LAYOUT_ABSOLUTE;
}

/* Returns an element's offset from the first one, in bytes. */
static size_t offset(enum layout_kind kind, size_t n, size_t extent, size_t block, size_t element)
{
    size_t place = kind == LAYOUT_REVERSED || kind == LAYOUT_ABSOLUTE ? n - 1 - element : element;
    return (block * n + place) * spread(kind) * extent;
}

/* ---- operations ---- */

/* Returns element i of an operand. */
static uint32_t *operand(void *buffer, const struct hint *hint, size_t i)
{
    unsigned char *data = buffer;
    if (!hint)
        return (uint32_t *)(data + i * 2 * sizeof(uint32_t));
    data += offset(hint->kind, hint->n, hint->extent, i / hint->n, i % hint->n);
    if (hint->kind == LAYOUT_NEGATIVE)
        data -= hint->extent;
    if (hint->kind == LAYOUT_ABSOLUTE)
        data += hint->base;
    return (uint32_t *)data;
}

/* Returns the hint of a type, or NULL if the type is plain. A hint does not change while its
 * type is in use. */
static struct hint *hint_of(MPI_Datatype type)
{
    pthread_mutex_lock(&hints_lock);
    struct hint *hint = hints;
    while (hint && hint->type != type)
        hint = hint->next;
    pthread_mutex_unlock(&hints_lock);
    return hint;
}

static void set_hint(struct layout *layout)
{
    struct hint *hint = hint_of(layout->type);
    if (!hint) {
        hint = calloc(1, sizeof(*hint));
        if (!hint)
            test_fail("layout", "out of memory");
        hint->type = layout->type;
        pthread_mutex_lock(&hints_lock);
        hint->next = hints;
        hints = hint;
        pthread_mutex_unlock(&hints_lock);
    }
    hint->kind = layout->kind;
    hint->n = layout->n;
    hint->extent = layout->of->extent;
    MPI_Get_address(layout->data, &hint->base);
}

static size_t operands(const struct hint *hint, int count)
{
    return (size_t)count * (hint && is_whole(hint->kind) ? hint->n : 1);
}

/* Composes the left map with the right one, as in data_types.c. */
static void compose(void *left, void *right, int *count, MPI_Datatype *type)
{
    const struct hint *hint = hint_of(*type);
    layouts_lock();
    for (size_t i = 0; i < operands(hint, *count); i++) {
        const uint32_t *a = operand(left, hint, i);
        uint32_t *b = operand(right, hint, i);
        b[1] += b[0] * a[1];
        b[0] *= a[0];
    }
    layouts_unlock();
}

static void mix(void *left, void *right, int *count, MPI_Datatype *type)
{
    const struct hint *hint = hint_of(*type);
    for (size_t i = 0; i < operands(hint, *count); i++) {
        const uint32_t *a = operand(left, hint, i);
        uint32_t *b = operand(right, hint, i);
        b[0] ^= a[0];
        b[1] ^= a[1];
    }
}

static void sum(void *left, void *right, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)right)[i] = ((double *)left)[i] + ((double *)right)[i];
}

MPI_Op layout_op(enum data_op op, bool users)
{
    MPI_Op result = data_op_mpi(op);
    if (op == DATA_COMPOSE)
        MPI_Op_create(compose, 0, &result);
    else if (op == DATA_MIX)
        MPI_Op_create(mix, 1, &result);
    else if (users)
        MPI_Op_create(sum, 1, &result);
    return result;
}

void layouts_lock(void)
{
    pthread_mutex_lock(&program_lock);
}

void layouts_unlock(void)
{
    pthread_mutex_unlock(&program_lock);
}

void layouts_close(void)
{
    while (hints) {
        struct hint *next = hints->next;
        free(hints);
        hints = next;
    }
}

/* ---- kinds ---- */

enum layout_kind layout_kind(char letter, uint64_t lot, size_t n)
{
    static const char letters[] = "PGNHRVA";
    const char *among = letter == 'x'   ? letters
                        : letter == 'c' ? "PGN"
                        : letter == 'w' ? "RVA"
                                        : NULL;
    if (among)
        letter = among[lot % strlen(among)];
    const char *at = letter ? strchr(letters, letter) : NULL;
    if (!at || n == 0 || (letter == 'H' && n % 2))
        return LAYOUT_PLAIN;
    return (enum layout_kind)(at - letters);
}

/* ---- datatypes ---- */

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, size_t extent)
{
    MPI_Datatype result;
    MPI_Type_create_resized(type, lower, (MPI_Aint)extent, &result);
    MPI_Type_free(&type);
    return result;
}

static MPI_Datatype reversed_type(const struct layout *layout)
{
    size_t n = layout->n, extent = layout->of->extent;
    MPI_Aint base = 0, *places = malloc(n * sizeof(MPI_Aint));
    if (!places)
        test_fail("layout", "out of memory");
    if (layout->kind == LAYOUT_ABSOLUTE)
        MPI_Get_address(layout->data, &base);
    for (size_t i = 0; i < n; i++)
        places[i] = base + (MPI_Aint)((n - 1 - i) * extent);
    MPI_Datatype type;
    MPI_Type_create_hindexed_block((int)n, 1, places, layout->of->mpi, &type);
    free(places);
    return resized(type, base, n * extent);
}

static MPI_Datatype make_type(const struct layout *layout)
{
    size_t extent = layout->of->extent;
    MPI_Aint before = -(MPI_Aint)extent;
    MPI_Datatype type;
    switch (layout->kind) {
    case LAYOUT_GAPS:
        MPI_Type_create_resized(layout->of->mpi, 0, (MPI_Aint)(2 * extent), &type);
        return type;
    case LAYOUT_NEGATIVE:
        MPI_Type_create_hindexed_block(1, 1, &before, layout->of->mpi, &type);
        return resized(type, before, 2 * extent);
    case LAYOUT_PAIRS:
        MPI_Type_contiguous(2, layout->of->mpi, &type);
        return type;
    case LAYOUT_VECTOR:
        MPI_Type_create_hvector((int)layout->n, 1, (MPI_Aint)(2 * extent), layout->of->mpi, &type);
        return resized(type, 0, 2 * extent * layout->n);
    default:
        return reversed_type(layout);
    }
}

static void set_type(struct layout *layout)
{
    layout->type = layout->of->mpi;
    layout->type_is_ours = layout->kind != LAYOUT_PLAIN;
    layout->count = is_whole(layout->kind)         ? 1
                    : layout->kind == LAYOUT_PAIRS ? (int)layout->n / 2
                                                   : (int)layout->n;
    if (!layout->type_is_ours)
        return;
    layout->type = make_type(layout);
    MPI_Type_commit(&layout->type);
    set_hint(layout);
}

/* ---- memory ---- */

void layout_open(struct layout *layout, enum layout_kind kind, const struct data_type *of,
                 size_t blocks, size_t n)
{
    *layout = (struct layout){.kind = kind, .of = of, .blocks = blocks, .n = n};
    layout->bytes = blocks * n * of->extent * spread(kind);
    layout->memory = malloc(layout->bytes + (size_t)2 * GUARD);
    if (!layout->memory)
        test_fail("layout", "out of memory");
    layout->data = layout->memory + GUARD;
    layout_clear(layout);
    set_type(layout);
    layout->buffer = kind == LAYOUT_ABSOLUTE   ? MPI_BOTTOM
                     : kind == LAYOUT_NEGATIVE ? layout->data + of->extent
                                               : layout->data;
}

void layout_free_type(struct layout *layout)
{
    if (layout->type_is_ours)
        MPI_Type_free(&layout->type);
    layout->type_is_ours = false;
}

void layout_close(struct layout *layout)
{
    if (!layout->memory)
        return;
    layout_free_type(layout);
    free(layout->memory);
    *layout = (struct layout){0};
}

unsigned char *layout_at(const struct layout *layout, size_t block, size_t element)
{
    return layout->data + offset(layout->kind, layout->n, layout->of->extent, block, element);
}

void layout_clear(struct layout *layout)
{
    /* Each process has a different pattern, so that bytes from gaps of other processes are
     * detected. */
    memset(layout->memory, PATTERN + test.rank, layout->bytes + (size_t)2 * GUARD);
}

unsigned char *layout_copy(const struct layout *layout)
{
    unsigned char *copy = malloc(layout->bytes + (size_t)2 * GUARD);
    if (!copy)
        test_fail("layout", "out of memory");
    memcpy(copy, layout->memory, layout->bytes + (size_t)2 * GUARD);
    return copy;
}

unsigned char *layout_at_copy(const struct layout *layout, unsigned char *copy,
                              const unsigned char *at)
{
    return copy + (at - layout->memory);
}

static bool is_insignificant(const struct layout *layout, size_t byte)
{
    if (byte < GUARD || byte >= GUARD + layout->bytes)
        return false;
    size_t extent = layout->of->extent, place = (byte - GUARD) / extent;
    return place % spread(layout->kind) == 0 &&
           data_is_padding(layout->of, (byte - GUARD) % extent);
}

long layout_difference(const struct layout *layout, const unsigned char *expected)
{
    size_t bytes = layout->bytes + (size_t)2 * GUARD;
    if (memcmp(layout->memory, expected, bytes) == 0)
        return -1;
    for (size_t i = 0; i < bytes; i++)
        if (layout->memory[i] != expected[i] && !is_insignificant(layout, i))
            return (long)i - GUARD;
    return -1;
}
