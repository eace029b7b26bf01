/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watching: a choice may have been made in a bad minute, or on another machine, or the machine has
 * changed since. So after some barriers there is a duel (duel.h) of the chosen one with Open MPI's
 * own and some others, which take turns: all come up in the end. A duel that is won doubles the
 * time until the next one. Where it is lost, all members switch in the same barrier. If nobody had
 * measured on this communicator before, what a duel has refuted is measured anew (tune.c).
 *
 * States: while it counts, NICBARR_BARRIER_WATCHED_*; during a duel NICBARR_BARRIER_DUELING. Where
 * Open MPI's own is the best as measured in this job, or has won some duels, nobody watches any
 * more, and it costs nothing.
 *
 * All members count the same barriers, and the ends of rounds go by what they have agreed on by
 * Open MPI's own functions. So all of them do the same in each barrier.
 */
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

/* One that is under way. */
struct nicbarr_dueling {
    struct nicbarr_duel duel;
    struct nicbarr_choice choice[NICBARR_DUELISTS]; /* the first is the chosen one */
    struct myr_plan plans[NICBARR_DUELISTS];        /* on one node, of all but the one in use */
    int in_use;
    struct nicbarr_candidate_groups contenders; /* on several; see first_entrant() */
};

static _Atomic unsigned long long duels, switches;

struct nicbarr_watch_counters nicbarr_watch_count(void)
{
    return (struct nicbarr_watch_counters){duels, switches};
}

/* ---- who is watched ---- */

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

/* ---- who takes part ---- */

/* The chosen one, and its challengers. */
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

/* The duelist that is the first entrant: Open MPI's own. The chosen one, if it is another, has its
 * group already. */
static int first_entrant(const struct nicbarr_dueling *dueling)
{
    return NICBARR_OPENMPI == dueling->choice[0].algorithm ? 0 : 1;
}

/* Those that are left are the duelists. Open MPI's error. */
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

/* ---- a barrier ---- */

/* Have the record's memory be duelist `d`'s: nobody is in a barrier that uses it. */
static void take_memory(mca_coll_nicbarr_module_t *module, struct nicbarr_dueling *dueling, int d)
{
    dueling->plans[dueling->in_use] = module->group.plan;
    module->group.plan = dueling->plans[d];
    dueling->plans[d] = (struct myr_plan){.nsteps = 0};
    dueling->in_use = d;
}

/* Across nodes, of one that is not Open MPI's own. */
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

/* ---- the end of a duel ---- */

/* Have MPI_Barrier go by the winner. The chosen one's group is left with the others. */
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

/* Its choice is refuted, or stands. */
static int conclude(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_dueling *dueling = module->watch.dueling;
    const bool lost = 0 != dueling->duel.winner;
    const bool unmeasured = !has_measured(module);
    int rc = OMPI_SUCCESS;
    if (NULL == module->entry) { /* its entry is not the others' any more */
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

/* A round is over. */
static int agree_on_round(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_duel *duel = &module->watch.dueling->duel;
    double values[NICBARR_DUEL_VALUES];
    module->tuning = true; /* collectives below may call MPI_Barrier's function on `comm` */
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

/* ---- its beginning ---- */

/* Have the duelists. Not everybody may get them; then nobody has a duel. */
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
    module->tuning = true; /* as above */
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
