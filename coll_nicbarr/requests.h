/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: non-blocking collectives under way, which Open MPI's progress engine looks at.
 *
 * ibarrier.c and allreduce.c have an operation each: what it is to begin one, and to see whether it
 * is complete. Everything else about a request is the same for both. Where there are threads, one
 * lock guards all requests, and what they are made of. It is let go while a function of the program
 * runs: another thread that starts a request meanwhile must not wait for that. One thread at a time
 * goes through the requests.
 */
#ifndef NICBARR_REQUESTS_H
#define NICBARR_REQUESTS_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/carrier.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/stream.h"
#include "coll_nicbarr/data/user_op.h"
#include "coll_nicbarr/overdue.h"

typedef struct nicbarr_request nicbarr_request_t;

/* The first two are called under the lock. */
struct nicbarr_operation {
    void (*begin)(nicbarr_request_t *request);
    /* Go on with it; true: it is complete. The oldest request is asked first. */
    bool (*test)(nicbarr_request_t *request);
    /* Now and then, of one that is not: true if it never will be, with the error it ends with in
     * req_status. `look`: see whether everybody is still there. NULL: nothing to do. */
    bool (*remind)(nicbarr_request_t *request, bool look);
    void (*drop)(nicbarr_request_t *request); /* what it has of its own; NULL: nothing */
};

struct nicbarr_request {
    union {
        ompi_request_t super;
        /* Once it is started, Open MPI notes here which type and operation of the program it has to
         * keep for it. */
        ompi_coll_base_nbc_request_t kept;
    };
    const struct nicbarr_operation *operation;
    mca_coll_nicbarr_module_t *module;
    struct nicbarr_persistent *persistent; /* NULL: it is none, or a barrier */
    bool reminded;                         /* across nodes, of what it waits for; valid: */
    struct nicbarr_wait wait;
    union {
        struct {
            struct myr_arrival arrival;
            struct myr_group own;      /* a persistent barrier's; else its record is NULL */
            struct myr_nic_group *nic; /* across nodes, a persistent one's; NULL: the module's */
            uint32_t epoch;            /* ... which that group must reach */
        } barrier;
        struct nicbarr_reduction reduction;
        struct {
            struct nicbarr_taker taker;
            struct nicbarr_reduction rounds;
            struct nicbarr_side own; /* what this process gives */
            struct nicbarr_side all; /* where all blocks go; type NULL: they are for another one */
            size_t block;            /* bytes */
            uint8_t *packed; /* where a type has gaps, memory without: all blocks, the own one */
        } gathering;
        struct {
            struct nicbarr_carrier *carrier;
            struct nicbarr_carried carried;
            struct nicbarr_returning returning; /* if the carrier is rooted */
        } across;
        struct {
            struct nicbarr_carrier *carrier;
            struct nicbarr_handed handed;
            void *buffer, *packed; /* of a type with gaps: memory without; else NULL */
            nicbarr_count_t count;
            int root;
            ompi_datatype_t *type;
        } bcast;
        struct {
            struct nicbarr_streamed what;
            struct nicbarr_rest rest; /* what is yet to be sent or received */
            struct nicbarr_part part;
            uint8_t *packed; /* as above */
            uint32_t turn;   /* its number on its ring */
            int rc;
        } stream;
        struct {
            struct nicbarr_user_op reduction;
            bool started; /* not so, it has only been begun */
        } user;
    } of;
};

/* A request on `comm`; NULL when out of memory. `of` is the caller's to fill in. */
nicbarr_request_t *nicbarr_request_new(const struct nicbarr_operation *operation,
                                       mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                       bool persistent);

/* Begin it. It is handed to the progress engine unless that was all. */
void nicbarr_request_start(nicbarr_request_t *request);

/*
 * What `remind` is across nodes: ask for what is missing in the group that it waits for, and once
 * in a second see whether it will ever come. `wait` says what that is. Where a request was reminded
 * that has come, or waits for another group from now on: nicbarr_request_came().
 */
bool nicbarr_request_remind(nicbarr_request_t *request, struct myr_nic_group *group,
                            struct nicbarr_wait wait, bool look);
void nicbarr_request_came(nicbarr_request_t *request, const struct myr_nic_group *group);

/* Give it to the program: fill in what it is to do, and begin it, unless it is persistent.
 * `fill_in` returns Open MPI's error, as this does; then there is no request. NULL: it was out of
 * memory. */
int nicbarr_request_hand_out(nicbarr_request_t *request,
                             int (*fill_in)(nicbarr_request_t *request, const void *what),
                             const void *what, ompi_request_t **handle);

opal_mutex_t *nicbarr_requests_lock(void);

int nicbarr_requests_open(void);
void nicbarr_requests_close(void);

#endif
