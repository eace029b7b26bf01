/* SPDX-License-Identifier: BSD-3-Clause */
/* What lies below a module; see lower.h. */
#include "coll_nicbarr/lower.h"

#include "coll_nicbarr/files/report.h"

/* Of `module`, on `comm`. */
#define SAVE(collective)                                                                           \
    module->collective.function = comm->c_coll->coll_##collective;                                 \
    module->collective.module = comm->c_coll->coll_##collective##_module;                          \
    missing = missing || NULL == module->collective.module;                                        \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RETAIN(module->collective.module);                                                     \
    }

bool nicbarr_lower_save(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    bool missing = false;
    NICBARR_COVERED(SAVE)
    return !missing;
}

#define FORGET(collective)                                                                         \
    if (NULL != module->collective.module) {                                                       \
        OBJ_RELEASE(module->collective.module);                                                    \
    }

void nicbarr_lower_forget(mca_coll_nicbarr_module_t *module)
{
    NICBARR_COVERED(FORGET)
}

/* The slot in the communicator holds a reference to its module, and we hold one to the module
 * below. Our module lives as long as the communicator: Open MPI keeps a list of all modules. */
#define PUT_BACK(the_module, comm, collective)                                                     \
    do {                                                                                           \
        if (&(the_module)->super == (comm)->c_coll->coll_##collective##_module) {                  \
            OBJ_RETAIN((the_module)->collective.module);                                           \
            (comm)->c_coll->coll_##collective = (the_module)->collective.function;                 \
            (comm)->c_coll->coll_##collective##_module = (the_module)->collective.module;          \
            OBJ_RELEASE(the_module);                                                               \
        }                                                                                          \
    } while (0)

/* ... of all kinds. */
#define PUT_BACK_ALL(module, comm, collective)                                                     \
    do {                                                                                           \
        PUT_BACK(module, comm, collective);                                                        \
        PUT_BACK(module, comm, i##collective);                                                     \
        PUT_BACK(module, comm, collective##_init);                                                 \
    } while (0)

void nicbarr_put_back_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    PUT_BACK(module, comm, barrier);
}

void nicbarr_put_back_data(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective)
{
    switch (collective) {
    case NICBARR_ALLREDUCE:
    case NICBARR_ALLREDUCE_USERS:
        PUT_BACK_ALL(module, comm, allreduce);
        break;
    case NICBARR_REDUCE:
    case NICBARR_REDUCE_USERS:
        PUT_BACK_ALL(module, comm, reduce);
        break;
    case NICBARR_BCAST:
        PUT_BACK_ALL(module, comm, bcast);
        break;
    case NICBARR_ALLGATHER:
        PUT_BACK_ALL(module, comm, allgather);
        break;
    case NICBARR_GATHER:
        PUT_BACK_ALL(module, comm, gather);
        break;
    case NICBARR_SCATTER:
        PUT_BACK_ALL(module, comm, scatter);
        break;
    case NICBARR_COLLECTIVES:
        break;
    }
}

static void put_back(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    PUT_BACK_ALL(module, comm, barrier);
    for (int c = 0; c < NICBARR_COLLECTIVES; ++c) {
        nicbarr_put_back_data(module, comm, (enum nicbarr_collective)c);
    }
}

void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why)
{
    module->declined = true;
    nicbarr_explain(comm, why);
    nicbarr_report_note(module, comm, NULL, why);
    put_back(module, comm);
}
