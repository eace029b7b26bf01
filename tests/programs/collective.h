/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes one call of a collective with generated data, and checks its result. player.c uses it.
 *
 * Data and expected results depend only on the step, the iteration and the communicator, so that
 * each process can compute what the others send. The processes communicate only by the call itself.
 *
 * A call exists until call_close; between the call and call_check its buffers belong to MPI.
 *
 * Threads: a call belongs to one thread.
 */
#ifndef NICBARR_TESTS_COLLECTIVE_H
#define NICBARR_TESTS_COLLECTIVE_H

#include "layout.h"
#include "places.h"

enum collective { BARRIER, ALLREDUCE, REDUCE, BCAST, ALLGATHER, GATHER, SCATTER, COLLECTIVES };

struct call {
    const struct step *step;
    struct place place; /* a copy, because the program may free the communicator meanwhile */
    enum collective what;
    int iteration, thread;
    int64_t position;
    /* whether this process has input and output */
    bool gives, takes, in_place;
    int root;      /* passed to MPI */
    int root_rank; /* the root's rank in its group */
    struct data_values values;
    MPI_Op op;
    uint64_t key; /* of the step and the iteration */
    size_t n;
    struct layout send, receive;
    unsigned char *sent, *expected;
};

/* Creates types and operations. Local. */
void collectives_open(void);
void collectives_close(void);
/* Returns the type that a step names. Skips the test if this MPI does not have it. */
const struct data_type *type_of_step(const struct step *step);

/* Creates and fills buffers. */
void call_open(struct call *call, const struct step *step, int iteration, int thread);
void call_blocking(struct call *call);
void call_nonblocking(struct call *call, MPI_Request *request);
/* Skips the test if this MPI has no persistent collectives. */
void call_persistent(struct call *call, MPI_Request *request);
/* Frees the datatypes and the program's operation while the call is outstanding. */
void call_free_types(struct call *call);
/* Fills the buffers with new data for the next start of a persistent call. */
void call_refill(struct call *call, const struct step *step);
void call_check(struct call *call);
void call_close(struct call *call);

#endif
