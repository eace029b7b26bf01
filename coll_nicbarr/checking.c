/* SPDX-License-Identifier: BSD-3-Clause */
/* See checking.h.
 *
 * Before a collective, each member contributes the signature of its call to an MPI_Allgather, which
 * the next component performs. All members compare the same signatures, so they get the same
 * result. If the calls differ, the members also exchange descriptions of their calls. The messages
 * of the comparison do not depend on the collective, so members that call different collectives can
 * still be compared. */
#include "coll_nicbarr/checking.h"

#include <stdio.h>
#include <stdlib.h>

#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/long_waits.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/peers.h"

enum {
    ROOT_NONE = -1,
    CALL_TEXT = 280,
    CALLS_LISTED = 4, /* maximum of calls in a message */
    LINE_BYTES = 256 + CALLS_LISTED * (CALL_TEXT + 32)
};

enum call {
#define NAME(collective) CALL_##collective,
    NICBARR_BLOCKING(NAME)
#undef NAME
};

static const char *const call_names[] = {
#define NAME(collective) #collective,
    NICBARR_BLOCKING(NAME)
#undef NAME
};

/* The part of a call that must be equal on all members; 0 if a collective has no such argument. */
struct signature {
    uint32_t call;
    int32_t root;
    int32_t op;    /* number of a predefined operation; -1: user-defined */
    uint32_t type; /* for a predefined operation: number of the predefined type */
    uint64_t bytes;
};

static const uint64_t bytes_open = UINT64_MAX;

/* ---- signatures ---- */

static uint64_t bytes_of(nicbarr_count_t count, ompi_datatype_t *type)
{
    size_t size;
    ompi_datatype_type_size(type, &size);
    return (uint64_t)count * size;
}

static struct signature of_barrier(void)
{
    return (struct signature){CALL_barrier, ROOT_NONE, 0, 0, 0};
}

/* The type is compared only if the operation is predefined. With a user-defined operation, members
 * may pass different types that have the same type signature, such as a predefined type and a
 * duplicate of it. */
static struct signature of_reduction(enum call call, nicbarr_count_t count, ompi_datatype_t *type,
                                     ompi_op_t *op, int root)
{
    const bool predefined = ompi_op_is_intrinsic(op);
    return (struct signature){call, root, predefined ? op->o_f_to_c_index : -1,
                              predefined ? type->super.id : 0, bytes_of(count, type)};
}

/* Returns the signature of a collective whose data have the same size on all members; on this
 * member, they are `count` values of `type`. */
static struct signature of_data(enum call call, nicbarr_count_t count, ompi_datatype_t *type,
                                int root)
{
    return (struct signature){call, root, 0, 0, bytes_of(count, type)};
}

/* Returns the signature of a collective whose counts may differ between members. */
static struct signature of_counts(enum call call, int root)
{
    return (struct signature){call, root, 0, 0, bytes_open};
}

/* ---- descriptions ---- */

/* Describe a call for the message. `type` and `op` are NULL unless the call is a reduction. */
static void describe_call(const struct signature *mine, const ompi_datatype_t *type,
                          const ompi_op_t *op, char *text)
{
    char call[NICBARR_CALL_TEXT], caller[NICBARR_CALLER_TEXT];
    nicbarr_find_call(call, caller);
    int length = snprintf(text, CALL_TEXT, "MPI_%c%s", call_names[mine->call][0] - 'a' + 'A',
                          call_names[mine->call] + 1);
    if (bytes_open != mine->bytes && CALL_barrier != mine->call) {
        length += snprintf(text + length, CALL_TEXT - (size_t)length, " of %llu bytes",
                           (unsigned long long)mine->bytes);
    }
    if (NULL != op) {
        length += snprintf(text + length, CALL_TEXT - (size_t)length, " by %.30s on %.30s",
                           -1 == mine->op ? "a user-defined operation" : op->o_name,
                           ompi_datatype_is_predefined(type) ? type->name : "a derived datatype");
    }
    if (ROOT_NONE != mine->root) {
        length += snprintf(text + length, CALL_TEXT - (size_t)length, ", root %d", (int)mine->root);
    }
    if ('\0' != caller[0]) {
        snprintf(text + length, CALL_TEXT - (size_t)length, " (%s called at %s)", call, caller);
    }
}

static bool call_differs(const struct signature *all, int rank)
{
    return 0 != memcmp(&all[rank], &all[0], sizeof(all[0]));
}

/* Print the call of rank 0 and the first calls that differ from it, in one message. */
static void print_calls(ompi_communicator_t *comm, const struct signature *all,
                        const char (*texts)[CALL_TEXT])
{
    const int size = ompi_comm_size(comm);
    char line[LINE_BYTES], name[NICBARR_COMM_TEXT];
    int differ = 0;
    int length =
        snprintf(line, sizeof(line),
                 "nicbarr: members of %s are in different calls: ", nicbarr_comm_name(comm, name));
    for (int r = 0; r < size && length < (int)sizeof(line); ++r) {
        differ += call_differs(all, r);
        if (0 == r || (call_differs(all, r) && differ < CALLS_LISTED)) {
            length += snprintf(line + length, sizeof(line) - (size_t)length, "%srank %d: %s",
                               0 == r ? "" : "; ", r, texts[r]);
        }
    }
    if (differ >= CALLS_LISTED && length < (int)sizeof(line)) {
        snprintf(line + length, sizeof(line) - (size_t)length, "; and %d more differ from rank 0",
                 differ - (CALLS_LISTED - 1));
    }
    opal_output(0, "%s", line);
}

/* ---- comparing ---- */

/* Returns whether all members compare their calls, which follows from their hellos without a
 * message (peers.h). */
static bool all_compare(ompi_communicator_t *comm)
{
    const struct nicbarr_peer **peers = nicbarr_peers_of(comm);
    bool alike = true;
    for (int r = 0; alike && r < ompi_comm_size(comm); ++r) {
        alike = NULL != peers[r] && !nicbarr_peer_lacks_component(peers[r]) &&
                NICBARR_OTHER_PARAMETERS != peers[r]->trouble;
    }
    free(peers);
    return alike;
}

static int gather_bytes(nicbarr_checker_t *checker, ompi_communicator_t *comm, const void *mine,
                        void *all, size_t bytes)
{
    return nicbarr_openmpi_allgather(mine, (nicbarr_count_t)bytes, MPI_BYTE, all,
                                     (nicbarr_count_t)bytes, MPI_BYTE, comm, &checker->openmpi);
}

/* Called when the calls differ. Rank 0 prints them, and no member returns before that, because the
 * returned error may end the job. */
static int report_difference(nicbarr_checker_t *checker, ompi_communicator_t *comm,
                             const struct signature *mine, const ompi_datatype_t *type,
                             const ompi_op_t *op, const struct signature *all)
{
    char text[CALL_TEXT];
    char(*texts)[CALL_TEXT] = calloc((size_t)ompi_comm_size(comm), CALL_TEXT);
    if (NULL == texts) {
        nicbarr_end_without_memory(comm);
    }
    describe_call(mine, type, op, text);
    int rc = gather_bytes(checker, comm, text, texts, CALL_TEXT);
    if (OMPI_SUCCESS == rc && 0 == ompi_comm_rank(comm)) {
        print_calls(comm, all, (const char(*)[CALL_TEXT])texts);
    }
    free(texts);
    rc = OMPI_SUCCESS == rc ? nicbarr_openmpi_barrier(comm, &checker->openmpi) : rc;
    return OMPI_SUCCESS == rc ? MPI_ERR_OTHER : rc;
}

static bool calls_agree(const struct signature *all, int size)
{
    int r = 1;
    while (r < size && !call_differs(all, r)) {
        ++r;
    }
    return r == size;
}

/* Compare the members' calls before a collective. `type` and `op` are those of a reduction,
 * otherwise NULL. */
static int compare_calls(nicbarr_checker_t *checker, ompi_communicator_t *comm,
                         struct signature mine, const ompi_datatype_t *type, const ompi_op_t *op)
{
    if (!checker->examined) {
        checker->examined = true;
        checker->all_compare = all_compare(comm);
        if (!checker->all_compare) {
            nicbarr_explain(comm,
                            "coll_nicbarr_check is not set on all of its members, so calls are "
                            "not compared");
        }
    }
    if (!checker->all_compare) {
        return OMPI_SUCCESS;
    }
    struct signature *all = nicbarr_allocate(comm, (size_t)ompi_comm_size(comm) * sizeof(*all));
    int rc = gather_bytes(checker, comm, &mine, all, sizeof(mine));
    if (OMPI_SUCCESS == rc && !calls_agree(all, ompi_comm_size(comm))) {
        rc = report_difference(checker, comm, &mine, type, op, all);
    }
    free(all);
    return rc;
}

/* ---- the collectives ---- */

/* The body of each function of this module: compare the calls, then execute the collective by the
 * function of the component below. `arguments` are the arguments of that function, in parentheses;
 * the last one is `below`, its module. */
#define CHECK(collective, signature, reduced, op, arguments)                                       \
    nicbarr_checker_t *checker = (nicbarr_checker_t *)base;                                        \
    const int rc = compare_calls(checker, comm, signature, reduced, op);                           \
    if (OMPI_SUCCESS != rc) {                                                                      \
        return rc;                                                                                 \
    }                                                                                              \
    nicbarr_openmpi_begin(&checker->openmpi, comm);                                                \
    mca_coll_base_module_t *below = comm->c_coll->coll_##collective##_module;                      \
    return nicbarr_openmpi_end(&checker->openmpi, comm, comm->c_coll->coll_##collective arguments)

static int check_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    CHECK(barrier, of_barrier(), NULL, NULL, (comm, below));
}

static int check_bcast(void *data, nicbarr_count_t count, ompi_datatype_t *type, int root,
                       ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    CHECK(bcast, of_data(CALL_bcast, count, type, root), NULL, NULL,
          (data, count, type, root, comm, below));
}

#define REDUCTION(collective)                                                                      \
    static int check_##collective(const void *from, void *to, nicbarr_count_t count,               \
                                  ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm, \
                                  mca_coll_base_module_t *base)                                    \
    {                                                                                              \
        CHECK(collective, of_reduction(CALL_##collective, count, type, op, ROOT_NONE), type, op,   \
              (from, to, count, type, op, comm, below));                                           \
    }
REDUCTION(allreduce)
REDUCTION(reduce_scatter_block)
REDUCTION(scan)
REDUCTION(exscan)

static int check_reduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                        ompi_op_t *op, int root, ompi_communicator_t *comm,
                        mca_coll_base_module_t *base)
{
    CHECK(reduce, of_reduction(CALL_reduce, count, type, op, root), type, op,
          (from, to, count, type, op, root, comm, below));
}

static int check_reduce_scatter(const void *from, void *to, nicbarr_counts_t counts,
                                ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                                mca_coll_base_module_t *base)
{
    CHECK(reduce_scatter, of_reduction(CALL_reduce_scatter, 0, type, op, ROOT_NONE), type, op,
          (from, to, counts, type, op, comm, below));
}

/* Define the function of a collective in which every process sends a part of the same size to every
 * process. */
#define TO_ALL(collective)                                                                         \
    static int check_##collective(const void *from, nicbarr_count_t scount,                        \
                                  ompi_datatype_t *stype, void *to, nicbarr_count_t rcount,        \
                                  ompi_datatype_t *rtype, ompi_communicator_t *comm,               \
                                  mca_coll_base_module_t *base)                                    \
    {                                                                                              \
        CHECK(collective, of_data(CALL_##collective, rcount, rtype, ROOT_NONE), NULL, NULL,        \
              (from, scount, stype, to, rcount, rtype, comm, below));                              \
    }
TO_ALL(allgather)
TO_ALL(alltoall)

/* All members send parts of the same size, so this size is compared. The root computes it from its
 * receive arguments, because its send arguments have no meaning with MPI_IN_PLACE. */
static int check_gather(const void *from, nicbarr_count_t scount, ompi_datatype_t *stype, void *to,
                        nicbarr_count_t rcount, ompi_datatype_t *rtype, int root,
                        ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    const bool receives = root == ompi_comm_rank(comm);
    CHECK(gather, of_data(CALL_gather, receives ? rcount : scount, receives ? rtype : stype, root),
          NULL, NULL, (from, scount, stype, to, rcount, rtype, root, comm, below));
}

static int check_scatter(const void *from, nicbarr_count_t scount, ompi_datatype_t *stype, void *to,
                         nicbarr_count_t rcount, ompi_datatype_t *rtype, int root,
                         ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    const bool sends = root == ompi_comm_rank(comm);
    CHECK(scatter, of_data(CALL_scatter, sends ? scount : rcount, sends ? stype : rtype, root),
          NULL, NULL, (from, scount, stype, to, rcount, rtype, root, comm, below));
}

static int check_allgatherv(const void *from, nicbarr_count_t scount, ompi_datatype_t *stype,
                            void *to, nicbarr_counts_t rcounts, nicbarr_displs_t displs,
                            ompi_datatype_t *rtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *base)
{
    CHECK(allgatherv, of_counts(CALL_allgatherv, ROOT_NONE), NULL, NULL,
          (from, scount, stype, to, rcounts, displs, rtype, comm, below));
}

static int check_gatherv(const void *from, nicbarr_count_t scount, ompi_datatype_t *stype, void *to,
                         nicbarr_counts_t rcounts, nicbarr_displs_t displs, ompi_datatype_t *rtype,
                         int root, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    CHECK(gatherv, of_counts(CALL_gatherv, root), NULL, NULL,
          (from, scount, stype, to, rcounts, displs, rtype, root, comm, below));
}

static int check_scatterv(const void *from, nicbarr_counts_t scounts, nicbarr_displs_t displs,
                          ompi_datatype_t *stype, void *to, nicbarr_count_t rcount,
                          ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                          mca_coll_base_module_t *base)
{
    CHECK(scatterv, of_counts(CALL_scatterv, root), NULL, NULL,
          (from, scounts, displs, stype, to, rcount, rtype, root, comm, below));
}

static int check_alltoallv(const void *from, nicbarr_counts_t scounts, nicbarr_displs_t splaces,
                           ompi_datatype_t *stype, void *to, nicbarr_counts_t rcounts,
                           nicbarr_displs_t rplaces, ompi_datatype_t *rtype,
                           ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    CHECK(alltoallv, of_counts(CALL_alltoallv, ROOT_NONE), NULL, NULL,
          (from, scounts, splaces, stype, to, rcounts, rplaces, rtype, comm, below));
}

static int check_alltoallw(const void *from, nicbarr_counts_t scounts, nicbarr_displs_t splaces,
                           ompi_datatype_t *const *stypes, void *to, nicbarr_counts_t rcounts,
                           nicbarr_displs_t rplaces, ompi_datatype_t *const *rtypes,
                           ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    CHECK(alltoallw, of_counts(CALL_alltoallw, ROOT_NONE), NULL, NULL,
          (from, scounts, splaces, stypes, to, rcounts, rplaces, rtypes, comm, below));
}

/* ---- the module ---- */

static int enable_checker(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    return nicbarr_checker_save((nicbarr_checker_t *)base, comm) ? OMPI_SUCCESS
                                                                 : OMPI_ERR_NOT_FOUND;
}

static int disable_checker(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    (void)comm;
    nicbarr_checker_restore((nicbarr_checker_t *)base);
    return OMPI_SUCCESS;
}

static void construct_checker(nicbarr_checker_t *checker)
{
    memset((uint8_t *)checker + sizeof(checker->super), 0,
           sizeof(*checker) - sizeof(checker->super));
}

static void destruct_checker(nicbarr_checker_t *checker)
{
    nicbarr_openmpi_release(&checker->openmpi);
}

OBJ_CLASS_INSTANCE(nicbarr_checker_t, mca_coll_base_module_t, construct_checker, destruct_checker);

mca_coll_base_module_t *nicbarr_checker_new(ompi_communicator_t *comm)
{
    if (1 == ompi_comm_size(comm)) {
        return NULL;
    }
    nicbarr_checker_t *checker = OBJ_NEW(nicbarr_checker_t);
    if (NULL == checker) {
        nicbarr_end_without_memory(comm);
    }
    checker->super.coll_module_enable = enable_checker;
    checker->super.coll_module_disable = disable_checker;
#define OFFER(collective) checker->super.coll_##collective = check_##collective;
    NICBARR_BLOCKING(OFFER)
#undef OFFER
    return &checker->super;
}
