/* SPDX-License-Identifier: BSD-3-Clause */
/* A request is an outstanding non-blocking collective, which is driven by Open MPI's progress
 * engine.
 *
 * Each kind of collective is implemented by an operation (struct nicbarr_operation), which begins a
 * request and tests it for completion; all other code is common. If the program uses threads, a
 * single lock protects all requests and their state. The lock is released while a user-defined
 * operation runs, so that a thread that starts a request at the same time does not wait for the
 * program's function. Only one thread at a time processes the requests. */
#ifndef NICBARR_REQUESTS_H
#define NICBARR_REQUESTS_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/carrier.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/stream.h"
#include "coll_nicbarr/data/user_op.h"
#include "coll_nicbarr/overdue.h"

typedef struct nicbarr_request nicbarr_request_t;

/* The implementation of a kind of request. begin() and test() are called under the lock. */
struct nicbarr_operation {
    void (*begin)(nicbarr_request_t *request);
    /* Advance the request. Returns whether it is complete. The oldest request is tested first. */
    bool (*test)(nicbarr_request_t *request);
    /* Called from time to time while the request is incomplete, to send retransmission requests for
     * missing messages. If `check` is set, the function also checks for missing nodes. Returns
     * true, with the error in req_status, if the request will never complete. The pointer is NULL
     * if the kind of request needs no such calls. */
    bool (*remind)(nicbarr_request_t *request, bool check);
    /* Free the resources of the request. NULL if it has none. */
    void (*release)(nicbarr_request_t *request);
};

/* The arguments of an allgather or a gather. */
struct nicbarr_gathering {
    struct nicbarr_side own; /* this process's contribution */
    struct nicbarr_side
        all; /* destination of all blocks; type NULL: only another process receives them */
    size_t block, bytes; /* size of a block, and of all blocks */
    uint8_t *packed; /* if a type has gaps, packed memory: this process's block, then all blocks, if
                        this process receives them; else NULL */
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
    bool reminded;                         /* remind() was called for this wait (across nodes): */
    struct nicbarr_wait wait;
    union {
        struct {
            struct myr_arrival arrival;
            struct myr_group own; /* group of a persistent barrier; otherwise its record is NULL */
            struct myr_nic_group *nic; /* likewise, across nodes; NULL: the module's group */
            uint32_t epoch;            /* the epoch that this group must reach */
        } barrier;
        struct nicbarr_reduction reduction;
        struct {
            struct nicbarr_consumer consumer;
            struct nicbarr_reduction rounds;
            struct nicbarr_gathering what;
        } gathering;
        struct {
            struct nicbarr_carrier *carrier;
            struct nicbarr_carried carried;
            struct nicbarr_returning returning; /* if the carrier is rooted */
        } across;
        struct {
            struct nicbarr_carrier *carrier;
            struct nicbarr_carried_bcast carried;
            void *buffer, *packed; /* for a type with gaps: packed memory; else NULL */
            nicbarr_count_t count;
            int root;
            ompi_datatype_t *type;
        } bcast;
        struct {
            struct nicbarr_streamed what;
            struct nicbarr_rest rest; /* still to be sent or received */
            struct nicbarr_part part;
            uint8_t *packed; /* for a type with gaps: packed memory; else NULL */
            uint32_t ticket; /* its position in the order of its ring's requests */
            int rc;
        } stream;
        struct {
            struct nicbarr_user_op reduction;
            bool started; /* true after the first test, which writes this process's data */
        } user;
    } of;
};

/* Create a request on `comm`. If memory is exhausted, the function waits until another request is
 * freed, as Open MPI's own non-blocking collectives do. The caller fills in `of`. */
nicbarr_request_t *nicbarr_request_new(const struct nicbarr_operation *operation,
                                       mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                       bool persistent);

/* Begin the request. Unless it completes immediately, the progress engine takes over. */
void nicbarr_request_start(nicbarr_request_t *request);

/* Implements remind() for requests across nodes. `group` is the group that the request waits for,
 * and `wait` specifies the epoch or block. The function sends retransmission requests for the
 * missing messages. If `check` is set, it also checks whether these messages can still arrive, and
 * returns true if they cannot. When the request completes, or begins to wait for another group, the
 * caller calls nicbarr_request_wait_ended(). */
bool nicbarr_request_remind(nicbarr_request_t *request, struct myr_nic_group *group,
                            struct nicbarr_wait wait, bool check);
void nicbarr_request_wait_ended(nicbarr_request_t *request, const struct myr_nic_group *group);

opal_mutex_t *nicbarr_requests_lock(void);

int nicbarr_requests_open(void);
void nicbarr_requests_close(void);

#endif
