/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a size class of a collective that carries data across nodes, to choose between the NICs
 * that can serve it and Open MPI's own function.
 *
 * Classes that the program uses often are measured while all members execute a blocking collective
 * (trial.h). There is a group of NICs for each candidate, and the fastest candidate keeps its
 * group. The result is stored under the communicator's shape, for this job and for later jobs. Each
 * class gets a share of coll_nicbarr_tune_budget.
 *
 * When a class is remeasured (data_watch.h), the carrier in use is compared only with Open MPI's
 * own function and a few other candidates, because joining many groups takes long. Each trial
 * selects different candidates, so that all of them are tried eventually. */
#include "coll_nicbarr/data/data.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/choice/comparison.h"
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

struct nicbarr_carrier *nicbarr_data_carrier_for_call(mca_coll_nicbarr_module_t *module,
                                                      enum nicbarr_collective collective,
                                                      size_t bytes, int root)
{
    if (0 == bytes || bytes > nicbarr_size_classes[NICBARR_ACROSS_CLASSES - 1]) {
        return NULL;
    }
    const uint32_t size_class = nicbarr_size_class(bytes);
    nicbarr_data_record_call(module, collective, size_class, root);
    return nicbarr_data_carrier(module, collective, size_class);
}

/* ---- measuring ---- */

struct tuner {
    struct nicbarr_trial trial;
    const struct nicbarr_traits *traits;
    struct nicbarr_vectors vectors;
    struct nicbarr_candidate_groups contenders;
    struct nicbarr_carrier carriers[NICBARR_CANDIDATES];
    int installed; /* the candidate whose carrier the module uses; 0: none */
};

static int call_candidate(void *trial, int candidate, int number)
{
    struct tuner *t = trial;
    return 0 == candidate ? t->traits->openmpi(&t->vectors, number)
                          : t->traits->ours(&t->vectors, &t->carriers[candidate], number);
}

/* ---- candidates ---- */

/* Create carriers from the candidates' groups. Candidates that a member cannot use are removed on
 * all members. */
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

/* Returns whether the algorithm can implement this collective. */
static bool implements_collective(const struct nicbarr_traits *traits,
                                  enum nicbarr_algorithm algorithm)
{
    return traits->broadcasts ? NICBARR_DISSEMINATION == algorithm
                              : nicbarr_algorithm_messages(algorithm) &&
                                    (traits->combines || nicbarr_algorithm_barrier(algorithm));
}

/* List all candidates, or only the one that the user forces for barriers, if it can carry data. */
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
    if (NICBARR_ALGORITHMS == choice.algorithm ||
        !implements_collective(t->traits, choice.algorithm)) {
        return;
    }
    choice.nic = 0 != choice.nic ? choice.nic : contenders->choice[1].nic;
    contenders->choice[1] = choice;
    contenders->count = nicbarr_runnable(shape, choice) && nicbarr_carries_data(choice.nic) ? 2 : 1;
}

/* ---- the winner ---- */

static struct nicbarr_carrier *carrier_in_use(const struct nicbarr_trial *trial)
{
    return &trial->module->carriers->of[trial->collective][trial->size_class];
}

/* Install the candidate for the class. */
static void install_candidate(struct tuner *t, int candidate)
{
    t->installed = candidate;
    t->trial.way = 0 == candidate ? NICBARR_WAY_OPENMPI : NICBARR_WAY_NICBARR;
    if (0 != candidate) {
        *carrier_in_use(&t->trial) = t->carriers[candidate];
        t->carriers[candidate] = (struct nicbarr_carrier){.stack = NULL};
    }
}

/* Take the carrier in use back from the module, once its outstanding non-blocking operations are
 * complete. They will complete, because all other processes have also begun them. */
static void uninstall_candidate(struct nicbarr_trial *trial)
{
    struct tuner *t = (struct tuner *)trial;
    struct nicbarr_carrier *installed = carrier_in_use(trial);
    if (0 == t->installed) {
        return;
    }
    while (0 != myr_load_acquire(&installed->outstanding)) {
        opal_progress();
    }
    t->carriers[t->installed] = *installed;
    *installed = (struct nicbarr_carrier){.stack = NULL};
}

/* Returns the fastest candidate; if the user forces nicbarr's implementation, Open MPI's function
 * is excluded. */
static int best_candidate(const struct tuner *t)
{
    const struct nicbarr_contest *contest = &t->trial.contest;
    const bool forced = nicbarr_data_forced(t->trial.collective);
    int chosen = forced ? 1 : contest->chosen;
    for (int c = 2; forced && c < t->contenders.count; ++c) {
        chosen = contest->of[c].us.median < contest->of[chosen].us.median ? c : chosen;
    }
    return chosen;
}

/* Install the best candidate, and close the carriers of dropped ones, so that these do not occupy
 * the memory of NICs. */
static void install_best(struct nicbarr_trial *trial)
{
    struct tuner *t = (struct tuner *)trial;
    trial->contest.chosen = best_candidate(t);
    install_candidate(t, trial->contest.chosen);
    for (int c = 1; !nicbarr_data_forced(trial->collective) && c < t->contenders.count; ++c) {
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

static const struct nicbarr_trial_kind across_nodes = {call_candidate, uninstall_candidate,
                                                       install_best, free_tuner};

/* ---- decisions ---- */

/* Create carriers for the candidates. Those that cannot be created are removed. */
static int join_carriers(struct tuner *t)
{
    const int rc = nicbarr_candidate_groups_join(
        t->trial.module, t->trial.comm, t->traits->unit(&t->vectors, (uint32_t)t->vectors.bytes),
        t->traits->broadcasts, &t->contenders);
    return OMPI_SUCCESS == rc ? open_carriers(t) : rc;
}

/* Determine the candidates and create their carriers. If the best candidate is already known, it is
 * the only one; otherwise all usable candidates are listed. `*postponed` becomes true if the stored
 * choice is not known yet because the cache is still being read, or if the job cannot afford a
 * contest yet. */
static int enter_contest(struct tuner *t, uint64_t *known, bool *postponed)
{
    const struct nicbarr_trial *trial = &t->trial;
    struct nicbarr_candidate_groups *contenders = &t->contenders;
    struct nicbarr_choice choice;
    int rc = OMPI_SUCCESS;
    list_candidates(t);
    *known = 0;
    if (nicbarr_trial_is_free(trial)) {
        rc = nicbarr_trial_stored_choice(trial->module, trial->comm, trial->collective,
                                         trial->size_class, known);
    }
    *postponed = OMPI_SUCCESS == rc && NICBARR_READING == *known;
    if (*postponed) {
        nicbarr_trial_postpone(trial->module, trial->collective, trial->size_class);
        return rc;
    }
    (void)nicbarr_choice_decode(*known, &choice);
    if (0 != *known && NICBARR_OPENMPI != choice.algorithm &&
        !(implements_collective(t->traits, choice.algorithm) && nicbarr_carries_data(choice.nic))) {
        *known = 0; /* the cache was edited by hand */
    }
    if (OMPI_SUCCESS == rc && 0 != *known) {
        contenders->choice[1] = choice;
        contenders->count = NICBARR_OPENMPI == choice.algorithm ? 1 : 2;
    }
    *postponed =
        OMPI_SUCCESS == rc && 0 == *known && contenders->count > 1 &&
        nicbarr_trial_is_free(trial) &&
        !nicbarr_trial_affordable(trial->module, trial->comm, trial->collective, trial->size_class);
    return OMPI_SUCCESS == rc && contenders->count > 1 && !*postponed ? join_carriers(t) : rc;
}

/* Reduce the list of candidates to the challengers of the carrier in use. */
static void choose_challengers(const struct nicbarr_carrier *incumbent, uint32_t remeasured,
                               struct nicbarr_candidate_groups *contenders)
{
    struct nicbarr_choice all[NICBARR_CANDIDATES];
    int challengers[NICBARR_COMPARISON_VARIANTS - 1],
        chosen = NULL == incumbent ? 0 : contenders->count - 1;
    uint32_t next = remeasured * (NICBARR_COMPARISON_VARIANTS - 1);
    memcpy(all, contenders->choice, sizeof(all));
    while (chosen > 0 && !nicbarr_choice_equal(all[chosen], incumbent->choice)) {
        --chosen;
    }
    chosen = NULL != incumbent && 0 == chosen ? -1 : chosen;
    const int count = nicbarr_comparison_challengers(chosen, contenders->count, &next, challengers);
    contenders->count = 1; /* Open MPI's own function is the first candidate */
    for (int c = 0; c < count; ++c) {
        if (0 != challengers[c]) {
            contenders->choice[contenders->count++] = all[challengers[c]];
        }
    }
}

/* Add the carrier in use as the first candidate after Open MPI's own function, so that it is chosen
 * again unless another candidate is better. */
static void add_incumbent(struct tuner *t, const struct nicbarr_carrier *incumbent)
{
    struct nicbarr_candidate_groups *contenders = &t->contenders;
    for (int c = contenders->count++; c > 1; --c) {
        t->carriers[c] = t->carriers[c - 1];
        contenders->choice[c] = contenders->choice[c - 1];
    }
    t->carriers[1] =
        (struct nicbarr_carrier){.stack = NULL}; /* uninstall_candidate() moves it here */
    contenders->choice[1] = incumbent->choice;
    t->installed = t->trial.incumbent = 1;
}

/* Create the carriers of a remeasurement. */
static int begin_remeasurement(struct tuner *t)
{
    const struct nicbarr_trial *trial = &t->trial;
    const uint32_t remeasured =
        1 + trial->module->ways[trial->collective][trial->size_class].remeasured;
    const struct nicbarr_carrier *incumbent =
        nicbarr_data_carrier(trial->module, trial->collective, trial->size_class);
    list_candidates(t);
    choose_challengers(incumbent, remeasured, &t->contenders);
    const int rc = t->contenders.count > 1 ? join_carriers(t) : OMPI_SUCCESS;
    if (OMPI_SUCCESS == rc && NULL != incumbent) {
        add_incumbent(t, incumbent);
    }
    return rc;
}

/* Called when no group of NICs works for a class. None would work for the other undecided classes
 * of the collective either, so all of them are left to Open MPI. If packets were sent but did not
 * get through, barriers are declined as well, unless they have a working group. */
static void give_up_classes(struct tuner *t)
{
    mca_coll_nicbarr_module_t *module = t->trial.module;
    for (uint32_t c = 0; c < NICBARR_ACROSS_CLASSES; ++c) {
        enum nicbarr_way *way = &module->ways[t->trial.collective][c].way;
        if (NICBARR_WAY_OPEN == *way && NULL == nicbarr_trial_of(module, t->trial.collective, c)) {
            *way = NICBARR_WAY_OPENMPI;
        }
    }
    if (t->contenders.tried && !myr_nic_group_joined(&module->nic)) {
        nicbarr_across_decline(module, t->trial.comm,
                               &t->contenders.errors[__builtin_ctz(module->shape.nics)]);
    }
}

/* Decide on the class, and install the winner's carrier. `t` is freed, here or at the end of its
 * trial. */
static int decide_class(struct tuner *t)
{
    struct nicbarr_trial *trial = &t->trial;
    const double start_us = nicbarr_now_us();
    uint64_t known;
    struct nicbarr_choice choice;
    bool postponed;
    const int rc = enter_contest(t, &known, &postponed);
    const int count = t->contenders.count;
    if (postponed) {
        free_tuner(trial);
        return rc;
    }
    if (OMPI_SUCCESS == rc && 0 == known && count > 1) {
        return nicbarr_trial_begin(trial, count, start_us);
    }
    install_candidate(t, OMPI_SUCCESS == rc && count > 1 ? 1 : 0);
    trial->module->ways[trial->collective][trial->size_class].way = trial->way;
    if (OMPI_SUCCESS == rc && 0 != known) {
        nicbarr_data_watch(trial->module, trial->collective, trial->size_class, trial->way,
                           NICBARR_FROM_JOB == nicbarr_choice_decode(known, &choice));
    }
    if (OMPI_SUCCESS == rc && 1 == count && NICBARR_OPENMPI != t->contenders.choice[1].algorithm) {
        give_up_classes(t);
    }
    if (OMPI_SUCCESS == rc && 0 != known) {
        nicbarr_report_data(trial->module, trial->comm, trial->collective, trial->size_class,
                            nicbarr_choice_decode(known, &choice), NULL, t->contenders.choice);
        nicbarr_report_write();
    }
    free_tuner(trial);
    return rc;
}

/* Create a tuner for the class. Returns NULL on all members if one is out of memory. */
static struct tuner *make_tuner(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class)
{
    const size_t bytes = nicbarr_size_classes[size_class];
    struct tuner *t = calloc(1, sizeof(*t) + 2 * bytes);
    double failed = NULL == t;
    if (OMPI_SUCCESS != nicbarr_maximum(module, comm, &failed, 1) || 0 != failed) {
        free(t);
        return NULL;
    }
    t->trial = (struct nicbarr_trial){.kind = &across_nodes,
                                      .module = module,
                                      .comm = comm,
                                      .collective = collective,
                                      .size_class = size_class,
                                      .choices = t->contenders.choice};
    t->traits = nicbarr_traits(collective);
    t->vectors = (struct nicbarr_vectors){.trial = &t->trial,
                                          .bytes = bytes,
                                          .count = (int)(bytes / sizeof(double)),
                                          .from = (double *)(t + 1)};
    t->vectors.to = t->vectors.from + t->vectors.count;
    return t;
}

int nicbarr_data_across_remeasure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                  enum nicbarr_collective collective, uint32_t size_class)
{
    const enum nicbarr_way way = nicbarr_data_way(module, collective, size_class);
    const double start_us = nicbarr_now_us();
    int rc = OMPI_SUCCESS;
    struct tuner *t = make_tuner(module, comm, collective, size_class);
    if (NULL != t) {
        t->trial.remeasured = true;
        t->trial.way = way;
        rc = begin_remeasurement(t);
    }
    if (NULL == t) { /* keep the implementation in use */
        nicbarr_data_watch(module, collective, size_class, way, false);
    } else if (OMPI_SUCCESS == rc && t->contenders.count > 1) {
        rc = nicbarr_trial_begin(&t->trial, t->contenders.count, start_us);
    } else { /* there is no other candidate than Open MPI's own function, or joining failed */
        module->ways[collective][size_class].way = NICBARR_WAY_OPENMPI;
        free_tuner(&t->trial);
    }
    return rc;
}

int nicbarr_data_across_decide(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               enum nicbarr_collective collective, uint32_t size_class)
{
    bool all_suspect = false;
    struct tuner *t = NULL;
    int rc = OMPI_SUCCESS;
    /* no message may be sent before it is known that all members participate */
    if (NULL == module->carriers) {
        rc = nicbarr_across_prepare_data(module, comm, &all_suspect);
        if (OMPI_SUCCESS == rc && !module->declined && !all_suspect) {
            rc = nicbarr_carriers_make(module, comm);
        }
    }
    if (OMPI_SUCCESS == rc && NULL != module->carriers) {
        t = make_tuner(module, comm, collective, size_class);
        rc = NULL == t ? OMPI_ERR_OUT_OF_RESOURCE : decide_class(t);
    }
    if (NULL == t) { /* no NIC is usable, or all are suspect, or a member is out of memory */
        module->ways[collective][size_class].way = NICBARR_WAY_OPENMPI;
    }
    return rc;
}
