/* SPDX-License-Identifier: BSD-3-Clause */
/* See fallback.h. */
#include "coll_nicbarr/fallback.h"

#include "coll_nicbarr/checking.h"
#include "coll_nicbarr/failures.h"

#define RELEASE(collective)                                                                        \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RELEASE(module->collective.module);                                                    \
    }

void nicbarr_fallback_release(mca_coll_nicbarr_module_t *module)
{
    nicbarr_openmpi_release(&module->openmpi);
    NICBARR_REQUESTS(RELEASE)
}

/* Restore an entry of the communicator's table, unless it contains another module than nicbarr's.
 * Before Open MPI 6.0, an entry holds a reference to its module, so the saved module is retained,
 * and nicbarr's module is released. Nevertheless both continue to exist: nicbarr's module holds its
 * own reference to the saved module, and Open MPI keeps all modules in a list as long as the
 * communicator exists. */
#define RESTORE_SAVED(the_module, collective, saved_function, saved_module)                        \
    do {                                                                                           \
        mca_coll_base_comm_coll_t *table = (the_module)->openmpi.table;                            \
        if (&(the_module)->super == table->coll_##collective##_module) {                           \
            if (!nicbarr_modules_fill_tables()) {                                                  \
                OBJ_RETAIN(saved_module);                                                          \
            }                                                                                      \
            table->coll_##collective = (saved_function);                                           \
            table->coll_##collective##_module = (saved_module);                                    \
            if (!nicbarr_modules_fill_tables()) {                                                  \
                OBJ_RELEASE(the_module);                                                           \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define RESTORE_ENTRY(module, collective)                                                          \
    RESTORE_SAVED(module, collective, (module)->openmpi.below.coll_##collective,                   \
                  (module)->openmpi.below.coll_##collective##_module)

#define RESTORE_REQUESTS(module, collective)                                                       \
    RESTORE_SAVED(module, collective, (module)->collective.function, (module)->collective.module)

#define RESTORE_BOTH(module, collective)                                                           \
    do {                                                                                           \
        RESTORE_ENTRY(module, collective);                                                         \
        RESTORE_REQUESTS(module, collective##_init);                                               \
    } while (0)

void nicbarr_set_barrier(mca_coll_nicbarr_module_t *module, enum nicbarr_barrier_state state)
{
    module->barrier_state = state;
    if (NICBARR_BARRIER_OPENMPI == state) {
        RESTORE_ENTRY(module, barrier);
    } else if (&module->super == module->openmpi.table->coll_barrier_module) {
        module->openmpi.table->coll_barrier =
            NULL == nicbarr_failure ? nicbarr_barrier_functions[state] : module->super.coll_barrier;
    }
}

void nicbarr_restore_data(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective)
{
    switch (collective) {
    case NICBARR_ALLREDUCE:
    case NICBARR_ALLREDUCE_USER_OP:
        RESTORE_BOTH(module, allreduce);
        break;
    case NICBARR_REDUCE:
    case NICBARR_REDUCE_USER_OP:
        RESTORE_BOTH(module, reduce);
        break;
    case NICBARR_BCAST:
        RESTORE_BOTH(module, bcast);
        break;
    case NICBARR_ALLGATHER:
        RESTORE_BOTH(module, allgather);
        break;
    case NICBARR_GATHER:
        RESTORE_BOTH(module, gather);
        break;
    case NICBARR_SCATTER:
        RESTORE_BOTH(module, scatter);
        break;
    case NICBARR_COLLECTIVES:
        break;
    }
}

void nicbarr_restore_others(mca_coll_nicbarr_module_t *module)
{
    RESTORE_REQUESTS(module, ibarrier);
    RESTORE_REQUESTS(module, barrier_init);
    for (int c = 0; c < NICBARR_COLLECTIVES; ++c) {
        nicbarr_restore_data(module, (enum nicbarr_collective)c);
    }
}

/* ---- saving and restoring ---- */

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

bool nicbarr_fallback_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    bool missing = !nicbarr_openmpi_save(&module->openmpi, comm);
    NICBARR_REQUESTS(SAVE)
    if (!missing && nicbarr_modules_fill_tables()) {
        NICBARR_BLOCKING(INSTALL)
        NICBARR_REQUESTS(INSTALL)
    }
    return !missing;
}

#define RESTORE_ONE(collective) RESTORE_ENTRY(module, collective);
#define RESTORE_REQUEST(collective) RESTORE_REQUESTS(module, collective);

void nicbarr_fallback_restore(mca_coll_nicbarr_module_t *module)
{
    if (nicbarr_modules_fill_tables()) {
        NICBARR_BLOCKING(RESTORE_ONE)
        NICBARR_REQUESTS(RESTORE_REQUEST)
    }
}

bool nicbarr_checker_save(nicbarr_checker_t *module, ompi_communicator_t *comm)
{
    const bool complete = nicbarr_openmpi_save(&module->openmpi, comm);
    if (complete && nicbarr_modules_fill_tables()) {
        NICBARR_BLOCKING(INSTALL)
    }
    return complete;
}

void nicbarr_checker_restore(nicbarr_checker_t *module)
{
    if (nicbarr_modules_fill_tables()) {
        NICBARR_BLOCKING(RESTORE_ONE)
    }
}
