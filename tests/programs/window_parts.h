/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a window, the operations on them, and their results. window.c creates the window
 * and synchronises its epochs.
 *
 * All of these depend only on the step, the epoch, the target's rank and the part's number, so that
 * every process can compute them.
 */
#ifndef NICBARR_TESTS_WINDOW_PARTS_H
#define NICBARR_TESTS_WINDOW_PARTS_H

#include "layout.h"
#include "places.h"

/* What all processes know of an epoch. */
struct epoch {
    const struct step *step;
    const struct data_type *type;
    int rank, size;
    uint64_t lot;
    bool passive, groups;
    size_t room; /* bytes of a part */
};
void epoch_open(struct epoch *epoch, const struct step *step, const struct place *place, int number,
                char sync);
/* Returns the number of parts of a rank's window; 0 for some ranks. */
int parts_of(const struct epoch *epoch, int target);
/* Returns whether this origin may access the target. If the epoch uses post and start, the target
 * posts its window only for some origins. */
bool may_access(const struct epoch *epoch, int origin, int target);

enum part_kind {
    PUT,
    GET,
    COPIES,
    ACCUMULATE = COPIES,
    GET_ACCUMULATE,
    FETCH_AND_OP,
    SWAP,
    /* A word on which one process executes the operations by which osc/rdma acquires its locks.
     * btl/myr must not mistake it for such a lock (btl_myr/held.c). */
    LOCK,
    PART_KINDS
};

struct part {
    enum part_kind kind;
    int target;
    size_t at; /* displacement, bytes */
    size_t n;
    uint64_t lot;
    enum data_op op; /* of accumulations; DATA_COPY: MPI_REPLACE or MPI_NO_OP */
    bool no_op;
    bool wide; /* words: of 8 bytes and not of 4 */
};
struct part part_of(const struct epoch *epoch, int target, int i);
const char *part_name(const struct part *part);
bool takes_part(const struct epoch *epoch, const struct part *part, int origin);
/* Writes the contents before or after the epoch. */
void part_contents(const struct epoch *epoch, const struct part *part, bool after,
                   unsigned char *to);

/* An operation of this process. */
struct access {
    struct part part;
    struct layout origin; /* of a put or get */
    unsigned char *given, *found;
};
void access_open(struct access *access, const struct epoch *epoch, const struct part *part);
void access_start(struct access *access, const struct epoch *epoch, MPI_Win win, MPI_Aint base,
                  bool passive);
/* Checks what has been fetched. To be called after the epoch. */
void access_close(struct access *access, const struct epoch *epoch);

#endif
