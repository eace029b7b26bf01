/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data for the tests of collectives: types, operations, values that every process can compute, and
 * the expected results of reductions.
 *
 * collective.c, messages.c and layout.c use it. Nothing here communicates.
 *
 * A value is a function of a key (for the operation of a test), a rank and the index of the
 * element. Therefore every process knows the data of all others.
 *
 * The reference of a reduction combines values by MPI_Reduce_local in one order: neighbouring
 * complete subtrees of ranks, lower ranks on the left ((0 1)(2 3))(4 5) ... There are two sorts of
 * values:
 *
 * - exact: the result is the same to the bit in any order (floating-point values are small integers
 *   and powers of two);
 * - rough: sums and products of floating-point values are rounded, overflow and underflow, so that
 *   another order gives other bits; sums of unsigned integers exceed the range of their type.
 *
 * Threads: everything is constant after data_types_open, which one thread calls.
 */
#ifndef NICBARR_TESTS_DATA_TYPES_H
#define NICBARR_TESTS_DATA_TYPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of ranks for which exact values are exact. */
enum { DATA_RANKS = 64 };

enum data_op {
    DATA_MAX,
    DATA_MIN,
    DATA_SUM,
    DATA_PROD,
    DATA_LAND,
    DATA_LOR,
    DATA_LXOR,
    DATA_BAND,
    DATA_BOR,
    DATA_BXOR,
    DATA_MAXLOC,
    DATA_MINLOC,
    DATA_COMPOSE, /* user-defined, not commutative: x -> a x + b, composed */
    DATA_MIX,     /* user-defined, commutative: exclusive or */
    DATA_OPS,
    DATA_COPY = DATA_OPS /* no reduction: all bytes are valid values */
};

enum data_kind {
    DATA_SIGNED,
    DATA_UNSIGNED,
    DATA_BYTE,
    DATA_TRUTH,
    DATA_REAL,
    DATA_COMPLEX,
    DATA_PAIR, /* of a value and an index */
    DATA_MAP,  /* of DATA_COMPOSE: a and b */
    DATA_ANY,  /* only copied */
};

/* A number within an element. */
struct data_field {
    size_t offset, size;
    bool real;
};

struct data_type {
    const char *name;
    MPI_Datatype mpi;
    enum data_kind kind;
    unsigned ops; /* a bit for each legal enum data_op */
    size_t extent, align;
    int n_fields;
    struct data_field fields[3];
    bool structure; /* made of the fields by data_types_open */
};

/* Creates the derived types and the operations; returns the number of types. Types that this MPI
 * lacks are omitted. */
int data_types_open(void);
void data_types_close(void);
const struct data_type *data_type(int i);
MPI_Op data_op_mpi(enum data_op op);
const char *data_op_name(enum data_op op);
/* Returns whether this type and operation have rough values. */
bool data_can_be_rough(const struct data_type *type, enum data_op op);

uint64_t data_hash(uint64_t a, uint64_t b, uint64_t c);

/* The parameters that determine an operation's values. */
struct data_values {
    const struct data_type *type;
    enum data_op op;
    bool rough;
    uint64_t key;
};

/* Writes the fields of one element of a rank, and leaves its gaps unchanged. */
void data_put(const struct data_values *values, int rank, size_t element, unsigned char *to);

/* Computes the reduction of `elements` elements over the ranks 0..n_ranks-1: in the order described
 * above if `tree` is set, otherwise one rank after the other. Only the fields of the result are
 * significant. */
void data_reduce(const struct data_values *values, int n_ranks, size_t elements, bool tree,
                 unsigned char *result);

/* Returns the number of significant bytes of a field: x86's long double is padded. */
size_t data_field_bytes(const struct data_field *field);
/* Returns whether a byte of an element is such padding. Gaps between the fields belong to the
 * program, and MPI does not change them. */
bool data_is_padding(const struct data_type *type, size_t byte);

#endif
