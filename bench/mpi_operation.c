/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's collective operations; see mpi_operation.h.
 */
#include "mpi_operation.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* Persistent collectives were added in MPI 4. Open MPI reports MPI 3.1, but provides them under the
 * standard names since release 5.0, and as an extension in earlier releases. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define PERSISTENT(name) MPI_##name
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(name) MPIX_##name
#endif
#endif

static const char preference_key[] = "ompi_comm_coll_preference";

/* ---- operations ---- */

static void start_barrier(struct mpi_operation *operation)
{
    MPI_Barrier(operation->comm);
}

static void start_ibarrier(struct mpi_operation *operation)
{
    MPI_Ibarrier(operation->comm, &operation->request);
}

static void start_persistent(struct mpi_operation *operation)
{
    MPI_Start(&operation->request);
}

static void start_allreduce(struct mpi_operation *operation)
{
    MPI_Allreduce(operation->send, operation->receive, operation->count, MPI_FLOAT, MPI_SUM,
                  operation->comm);
}

static void start_iallreduce(struct mpi_operation *operation)
{
    MPI_Iallreduce(operation->send, operation->receive, operation->count, MPI_FLOAT, MPI_SUM,
                   operation->comm, &operation->request);
}

static void next_root(struct mpi_operation *operation)
{
    if (!operation->root_stays && ++operation->root == operation->size)
        operation->root = 0;
}

static void start_reduce(struct mpi_operation *operation)
{
    MPI_Reduce(operation->send, operation->receive, operation->count, MPI_FLOAT, MPI_SUM,
               operation->root, operation->comm);
    next_root(operation);
}

static void start_bcast(struct mpi_operation *operation)
{
    MPI_Bcast(operation->send, operation->count, MPI_BYTE, operation->root, operation->comm);
    next_root(operation);
}

static void start_allgather(struct mpi_operation *operation)
{
    MPI_Allgather(operation->send, operation->count, MPI_BYTE, operation->receive, operation->count,
                  MPI_BYTE, operation->comm);
}

static void start_gather(struct mpi_operation *operation)
{
    MPI_Gather(operation->send, operation->count, MPI_BYTE, operation->receive, operation->count,
               MPI_BYTE, operation->root, operation->comm);
    next_root(operation);
}

static void start_scatter(struct mpi_operation *operation)
{
    MPI_Scatter(operation->send, operation->count, MPI_BYTE, operation->receive, operation->count,
                MPI_BYTE, operation->root, operation->comm);
    next_root(operation);
}

static void start_ibcast(struct mpi_operation *operation)
{
    MPI_Ibcast(operation->send, operation->count, MPI_BYTE, operation->root, operation->comm,
               &operation->request);
    next_root(operation);
}

static void start_iallgather(struct mpi_operation *operation)
{
    MPI_Iallgather(operation->send, operation->count, MPI_BYTE, operation->receive,
                   operation->count, MPI_BYTE, operation->comm, &operation->request);
}

static void start_igather(struct mpi_operation *operation)
{
    MPI_Igather(operation->send, operation->count, MPI_BYTE, operation->receive, operation->count,
                MPI_BYTE, operation->root, operation->comm, &operation->request);
    next_root(operation);
}

static void start_iscatter(struct mpi_operation *operation)
{
    MPI_Iscatter(operation->send, operation->count, MPI_BYTE, operation->receive, operation->count,
                 MPI_BYTE, operation->root, operation->comm, &operation->request);
    next_root(operation);
}

/* Initialises the request of a persistent operation, for the current buffers. */
static void make_persistent(struct mpi_operation *operation)
{
#ifdef PERSISTENT
    void *send = operation->send, *receive = operation->receive;
    const int count = operation->count, root = operation->root;
    MPI_Comm comm = operation->comm;
    MPI_Request *request = &operation->request;
    switch (operation->kind) {
    case OPERATION_PERSISTENT:
        PERSISTENT(Barrier_init)(comm, MPI_INFO_NULL, request);
        break;
    case OPERATION_ALLREDUCE_INIT:
        PERSISTENT(Allreduce_init)
        (send, receive, count, MPI_FLOAT, MPI_SUM, comm, MPI_INFO_NULL, request);
        break;
    case OPERATION_REDUCE_INIT:
        PERSISTENT(Reduce_init)
        (send, receive, count, MPI_FLOAT, MPI_SUM, root, comm, MPI_INFO_NULL, request);
        break;
    case OPERATION_BCAST_INIT:
        PERSISTENT(Bcast_init)(send, count, MPI_BYTE, root, comm, MPI_INFO_NULL, request);
        break;
    case OPERATION_ALLGATHER_INIT:
        PERSISTENT(Allgather_init)
        (send, count, MPI_BYTE, receive, count, MPI_BYTE, comm, MPI_INFO_NULL, request);
        break;
    case OPERATION_GATHER_INIT:
        PERSISTENT(Gather_init)
        (send, count, MPI_BYTE, receive, count, MPI_BYTE, root, comm, MPI_INFO_NULL, request);
        break;
    case OPERATION_SCATTER_INIT:
        PERSISTENT(Scatter_init)
        (send, count, MPI_BYTE, receive, count, MPI_BYTE, root, comm, MPI_INFO_NULL, request);
        break;
    default:
        break;
    }
#else
    (void)operation;
#endif
}

static void unmake_persistent(struct mpi_operation *operation)
{
    if (operation->request != MPI_REQUEST_NULL)
        MPI_Request_free(&operation->request);
}

/* Returns whether only the root receives the result. */
static bool is_for_root(const struct mpi_operation *operation)
{
    return operation->kind == OPERATION_REDUCE || operation->kind == OPERATION_REDUCE_INIT ||
           operation->kind == OPERATION_GATHER || operation->kind == OPERATION_IGATHER ||
           operation->kind == OPERATION_GATHER_INIT;
}

static bool has_result(const struct mpi_operation *operation)
{
    return !is_for_root(operation) || operation->rank == operation->root;
}

static MPI_Comm duplicate(const struct mpi_operation *operation)
{
    MPI_Comm comm;
    if (operation->info == MPI_INFO_NULL)
        MPI_Comm_dup(operation->comm, &comm);
    else
        MPI_Comm_dup_with_info(operation->comm, operation->info, &comm);
    return comm;
}

static void start_dup(struct mpi_operation *operation)
{
    MPI_Comm comm = duplicate(operation);
    MPI_Comm_free(&comm);
}

/* ---- results ---- */

/* Contributions to a sum are integers from 1 to CONTRIBUTIONS, so sums of floats are exact in any
 * order with up to two million processes. */
enum { CONTRIBUTIONS = 7 };

static float contribution(unsigned rank, unsigned element)
{
    return (float)(1 + (3 * rank + element) % CONTRIBUTIONS);
}

static bool check_sum(struct mpi_operation *operation, unsigned round)
{
    float sums[CONTRIBUTIONS] = {0};
    for (unsigned rank = 0; rank < (unsigned)operation->size; rank++)
        for (unsigned element = 0; element < CONTRIBUTIONS; element++)
            sums[element] += contribution(rank, element);

    const bool here = has_result(operation);
    float *send = operation->send;
    const float *receive = operation->receive;
    memset(operation->receive, 0, (size_t)operation->count * sizeof(*receive));
    for (unsigned i = 0; i < (unsigned)operation->count; i++)
        send[i] = contribution((unsigned)operation->rank, i + round);
    mpi_operation_play(operation);
    bool right = true;
    for (unsigned i = 0; i < (unsigned)operation->count && here; i++)
        right &= receive[i] == sums[(i + round) % CONTRIBUTIONS];
    return right;
}

static bool check_bcast(struct mpi_operation *operation, unsigned round)
{
    const unsigned root = (unsigned)operation->root;
    const size_t bytes = (size_t)operation->count;
    unsigned char *message = operation->send;
    for (size_t i = 0; i < bytes; i++)
        message[i] = operation->rank == operation->root ? 1 + (root + round + i) % 255 : 0;
    mpi_operation_play(operation);
    bool right = true;
    for (size_t i = 0; i < bytes; i++)
        right &= message[i] == 1 + (root + round + i) % 255;
    return right;
}

static unsigned char gathered(unsigned rank, unsigned round, size_t element)
{
    return (unsigned char)(1 + (rank + round + element) % 255);
}

static bool check_gather(struct mpi_operation *operation, unsigned round)
{
    const bool here = has_result(operation);
    const size_t bytes = (size_t)operation->count, all = bytes * (size_t)operation->size;
    unsigned char *send = operation->send;
    const unsigned char *receive = operation->receive;
    memset(operation->receive, 0, all);
    for (size_t i = 0; i < bytes; i++)
        send[i] = gathered((unsigned)operation->rank, round, i);
    mpi_operation_play(operation);
    bool right = true;
    for (size_t i = 0; i < all && here; i++)
        right &= receive[i] == gathered((unsigned)(i / bytes), round, i % bytes);
    return right;
}

static bool check_scatter(struct mpi_operation *operation, unsigned round)
{
    const unsigned rank = (unsigned)operation->rank;
    const size_t bytes = (size_t)operation->count, all = bytes * (size_t)operation->size;
    unsigned char *send = operation->send;
    const unsigned char *receive = operation->receive;
    memset(operation->receive, 0, bytes);
    for (size_t i = 0; i < all; i++)
        send[i] = operation->rank == operation->root
                      ? gathered((unsigned)(i / bytes), round, i % bytes)
                      : 0;
    mpi_operation_play(operation);
    bool right = true;
    for (size_t i = 0; i < bytes; i++)
        right &= receive[i] == gathered(rank, round, i);
    return right;
}

/* Checks a duplicate, which must have the same members in the same order, and its own messages. */
static bool check_dup(struct mpi_operation *operation, unsigned round)
{
    MPI_Comm comm = duplicate(operation);
    int alike, sum = operation->rank + (int)round;
    MPI_Comm_compare(operation->comm, comm, &alike);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    return alike == MPI_CONGRUENT &&
           sum == operation->size * (operation->size - 1) / 2 + operation->size * (int)round;
}

/* ---- all of them ---- */

static const struct {
    void (*start)(struct mpi_operation *operation);
    bool waits;
    bool (*check)(struct mpi_operation *operation, unsigned round); /* NULL: the operation has no
                                                                       result */
} kinds[OPERATION_NONE] = {
    [OPERATION_BARRIER] = {start_barrier, false, NULL},
    [OPERATION_IBARRIER] = {start_ibarrier, true, NULL},
    [OPERATION_PERSISTENT] = {start_persistent, true, NULL},
    [OPERATION_ALLREDUCE] = {start_allreduce, false, check_sum},
    [OPERATION_IALLREDUCE] = {start_iallreduce, true, check_sum},
    [OPERATION_ALLREDUCE_INIT] = {start_persistent, true, check_sum},
    [OPERATION_REDUCE] = {start_reduce, false, check_sum},
    [OPERATION_REDUCE_INIT] = {start_persistent, true, check_sum},
    [OPERATION_BCAST] = {start_bcast, false, check_bcast},
    [OPERATION_IBCAST] = {start_ibcast, true, check_bcast},
    [OPERATION_BCAST_INIT] = {start_persistent, true, check_bcast},
    [OPERATION_ALLGATHER] = {start_allgather, false, check_gather},
    [OPERATION_IALLGATHER] = {start_iallgather, true, check_gather},
    [OPERATION_ALLGATHER_INIT] = {start_persistent, true, check_gather},
    [OPERATION_GATHER] = {start_gather, false, check_gather},
    [OPERATION_IGATHER] = {start_igather, true, check_gather},
    [OPERATION_GATHER_INIT] = {start_persistent, true, check_gather},
    [OPERATION_SCATTER] = {start_scatter, false, check_scatter},
    [OPERATION_ISCATTER] = {start_iscatter, true, check_scatter},
    [OPERATION_SCATTER_INIT] = {start_persistent, true, check_scatter},
    [OPERATION_DUP] = {start_dup, false, check_dup},
};

bool mpi_operation_supported(enum operation kind)
{
#ifdef PERSISTENT
    (void)kind;
    return true;
#else
    return kinds[kind].start != start_persistent;
#endif
}

void mpi_operation_open(struct mpi_operation *operation, enum operation kind, MPI_Comm parent,
                        const char *preference)
{
    *operation = (struct mpi_operation){.start = kinds[kind].start,
                                        .waits = kinds[kind].waits,
                                        .comm = parent,
                                        .request = MPI_REQUEST_NULL,
                                        .kind = kind,
                                        .info = MPI_INFO_NULL};
    if (preference) {
        MPI_Info_create(&operation->info);
        MPI_Info_set(operation->info, preference_key, preference);
    }
    operation->comm = duplicate(operation);
    MPI_Comm_rank(operation->comm, &operation->rank);
    MPI_Comm_size(operation->comm, &operation->size);
    if (!operations[kind].unit)
        make_persistent(operation);
}

static void free_memory(struct mpi_operation *operation)
{
    free(operation->send);
    free(operation->receive);
}

void mpi_operation_close(struct mpi_operation *operation)
{
    unmake_persistent(operation);
    if (operation->info != MPI_INFO_NULL)
        MPI_Info_free(&operation->info);
    free_memory(operation);
    MPI_Comm_free(&operation->comm);
}

void mpi_operation_resize(struct mpi_operation *operation, size_t bytes)
{
    const unsigned unit = operations[operation->kind].unit;
    if (!unit)
        return;
    unmake_persistent(operation);
    free_memory(operation);
    operation->count = (int)(bytes / unit);
    const size_t all = bytes * (size_t)operation->size;
    const bool blocks = kinds[operation->kind].check == check_gather;
    const bool parts = kinds[operation->kind].check == check_scatter;
    operation->send = bench_alloc_pages(parts ? all : bytes);
    operation->receive = bench_alloc_pages(blocks ? all : bytes);
    make_persistent(operation);
}

void mpi_operation_keep_root(struct mpi_operation *operation, unsigned root)
{
    operation->root = (int)(root % (unsigned)operation->size);
    operation->root_stays = true;
}

bool mpi_operation_check(struct mpi_operation *operation)
{
    enum { MORE = 8 }; /* operations in addition to one per root */
    const unsigned rounds = (unsigned)operation->size + MORE;
    bool right = true;
    for (unsigned round = 0; kinds[operation->kind].check && round < rounds; round++)
        right &= kinds[operation->kind].check(operation, round);
    return right;
}
