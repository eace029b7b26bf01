/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that carry data, on several nodes: which NICs could do a class of size, and is one of
 * them faster than Open MPI's own?
 *
 * All of it happens within blocking collectives of all members, for each class that a program uses
 * often (trial.h). Each candidate has a group of its own; the fastest keeps it. What was measured
 * is remembered for the job and for later ones, by the communicator's shape. A class has its share
 * of coll_nicbarr_tune_budget.
 *
 * Where a class is measured anew (data_watch.h), its carrier competes with Open MPI's own and with
 * a few others; those take turns, so all come up. To join many groups takes long.
 */
#include "coll_nicbarr/data/data.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/choice/duel.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data_watch.h"
#include "coll_nicbarr/data/rooted.h"
#include "coll_nicbarr/data/traits.h"
#include "coll_nicbarr/data/trial.h"
#include "coll_nicbarr/candidate_groups.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"

struct nicbarr_carrier *nicbarr_data_carrier_noted(mca_coll_nicbarr_module_t *module,
                                                   enum nicbarr_collective collective, size_t bytes,
                                                   int root)
{
    if (0 == bytes || bytes > nicbarr_size_classes[NICBARR_ACROSS_CLASSES - 1] || module->tuning) {
        return NULL;
    }
    const uint32_t size_class = nicbarr_size_class(bytes);
    nicbarr_data_note_call(module, collective, size_class, root);
    return nicbarr_data_carrier(module, collective, size_class);
}

/* ---- measuring ---- */

struct tuner {
    struct nicbarr_trial trial;
    const struct nicbarr_traits *traits;
    struct nicbarr_vectors vectors;
    struct nicbarr_candidate_groups contenders;
    struct nicbarr_carrier carriers[NICBARR_CANDIDATES];
    int lent; /* candidate whose carrier is the module's; 0: none */
};

static int call_candidate(void *trial, int candidate, int number)
{
    struct tuner *t = trial;
    return 0 == candidate ? t->traits->own(&t->vectors, number)
                          : t->traits->ours(&t->vectors, &t->carriers[candidate], number);
}

/* ---- what competes ---- */

/* Put the candidates' groups to use. Those that somebody cannot use are left out by all. */
static int open_carriers(struct tuner *t)
{
    struct nicbarr_candidate_groups *contenders = &t->contenders;
    double failed[NICBARR_CANDIDATES] = {0};
    int kept = 1, rc;
    for (int c = 1; c < contenders->count; ++c) {
        failed[c] = !t->traits->open(&t->vectors, &contenders->group[c], contenders->choice[c],
                                     &t->carriers[c]);
        contenders->group[c] = (struct myr_nic_group){0};
    }
    rc = nicbarr_rooted_join(t->trial.module, t->trial.comm, (uint32_t)t->vectors.bytes,
                             t->carriers, contenders->count, failed, contenders->errors);
    rc = OMPI_SUCCESS == rc
             ? nicbarr_maximum(t->trial.module, t->trial.comm, failed, contenders->count)
             : rc;
    for (int c = 1; OMPI_SUCCESS == rc && c < contenders->count; ++c) {
        if (0 != failed[c]) {
            nicbarr_carrier_close(&t->carriers[c]);
        } else {
            if (kept != c) {
                t->carriers[kept] = t->carriers[c];
                t->carriers[c] = (struct nicbarr_carrier){.stack = NULL};
                contenders->choice[kept] = contenders->choice[c];
            }
            ++kept;
        }
    }
    contenders->count = OMPI_SUCCESS == rc ? kept : contenders->count;
    return rc;
}

/* Does the algorithm do for this collective? */
static bool does(const struct nicbarr_traits *traits, enum nicbarr_algorithm algorithm)
{
    return traits->broadcasts ? NICBARR_DISSEMINATION == algorithm
                              : nicbarr_algorithm_messages(algorithm) &&
                                    (traits->combines || nicbarr_algorithm_barrier(algorithm));
}

/* All that could be, or the one that the user wants for barriers, if that can carry data. */
static void list_candidates(struct tuner *t)
{
    const struct nicbarr_shape *shape = &t->trial.module->shape;
    struct nicbarr_choice choice = mca_coll_nicbarr_component.forced;
    struct nicbarr_candidate_groups *contenders = &t->contenders;
    contenders->count = nicbarr_data_candidates(
        shape, t->traits->broadcasts,
        t->traits->combines ? t->traits->unit(&t->vectors, (uint32_t)t->vectors.bytes) : 0,
        contenders->choice);
    if (1 == contenders->count) {
        return;
    }
    if (t->traits->combines && mca_coll_nicbarr_component.forced_rooted) {
        contenders->choice[1] = nicbarr_rooted_choice(shape, contenders->choice[1].nic);
        contenders->count = 2;
        return;
    }
    if (NICBARR_ALGORITHMS == choice.algorithm || !does(t->traits, choice.algorithm)) {
        return;
    }
    choice.nic = 0 != choice.nic ? choice.nic : contenders->choice[1].nic;
    contenders->choice[1] = choice;
    contenders->count =
        nicbarr_playable(shape, choice) && 0 != nicbarr_kind(choice.nic)->caps.buffer ? 2 : 1;
}

/* ---- the winner ---- */

static struct nicbarr_carrier *in_use(const struct nicbarr_trial *trial)
{
    return &trial->module->carriers->of[trial->collective][trial->size_class];
}

/* Have the class go by this candidate. */
static void lend(struct tuner *t, int candidate)
{
    t->lent = candidate;
    t->trial.way = 0 == candidate ? NICBARR_WAY_OWN : NICBARR_WAY_OURS;
    if (0 != candidate) {
        *in_use(&t->trial) = t->carriers[candidate];
        t->carriers[candidate] = (struct nicbarr_carrier){.stack = NULL};
    }
}

/* (Non-blocking ones come first, and the others have begun them.) */
static void take_back(struct nicbarr_trial *trial)
{
    struct tuner *t = (struct tuner *)trial;
    struct nicbarr_carrier *lent = in_use(trial);
    if (0 == t->lent) {
        return;
    }
    while (0 != myr_load_acquire(&lent->outstanding)) {
        opal_progress();
    }
    t->carriers[t->lent] = *lent;
    *lent = (struct nicbarr_carrier){.stack = NULL};
}

/* The fastest of all, or of nicbarr's alone. */
static int best(const struct tuner *t)
{
    const struct nicbarr_contest *contest = &t->trial.contest;
    int chosen = t->trial.forced ? 1 : contest->chosen;
    for (int c = 2; t->trial.forced && c < t->contenders.count; ++c) {
        chosen = contest->of[c].us.median < contest->of[chosen].us.median ? c : chosen;
    }
    return chosen;
}

/* The NICs' memory is not to be kept by those who are out of it. */
static void install(struct nicbarr_trial *trial)
{
    struct tuner *t = (struct tuner *)trial;
    trial->contest.chosen = best(t);
    lend(t, trial->contest.chosen);
    for (int c = 1; !t->trial.forced && c < t->contenders.count; ++c) {
        if (trial->contest.of[c].dropped) {
            nicbarr_carrier_close(&t->carriers[c]);
        }
    }
}

static void free_tuner(struct nicbarr_trial *trial)
{
    struct tuner *t = (struct tuner *)trial;
    for (int c = 1; c < NICBARR_CANDIDATES; ++c) {
        nicbarr_carrier_close(&t->carriers[c]);
    }
    nicbarr_candidate_groups_leave(&t->contenders);
    free(t);
}

static const struct nicbarr_trial_kind across_nodes = {call_candidate, take_back, install,
                                                       free_tuner};

/* ---- the whole of it ---- */

/* Have carriers for all candidates but the first, as far as that can be. */
static int join_carriers(struct tuner *t)
{
    const int rc = nicbarr_candidate_groups_join(
        t->trial.module, t->trial.comm, t->traits->unit(&t->vectors, (uint32_t)t->vectors.bytes),
        t->traits->broadcasts, &t->contenders);
    return OMPI_SUCCESS == rc ? open_carriers(t) : rc;
}

/* Have all that could compete, or what is known to be best alone; nobody, where the job cannot
 * afford a contest yet. */
static int enter_contest(struct tuner *t, uint64_t *known, bool *put_off)
{
    const struct nicbarr_trial *trial = &t->trial;
    struct nicbarr_candidate_groups *contenders = &t->contenders;
    struct nicbarr_choice choice;
    int rc = OMPI_SUCCESS;
    list_candidates(t);
    *known = 0;
    if (trial->watched) {
        rc = nicbarr_trial_ask(trial->module, trial->comm, trial->collective, trial->size_class,
                               known);
    }
    *put_off = OMPI_SUCCESS == rc && NICBARR_READING == *known;
    if (*put_off) {
        nicbarr_trial_put_off(trial->module, trial->collective, trial->size_class);
        return rc;
    }
    (void)nicbarr_unpack(*known, &choice);
    if (0 != *known && NICBARR_OPENMPI != choice.algorithm && !does(t->traits, choice.algorithm)) {
        *known = 0; /* somebody has written into the cache */
    }
    if (OMPI_SUCCESS == rc && 0 != *known) {
        contenders->choice[1] = choice;
        contenders->count = NICBARR_OPENMPI == choice.algorithm ? 1 : 2;
    }
    *put_off =
        OMPI_SUCCESS == rc && 0 == *known && contenders->count > 1 && trial->watched &&
        !nicbarr_trial_affordable(trial->module, trial->comm, trial->collective, trial->size_class);
    return OMPI_SUCCESS == rc && contenders->count > 1 && !*put_off ? join_carriers(t) : rc;
}

/* Reduce `contenders`, which are all candidates, to the challengers of the one in use. */
static void choose_challengers(const struct nicbarr_carrier *standing, uint32_t anew,
                               struct nicbarr_candidate_groups *contenders)
{
    struct nicbarr_choice all[NICBARR_CANDIDATES];
    int challengers[NICBARR_DUELISTS - 1], chosen = NULL == standing ? 0 : contenders->count - 1;
    uint32_t next = anew * (NICBARR_DUELISTS - 1);
    memcpy(all, contenders->choice, sizeof(all));
    while (chosen > 0 && !nicbarr_choice_equal(all[chosen], standing->choice)) {
        --chosen;
    }
    chosen = NULL != standing && 0 == chosen ? -1 : chosen;
    const int count = nicbarr_duel_challengers(chosen, contenders->count, &next, challengers);
    contenders->count = 1; /* Open MPI's own, which is the first */
    for (int c = 0; c < count; ++c) {
        if (0 != challengers[c]) {
            contenders->choice[contenders->count++] = all[challengers[c]];
        }
    }
}

/* Have the carrier in use compete, as the first that is not Open MPI's own: so it stays where
 * others are no better. */
static void enter_standing(struct tuner *t, const struct nicbarr_carrier *standing)
{
    struct nicbarr_candidate_groups *contenders = &t->contenders;
    for (int c = contenders->count++; c > 1; --c) {
        t->carriers[c] = t->carriers[c - 1];
        contenders->choice[c] = contenders->choice[c - 1];
    }
    t->carriers[1] = (struct nicbarr_carrier){.stack = NULL}; /* until it is taken back */
    contenders->choice[1] = standing->choice;
    t->lent = t->trial.standing = 1;
}

/* Have what is in use and its challengers. */
static int enter_anew(struct tuner *t)
{
    const struct nicbarr_trial *trial = &t->trial;
    const uint32_t anew = 1 + trial->module->ways[trial->collective][trial->size_class].anew;
    const struct nicbarr_carrier *standing =
        nicbarr_data_carrier(trial->module, trial->collective, trial->size_class);
    list_candidates(t);
    choose_challengers(standing, anew, &t->contenders);
    const int rc = t->contenders.count > 1 ? join_carriers(t) : OMPI_SUCCESS;
    if (OMPI_SUCCESS == rc && NULL != standing) {
        enter_standing(t, standing);
    }
    return rc;
}

/*
 * There is no group that could play: so it is for the other classes as well, which need not try
 * again. Where packets do not come through, and nobody has found that out before, that goes for
 * barriers, too.
 */
static void give_up(struct tuner *t)
{
    mca_coll_nicbarr_module_t *module = t->trial.module;
    for (uint32_t c = 0; c < NICBARR_ACROSS_CLASSES; ++c) {
        enum nicbarr_way *way = &module->ways[t->trial.collective][c].way;
        if (NICBARR_WAY_OPEN == *way && NULL == nicbarr_trial_of(module, t->trial.collective, c)) {
            *way = NICBARR_WAY_OWN;
        }
    }
    if (t->contenders.tried && !myr_nic_group_joined(&module->nic)) {
        nicbarr_across_decline(module, t->trial.comm,
                               &t->contenders.errors[__builtin_ctz(module->shape.players)]);
    }
}

/* Decide, and keep the winner's group. `t` is freed, now or at the end of its trial. */
static int decide(struct tuner *t)
{
    struct nicbarr_trial *trial = &t->trial;
    const double start_us = nicbarr_now_us();
    uint64_t known;
    struct nicbarr_choice choice;
    bool put_off;
    const int rc = enter_contest(t, &known, &put_off);
    const int count = t->contenders.count;
    if (put_off) {
        free_tuner(trial);
        return rc;
    }
    if (OMPI_SUCCESS == rc && 0 == known && count > 1) {
        trial->once = t->trial.forced && 2 == count;
        return nicbarr_trial_begin(trial, count, start_us);
    }
    lend(t, OMPI_SUCCESS == rc && count > 1 ? 1 : 0);
    trial->module->ways[trial->collective][trial->size_class].way = trial->way;
    if (OMPI_SUCCESS == rc && 0 != known && trial->watched) {
        nicbarr_data_watch(trial->module, trial->collective, trial->size_class, trial->way,
                           NICBARR_FROM_JOB == nicbarr_unpack(known, &choice));
    }
    if (OMPI_SUCCESS == rc && 1 == count && NICBARR_OPENMPI != t->contenders.choice[1].algorithm) {
        give_up(t);
    }
    if (OMPI_SUCCESS == rc && 0 != known) {
        nicbarr_report_data(trial->module, trial->comm, trial->collective, trial->size_class,
                            nicbarr_unpack(known, &choice), NULL, t->contenders.choice);
        nicbarr_report_write();
    }
    free_tuner(trial);
    return rc;
}

/* Have somebody measure the class. NULL on all members where one has no memory for that. */
static struct tuner *make_tuner(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class,
                                bool forced)
{
    const size_t bytes = nicbarr_size_classes[size_class];
    struct tuner *t = calloc(1, sizeof(*t) + 2 * bytes);
    double failed = NULL == t;
    if (OMPI_SUCCESS != nicbarr_maximum(module, comm, &failed, 1) || 0 != failed) {
        free(t);
        return NULL;
    }
    t->trial = (struct nicbarr_trial){
        .kind = &across_nodes,
        .module = module,
        .comm = comm,
        .collective = collective,
        .size_class = size_class,
        .choices = t->contenders.choice,
        .forced = forced,
        .watched = !forced && NICBARR_ALGORITHMS == mca_coll_nicbarr_component.forced.algorithm};
    t->traits = nicbarr_traits(collective);
    t->vectors = (struct nicbarr_vectors){.trial = &t->trial,
                                          .bytes = bytes,
                                          .count = (int)(bytes / sizeof(double)),
                                          .from = (double *)(t + 1)};
    t->vectors.to = t->vectors.from + t->vectors.count;
    return t;
}

int nicbarr_data_across_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, uint32_t size_class)
{
    const enum nicbarr_way way = nicbarr_data_way(module, collective, size_class);
    const double start_us = nicbarr_now_us();
    int rc = OMPI_SUCCESS;
    module->tuning = true; /* collectives below may call our functions on `comm` */
    struct tuner *t = make_tuner(module, comm, collective, size_class, false);
    if (NULL != t) {
        t->trial.anew = true;
        t->trial.way = way;
        rc = enter_anew(t);
    }
    if (NULL == t) { /* what is in use stays */
        nicbarr_data_watch(module, collective, size_class, way, false);
    } else if (OMPI_SUCCESS == rc && t->contenders.count > 1) {
        rc = nicbarr_trial_begin(&t->trial, t->contenders.count, start_us);
    } else { /* nobody can challenge Open MPI's own, or it is in doubt */
        module->ways[collective][size_class].way = NICBARR_WAY_OWN;
        free_tuner(&t->trial);
    }
    module->tuning = false;
    return rc;
}

int nicbarr_data_across_decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class, bool forced)
{
    bool left_out = false;
    struct tuner *t = NULL;
    int rc = OMPI_SUCCESS;
    module->tuning = true;          /* collectives below may call our functions on `comm` */
    if (NULL == module->carriers) { /* before any message: do all members take part? */
        rc = nicbarr_across_acquaint(module, comm, &left_out);
        if (OMPI_SUCCESS == rc && !module->declined && !left_out) {
            rc = nicbarr_carriers_make(module, comm);
        }
    }
    if (OMPI_SUCCESS == rc && NULL != module->carriers) {
        t = make_tuner(module, comm, collective, size_class, forced);
        rc = NULL == t ? OMPI_ERR_OUT_OF_RESOURCE : decide(t);
    }
    if (NULL == t) { /* no NIC can play, or it is in doubt, or a member is out of memory */
        module->ways[collective][size_class].way = NICBARR_WAY_OWN;
    }
    module->tuning = false;
    return rc;
}
