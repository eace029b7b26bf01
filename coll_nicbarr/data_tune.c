/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which is faster for a collective that carries data, nicbarr's or Open MPI's own? A contest
 * (contest.h) of the two on the real communicator, with a payload at the upper end of the class.
 *
 * A class has its share of coll_nicbarr_tune_budget. What was measured is remembered for the job
 * and for later ones, by the communicator's shape.
 */
#include "coll_nicbarr/data.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/cache.h"
#include "coll_nicbarr/contest.h"
#include "coll_nicbarr/report.h"
#include "coll_nicbarr/together.h"

enum { OWN, OURS, CONTESTANTS };

struct tuner {
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    enum nicbarr_collective collective;
    int count; /* of elements; a block has so many */
    ompi_datatype_t *type;
    ompi_op_t *op;
    void *from, *to;
    struct nicbarr_contest contest;
};

/* Does each process have a block of its own? */
static bool has_blocks(enum nicbarr_collective collective)
{
    return NICBARR_ALLGATHER == collective || NICBARR_GATHER == collective ||
           NICBARR_SCATTER == collective;
}

/* What a program might define. */
static void sum(void *left, void *right, int *count, MPI_Datatype *type)
{
    const double *from = left;
    double *to = right;
    (void)type;
    for (int i = 0; i < *count; ++i) {
        to[i] += from[i];
    }
}

/* One call; the root goes round. */
static int call(void *context, int candidate, int number)
{
    const struct tuner *t = context;
    const bool ours = OURS == candidate;
    mca_coll_nicbarr_module_t *module = t->module;
    mca_coll_base_module_t *base = &module->super;
    const int root = number % ompi_comm_size(t->comm);
    switch (t->collective) {
    case NICBARR_BCAST:
        return ours ? nicbarr_bcast(t->to, t->count, t->type, root, t->comm, base)
                    : module->bcast.function(t->to, t->count, t->type, root, t->comm,
                                             module->bcast.module);
    case NICBARR_REDUCE:
    case NICBARR_REDUCE_USERS:
        return ours ? nicbarr_reduce(t->from, t->to, t->count, t->type, t->op, root, t->comm, base)
                    : module->reduce.function(t->from, t->to, t->count, t->type, t->op, root,
                                              t->comm, module->reduce.module);
    case NICBARR_ALLGATHER:
        return ours ? nicbarr_allgather(t->from, t->count, t->type, t->to, t->count, t->type,
                                        t->comm, base)
                    : module->allgather.function(t->from, t->count, t->type, t->to, t->count,
                                                 t->type, t->comm, module->allgather.module);
    case NICBARR_GATHER:
        return ours ? nicbarr_gather(t->from, t->count, t->type, t->to, t->count, t->type, root,
                                     t->comm, base)
                    : module->gather.function(t->from, t->count, t->type, t->to, t->count, t->type,
                                              root, t->comm, module->gather.module);
    case NICBARR_SCATTER:
        return ours ? nicbarr_scatter(t->from, t->count, t->type, t->to, t->count, t->type, root,
                                      t->comm, base)
                    : module->scatter.function(t->from, t->count, t->type, t->to, t->count, t->type,
                                               root, t->comm, module->scatter.module);
    default:
        return ours ? nicbarr_allreduce(t->from, t->to, t->count, t->type, t->op, t->comm, base)
                    : module->allreduce.function(t->from, t->to, t->count, t->type, t->op, t->comm,
                                                 module->allreduce.module);
    }
}

/* ---- what is remembered ---- */

/* What the cache calls the contestants. */
static void name_ways(const struct tuner *t, const char *names[CONTESTANTS])
{
    names[OWN] = nicbarr_way_name(t->collective, NICBARR_WAY_OWN);
    names[OURS] = nicbarr_way_name(t->collective, NICBARR_WAY_OURS);
}

/* What rank 0 knows of a class, from this job or, if that is sure, from earlier ones; 0: nothing.
 */
static uint64_t recall(const struct tuner *t, uint64_t key, uint32_t size_class,
                       enum nicbarr_source *source)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    char text[NICBARR_CLASS_TEXT], name[NICBARR_CHOICE_TEXT];
    const char *names[CONTESTANTS];
    const uint64_t note = myr_note_get(segment, key);
    bool sure;
    *source = NICBARR_FROM_JOB;
    if (0 != note ||
        !nicbarr_cache_read_name(
            &t->module->shape, nicbarr_class_name(t->collective, size_class, text), name, &sure) ||
        !sure) {
        return note;
    }
    name_ways(t, names);
    *source = NICBARR_FROM_CACHE;
    const uint64_t way = 0 == strcmp(name, names[OURS])  ? NICBARR_WAY_OURS
                         : 0 == strcmp(name, names[OWN]) ? NICBARR_WAY_OWN
                                                         : 0;
    (void)myr_note_set(segment, key, way);
    return way;
}

/* Rank 0 knows; the others go by what it says. */
static int ask_root(const struct tuner *t, uint64_t key, uint32_t size_class, uint64_t *known,
                    enum nicbarr_source *source)
{
    const mca_coll_nicbarr_module_t *module = t->module;
    *known = 0 == ompi_comm_rank(t->comm) ? recall(t, key, size_class, source) : 0;
    return module->bcast.function(known, 1, MPI_UINT64_T, 0, t->comm, module->bcast.module);
}

/* Tell what was measured to those who come later, in this job or others, and to people. */
static void publish(const struct tuner *t, uint64_t key, enum nicbarr_way way, uint32_t size_class)
{
    char text[NICBARR_CLASS_TEXT];
    const char *names[CONTESTANTS];
    if (0 == ompi_comm_rank(t->comm)) {
        (void)myr_note_set(mca_coll_nicbarr_component.segment, key, (uint64_t)way);
        name_ways(t, names);
        nicbarr_cache_add_names(&t->module->shape,
                                nicbarr_class_name(t->collective, size_class, text), names,
                                &t->contest);
        nicbarr_report_data(t->module, t->comm, t->collective, size_class, NICBARR_MEASURED,
                            &t->contest, NULL);
        nicbarr_report_write();
    }
}

/* ---- the whole of it ---- */

static int run(struct tuner *t, enum nicbarr_way *way, uint32_t size_class)
{
    const struct nicbarr_race race = {t->module, t->comm, call, t};
    const double budget_us = mca_coll_nicbarr_component.parameters.tune_budget * 1e3 /
                             nicbarr_data_classes(t->collective, false);
    const uint64_t key = nicbarr_data_note_key(t->module, t->collective, size_class);
    enum nicbarr_source source = NICBARR_FROM_JOB;
    uint64_t known = 0;
    int rc = ask_root(t, key, size_class, &known, &source);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (0 != known) {
        *way = (enum nicbarr_way)known;
        nicbarr_report_data(t->module, t->comm, t->collective, size_class, source, NULL, NULL);
        return rc;
    }
    /* While it competes, calls of this class are ours. */
    *way = NICBARR_WAY_OURS;
    rc = nicbarr_race_run(&t->contest, &race, CONTESTANTS, nicbarr_now_us(), budget_us);
    *way = OURS == t->contest.chosen ? NICBARR_WAY_OURS : NICBARR_WAY_OWN;
    if (OMPI_SUCCESS == rc) {
        publish(t, key, *way, size_class);
    }
    return rc;
}

/* The smallest class may have less than a byte for each process: it gets one. */
static size_t payload(const ompi_communicator_t *comm, enum nicbarr_collective collective,
                      uint32_t size_class)
{
    const size_t bytes = nicbarr_size_classes[size_class];
    const size_t processes = (size_t)ompi_comm_size((ompi_communicator_t *)comm);
    return has_blocks(collective) && bytes < processes ? processes : bytes;
}

int nicbarr_data_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class)
{
    const size_t bytes = payload(comm, collective, size_class);
    const bool users = NICBARR_ALLREDUCE_USERS == collective || NICBARR_REDUCE_USERS == collective;
    struct tuner *t = calloc(1, sizeof(*t) + 2 * bytes);
    ompi_op_t *op =
        users ? ompi_op_create_user(true, (ompi_op_fortran_handler_fn_t *)sum) : MPI_SUM;
    int rc = OMPI_ERR_OUT_OF_RESOURCE;
    if (NULL != t && NULL != op) {
        *t = (struct tuner){.module = module,
                            .comm = comm,
                            .collective = collective,
                            .count = (int)(bytes / sizeof(double)),
                            .type = MPI_DOUBLE,
                            .op = op,
                            .from = t + 1,
                            .to = (uint8_t *)(t + 1) + bytes};
        if (has_blocks(collective)) {
            t->type = MPI_BYTE;
            t->count = (int)bytes / ompi_comm_size(comm);
        }
        module->tuning = true;
        rc = run(t, &module->ways[collective][size_class].way, size_class);
        module->tuning = false;
    }
    if (users && NULL != op) {
        OBJ_RELEASE(op);
    }
    free(t);
    return rc;
}
