/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements types, operations and values (data_types.h).
 *
 * Invariant: combining exact values causes no rounding, no overflow and no negative zero in any
 * order, on up to DATA_RANKS ranks. Therefore results can be compared bit by bit.
 */
#include "data_types.h"
#include "../mpi/common.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of types ---- */

struct short_int {
    short value;
    int index;
};
struct long_int {
    long value;
    int index;
};
struct float_int {
    float value;
    int index;
};
struct double_int {
    double value;
    int index;
};
struct long_double_int {
    long double value;
    int index;
};
struct record {
    double d;
    int i;
    char c;
};

#define BIT(op) (1u << (op))
#define ARITHMETIC (BIT(DATA_MAX) | BIT(DATA_MIN) | BIT(DATA_SUM) | BIT(DATA_PROD))
#define LOGICALS (BIT(DATA_LAND) | BIT(DATA_LOR) | BIT(DATA_LXOR))
#define BITWISE (BIT(DATA_BAND) | BIT(DATA_BOR) | BIT(DATA_BXOR))
#define LOCATED (BIT(DATA_MAXLOC) | BIT(DATA_MINLOC))
#define SUM_PROD (BIT(DATA_SUM) | BIT(DATA_PROD))

/* Names have no MPI_, because a macro would be replaced before it becomes text. */
#define NAMED(type) .name = "MPI_" #type, .mpi = MPI_##type
#define SHAPE(ctype, fields) .extent = sizeof(ctype), .align = _Alignof(ctype), .n_fields = (fields)
#define SINGLE(type, kind_, ops_, ctype, real)                                                     \
    {                                                                                              \
        NAMED(type), .kind = (kind_), .ops = (ops_), SHAPE(ctype, 1), .fields = {                  \
            {0, sizeof(ctype), real}                                                               \
        }                                                                                          \
    }
#define TWO(type, kind_, ops_, ctype, real)                                                        \
    {                                                                                              \
        NAMED(type), .kind = (kind_), .ops = (ops_), SHAPE(ctype[2], 2), .fields = {               \
            {0, sizeof(ctype), real},                                                              \
            {sizeof(ctype), sizeof(ctype), real}                                                   \
        }                                                                                          \
    }
#define LOCATED_PAIR(type, ctype, real)                                                            \
    {                                                                                              \
        NAMED(type), .kind = DATA_PAIR, .ops = LOCATED, SHAPE(ctype, 2), .fields = {               \
            {offsetof(ctype, value), sizeof(((ctype *)0)->value), real},                           \
            {offsetof(ctype, index), sizeof(int), false}                                           \
        }                                                                                          \
    }
#define STRUCTURE(name_, ctype)                                                                    \
    {                                                                                              \
        .name = (name_), .mpi = MPI_DATATYPE_NULL, .kind = DATA_ANY, SHAPE(ctype, 3),              \
        .structure = true, .fields = {                                                             \
            {offsetof(ctype, d), sizeof(double), true},                                            \
            {offsetof(ctype, i), sizeof(int), false},                                              \
            {offsetof(ctype, c), 1, false}                                                         \
        }                                                                                          \
    }
#define C_SIGNED(type, ctype)                                                                      \
    SINGLE(type, DATA_SIGNED, ARITHMETIC | LOGICALS | BITWISE, ctype, false)
#define C_UNSIGNED(type, ctype)                                                                    \
    SINGLE(type, DATA_UNSIGNED, ARITHMETIC | LOGICALS | BITWISE, ctype, false)
/* Fortran integers and multi-language types have no logical operations. */
#define INTEGER(type, ctype) SINGLE(type, DATA_SIGNED, ARITHMETIC | BITWISE, ctype, false)
#define REAL(type, ctype) SINGLE(type, DATA_REAL, ARITHMETIC, ctype, true)
#define COMPLEX(type, ctype) TWO(type, DATA_COMPLEX, SUM_PROD, ctype, true)
#define ONLY_COPIED(type, ctype) SINGLE(type, DATA_ANY, 0, ctype, false)

static const struct data_type table[] = {
    C_SIGNED(INT8_T, int8_t),
    C_SIGNED(INT16_T, int16_t),
    C_SIGNED(INT32_T, int32_t),
    C_SIGNED(INT64_T, int64_t),
    C_UNSIGNED(UINT8_T, uint8_t),
    C_UNSIGNED(UINT16_T, uint16_t),
    C_UNSIGNED(UINT32_T, uint32_t),
    C_UNSIGNED(UINT64_T, uint64_t),
    C_SIGNED(SIGNED_CHAR, signed char),
    C_SIGNED(SHORT, short),
    C_SIGNED(INT, int),
    C_SIGNED(LONG, long),
    C_SIGNED(LONG_LONG, long long),
    C_UNSIGNED(UNSIGNED_CHAR, unsigned char),
    C_UNSIGNED(UNSIGNED_SHORT, unsigned short),
    C_UNSIGNED(UNSIGNED, unsigned),
    C_UNSIGNED(UNSIGNED_LONG, unsigned long),
    C_UNSIGNED(UNSIGNED_LONG_LONG, unsigned long long),
    INTEGER(AINT, MPI_Aint),
    INTEGER(OFFSET, MPI_Offset),
    INTEGER(COUNT, MPI_Count),
    SINGLE(BYTE, DATA_BYTE, BITWISE, uint8_t, false),
    SINGLE(C_BOOL, DATA_TRUTH, LOGICALS, _Bool, false),
    SINGLE(CXX_BOOL, DATA_TRUTH, LOGICALS, _Bool, false),
    SINGLE(LOGICAL, DATA_TRUTH, LOGICALS, int, false),
    REAL(FLOAT, float),
    REAL(DOUBLE, double),
    REAL(LONG_DOUBLE, long double),
    COMPLEX(C_FLOAT_COMPLEX, float),
    COMPLEX(C_DOUBLE_COMPLEX, double),
    COMPLEX(C_LONG_DOUBLE_COMPLEX, long double),
    INTEGER(INTEGER, int),
    INTEGER(INTEGER1, int8_t),
    INTEGER(INTEGER2, int16_t),
    INTEGER(INTEGER4, int32_t),
    INTEGER(INTEGER8, int64_t),
    REAL(REAL, float),
    REAL(REAL4, float),
    REAL(REAL8, double),
    REAL(DOUBLE_PRECISION, double),
    COMPLEX(COMPLEX, float),
    COMPLEX(DOUBLE_COMPLEX, double),
    LOCATED_PAIR(SHORT_INT, struct short_int, false),
    TWO(2INT, DATA_PAIR, LOCATED, int, false),
    LOCATED_PAIR(LONG_INT, struct long_int, false),
    LOCATED_PAIR(FLOAT_INT, struct float_int, true),
    LOCATED_PAIR(DOUBLE_INT, struct double_int, true),
    LOCATED_PAIR(LONG_DOUBLE_INT, struct long_double_int, true),
    TWO(2INTEGER, DATA_PAIR, LOCATED, int, false),
    TWO(2REAL, DATA_PAIR, LOCATED, float, true),
    TWO(2DOUBLE_PRECISION, DATA_PAIR, LOCATED, double, true),
    {.name = "two numbers of a user",
     .mpi = MPI_DATATYPE_NULL, /* made by data_types_open */
     .kind = DATA_MAP,
     .ops = BIT(DATA_COMPOSE) | BIT(DATA_MIX),
     SHAPE(uint32_t[2], 2),
     .fields = {{0, sizeof(uint32_t), false}, {sizeof(uint32_t), sizeof(uint32_t), false}}},
    ONLY_COPIED(CHAR, char),
    ONLY_COPIED(WCHAR, wchar_t),
    ONLY_COPIED(PACKED, char),
    ONLY_COPIED(CHARACTER, char),
    STRUCTURE("a structure with gaps", struct record),
};

static struct data_type types[TEST_COUNT(table)];
static int n_types;
static struct {
    const char *name;
    MPI_Op mpi;
} ops[DATA_OPS + 1] = {
    [DATA_MAX] = {"MPI_MAX", MPI_MAX},
    [DATA_MIN] = {"MPI_MIN", MPI_MIN},
    [DATA_SUM] = {"MPI_SUM", MPI_SUM},
    [DATA_PROD] = {"MPI_PROD", MPI_PROD},
    [DATA_LAND] = {"MPI_LAND", MPI_LAND},
    [DATA_LOR] = {"MPI_LOR", MPI_LOR},
    [DATA_LXOR] = {"MPI_LXOR", MPI_LXOR},
    [DATA_BAND] = {"MPI_BAND", MPI_BAND},
    [DATA_BOR] = {"MPI_BOR", MPI_BOR},
    [DATA_BXOR] = {"MPI_BXOR", MPI_BXOR},
    [DATA_MAXLOC] = {"MPI_MAXLOC", MPI_MAXLOC},
    [DATA_MINLOC] = {"MPI_MINLOC", MPI_MINLOC},
    [DATA_COMPOSE] = {"composition of maps", MPI_OP_NULL},
    [DATA_MIX] = {"a user's exclusive or", MPI_OP_NULL},
    [DATA_COPY] = {"", MPI_OP_NULL},
};

/* Composes the left map with the right one: right(left(x)). */
static void compose(void *left, void *right, int *count, MPI_Datatype *type)
{
    const uint32_t *a = left;
    uint32_t *b = right;
    (void)type;
    for (int i = 0; i < 2 * *count; i += 2) {
        b[i + 1] += b[i] * a[i + 1];
        b[i] *= a[i];
    }
}

static void exclusive_or(void *left, void *right, int *count, MPI_Datatype *type)
{
    const uint32_t *a = left;
    uint32_t *b = right;
    (void)type;
    for (int i = 0; i < 2 * *count; i++)
        b[i] ^= a[i];
}

/* Create the type of a structure of double, int and char. */
static void make_structure(struct data_type *type)
{
    int lengths[] = {1, 1, 1};
    MPI_Aint places[3];
    MPI_Datatype of[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, tight;
    for (int i = 0; i < 3; i++)
        places[i] = (MPI_Aint)type->fields[i].offset;
    MPI_Type_create_struct(3, lengths, places, of, &tight);
    MPI_Type_create_resized(tight, 0, (MPI_Aint)type->extent, &type->mpi);
    MPI_Type_free(&tight);
    MPI_Type_commit(&type->mpi);
}

/* Returns whether the type exists. Open MPI without Fortran has names for Fortran's types, but
 * no types behind them. */
static bool exists(const struct data_type *type)
{
    int size;
    size_t expected = 0;
    MPI_Aint lower, extent;
    if (type->mpi == MPI_DATATYPE_NULL)
        return false;
    for (int i = 0; i < type->n_fields; i++)
        expected += type->fields[i].size;
    MPI_Type_size(type->mpi, &size);
    MPI_Type_get_extent(type->mpi, &lower, &extent);
    return (size_t)size == expected && (size_t)extent == type->extent;
}

int data_types_open(void)
{
    for (size_t i = 0; i < TEST_COUNT(table); i++) {
        struct data_type *type = &types[n_types];
        *type = table[i];
        if (type->kind == DATA_MAP) {
            MPI_Type_contiguous(2, MPI_UINT32_T, &type->mpi);
            MPI_Type_commit(&type->mpi);
        } else if (type->structure) {
            make_structure(type);
        }
        n_types += exists(type);
    }
    MPI_Op_create(compose, 0, &ops[DATA_COMPOSE].mpi);
    MPI_Op_create(exclusive_or, 1, &ops[DATA_MIX].mpi);
    return n_types;
}

void data_types_close(void)
{
    for (int i = 0; i < n_types; i++)
        if (types[i].kind == DATA_MAP || types[i].structure)
            MPI_Type_free(&types[i].mpi);
    MPI_Op_free(&ops[DATA_COMPOSE].mpi);
    MPI_Op_free(&ops[DATA_MIX].mpi);
}

const struct data_type *data_type(int i)
{
    return &types[i];
}

MPI_Op data_op_mpi(enum data_op op)
{
    return ops[op].mpi;
}

const char *data_op_name(enum data_op op)
{
    return ops[op].name;
}

/* Products of complex numbers are not rough, because they may be computed in several ways. */
bool data_can_be_rough(const struct data_type *type, enum data_op op)
{
    return (type->kind == DATA_REAL && (op == DATA_SUM || op == DATA_PROD)) ||
           (op == DATA_SUM && (type->kind == DATA_COMPLEX || type->kind == DATA_UNSIGNED));
}

/* ---- values ---- */

uint64_t data_hash(uint64_t a, uint64_t b, uint64_t c)
{
    struct rng rng = {a ^ b * UINT64_C(0xd6e8feb86659fd93) ^ c * UINT64_C(0xa0761d6478bd642f)};
    return rng_next(&rng);
}

size_t data_field_bytes(const struct data_field *field)
{
    return field->real && field->size == sizeof(long double) && LDBL_MANT_DIG == 64 ? 10
                                                                                    : field->size;
}

bool data_is_padding(const struct data_type *type, size_t byte)
{
    for (int i = 0; i < type->n_fields; i++) {
        const struct data_field *field = &type->fields[i];
        if (byte >= field->offset + data_field_bytes(field) && byte < field->offset + field->size)
            return true;
    }
    return false;
}

static void put_integer(const struct data_field *field, uint64_t value, unsigned char *element)
{
    unsigned char *to = element + field->offset;
    switch (field->size) {
    case 1:
        *to = (uint8_t)value;
        break;
    case 2:
        memcpy(to, &(uint16_t){(uint16_t)value}, 2);
        break;
    case 4:
        memcpy(to, &(uint32_t){(uint32_t)value}, 4);
        break;
    default:
        memcpy(to, &value, 8);
    }
}

static void put_real(const struct data_field *field, long double value, unsigned char *element)
{
    unsigned char *to = element + field->offset;
    if (field->size == sizeof(float))
        memcpy(to, &(float){(float)value}, sizeof(float));
    else if (field->size == sizeof(double))
        memcpy(to, &(double){(double)value}, sizeof(double));
    else
        memcpy(to, &value, data_field_bytes(field));
}

static void put_bytes(const struct data_field *field, uint64_t lot, unsigned char *element)
{
    unsigned char *to = element + field->offset;
    for (size_t i = 0; i < data_field_bytes(field); i++)
        to[i] = (unsigned char)(lot >> 8 * (i % 8));
}

/* Returns a logical value. Half of the elements are true on all ranks for AND (false for OR),
 * and few ranks differ in the others. If all values were drawn evenly, all results would be the
 * same. */
static bool truth(enum data_op op, uint64_t lot, uint64_t of_element)
{
    bool differs = of_element % 2 && lot % 8 == 0;
    return op == DATA_LAND ? !differs : op == DATA_LOR ? differs : lot % 2;
}

static uint64_t bits(enum data_op op, uint64_t lot)
{
    uint64_t more = data_hash(lot, 1, 2), most = data_hash(lot, 3, 4);
    return op == DATA_BAND ? lot | more | most : op == DATA_BOR ? lot & more & most : lot;
}

/* Returns a signed value. Sums and products stay in range, because overflow of signed numbers is
 * undefined. */
static uint64_t signed_value(enum data_op op, size_t size, uint64_t lot, int rank)
{
    if (op == DATA_SUM) /* the sum of DATA_RANKS values fits */
        return (uint64_t)((int64_t)lot >> (64 - (8 * (int)size - 6)));
    if (op == DATA_PROD) { /* limit^6 fits */
        unsigned limit = size == 1 ? 2 : size == 2 ? 5 : size == 4 ? 35 : 1000;
        int64_t value = rank < 6 ? 1 + (int64_t)((lot >> 8) % limit) : 1;
        return (uint64_t)(lot % 2 ? value : -value);
    }
    return bits(op, lot);
}

static uint64_t integer_value(const struct data_values *values, size_t size, uint64_t lot,
                              uint64_t of_element, int rank)
{
    enum data_op op = values->op;
    if (op == DATA_LAND || op == DATA_LOR || op == DATA_LXOR)
        return truth(op, lot, of_element) ? lot | 1 : 0;
    if (values->type->kind == DATA_SIGNED)
        return signed_value(op, size, lot, rank);
    if (op == DATA_SUM && !values->rough) /* no overflow: Open MPI's vector code saturates */
        return lot >> (64 - (8 * (int)size - 6));
    if (op == DATA_SUM)
        return lot;
    return op == DATA_PROD ? lot | 1 : bits(op, lot);
}

/* Returns a number in +-[1, 2). */
static long double mantissa(uint64_t lot)
{
    long double size = ldexpl((long double)(lot >> 1 | UINT64_C(1) << 63), -63);
    return lot % 2 ? -size : size;
}

static int smallest_exponent(size_t size)
{
    return size == sizeof(float)    ? FLT_MIN_EXP
           : size == sizeof(double) ? DBL_MIN_EXP
                                    : LDBL_MIN_EXP;
}

static int largest_exponent(size_t size)
{
    return size == sizeof(float)    ? FLT_MAX_EXP
           : size == sizeof(double) ? DBL_MAX_EXP
                                    : LDBL_MAX_EXP;
}

/* Returns a rough value. The values of an element on all ranks are of the same sort: usually of
 * very different magnitudes, but sometimes subnormal, so large that sums overflow, or mostly zeros
 * of both signs. */
static long double rough_value(enum data_op op, size_t size, uint64_t lot, uint64_t of_element)
{
    uint64_t other = data_hash(lot, 5, 6);
    if (op == DATA_PROD)
        return ldexpl(mantissa(lot), (int)(other % 3) - 1);
    switch (of_element % 16) {
    case 0:
        return ldexpl(mantissa(lot), smallest_exponent(size) - 2 - (int)(other % 8));
    case 1: /* the largest magnitude or half of it, and not rounded up to infinity */
        return ldexpl(lot % 2 ? -1.5L : 1.5L, largest_exponent(size) - 1 - (int)(other % 2));
    case 2:
        return other % 4 ? (lot % 2 ? -0.0L : 0.0L) : mantissa(lot);
    default:
        return ldexpl(mantissa(lot), (int)(other % 40) - 20);
    }
}

static long double exact_value(enum data_op op, uint64_t lot)
{
    if (op == DATA_PROD) {
        long double size = ldexpl(1, (int)((lot >> 8) % 3) - 1);
        return lot % 2 ? -size : size;
    }
    return (long double)((lot >> 8) % 1024) - 511.5L; /* never 0 */
}

/* Write a factor of a complex product. No power of 1 + 2i has a part that is 0, whose sign could
 * depend on the order. The first 16 powers are exact as float. */
static void put_complex_factor(const struct data_type *type, uint64_t lot, int rank,
                               unsigned char *to)
{
    long double sign = lot % 2 ? -1 : 1;
    put_real(&type->fields[0], rank < 16 ? sign : 1, to);
    put_real(&type->fields[1], rank < 16 ? sign * 2 : 0, to);
}

static void put_number(const struct data_values *values, const struct data_field *field,
                       uint64_t lot, uint64_t of_element, int rank, unsigned char *to)
{
    if (field->real)
        put_real(field,
                 values->rough ? rough_value(values->op, field->size, lot, of_element)
                               : exact_value(values->op, lot),
                 to);
    else
        put_integer(field, integer_value(values, field->size, lot, of_element, rank), to);
}

/* Write a value with an index. There are few different values, so that the index often decides. */
static void put_located(const struct data_field *field, int64_t number, unsigned char *to)
{
    if (field->real)
        put_real(field, (long double)number, to);
    else
        put_integer(field, (uint64_t)number, to);
}

void data_put(const struct data_values *values, int rank, size_t element, unsigned char *to)
{
    const struct data_type *type = values->type;
    uint64_t of_element = data_hash(values->key, element, 1);
    uint64_t lot = data_hash(of_element, (uint64_t)rank, 2);
    if (values->op == DATA_COPY) {
        for (int i = 0; i < type->n_fields; i++)
            put_bytes(&type->fields[i], data_hash(lot, (uint64_t)i, 3), to);
        return;
    }
    switch (type->kind) {
    case DATA_TRUTH:
        put_integer(&type->fields[0], truth(values->op, lot, of_element), to);
        break;
    case DATA_COMPLEX:
        if (values->op == DATA_PROD) {
            put_complex_factor(type, lot, rank, to);
            break;
        }
        put_number(values, &type->fields[0], lot, of_element, rank, to);
        put_number(values, &type->fields[1], data_hash(lot, 7, 8), of_element, rank, to);
        break;
    case DATA_PAIR:
        put_located(&type->fields[0], (int64_t)(lot % 5) - 2, to);
        put_located(&type->fields[1], (int64_t)(lot >> 8 & 127), to);
        break;
    case DATA_MAP:
        put_integer(&type->fields[0], lot | 1, to);
        put_integer(&type->fields[1], lot >> 32, to);
        break;
    default:
        put_number(values, &type->fields[0], lot, of_element, rank, to);
    }
}

/* ---- the reference ---- */

static uint64_t get_integer(const struct data_field *field, const unsigned char *element)
{
    const unsigned char *from = element + field->offset;
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } value;
    memcpy(&value, from, field->size);
    return field->size == 1   ? value.u8
           : field->size == 2 ? value.u16
           : field->size == 4 ? value.u32
                              : value.u64;
}

/* Adds unsigned integers modulo 2^n, which MPI_Reduce_local does not: where Open MPI uses vector
 * instructions, it saturates sums of 8 and 16 bits. */
static void add_unsigned(const struct data_type *type, size_t elements, const unsigned char *left,
                         unsigned char *right)
{
    const struct data_field *field = &type->fields[0];
    for (size_t i = 0; i < elements * type->extent; i += type->extent)
        put_integer(field, get_integer(field, left + i) + get_integer(field, right + i), right + i);
}

/* Replaces the right block by left op right. */
static void combine(const struct data_values *values, size_t elements, unsigned char **left,
                    unsigned char *right)
{
    if (values->type->kind == DATA_UNSIGNED && values->op == DATA_SUM)
        add_unsigned(values->type, elements, *left, right);
    else
        MPI_Reduce_local(*left, right, (int)elements, values->type->mpi, data_op_mpi(values->op));
    *left = right;
}

void data_reduce(const struct data_values *values, int n_ranks, size_t elements, bool tree,
                 unsigned char *result)
{
    const struct data_type *type = values->type;
    size_t bytes = elements * type->extent;
    if (bytes == 0)
        return;
    unsigned char *all = calloc((size_t)n_ranks, bytes);
    if (!all)
        test_fail("reference", "out of memory");
    /* The address of the result of the block that begins with this rank. */
    unsigned char *of[DATA_RANKS] = {all};
    for (int rank = 0; rank < n_ranks; rank++) {
        of[rank] = all + (size_t)rank * bytes;
        for (size_t i = 0; i < elements; i++)
            data_put(values, rank, i, of[rank] + i * type->extent);
    }
    for (int stride = 1; tree && stride < n_ranks; stride *= 2)
        for (int left = 0; left + stride < n_ranks; left += 2 * stride)
            combine(values, elements, &of[left], of[left + stride]);
    for (int right = 1; !tree && right < n_ranks; right++)
        combine(values, elements, &of[0], of[right]);
    memcpy(result, of[0], bytes);
    free(all);
}
