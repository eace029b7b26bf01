/* SPDX-License-Identifier: BSD-3-Clause */
/* See fallback.h. */
#include "coll_nicbarr/fallback.h"

#include "coll_nicbarr/checking.h"
#include "coll_nicbarr/failures.h"

/* Used with `module` and `comm`. */
#define SAVE(collective)                                                                           \
    module->collective.function = comm->c_coll->coll_##collective;                                 \
    module->collective.module = comm->c_coll->coll_##collective##_module;                          \
    missing = missing || NULL == module->collective.module;                                        \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RETAIN(module->collective.module);                                                     \
    }

#define TAKE(collective)                                                                           \
    if (NULL != module->super.coll_##collective) {                                                 \
        comm->c_coll->coll_##collective = module->super.coll_##collective;                         \
        comm->c_coll->coll_##collective##_module = &module->super;                                 \
    }

bool nicbarr_fallback_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    bool missing = false;
    NICBARR_COVERED(SAVE)
    NICBARR_USED(SAVE)
    if (!missing && nicbarr_modules_fill_tables()) {
        NICBARR_COVERED(TAKE)
    }
    return !missing;
}

#define FORGET(collective)                                                                         \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RELEASE(module->collective.module);                                                    \
    }

void nicbarr_fallback_forget(mca_coll_nicbarr_module_t *module)
{
    NICBARR_COVERED(FORGET)
    NICBARR_USED(FORGET)
}

/* Before Open MPI 6.0, a slot in the communicator's table holds a reference to its module, and our
 * module holds one to the saved module. Our module exists as long as the communicator, because Open
 * MPI keeps a list of all modules. */
#define PUT_BACK(the_module, comm, collective)                                                     \
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

#define PUT_BACK_BOTH(module, comm, collective)                                                    \
    do {                                                                                           \
        PUT_BACK(module, comm, collective);                                                        \
        PUT_BACK(module, comm, collective##_init);                                                 \
    } while (0)

void nicbarr_set_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_barrier_state state)
{
    module->barrier_state = state;
    if (NICBARR_BARRIER_OWN == state) {
        PUT_BACK(module, comm, barrier);
    } else if (&module->super == comm->c_coll->coll_barrier_module) {
        comm->c_coll->coll_barrier =
            NULL == nicbarr_failure ? nicbarr_barrier_functions[state] : module->super.coll_barrier;
    }
}

void nicbarr_put_back_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective)
{
    switch (collective) {
    case NICBARR_ALLREDUCE:
    case NICBARR_ALLREDUCE_USERS:
        PUT_BACK_BOTH(module, comm, allreduce);
        break;
    case NICBARR_REDUCE:
    case NICBARR_REDUCE_USERS:
        PUT_BACK_BOTH(module, comm, reduce);
        break;
    case NICBARR_BCAST:
        PUT_BACK_BOTH(module, comm, bcast);
        break;
    case NICBARR_ALLGATHER:
        PUT_BACK_BOTH(module, comm, allgather);
        break;
    case NICBARR_GATHER:
        PUT_BACK_BOTH(module, comm, gather);
        break;
    case NICBARR_SCATTER:
        PUT_BACK_BOTH(module, comm, scatter);
        break;
    case NICBARR_COLLECTIVES:
        break;
    }
}

void nicbarr_put_back_others(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    PUT_BACK(module, comm, ibarrier);
    PUT_BACK(module, comm, barrier_init);
    for (int c = 0; c < NICBARR_COLLECTIVES; ++c) {
        nicbarr_put_back_data(module, comm, (enum nicbarr_collective)c);
    }
}

#define RESTORE(collective) PUT_BACK(module, comm, collective);

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
        NICBARR_CHECKED(TAKE)
    }
    return !missing;
}

void nicbarr_checker_restore(nicbarr_checker_t *module, ompi_communicator_t *comm)
{
    if (nicbarr_modules_fill_tables()) {
        NICBARR_CHECKED(RESTORE)
    }
}

void nicbarr_checker_forget(nicbarr_checker_t *module)
{
    NICBARR_CHECKED(FORGET)
}
