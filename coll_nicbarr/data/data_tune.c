/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures whether, on one node, nicbarr's implementation of a collective that carries data is
 * faster than Open MPI's own function. A trial (trial.h) runs both on the communicator itself, with
 * a payload at the upper end of the size class.
 *
 * Each class gets a share of coll_nicbarr_tune_budget. The result is stored under the
 * communicator's shape, for this job and for later jobs. */
#include "coll_nicbarr/data/data.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/data/data_watch.h"
#include "coll_nicbarr/data/trial.h"
#include "coll_nicbarr/files/report.h"

enum { OPENMPI, OURS, CONTESTANTS };

struct tuner {
    struct nicbarr_trial trial;
    struct nicbarr_choice choices[CONTESTANTS];
    int count; /* number of elements, of each block if there are several */
    ompi_datatype_t *type;
    ompi_op_t *op;
    void *from, *to;
};

static bool has_user_op(enum nicbarr_collective collective)
{
    return NICBARR_ALLREDUCE_USER_OP == collective || NICBARR_REDUCE_USER_OP == collective;
}

/* Returns whether each process has a separate block. */
static bool has_blocks(enum nicbarr_collective collective)
{
    return NICBARR_ALLGATHER == collective || NICBARR_GATHER == collective ||
           NICBARR_SCATTER == collective;
}

static enum nicbarr_way way_of(int candidate)
{
    return OURS == candidate ? NICBARR_WAY_NICBARR : NICBARR_WAY_OPENMPI;
}

/* The user-defined operation that a trial executes: a sum. */
static void sum_doubles(void *left, void *right, int *count, MPI_Datatype *type)
{
    const double *from = left;
    double *to = right;
    (void)type;
    for (int i = 0; i < *count; ++i) {
        to[i] += from[i];
    }
}

/* Execute one call of a candidate by the function that also serves the program's calls. To make
 * this function use the candidate, the class is marked as decided in favour of the candidate, until
 * the trial sets the implementation of the class again. Calls of a decided class are not counted.
 */
static int call_collective(void *trial, int candidate, int number)
{
    const struct tuner *t = trial;
    const enum nicbarr_collective collective = t->trial.collective;
    mca_coll_nicbarr_module_t *module = t->trial.module;
    ompi_communicator_t *comm = t->trial.comm;
    mca_coll_base_module_t *base = &module->super;
    const int root = nicbarr_trial_root(&t->trial, number);
    module->ways[collective][t->trial.size_class].way = way_of(candidate);
    switch (collective) {
    case NICBARR_BCAST:
        return nicbarr_bcast(t->to, t->count, t->type, root, comm, base);
    case NICBARR_REDUCE:
    case NICBARR_REDUCE_USER_OP:
        return nicbarr_reduce(t->from, t->to, t->count, t->type, t->op, root, comm, base);
    case NICBARR_ALLGATHER:
        return nicbarr_allgather(t->from, t->count, t->type, t->to, t->count, t->type, comm, base);
    case NICBARR_GATHER:
        return nicbarr_gather(t->from, t->count, t->type, t->to, t->count, t->type, root, comm,
                              base);
    case NICBARR_SCATTER:
        return nicbarr_scatter(t->from, t->count, t->type, t->to, t->count, t->type, root, comm,
                               base);
    default:
        return nicbarr_allreduce(t->from, t->to, t->count, t->type, t->op, comm, base);
    }
}

/* ---- trials ---- */

static void install_chosen(struct nicbarr_trial *trial)
{
    trial->way = way_of(trial->contest.chosen);
}

static void release_op(enum nicbarr_collective collective, ompi_op_t *op)
{
    if (has_user_op(collective) && NULL != op) {
        OBJ_RELEASE(op);
    }
}

static void free_tuner(struct nicbarr_trial *trial)
{
    struct tuner *t = (struct tuner *)trial;
    release_op(trial->collective, t->op);
    free(t);
}

static const struct nicbarr_trial_kind on_one_node = {call_collective, NULL, install_chosen,
                                                      free_tuner};

/* Create a tuner for the class. Returns NULL on all members if one is out of memory. */
static struct tuner *make_tuner(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class)
{
    const size_t bytes = nicbarr_size_classes[size_class];
    const bool blocks = has_blocks(collective);
    struct tuner *t = calloc(1, sizeof(*t) + 2 * bytes);
    ompi_op_t *op = has_user_op(collective) ? nicbarr_op_create(sum_doubles) : MPI_SUM;
    double failed = NULL == t || NULL == op;
    if (OMPI_SUCCESS != nicbarr_maximum(module, comm, &failed, 1) || 0 != failed) {
        release_op(collective, op);
        free(t);
        return NULL;
    }
    t->trial = (struct nicbarr_trial){.kind = &on_one_node,
                                      .module = module,
                                      .comm = comm,
                                      .collective = collective,
                                      .size_class = size_class,
                                      .choices = t->choices};
    t->choices[OPENMPI] = nicbarr_way_choice(collective, NICBARR_WAY_OPENMPI);
    t->choices[OURS] = nicbarr_way_choice(collective, NICBARR_WAY_NICBARR);
    t->count = (int)bytes / (blocks ? ompi_comm_size(comm) : (int)sizeof(double));
    t->type = blocks ? MPI_BYTE : MPI_DOUBLE;
    t->op = op;
    t->from = t + 1;
    t->to = (uint8_t *)(t + 1) + bytes;
    return t;
}

static int begin_trial(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       enum nicbarr_collective collective, uint32_t size_class)
{
    const double start_us = nicbarr_now_us();
    struct tuner *t = make_tuner(module, comm, collective, size_class);
    return NULL == t ? OMPI_ERR_OUT_OF_RESOURCE
                     : nicbarr_trial_begin(&t->trial, CONTESTANTS, start_us);
}

/* If a member has no memory for the trial, the implementation in use is kept. */
int nicbarr_data_tune_remeasure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class)
{
    const enum nicbarr_way way = nicbarr_data_way(module, collective, size_class);
    const double start_us = nicbarr_now_us();
    struct tuner *t = make_tuner(module, comm, collective, size_class);
    if (NULL == t) {
        nicbarr_data_watch(module, collective, size_class, way, false);
        return OMPI_SUCCESS;
    }
    t->trial.remeasured = true;
    t->trial.way = way;
    t->trial.incumbent = NICBARR_WAY_NICBARR == way ? OURS : OPENMPI;
    return nicbarr_trial_begin(&t->trial, CONTESTANTS, start_us);
}

/* Returns the way that corresponds to a choice, or NICBARR_WAY_OPEN if the choice does not apply to
 * this collective, because the cache was edited by hand. */
static enum nicbarr_way decode_way(enum nicbarr_collective collective, struct nicbarr_choice choice)
{
    const bool ours =
        nicbarr_choice_equal(choice, nicbarr_way_choice(collective, NICBARR_WAY_NICBARR));
    return ours                                  ? NICBARR_WAY_NICBARR
           : NICBARR_OPENMPI == choice.algorithm ? NICBARR_WAY_OPENMPI
                                                 : NICBARR_WAY_OPEN;
}

int nicbarr_data_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class)
{
    struct nicbarr_choice choice;
    uint64_t known;
    int rc = nicbarr_trial_stored_choice(module, comm, collective, size_class, &known);
    const enum nicbarr_source source = nicbarr_choice_decode(known, &choice);
    const enum nicbarr_way way = 0 == known ? NICBARR_WAY_OPEN : decode_way(collective, choice);
    if (OMPI_SUCCESS == rc && NICBARR_READING == known) {
        nicbarr_trial_postpone(module, collective, size_class);
    } else if (OMPI_SUCCESS == rc && NICBARR_WAY_OPEN != way) {
        nicbarr_data_watch(module, collective, size_class, way, NICBARR_FROM_JOB == source);
        nicbarr_report_data(module, comm, collective, size_class, source, NULL, NULL);
    } else if (OMPI_SUCCESS == rc &&
               nicbarr_trial_affordable(module, comm, collective, size_class)) {
        rc = begin_trial(module, comm, collective, size_class);
    }
    return rc;
}
