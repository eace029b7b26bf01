/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: outstanding non-blocking collectives, driven by Open MPI's progress engine.
 *
 * ibarrier.c and allreduce.c have an operation each, which begins a request and tests it for
 * completion. Everything else about a request is the same for both. With threads, one lock guards
 * all requests and their state. It is released while a function of the program runs, because
 * another thread that starts a request meanwhile must not wait for that. One thread at a time
 * processes the requests. */
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
    /* Advance the request. Returns true if it is complete. The oldest request is tested first. */
    bool (*test)(nicbarr_request_t *request);
    /* Called from time to time for an incomplete request; with `look` it also checks for missing
     * nodes. Returns true, with the error in req_status, if the request will never complete. NULL:
     * nothing to do. */
    bool (*remind)(nicbarr_request_t *request, bool look);
    void (*drop)(nicbarr_request_t *request); /* frees what it owns; NULL: nothing */
};

struct nicbarr_request {
    union {
        ompi_request_t super;
        /* When the request is started, Open MPI stores here the user-defined type and operation
         * that it retains for it. */
        ompi_coll_base_nbc_request_t kept;
    };
    const struct nicbarr_operation *operation;
    mca_coll_nicbarr_module_t *module;
    struct nicbarr_persistent *persistent; /* NULL: not persistent, or a barrier */
    bool reminded;                         /* across nodes, about what it waits for, which is: */
    struct nicbarr_wait wait;
    union {
        struct {
            struct myr_arrival arrival;
            struct myr_group own;      /* of a persistent barrier; else its record is NULL */
            struct myr_nic_group *nic; /* across nodes, of a persistent one; NULL: the module's */
            uint32_t epoch;            /* ... that this group must reach */
        } barrier;
        struct nicbarr_reduction reduction;
        struct {
            struct nicbarr_taker taker;
            struct nicbarr_reduction rounds;
            struct nicbarr_side own; /* this process's contribution */
            struct nicbarr_side all; /* destination of all blocks; type NULL: another process's */
            size_t block;            /* bytes */
            uint8_t *packed; /* for a type with gaps, packed memory: all blocks, the own one */
        } gathering;
        struct {
            struct nicbarr_carrier *carrier;
            struct nicbarr_carried carried;
            struct nicbarr_returning returning; /* if the carrier is rooted */
        } across;
        struct {
            struct nicbarr_carrier *carrier;
            struct nicbarr_handed handed;
            void *buffer, *packed; /* for a type with gaps: packed memory; else NULL */
            nicbarr_count_t count;
            int root;
            ompi_datatype_t *type;
        } bcast;
        struct {
            struct nicbarr_streamed what;
            struct nicbarr_rest rest; /* still to be sent or received */
            struct nicbarr_part part;
            uint8_t *packed; /* as above */
            uint32_t turn;   /* its number in its ring's order */
            int rc;
        } stream;
        struct {
            struct nicbarr_user_op reduction;
            bool started; /* false: only begun */
        } user;
    } of;
};

/* Create a request on `comm`; NULL if out of memory. The caller fills in `of`. */
nicbarr_request_t *nicbarr_request_new(const struct nicbarr_operation *operation,
                                       mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                       bool persistent);

/* Begin the request. Unless it completes at once, the progress engine takes over. */
void nicbarr_request_start(nicbarr_request_t *request);

/* The common part of remind() across nodes: ask for missing messages of the group that the request
 * waits for, and, with `look`, check whether they will ever arrive. `wait` describes the wait. When
 * the request completes, or begins to wait for another group, call nicbarr_request_came(). */
bool nicbarr_request_remind(nicbarr_request_t *request, struct myr_nic_group *group,
                            struct nicbarr_wait wait, bool look);
void nicbarr_request_came(nicbarr_request_t *request, const struct myr_nic_group *group);

/* Hand the request out to the program: fill in its parameters, and begin it, unless it is
 * persistent. `request` may be NULL, which means out of memory. `fill_in` and this function return
 * Open MPI's error; on error there is no request. */
int nicbarr_request_hand_out(nicbarr_request_t *request,
                             int (*fill_in)(nicbarr_request_t *request, const void *what),
                             const void *what, ompi_request_t **handle);

opal_mutex_t *nicbarr_requests_lock(void);

int nicbarr_requests_open(void);
void nicbarr_requests_close(void);

#endif
