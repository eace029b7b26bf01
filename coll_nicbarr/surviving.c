/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers of blocking collectives that survive failures; see surviving.h. */
#include "coll_nicbarr/surviving.h"

#include "coll_nicbarr/barrier.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/failures.h"

/* `call` is the call of the collective's usual function. */
#define SURVIVE(call)                                                                              \
    const mca_coll_nicbarr_module_t *module = (const mca_coll_nicbarr_module_t *)base;             \
    const int before = nicbarr_survive(module, comm, OMPI_SUCCESS);                                \
    return OMPI_SUCCESS == before ? nicbarr_survive(module, comm, call) : before

static int surviving_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    SURVIVE(nicbarr_barrier(comm, base));
}

static int surviving_allreduce(const void *from, void *to, nicbarr_count_t count,
                               ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                               mca_coll_base_module_t *base)
{
    SURVIVE(nicbarr_allreduce(from, to, count, type, op, comm, base));
}

static int surviving_reduce(const void *from, void *to, nicbarr_count_t count,
                            ompi_datatype_t *type, ompi_op_t *op, int root,
                            ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    SURVIVE(nicbarr_reduce(from, to, count, type, op, root, comm, base));
}

static int surviving_bcast(void *data, nicbarr_count_t count, ompi_datatype_t *type, int root,
                           ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    SURVIVE(nicbarr_bcast(data, count, type, root, comm, base));
}

static int surviving_allgather(const void *from, nicbarr_count_t scount, ompi_datatype_t *stype,
                               void *to, nicbarr_count_t rcount, ompi_datatype_t *rtype,
                               ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    SURVIVE(nicbarr_allgather(from, scount, stype, to, rcount, rtype, comm, base));
}

static int surviving_gather(const void *from, nicbarr_count_t scount, ompi_datatype_t *stype,
                            void *to, nicbarr_count_t rcount, ompi_datatype_t *rtype, int root,
                            ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    SURVIVE(nicbarr_gather(from, scount, stype, to, rcount, rtype, root, comm, base));
}

static int surviving_scatter(const void *from, nicbarr_count_t scount, ompi_datatype_t *stype,
                             void *to, nicbarr_count_t rcount, ompi_datatype_t *rtype, int root,
                             ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    SURVIVE(nicbarr_scatter(from, scount, stype, to, rcount, rtype, root, comm, base));
}

void nicbarr_wrap_to_survive(mca_coll_base_module_t *module)
{
#define WRAP(collective)                                                                           \
    if (NULL != module->coll_##collective) {                                                       \
        module->coll_##collective = surviving_##collective;                                        \
    }
    WRAP(barrier)
    WRAP(allreduce)
    WRAP(reduce)
    WRAP(bcast)
    WRAP(allgather)
    WRAP(gather)
    WRAP(scatter)
#undef WRAP
}
