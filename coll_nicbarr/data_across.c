/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that carry data, on several nodes: which NICs could do a class of size, and is one of
 * them faster than Open MPI's own?
 *
 * All of it happens within a blocking collective of all members, once for each class that a program
 * uses often. Each candidate has a group of its own; the fastest keeps it. What was measured is
 * remembered for the job and for later ones, by the communicator's shape. A class has its share of
 * coll_nicbarr_tune_budget.
 */
#include "coll_nicbarr/data.h"

#include <stdlib.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/cache.h"
#include "coll_nicbarr/carrier.h"
#include "coll_nicbarr/contest.h"
#include "coll_nicbarr/entrants.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/module.h"
#include "coll_nicbarr/report.h"
#include "coll_nicbarr/rooted.h"
#include "coll_nicbarr/together.h"
#include "libmyr/nic_bcast.h"

/* Collectives of a family go by the same groups. */
enum family { REDUCTIONS, BROADCASTS, GATHERINGS, SCATTERINGS, FAMILIES };

struct nicbarr_carriers {
    struct nicbarr_order order, apart; /* of reductions, of gatherings */
    struct nicbarr_carrier of[FAMILIES][NICBARR_ACROSS_CLASSES];
};

static enum family family_of(enum nicbarr_collective collective)
{
    return NICBARR_BCAST == collective       ? BROADCASTS
           : NICBARR_ALLGATHER == collective ? GATHERINGS
           : NICBARR_SCATTER == collective   ? SCATTERINGS
                                             : REDUCTIONS;
}

struct nicbarr_carrier *nicbarr_data_carrier(const mca_coll_nicbarr_module_t *module,
                                             enum nicbarr_collective collective,
                                             uint32_t size_class)
{
    struct nicbarr_carrier *carrier =
        NULL == module->carriers || size_class >= NICBARR_ACROSS_CLASSES
            ? NULL
            : &module->carriers->of[family_of(collective)][size_class];
    return NULL != carrier && myr_nic_group_joined(&carrier->group) ? carrier : NULL;
}

struct nicbarr_carrier *nicbarr_data_carrier_noted(mca_coll_nicbarr_module_t *module,
                                                   enum nicbarr_collective collective, size_t bytes)
{
    if (0 == bytes || bytes > nicbarr_size_classes[NICBARR_ACROSS_CLASSES - 1] || module->tuning) {
        return NULL;
    }
    const uint32_t size_class = nicbarr_size_class(bytes);
    nicbarr_data_note_call(module, collective, size_class);
    return nicbarr_data_carrier(module, collective, size_class);
}

/* Join a group like this one; not joined on all members where it failed on one. */
static int join_like(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                     const struct nicbarr_carrier *like, struct myr_nic_group *group)
{
    const bool broadcasts = NULL != like->group.bcast;
    struct nicbarr_joining joining = {
        .choice = like->choice,
        .number = NICBARR_GROUP_PERSISTENT + (uint32_t)++module->persistent,
        .unit_most =
            broadcasts ? myr_nic_bcast_most(&like->group) : myr_nic_data_most(&like->group),
        .broadcasts = broadcasts,
        .group = group,
    };
    return nicbarr_across_join_one(module, comm, &joining);
}

/* Have a carrier like this one. What has no group here has none on any member. */
static int open_like(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                     const struct nicbarr_carrier *like, struct nicbarr_carrier *own)
{
    struct myr_nic_group group = {.player = NULL};
    const int rc = join_like(module, comm, like, &group);
    if (OMPI_SUCCESS != rc || !myr_nic_group_joined(&group)) {
        return rc;
    }
    return nicbarr_carrier_open(own, &group, like->choice, like->order) ? OMPI_SUCCESS
                                                                        : OMPI_ERR_OUT_OF_RESOURCE;
}

/* The same of the one that its results come back by, if it is rooted; or it is closed. */
static int open_back_like(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          const struct nicbarr_carrier *like, struct nicbarr_carrier *own)
{
    if (NULL == like->back || !myr_nic_group_joined(&own->group)) {
        return OMPI_SUCCESS;
    }
    struct nicbarr_carrier *back = calloc(1, sizeof(*back));
    const int rc =
        NULL == back ? OMPI_ERR_OUT_OF_RESOURCE : open_like(module, comm, like->back, back);
    if (OMPI_SUCCESS == rc && myr_nic_group_joined(&back->group)) {
        nicbarr_rooted_put_together(own, back, like->combiner);
    } else {
        free(back);
        nicbarr_carrier_close(own);
    }
    return rc;
}

int nicbarr_data_own_carrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, size_t bytes,
                             struct nicbarr_carrier *own)
{
    *own = (struct nicbarr_carrier){.stack = NULL};
    if (!nicbarr_data_ours_at_once(module, comm, collective, bytes)) {
        return OMPI_SUCCESS;
    }
    const struct nicbarr_carrier *like =
        nicbarr_data_carrier(module, collective, nicbarr_size_class(bytes));
    const int rc = open_like(module, comm, like, own);
    return OMPI_SUCCESS == rc ? open_back_like(module, comm, like, own) : rc;
}

const struct nicbarr_carrier *nicbarr_carrier_with(const mca_coll_nicbarr_module_t *module,
                                                   const struct myr_nic_group *group)
{
    for (int c = 0; NULL != module->carriers && c < FAMILIES * NICBARR_ACROSS_CLASSES; ++c) {
        const struct nicbarr_carrier *carrier =
            &module->carriers->of[c / NICBARR_ACROSS_CLASSES][c % NICBARR_ACROSS_CLASSES];
        if (group == &carrier->group) {
            return carrier;
        }
    }
    return NULL;
}

static void free_carriers(struct nicbarr_carriers *carriers)
{
    if (NULL != carriers) {
        nicbarr_order_free(&carriers->order);
        nicbarr_order_free(&carriers->apart);
        free(carriers);
    }
}

void nicbarr_carriers_free(mca_coll_nicbarr_module_t *module)
{
    if (NULL == module->carriers) {
        return;
    }
    for (int c = 0; c < FAMILIES * NICBARR_ACROSS_CLASSES; ++c) {
        nicbarr_carrier_close(
            &module->carriers->of[c / NICBARR_ACROSS_CLASSES][c % NICBARR_ACROSS_CLASSES]);
    }
    free_carriers(module->carriers);
    module->carriers = NULL;
}

/* What all classes need. False for all if anybody has no memory. */
static int make_carriers(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const struct nicbarr_nodes *nodes = &module->nodes;
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    struct nicbarr_carriers *carriers = calloc(1, sizeof(*carriers));
    double failed =
        NULL == carriers ||
        !nicbarr_order_make(nodes->of, size, nodes->nodes, nodes->node, &carriers->order) ||
        !nicbarr_order_make_apart(nodes->of, size, nodes->nodes, nodes->node, &carriers->apart);
    int rc = nicbarr_maximum(comm, &failed, 1);
    rc = OMPI_SUCCESS == rc && 0 != failed ? OMPI_ERR_OUT_OF_RESOURCE : rc;
    if (OMPI_SUCCESS != rc) {
        free_carriers(carriers);
        carriers = NULL;
    }
    module->carriers = carriers;
    return rc;
}

/* ---- measuring ---- */

struct tuner {
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    const struct style *style;
    size_t bytes;
    int count; /* of doubles */
    double *from, *to;
    struct nicbarr_entrants entrants;
    struct nicbarr_carrier carriers[NICBARR_CANDIDATES];
    struct nicbarr_contest contest;
};

/* What is different for a family. */
struct style {
    bool broadcasts, combines;
    /* Bytes of a block, for a class of so many. */
    uint32_t (*unit)(const struct tuner *t, uint32_t bytes);
    /* Have a carrier with this group; false if it is of no use, then the group is left. */
    bool (*open)(const struct tuner *t, const struct myr_nic_group *group,
                 struct nicbarr_choice choice, struct nicbarr_carrier *carrier);
    /* The `number`-th call, by Open MPI's own and by a carrier. */
    int (*own)(const struct tuner *t, int number);
    int (*ours)(const struct tuner *t, struct nicbarr_carrier *carrier, int number);
};

static uint32_t unit_to_reduce(const struct tuner *t, uint32_t bytes)
{
    return nicbarr_carrier_unit(t->module->carriers->order.most, bytes);
}

static bool open_to_reduce(const struct tuner *t, const struct myr_nic_group *group,
                           struct nicbarr_choice choice, struct nicbarr_carrier *carrier)
{
    return nicbarr_carrier_open(carrier, group, choice, &t->module->carriers->order);
}

static int own_allreduce(const struct tuner *t, int number)
{
    mca_coll_nicbarr_module_t *module = t->module;
    (void)number;
    return module->allreduce.function(t->from, t->to, t->count, MPI_DOUBLE, MPI_SUM, t->comm,
                                      module->allreduce.module);
}

static int our_allreduce(const struct tuner *t, struct nicbarr_carrier *carrier, int number)
{
    (void)number;
    return nicbarr_carry_reduction(t->module, t->comm, carrier, t->from, t->to, t->count,
                                   MPI_DOUBLE, MPI_SUM);
}

static uint32_t unit_to_bcast(const struct tuner *t, uint32_t bytes)
{
    (void)t;
    return nicbarr_bcast_unit(bytes);
}

static bool open_to_bcast(const struct tuner *t, const struct myr_nic_group *group,
                          struct nicbarr_choice choice, struct nicbarr_carrier *carrier)
{
    (void)t;
    return nicbarr_carrier_open(carrier, group, choice, NULL);
}

/* (The root goes round.) */
static int own_bcast(const struct tuner *t, int number)
{
    mca_coll_nicbarr_module_t *module = t->module;
    return module->bcast.function(t->to, t->count, MPI_DOUBLE, number % ompi_comm_size(t->comm),
                                  t->comm, module->bcast.module);
}

static int our_bcast(const struct tuner *t, struct nicbarr_carrier *carrier, int number)
{
    size_t bytes = t->bytes;
    return nicbarr_carry_bcast(t->module, t->comm, carrier, t->to, &bytes,
                               number % ompi_comm_size(t->comm));
}

/* (A class is of all ranks' bytes.) */
static size_t each_rank(const struct tuner *t, size_t bytes)
{
    return bytes / (size_t)ompi_comm_size(t->comm);
}

static uint32_t unit_to_gather(const struct tuner *t, uint32_t bytes)
{
    const size_t each = each_rank(t, bytes);
    return nicbarr_carrier_unit(t->module->carriers->apart.most, each < NICBARR_ELEMENT_MOST
                                                                     ? NICBARR_ELEMENT_MOST
                                                                     : (uint32_t)each);
}

static bool open_to_gather(const struct tuner *t, const struct myr_nic_group *group,
                           struct nicbarr_choice choice, struct nicbarr_carrier *carrier)
{
    return nicbarr_carrier_open(carrier, group, choice, &t->module->carriers->apart);
}

static int own_allgather(const struct tuner *t, int number)
{
    mca_coll_nicbarr_module_t *module = t->module;
    const int each = (int)each_rank(t, t->bytes);
    (void)number;
    return module->allgather.function(t->from, each, MPI_BYTE, t->to, each, MPI_BYTE, t->comm,
                                      module->allgather.module);
}

static int our_allgather(const struct tuner *t, struct nicbarr_carrier *carrier, int number)
{
    (void)number;
    return nicbarr_carry_gathering(t->module, t->comm, carrier, t->from, t->to,
                                   each_rank(t, t->bytes));
}

static int own_scatter(const struct tuner *t, int number)
{
    mca_coll_nicbarr_module_t *module = t->module;
    const int each = (int)each_rank(t, t->bytes);
    return module->scatter.function(t->from, each, MPI_BYTE, t->to, each, MPI_BYTE,
                                    number % ompi_comm_size(t->comm), t->comm,
                                    module->scatter.module);
}

static int our_scatter(const struct tuner *t, struct nicbarr_carrier *carrier, int number)
{
    size_t each = each_rank(t, t->bytes);
    return nicbarr_carry_scattering(t->module, t->comm, carrier, t->from, t->to, &each,
                                    number % ompi_comm_size(t->comm));
}

static const struct style styles[FAMILIES] = {
    [REDUCTIONS] = {false, true, unit_to_reduce, open_to_reduce, own_allreduce, our_allreduce},
    [BROADCASTS] = {true, false, unit_to_bcast, open_to_bcast, own_bcast, our_bcast},
    [GATHERINGS] = {false, false, unit_to_gather, open_to_gather, own_allgather, our_allgather},
    [SCATTERINGS] = {true, false, unit_to_bcast, open_to_bcast, own_scatter, our_scatter},
};

static int call(void *context, int candidate, int number)
{
    struct tuner *t = context;
    return 0 == candidate ? t->style->own(t, number)
                          : t->style->ours(t, &t->carriers[candidate], number);
}

/* ---- what competes ---- */

/* Put the candidates' groups to use. Those that somebody cannot use are left out by all. */
static int open_carriers(struct tuner *t, uint32_t number)
{
    struct nicbarr_entrants *entrants = &t->entrants;
    double failed[NICBARR_CANDIDATES] = {0};
    int kept = 1, rc;
    for (int c = 1; c < entrants->count; ++c) {
        failed[c] = !t->style->open(t, &entrants->group[c], entrants->choice[c], &t->carriers[c]);
        entrants->group[c] = (struct myr_nic_group){0};
    }
    rc = nicbarr_rooted_join(t->module, t->comm, number, (uint32_t)t->bytes, t->carriers,
                             entrants->count, failed, entrants->errors);
    rc = OMPI_SUCCESS == rc ? nicbarr_maximum(t->comm, failed, entrants->count) : rc;
    for (int c = 1; OMPI_SUCCESS == rc && c < entrants->count; ++c) {
        if (0 != failed[c]) {
            nicbarr_carrier_close(&t->carriers[c]);
        } else {
            if (kept != c) {
                t->carriers[kept] = t->carriers[c];
                t->carriers[c] = (struct nicbarr_carrier){.stack = NULL};
                entrants->choice[kept] = entrants->choice[c];
            }
            ++kept;
        }
    }
    entrants->count = OMPI_SUCCESS == rc ? kept : entrants->count;
    return rc;
}

/* Does the algorithm do for this family? */
static bool does(const struct style *style, enum nicbarr_algorithm algorithm)
{
    return style->broadcasts ? NICBARR_DISSEMINATION == algorithm
                             : nicbarr_algorithm_messages(algorithm) &&
                                   (style->combines || nicbarr_algorithm_barrier(algorithm));
}

/* All that could be, or the one that the person wants for barriers, if that can carry data. */
static void list_candidates(struct tuner *t)
{
    const struct nicbarr_shape *shape = &t->module->shape;
    struct nicbarr_choice choice = mca_coll_nicbarr_component.forced;
    struct nicbarr_entrants *entrants = &t->entrants;
    entrants->count = nicbarr_data_candidates(
        shape, t->style->broadcasts, t->style->combines ? t->style->unit(t, (uint32_t)t->bytes) : 0,
        entrants->choice);
    if (1 == entrants->count) {
        return;
    }
    if (t->style->combines && mca_coll_nicbarr_component.forced_rooted) {
        entrants->choice[1] = nicbarr_rooted_choice(shape, entrants->choice[1].nic);
        entrants->count = 2;
        return;
    }
    if (NICBARR_ALGORITHMS == choice.algorithm || !does(t->style, choice.algorithm)) {
        return;
    }
    choice.nic = 0 != choice.nic ? choice.nic : entrants->choice[1].nic;
    entrants->choice[1] = choice;
    entrants->count =
        nicbarr_playable(shape, choice) && 0 != nicbarr_kind(choice.nic)->caps.buffer ? 2 : 1;
}

/* ---- what is remembered ---- */

/* What rank 0 knows of a class; 0: nothing. */
static uint64_t recall(const mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                       uint32_t size_class)
{
    char text[NICBARR_CLASS_TEXT];
    const struct nicbarr_shape *shape = &module->shape;
    struct nicbarr_choice choice;
    bool sure;
    const uint64_t note = myr_note_get(mca_coll_nicbarr_component.segment,
                                       nicbarr_data_note_key(module, collective, size_class));
    if (0 != note) {
        return note;
    }
    return nicbarr_cache_read(shape, nicbarr_class_name(collective, size_class, text), &choice,
                              &sure) &&
                   sure
               ? nicbarr_pack(choice, NICBARR_FROM_CACHE)
               : 0;
}

static void remember(const struct tuner *t, enum nicbarr_collective collective, uint32_t size_class)
{
    char text[NICBARR_CLASS_TEXT];
    const struct nicbarr_shape *shape = &t->module->shape;
    const struct nicbarr_choice choice = t->entrants.choice[t->contest.chosen];
    (void)myr_note_set(mca_coll_nicbarr_component.segment,
                       nicbarr_data_note_key(t->module, collective, size_class),
                       nicbarr_pack(choice, NICBARR_FROM_JOB));
    nicbarr_cache_add(shape, nicbarr_class_name(collective, size_class, text), t->entrants.choice,
                      &t->contest);
}

/* Rank 0 knows; the others go by what it says. */
static int ask_root(const struct tuner *t, enum nicbarr_collective collective, uint32_t size_class,
                    uint64_t *known)
{
    *known = 0 == ompi_comm_rank(t->comm) ? recall(t->module, collective, size_class) : 0;
    return t->comm->c_coll->coll_bcast(known, 1, MPI_UINT64_T, 0, t->comm,
                                       t->comm->c_coll->coll_bcast_module);
}

/* ---- the whole of it ---- */

/* The fastest of all, or of nicbarr's alone. */
static int best(const struct tuner *t, bool forced)
{
    int chosen = forced ? 1 : t->contest.chosen;
    for (int c = 2; forced && c < t->entrants.count; ++c) {
        chosen = t->contest.of[c].us.median < t->contest.of[chosen].us.median ? c : chosen;
    }
    return chosen;
}

static int choose(struct tuner *t, enum nicbarr_collective collective, uint32_t size_class,
                  bool forced, int *chosen, enum nicbarr_source *source)
{
    const struct nicbarr_race race = {t->module, t->comm, call, t};
    const uint32_t bytes = nicbarr_size_classes[size_class];
    const double start_us = nicbarr_now_us();
    const double budget_us =
        mca_coll_nicbarr_component.parameters.tune_budget * 1e3 / NICBARR_ACROSS_CLASSES;
    const uint32_t number =
        NICBARR_GROUP_DATA + NICBARR_CANDIDATES * (collective * NICBARR_SIZE_CLASSES + size_class);
    uint64_t known = 0;
    /* Where the person decides, nothing is known, and nothing is to be learnt for others. */
    const bool free_choice =
        !forced && NICBARR_ALGORITHMS == mca_coll_nicbarr_component.forced.algorithm;
    list_candidates(t);
    int rc = free_choice ? ask_root(t, collective, size_class, &known) : OMPI_SUCCESS;
    *chosen = 0;
    *source = NICBARR_MEASURED;
    struct nicbarr_choice choice;
    const enum nicbarr_source known_by = nicbarr_unpack(known, &choice);
    if (0 != known && NICBARR_OPENMPI != choice.algorithm && !does(t->style, choice.algorithm)) {
        known = 0; /* somebody has written into the cache */
    }
    if (OMPI_SUCCESS == rc && 0 != known) {
        *source = known_by;
        t->entrants.choice[1] = choice;
        t->entrants.count = NICBARR_OPENMPI == choice.algorithm ? 1 : 2;
    }
    if (OMPI_SUCCESS == rc && t->entrants.count > 1) {
        rc = nicbarr_entrants_join(t->module, t->comm, number, t->style->unit(t, bytes),
                                   t->style->broadcasts, &t->entrants);
        rc = OMPI_SUCCESS == rc ? open_carriers(t, number) : rc;
    }
    if (OMPI_SUCCESS != rc || 1 == t->entrants.count) {
        return rc;
    }
    *chosen = 1;
    if (0 == known) {
        rc = nicbarr_race_run(&t->contest, &race, t->entrants.count, start_us, budget_us);
        *chosen = t->contest.chosen = OMPI_SUCCESS == rc ? best(t, forced) : 0;
    }
    if (OMPI_SUCCESS == rc && 0 == known && free_choice && 0 == ompi_comm_rank(t->comm)) {
        remember(t, collective, size_class);
    }
    return rc;
}

/*
 * There is no group that could play: so it is for the other classes as well, which need not try
 * again. Where packets do not come through, and nobody has found that out before, that goes for
 * barriers, too.
 */
static void give_up(struct tuner *t, enum nicbarr_collective collective)
{
    mca_coll_nicbarr_module_t *module = t->module;
    for (uint32_t c = 0; c < NICBARR_ACROSS_CLASSES; ++c) {
        if (NICBARR_WAY_OPEN == module->ways[collective][c].way) {
            module->ways[collective][c].way = NICBARR_WAY_OWN;
        }
    }
    if (t->entrants.tried && !myr_nic_group_joined(&module->nic)) {
        nicbarr_across_decline(module, t->comm,
                               &t->entrants.errors[__builtin_ctz(module->shape.players)]);
    }
}

/* Decide, and keep the winner's group. */
static int decide(struct tuner *t, enum nicbarr_collective collective, uint32_t size_class,
                  bool forced)
{
    mca_coll_nicbarr_module_t *module = t->module;
    enum nicbarr_source source;
    int chosen;
    const int rc = choose(t, collective, size_class, forced, &chosen, &source);
    const bool any = t->entrants.count > 1 || NICBARR_OPENMPI == t->entrants.choice[1].algorithm;
    const bool measured = OMPI_SUCCESS == rc && 0 != t->contest.count;
    module->ways[collective][size_class].way = 0 == chosen ? NICBARR_WAY_OWN : NICBARR_WAY_OURS;
    if (OMPI_SUCCESS == rc && 0 != chosen) {
        module->carriers->of[family_of(collective)][size_class] = t->carriers[chosen];
        t->carriers[chosen] = (struct nicbarr_carrier){.stack = NULL};
    }
    for (int c = 1; c < NICBARR_CANDIDATES; ++c) {
        nicbarr_carrier_close(&t->carriers[c]);
    }
    nicbarr_entrants_leave(&t->entrants);
    if (OMPI_SUCCESS == rc && !any) {
        give_up(t, collective);
    }
    if (OMPI_SUCCESS == rc && (measured || NICBARR_MEASURED != source)) {
        nicbarr_report_data(module, t->comm, collective, size_class,
                            forced ? NICBARR_FORCED : source, measured ? &t->contest : NULL,
                            t->entrants.choice);
        nicbarr_report_write();
    }
    return rc;
}

int nicbarr_data_across_decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class, bool forced)
{
    const size_t bytes = nicbarr_size_classes[size_class];
    if (NULL !=
        nicbarr_data_carrier(module, collective, size_class)) { /* another collective's will do */
        module->ways[collective][size_class].way = NICBARR_WAY_OURS;
        return OMPI_SUCCESS;
    }
    struct tuner *t = calloc(1, sizeof(*t) + 2 * bytes);
    double failed = NULL == t;
    bool left_out = false;
    module->tuning = true; /* collectives below may call our functions on `comm` */
    int rc = nicbarr_maximum(comm, &failed, 1);
    rc = OMPI_SUCCESS == rc && 0 != failed ? OMPI_ERR_OUT_OF_RESOURCE : rc;
    if (OMPI_SUCCESS == rc && NULL == module->carriers) {
        rc = nicbarr_across_acquaint(module, comm, &left_out);
        if (OMPI_SUCCESS == rc && !module->declined && !left_out) {
            rc = make_carriers(module, comm);
        }
    }
    if (OMPI_SUCCESS == rc && NULL == module->carriers) { /* nobody can play, or it is in doubt */
        module->ways[collective][size_class].way = NICBARR_WAY_OWN;
    } else if (OMPI_SUCCESS == rc) {
        t->module = module;
        t->comm = comm;
        t->style = &styles[family_of(collective)];
        t->bytes = bytes;
        t->count = (int)(bytes / sizeof(double));
        t->from = (double *)(t + 1);
        t->to = t->from + t->count;
        rc = decide(t, collective, size_class, forced);
    }
    free(t);
    module->tuning = false;
    return rc;
}
