/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the elements of a message lie in memory, and the MPI datatype that says so.
 *
 * Who calls it: collective.c. A message is some blocks (one for each rank in MPI_Gather) of n
 * elements. Each layout has room around and between elements; what MPI must not touch keeps a
 * pattern.
 *
 * `counted` layouts are passed as n elements of a type, `whole` ones as one element of a type that
 * has them all. Where ranks pass different layouts in one call, their signatures are the same.
 *
 * A program's own operations know by the datatype's handle where the elements are. They take a lock
 * of the program.
 *
 * Threads: a layout belongs to one thread.
 */
#ifndef NICBARR_TESTS_LAYOUT_H
#define NICBARR_TESTS_LAYOUT_H

#include "data_types.h"

enum layout_kind {
    LAYOUT_PLAIN,    /* P: counted, one after the other */
    LAYOUT_GAPS,     /* G: counted, a gap behind each */
    LAYOUT_NEGATIVE, /* N: counted, each lies before the address that is passed */
    LAYOUT_PAIRS,    /* H: counted, two elements of the signature in one of the type */
    LAYOUT_REVERSED, /* R: whole, the last element first */
    LAYOUT_VECTOR,   /* V: whole, with gaps */
    LAYOUT_ABSOLUTE, /* A: whole, at absolute addresses: the buffer is MPI_BOTTOM */
    LAYOUTS
};

struct layout {
    enum layout_kind kind;
    const struct data_type *of;
    size_t blocks, n;
    unsigned char *memory, *data; /* what is allocated, and where the elements begin */
    size_t bytes;                 /* of the elements and the gaps between them */
    /* What is passed to MPI. */
    void *buffer;
    int count;
    MPI_Datatype type;
    bool type_is_ours;
};

/* An operation; what is not MPI's is the caller's, who frees it. users: the sum of MPI_DOUBLE that
 * the program has defined. */
MPI_Op layout_op(enum data_op op, bool users);
/* The lock that the program's operations take. */
void layouts_lock(void);
void layouts_unlock(void);
/* In the end, by one thread. */
void layouts_close(void);

/* The kind that a letter names; `x`, `c` and `w` draw one of all, of the counted and of the whole
 * ones by lot. Without elements, or with an odd number of them, some become LAYOUT_PLAIN. */
enum layout_kind layout_kind(char letter, uint64_t lot, size_t n);

/* Allocates memory that holds the pattern. */
void layout_open(struct layout *layout, enum layout_kind kind, const struct data_type *of,
                 size_t blocks, size_t n);
/* Frees the datatype (MPI allows it while an operation that uses it is outstanding). */
void layout_free_type(struct layout *layout);
void layout_close(struct layout *layout);

unsigned char *layout_at(const struct layout *layout, size_t block, size_t element);
/* Everything is the pattern again. */
void layout_clear(struct layout *layout);
/* A copy of what is there, to be compared with; free() it. */
unsigned char *layout_copy(const struct layout *layout);
/* Where the copy has the address that layout_at gives. */
unsigned char *layout_at_copy(const struct layout *layout, unsigned char *copy,
                              const unsigned char *at);
/* The first byte that differs from what was expected, or -1. Bytes inside elements that say nothing
 * do not count. */
long layout_difference(const struct layout *layout, const unsigned char *expected);

#endif
