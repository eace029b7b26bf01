/* SPDX-License-Identifier: BSD-3-Clause */
/* Re-evaluates the choice of MPI_Barrier periodically, because it may not be the best one: it may
 * have been measured while the machine was busy, or on another machine, or the machine may have
 * changed.
 *
 * After some barriers, a duel (duel.h) compares the choice with Open MPI's barrier and some other
 * candidates. Successive duels take other candidates, so that all of them are compared eventually.
 * Each duel that the choice wins doubles the number of barriers until the next one. If it loses,
 * all members switch to the winner in the same barrier. If the choice had not been measured on this
 * communicator, all candidates are measured then (tune.c).
 *
 * States: NICBARR_BARRIER_WATCHED_* while barriers are counted, NICBARR_BARRIER_DUELING during a
 * duel. Re-evaluation ends, and has no cost from then on, if Open MPI's barrier is the choice, and
 * was measured to be the best in this job or has won some duels.
 *
 * All members count the same barriers, and agree on each round's result by Open MPI's own
 * functions. Therefore all of them take the same action in each barrier. */
#include "coll_nicbarr/choice/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/barrier_state.h"
#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/duel.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/choice/tune.h"
#include "coll_nicbarr/candidate_groups.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/layout.h"
#include "coll_nicbarr/overdue.h"

_Static_assert((int)NICBARR_DUEL_VALUES <= (int)NICBARR_MOST_VALUES, "nicbarr_maximum()");

/* A duel in progress. */
struct nicbarr_dueling {
    struct nicbarr_duel duel;
    /* the duelists; the first one is the current choice */
    struct nicbarr_choice choice[NICBARR_DUELISTS];
    /* plans of the duelists on one node; the plan in use is in module->group */
    struct myr_plan plans[NICBARR_DUELISTS];
    int in_use;
    /* groups of the duelists across nodes; see first_entrant() */
    struct nicbarr_candidate_groups contenders;
};

static _Atomic unsigned long long duels, switches;

struct nicbarr_watch_counters nicbarr_watch_count(void)
{
    return (struct nicbarr_watch_counters){duels, switches};
}

/* ---- pauses ---- */

static bool has_measured(const mca_coll_nicbarr_module_t *module)
{
    return NICBARR_MEASURED == module->source || NICBARR_DUELLED == module->source;
}

static uint32_t next_pause(const mca_coll_nicbarr_module_t *module)
{
    struct nicbarr_choice candidates[NICBARR_CANDIDATES];
    return nicbarr_duel_pause(module->watch.pause, module->watch.next,
                              nicbarr_candidates(&module->shape, candidates));
}

/* ---- duelists ---- */

/* Select the duelists: the current choice and its challengers. */
static int choose_duelists(mca_coll_nicbarr_module_t *module,
                           struct nicbarr_choice choice[NICBARR_DUELISTS])
{
    struct nicbarr_choice candidates[NICBARR_CANDIDATES];
    int challengers[NICBARR_DUELISTS - 1];
    const int all = nicbarr_candidates(&module->shape, candidates);
    int chosen = all - 1;
    while (chosen >= 0 && !nicbarr_choice_equal(candidates[chosen], module->choice)) {
        --chosen;
    }
    const int count = nicbarr_duel_challengers(chosen, all, &module->watch.next, challengers);
    choice[0] = module->choice;
    for (int c = 0; c < count; ++c) {
        choice[1 + c] = candidates[challengers[c]];
    }
    return 1 + count;
}

static bool make_plans(const mca_coll_nicbarr_module_t *module, struct nicbarr_dueling *dueling,
                       int count)
{
    bool made = true;
    for (int d = 1; made && d < count; ++d) {
        if (NICBARR_OPENMPI != dueling->choice[d].algorithm) {
            made = nicbarr_layout_plan(module, dueling->choice[d], &dueling->plans[d]);
        }
    }
    return made;
}

/* Returns the first duelist of the list that is passed to nicbarr_candidate_groups_join(). This
 * list must begin with Open MPI's barrier, and omits the current choice if that is another one,
 * because its group has been joined already. */
static int first_entrant(const struct nicbarr_dueling *dueling)
{
    return NICBARR_OPENMPI == dueling->choice[0].algorithm ? 0 : 1;
}

/* Join the duelists' groups. Duelists whose group cannot be joined are removed. Returns Open MPI's
 * error code. */
static int make_groups(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       struct nicbarr_dueling *dueling, int *count)
{
    struct nicbarr_candidate_groups *contenders = &dueling->contenders;
    struct nicbarr_choice *choice = &dueling->choice[first_entrant(dueling)];
    contenders->count = *count - first_entrant(dueling);
    memcpy(contenders->choice, choice, (size_t)contenders->count * sizeof(*choice));
    const int rc = nicbarr_candidate_groups_join(module, comm, 0, false, contenders);
    *count = contenders->count + first_entrant(dueling);
    memcpy(choice, contenders->choice, (size_t)contenders->count * sizeof(*choice));
    return rc;
}

static void free_dueling(struct nicbarr_dueling *dueling)
{
    if (NULL != dueling) {
        for (int d = 0; d < NICBARR_DUELISTS; ++d) {
            myr_plan_destroy(&dueling->plans[d]);
        }
        nicbarr_candidate_groups_leave(&dueling->contenders);
        free(dueling);
    }
}

void nicbarr_watch_end(mca_coll_nicbarr_module_t *module)
{
    free_dueling(module->watch.dueling);
    module->watch.dueling = NULL;
}

/* ---- barriers ---- */

/* Install the plan of duelist `d`, which uses the record's memory. The caller ensures that no
 * process is in a barrier of the previous plan. */
static void take_memory(mca_coll_nicbarr_module_t *module, struct nicbarr_dueling *dueling, int d)
{
    dueling->plans[dueling->in_use] = module->group.plan;
    module->group.plan = dueling->plans[d];
    dueling->plans[d] = (struct myr_plan){.nsteps = 0};
    dueling->in_use = d;
}

/* Returns the group of a duelist other than Open MPI's barrier, across nodes. */
static struct myr_nic_group *group_of(mca_coll_nicbarr_module_t *module,
                                      struct nicbarr_dueling *dueling, int d)
{
    return 0 == d ? &module->nic : &dueling->contenders.group[d - first_entrant(dueling)];
}

static int play_duelist(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, int d)
{
    struct nicbarr_dueling *dueling = module->watch.dueling;
    if (NICBARR_DUEL_APART == d || NICBARR_OPENMPI == dueling->choice[d].algorithm) {
        return nicbarr_meet(module, comm);
    }
    if (module->across) {
        return nicbarr_nic_barrier(module, comm, group_of(module, dueling, d));
    }
    if (d != dueling->in_use) {
        take_memory(module, dueling, d);
    }
    myr_group_barrier(&module->group);
    return OMPI_SUCCESS;
}

/* ---- end of a duel ---- */

/* Install the winner in the module. The group of the previous choice, if any, is left with those of
 * the other duelists. */
static void take_winner(mca_coll_nicbarr_module_t *module, struct nicbarr_dueling *dueling)
{
    const int winner = dueling->duel.winner;
    const bool own = NICBARR_OPENMPI == dueling->choice[winner].algorithm;
    if (!module->across) {
        take_memory(module, dueling, winner);
    } else if (0 != winner) {
        nicbarr_group_leave(&module->nic);
        if (!own) {
            struct myr_nic_group *group = group_of(module, dueling, winner);
            module->nic = *group;
            *group = (struct myr_nic_group){0};
        }
    }
    module->choice = dueling->choice[winner];
}

/* Apply the result of a duel: switch to the winner, or confirm the choice. */
static int conclude(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_dueling *dueling = module->watch.dueling;
    const bool lost = 0 != dueling->duel.winner;
    const bool unmeasured = !has_measured(module);
    int rc = OMPI_SUCCESS;
    /* the report counts this communicator in an entry shared with others */
    if (NULL == module->entry) {
        nicbarr_report_retract(module, comm, NULL);
    }
    take_winner(module, dueling);
    module->watch.dueling = NULL;
    ++module->watch.duels;
    module->watch.switches += lost;
    atomic_fetch_add_explicit(&duels, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&switches, lost, memory_order_relaxed);
    module->watch.pause = lost ? 0 : next_pause(module);
    if (lost || nicbarr_is_unproven(module->source)) {
        module->source = NICBARR_DUELLED;
    }
    nicbarr_report_duel(module, comm, &dueling->duel, dueling->choice);
    free_dueling(dueling);
    if (lost && unmeasured) {
        rc = nicbarr_tune_anew(module, comm);
    } else {
        nicbarr_remember(nicbarr_shape_key(&module->shape), module->choice, true);
        rc = nicbarr_install_choice(module, comm);
    }
    return rc;
}

/* Called at the end of a round: agree on its results, and finish the duel if these results decide
 * it. */
static int agree_on_round(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_duel *duel = &module->watch.dueling->duel;
    double values[NICBARR_DUEL_VALUES];
    module->tuning = true; /* Open MPI's collectives may call MPI_Barrier's function on `comm` */
    int rc = nicbarr_maximum(module, comm, values, nicbarr_duel_values(duel, values));
    if (OMPI_SUCCESS == rc) {
        nicbarr_duel_agreed(duel, values);
    }
    if (OMPI_SUCCESS == rc && duel->over) {
        rc = conclude(module, comm);
    }
    module->tuning = false;
    return rc;
}

int nicbarr_watch_play(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_duel *duel = &module->watch.dueling->duel;
    const double come_us = nicbarr_now_us();
    const int rc = play_duelist(module, comm, nicbarr_duel_next(duel));
    if (OMPI_SUCCESS == rc && nicbarr_duel_note(duel, come_us, nicbarr_now_us())) {
        return agree_on_round(module, comm);
    }
    return rc;
}

/* ---- start of a duel ---- */

/* Allocate the duelists' resources. If that fails on any member, there is no duel on any. */
static int prepare_duel(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_dueling *dueling = calloc(1, sizeof(*dueling));
    struct nicbarr_choice choice[NICBARR_DUELISTS];
    int count = choose_duelists(module, choice);
    double failed = NULL == dueling;
    if (NULL != dueling) {
        memcpy(dueling->choice, choice, sizeof(choice));
        failed = !module->across && !make_plans(module, dueling, count);
    }
    int rc = nicbarr_maximum(module, comm, &failed, 1);
    if (OMPI_SUCCESS == rc && 0 == failed && module->across) {
        rc = make_groups(module, comm, dueling, &count);
    }
    if (OMPI_SUCCESS != rc || 0 != failed || count < 2) {
        free_dueling(dueling);
        return rc;
    }
    nicbarr_duel_begin(&dueling->duel, count, !module->across);
    module->watch.dueling = dueling;
    return rc;
}

int nicbarr_watch_duel(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    module->tuning = true; /* see agree_on_round() */
    const int rc = prepare_duel(module, comm);
    module->tuning = false;
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (NULL == module->watch.dueling) {
        module->watch.pause = next_pause(module);
        module->watch.until = module->watch.pause;
        return nicbarr_meet(module, comm);
    }
    nicbarr_barrier_event(module, comm, NICBARR_EVENT_DUEL);
    return nicbarr_watch_play(module, comm);
}
