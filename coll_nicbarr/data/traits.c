/* SPDX-License-Identifier: BSD-3-Clause */
/* See traits.h. */
#include "coll_nicbarr/data/traits.h"

#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data.h"

/* Returns the size of a block. A carrier must have space for an element of any type. */
static uint32_t unit_of(uint32_t partials, size_t bytes)
{
    return nicbarr_carrier_unit(partials, bytes < NICBARR_ELEMENT_MOST ? NICBARR_ELEMENT_MOST
                                                                       : (uint32_t)bytes);
}

static uint32_t unit_to_reduce(const struct nicbarr_vectors *v, uint32_t bytes)
{
    return unit_of(v->trial->module->carriers->order.most, bytes);
}

static bool open_to_reduce(const struct nicbarr_vectors *v, const struct myr_nic_group *group,
                           struct nicbarr_choice choice, struct nicbarr_carrier *carrier)
{
    return nicbarr_carrier_open(carrier, group, choice, &v->trial->module->carriers->order);
}

static int openmpi_allreduce(const struct nicbarr_vectors *v, int number)
{
    mca_coll_nicbarr_module_t *module = v->trial->module;
    (void)number;
    return nicbarr_openmpi_allreduce(v->from, v->to, v->count, MPI_DOUBLE, MPI_SUM, v->trial->comm,
                                     &module->openmpi);
}

static int our_allreduce(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier,
                         int number)
{
    (void)number;
    return nicbarr_carry_reduction(v->trial->module, v->trial->comm, carrier, v->from, v->to, true,
                                   v->count, MPI_DOUBLE, MPI_SUM);
}

static bool is_root(const struct nicbarr_vectors *v, int number)
{
    return nicbarr_trial_root(v->trial, number) == ompi_comm_rank(v->trial->comm);
}

static int openmpi_reduce(const struct nicbarr_vectors *v, int number)
{
    mca_coll_nicbarr_module_t *module = v->trial->module;
    return nicbarr_openmpi_reduce(v->from, v->to, v->count, MPI_DOUBLE, MPI_SUM,
                                  nicbarr_trial_root(v->trial, number), v->trial->comm,
                                  &module->openmpi);
}

static int our_reduce(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier, int number)
{
    return nicbarr_carry_reduction(v->trial->module, v->trial->comm, carrier, v->from, v->to,
                                   is_root(v, number), v->count, MPI_DOUBLE, MPI_SUM);
}

static uint32_t unit_to_bcast(const struct nicbarr_vectors *v, uint32_t bytes)
{
    (void)v;
    return nicbarr_bcast_unit(bytes);
}

static bool open_to_bcast(const struct nicbarr_vectors *v, const struct myr_nic_group *group,
                          struct nicbarr_choice choice, struct nicbarr_carrier *carrier)
{
    (void)v;
    return nicbarr_carrier_open(carrier, group, choice, NULL);
}

static int openmpi_bcast(const struct nicbarr_vectors *v, int number)
{
    mca_coll_nicbarr_module_t *module = v->trial->module;
    return nicbarr_openmpi_bcast(v->to, v->count, MPI_DOUBLE, nicbarr_trial_root(v->trial, number),
                                 v->trial->comm, &module->openmpi);
}

static int our_bcast(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier, int number)
{
    size_t bytes = v->bytes;
    return nicbarr_carry_bcast(v->trial->module, v->trial->comm, carrier, v->to, &bytes,
                               nicbarr_trial_root(v->trial, number));
}

/* Returns the number of bytes from each rank, whereas a size class counts the bytes from all ranks.
 */
static size_t each_rank(const struct nicbarr_vectors *v, size_t bytes)
{
    return bytes / (size_t)ompi_comm_size(v->trial->comm);
}

static uint32_t unit_to_gather(const struct nicbarr_vectors *v, uint32_t bytes)
{
    return unit_of(v->trial->module->carriers->gather_order.most, each_rank(v, bytes));
}

static bool open_to_gather(const struct nicbarr_vectors *v, const struct myr_nic_group *group,
                           struct nicbarr_choice choice, struct nicbarr_carrier *carrier)
{
    return nicbarr_carrier_open(carrier, group, choice, &v->trial->module->carriers->gather_order);
}

static int openmpi_allgather(const struct nicbarr_vectors *v, int number)
{
    mca_coll_nicbarr_module_t *module = v->trial->module;
    const int each = (int)each_rank(v, v->bytes);
    (void)number;
    return nicbarr_openmpi_allgather(v->from, each, MPI_BYTE, v->to, each, MPI_BYTE, v->trial->comm,
                                     &module->openmpi);
}

static int our_allgather(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier,
                         int number)
{
    (void)number;
    return nicbarr_carry_gathering(v->trial->module, v->trial->comm, carrier, v->from, v->to, true,
                                   each_rank(v, v->bytes));
}

static int openmpi_gather(const struct nicbarr_vectors *v, int number)
{
    mca_coll_nicbarr_module_t *module = v->trial->module;
    const int each = (int)each_rank(v, v->bytes);
    return nicbarr_openmpi_gather(v->from, each, MPI_BYTE, v->to, each, MPI_BYTE,
                                  nicbarr_trial_root(v->trial, number), v->trial->comm,
                                  &module->openmpi);
}

static int our_gather(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier, int number)
{
    return nicbarr_carry_gathering(v->trial->module, v->trial->comm, carrier, v->from, v->to,
                                   is_root(v, number), each_rank(v, v->bytes));
}

static int openmpi_scatter(const struct nicbarr_vectors *v, int number)
{
    mca_coll_nicbarr_module_t *module = v->trial->module;
    const int each = (int)each_rank(v, v->bytes);
    return nicbarr_openmpi_scatter(v->from, each, MPI_BYTE, v->to, each, MPI_BYTE,
                                   nicbarr_trial_root(v->trial, number), v->trial->comm,
                                   &module->openmpi);
}

static int our_scatter(const struct nicbarr_vectors *v, struct nicbarr_carrier *carrier, int number)
{
    size_t each = each_rank(v, v->bytes);
    return nicbarr_carry_scattering(v->trial->module, v->trial->comm, carrier, v->from, v->to,
                                    &each, nicbarr_trial_root(v->trial, number));
}

static const struct nicbarr_traits traits[NICBARR_COLLECTIVES] = {
    [NICBARR_ALLREDUCE] = {false, true, unit_to_reduce, open_to_reduce, openmpi_allreduce,
                           our_allreduce},
    [NICBARR_REDUCE] = {false, true, unit_to_reduce, open_to_reduce, openmpi_reduce, our_reduce},
    [NICBARR_BCAST] = {true, false, unit_to_bcast, open_to_bcast, openmpi_bcast, our_bcast},
    [NICBARR_ALLGATHER] = {false, false, unit_to_gather, open_to_gather, openmpi_allgather,
                           our_allgather},
    [NICBARR_GATHER] = {false, false, unit_to_gather, open_to_gather, openmpi_gather, our_gather},
    [NICBARR_SCATTER] = {true, false, unit_to_bcast, open_to_bcast, openmpi_scatter, our_scatter},
};

const struct nicbarr_traits *nicbarr_traits(enum nicbarr_collective collective)
{
    return &traits[collective];
}
