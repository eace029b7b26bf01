/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of a message's elements in memory, and the MPI datatype for it. collective.c and
 * messages.c use it.
 *
 * A message consists of blocks (one for each rank in MPI_Gather) of n elements. Each layout has
 * gaps around and between elements, filled with a pattern that MPI must not change.
 *
 * `counted` layouts are passed as n elements of a type, `whole` ones as one element of a type that
 * contains them all. If ranks pass different layouts in one call, their signatures are the same.
 *
 * The program's own operations find the elements through the datatype's handle. They take a lock of
 * the program.
 *
 * Threads: a layout belongs to one thread.
 */
#ifndef NICBARR_TESTS_LAYOUT_H
#define NICBARR_TESTS_LAYOUT_H

#include "data_types.h"

enum layout_kind {
    LAYOUT_PLAIN,    /* P: counted, contiguous */
    LAYOUT_GAPS,     /* G: counted, a gap after each */
    LAYOUT_NEGATIVE, /* N: counted, each before the address that is passed */
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
    unsigned char *memory, *data; /* the allocated memory, and the address of the first element */
    size_t bytes;                 /* of the elements and the gaps between them */
    /* The arguments for MPI. */
    void *buffer;
    int count;
    MPI_Datatype type;
    bool type_is_ours;
};

/* Returns an operation. If it is not a predefined one, the caller must free it. users: the
 * program's own sum of MPI_DOUBLE. */
MPI_Op layout_op(enum data_op op, bool users);
/* Acquire and release the lock that the program's operations acquire. */
void layouts_lock(void);
void layouts_unlock(void);
/* Frees the memory of all layouts. To be called at the end, by one thread. */
void layouts_close(void);

/* Returns the kind of layout that a letter denotes. The letters `x`, `c` and `w` denote a kind that
 * `lot` selects from all layouts, from the counted ones, and from the whole ones. Returns
 * LAYOUT_PLAIN if there are no elements, and in place of LAYOUT_PAIRS if their number is odd. */
enum layout_kind layout_kind(char letter, uint64_t lot, size_t n);

/* Allocates memory that contains the pattern. */
void layout_open(struct layout *layout, enum layout_kind kind, const struct data_type *of,
                 size_t blocks, size_t n);
/* Frees the datatype. (MPI permits that while an operation that uses it is outstanding.) */
void layout_free_type(struct layout *layout);
void layout_close(struct layout *layout);

unsigned char *layout_at(const struct layout *layout, size_t block, size_t element);
/* Fills the memory with the pattern. */
void layout_clear(struct layout *layout);
/* Returns a copy of the memory for comparison, to be freed with free(). */
unsigned char *layout_copy(const struct layout *layout);
/* Returns the address in the copy that corresponds to `at`. */
unsigned char *layout_at_copy(const struct layout *layout, unsigned char *copy,
                              const unsigned char *at);
/* Returns the first byte that differs from the expected memory, or -1. Padding inside elements
 * is not compared. */
long layout_difference(const struct layout *layout, const unsigned char *expected);

#endif
