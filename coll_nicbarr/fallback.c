/* SPDX-License-Identifier: BSD-3-Clause */
/* See fallback.h. */
#include "coll_nicbarr/fallback.h"

#include "coll_nicbarr/checking.h"
#include "coll_nicbarr/failures.h"

/* These macros use the variables `module`, `comm` and `missing` of the calling function. */
#define SAVE(collective)                                                                           \
    module->collective.function = comm->c_coll->coll_##collective;                                 \
    module->collective.module = comm->c_coll->coll_##collective##_module;                          \
    missing = missing || NULL == module->collective.module;                                        \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RETAIN(module->collective.module);                                                     \
    }

#define INSTALL(collective)                                                                        \
    if (NULL != module->super.coll_##collective) {                                                 \
        comm->c_coll->coll_##collective = module->super.coll_##collective;                         \
        comm->c_coll->coll_##collective##_module = &module->super;                                 \
    }

#define RELEASE(collective)                                                                        \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RELEASE(module->collective.module);                                                    \
    }

void nicbarr_fallback_release(mca_coll_nicbarr_module_t *module)
{
    NICBARR_COVERED(RELEASE)
    NICBARR_USED(RELEASE)
}

/* Before Open MPI 6.0, an entry of the communicator's table holds a reference to its module, and
 * nicbarr's module holds one to the saved module. Nicbarr's exists as long as the communicator,
 * because Open MPI keeps a list of all modules. */
#define RESTORE_ENTRY(the_module, comm, collective)                                                \
    do {                                                                                           \
        if (&(the_module)->super == (comm)->c_coll->coll_##collective##_module) {                  \
            if (!nicbarr_modules_fill_tables()) {                                                  \
                OBJ_RETAIN((the_module)->collective.module);                                       \
            }                                                                                      \
            (comm)->c_coll->coll_##collective = (the_module)->collective.function;                 \
            (comm)->c_coll->coll_##collective##_module = (the_module)->collective.module;          \
            if (!nicbarr_modules_fill_tables()) {                                                  \
                OBJ_RELEASE(the_module);                                                           \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define RESTORE_BOTH(module, comm, collective)                                                     \
    do {                                                                                           \
        RESTORE_ENTRY(module, comm, collective);                                                   \
        RESTORE_ENTRY(module, comm, collective##_init);                                            \
    } while (0)

void nicbarr_set_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_barrier_state state)
{
    module->barrier_state = state;
    if (NICBARR_BARRIER_OPENMPI == state) {
        RESTORE_ENTRY(module, comm, barrier);
    } else if (&module->super == comm->c_coll->coll_barrier_module) {
        comm->c_coll->coll_barrier =
            NULL == nicbarr_failure ? nicbarr_barrier_functions[state] : module->super.coll_barrier;
    }
}

void nicbarr_restore_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          enum nicbarr_collective collective)
{
    switch (collective) {
    case NICBARR_ALLREDUCE:
    case NICBARR_ALLREDUCE_USER_OP:
        RESTORE_BOTH(module, comm, allreduce);
        break;
    case NICBARR_REDUCE:
    case NICBARR_REDUCE_USER_OP:
        RESTORE_BOTH(module, comm, reduce);
        break;
    case NICBARR_BCAST:
        RESTORE_BOTH(module, comm, bcast);
        break;
    case NICBARR_ALLGATHER:
        RESTORE_BOTH(module, comm, allgather);
        break;
    case NICBARR_GATHER:
        RESTORE_BOTH(module, comm, gather);
        break;
    case NICBARR_SCATTER:
        RESTORE_BOTH(module, comm, scatter);
        break;
    case NICBARR_COLLECTIVES:
        break;
    }
}

void nicbarr_restore_others(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    RESTORE_ENTRY(module, comm, ibarrier);
    RESTORE_ENTRY(module, comm, barrier_init);
    for (int c = 0; c < NICBARR_COLLECTIVES; ++c) {
        nicbarr_restore_data(module, comm, (enum nicbarr_collective)c);
    }
}

/* ---- first calls ----
 *
 * Until one of Open MPI's own functions is called for the first time, module->openmpi contains a
 * wrapper from this file in its place, with nicbarr's module. */

struct replaced {
    NICBARR_BLOCKING(NICBARR_FALLBACK)
};

#define INSTALL_SAVED(collective)                                                                  \
    replaced->collective.function = comm->c_coll->coll_##collective;                               \
    replaced->collective.module = comm->c_coll->coll_##collective##_module;                        \
    comm->c_coll->coll_##collective = module->collective.function;                                 \
    comm->c_coll->coll_##collective##_module = module->collective.module;                          \
    if (!nicbarr_modules_fill_tables()) {                                                          \
        OBJ_RETAIN(module->collective.module);                                                     \
    }

static void begin_first_call(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct replaced *replaced)
{
    NICBARR_BLOCKING(INSTALL_SAVED)
}

#define USE_SAVED(collective)                                                                      \
    module->openmpi.collective.function = module->collective.function;                             \
    module->openmpi.collective.module = module->collective.module;

/* Save the function that the table contains after a first call. It also stays in the table if the
 * table contained the saved one before that call; otherwise the table's previous entry is
 * restored. */
#define SAVE_SUCCESSOR(collective)                                                                 \
    mca_coll_base_module_t **const collective = &comm->c_coll->coll_##collective##_module;         \
    mca_coll_base_module_t *collective##_released = *collective;                                   \
    OBJ_RETAIN(*collective);                                                                       \
    if (module->collective.module == replaced->collective.module) {                                \
        collective##_released = replaced->collective.module;                                       \
        replaced->collective.module = *collective;                                                 \
        replaced->collective.function = comm->c_coll->coll_##collective;                           \
    }                                                                                              \
    OBJ_RELEASE(module->collective.module);                                                        \
    module->collective.function = comm->c_coll->coll_##collective;                                 \
    module->collective.module = *collective;                                                       \
    if (&module->super != module->openmpi.collective.module) {                                     \
        USE_SAVED(collective)                                                                      \
    }                                                                                              \
    comm->c_coll->coll_##collective = replaced->collective.function;                               \
    *collective = replaced->collective.module;                                                     \
    if (!nicbarr_modules_fill_tables()) {                                                          \
        OBJ_RELEASE(collective##_released);                                                        \
    }

static void end_first_call(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct replaced *replaced)
{
    NICBARR_BLOCKING(SAVE_SUCCESSOR)
}

#define FIRST_CALL(collective, parameters, ...)                                                    \
    static int first_##collective parameters                                                       \
    {                                                                                              \
        mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;                     \
        struct replaced replaced;                                                                  \
        begin_first_call(module, comm, &replaced);                                                 \
        const int rc = module->collective.function(__VA_ARGS__, module->collective.module);        \
        end_first_call(module, comm, &replaced);                                                   \
        USE_SAVED(collective)                                                                      \
        return rc;                                                                                 \
    }

FIRST_CALL(barrier, (ompi_communicator_t * comm, mca_coll_base_module_t *base), comm)

FIRST_CALL(allreduce,
           (const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op,
            ompi_communicator_t *comm, mca_coll_base_module_t *base),
           from, to, count, type, op, comm)

FIRST_CALL(reduce,
           (const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op,
            int root, ompi_communicator_t *comm, mca_coll_base_module_t *base),
           from, to, count, type, op, root, comm)

FIRST_CALL(bcast,
           (void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
            ompi_communicator_t *comm, mca_coll_base_module_t *base),
           buffer, count, type, root, comm)

FIRST_CALL(allgather,
           (const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type, void *to,
            nicbarr_count_t to_count, ompi_datatype_t *to_type, ompi_communicator_t *comm,
            mca_coll_base_module_t *base),
           from, from_count, from_type, to, to_count, to_type, comm)

FIRST_CALL(gather,
           (const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type, void *to,
            nicbarr_count_t to_count, ompi_datatype_t *to_type, int root, ompi_communicator_t *comm,
            mca_coll_base_module_t *base),
           from, from_count, from_type, to, to_count, to_type, root, comm)

FIRST_CALL(scatter,
           (const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type, void *to,
            nicbarr_count_t to_count, ompi_datatype_t *to_type, int root, ompi_communicator_t *comm,
            mca_coll_base_module_t *base),
           from, from_count, from_type, to, to_count, to_type, root, comm)

/* ---- saving and restoring ---- */

#define CALL_FIRST(collective)                                                                     \
    module->openmpi.collective.function = first_##collective;                                      \
    module->openmpi.collective.module = &module->super;

bool nicbarr_fallback_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    bool missing = false;
    NICBARR_COVERED(SAVE)
    NICBARR_USED(SAVE)
    NICBARR_BLOCKING(CALL_FIRST)
    if (!missing && nicbarr_modules_fill_tables()) {
        NICBARR_COVERED(INSTALL)
    }
    return !missing;
}

#define RESTORE(collective) RESTORE_ENTRY(module, comm, collective);

void nicbarr_fallback_restore(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    if (nicbarr_modules_fill_tables()) {
        NICBARR_COVERED(RESTORE)
    }
}

/* ---- modules that compare calls ---- */

bool nicbarr_checker_save(nicbarr_checker_t *module, ompi_communicator_t *comm)
{
    bool missing = false;
    NICBARR_CHECKED(SAVE)
    if (!missing && nicbarr_modules_fill_tables()) {
        NICBARR_CHECKED(INSTALL)
    }
    return !missing;
}

void nicbarr_checker_restore(nicbarr_checker_t *module, ompi_communicator_t *comm)
{
    if (nicbarr_modules_fill_tables()) {
        NICBARR_CHECKED(RESTORE)
    }
}

void nicbarr_checker_release(nicbarr_checker_t *module)
{
    NICBARR_CHECKED(RELEASE)
}
