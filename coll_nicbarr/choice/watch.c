/* SPDX-License-Identifier: BSD-3-Clause */
/* Re-evaluates the choice of MPI_Barrier periodically. The choice may not be the best one, because
 * it was measured while the machine was busy or on another machine, or because the machine has
 * changed since then.
 *
 * After some barriers, the choice is compared (comparison.h) with Open MPI's barrier and a few
 * other candidates. Each comparison selects different candidates, so that all of them are compared
 * eventually. If the choice wins, it is compared again after a pause, which doubles once all
 * candidates have been tried. If it loses, all members switch to the winner in the same barrier; if
 * the choice had been measured elsewhere, all candidates are then measured on this communicator
 * (tune.c).
 *
 * MPI_Barrier is in one of the states NICBARR_BARRIER_WATCHED_* while barriers are counted, and in
 * NICBARR_BARRIER_COMPARING during a comparison. If the choice is Open MPI's barrier, and either
 * was measured in this job or has won some comparisons, the re-evaluation ends, and costs nothing
 * from then on.
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
#include "coll_nicbarr/choice/comparison.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/choice/tune.h"
#include "coll_nicbarr/candidate_groups.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/layout.h"
#include "coll_nicbarr/overdue.h"

_Static_assert((int)NICBARR_COMPARISON_VALUES <= (int)NICBARR_MOST_VALUES,
               "nicbarr_maximum() accepts the values of a comparison");

/* A comparison in progress. */
struct nicbarr_comparison_run {
    struct nicbarr_comparison comparison;
    /* the variants; the first one is the current choice */
    struct nicbarr_choice choice[NICBARR_COMPARISON_VARIANTS];
    /* plans of the variants on one node; the plan in use is in module->group */
    struct myr_plan plans[NICBARR_COMPARISON_VARIANTS];
    int in_use;
    /* groups of the variants across nodes; see first_entrant() */
    struct nicbarr_candidate_groups contenders;
};

static _Atomic unsigned long long comparisons, switches;

struct nicbarr_watch_counters nicbarr_watch_count(void)
{
    return (struct nicbarr_watch_counters){comparisons, switches};
}

/* ---- pauses ---- */

static bool has_measured(const mca_coll_nicbarr_module_t *module)
{
    return NICBARR_MEASURED == module->source || NICBARR_WON_COMPARISON == module->source;
}

static uint32_t next_pause(const mca_coll_nicbarr_module_t *module)
{
    struct nicbarr_choice candidates[NICBARR_CANDIDATES];
    return nicbarr_comparison_pause(module->watch.pause, module->watch.next,
                                    nicbarr_candidates(&module->shape, candidates));
}

/* ---- variants ---- */

/* Select the variants: the current choice and its challengers. */
static int choose_variants(mca_coll_nicbarr_module_t *module,
                           struct nicbarr_choice choice[NICBARR_COMPARISON_VARIANTS])
{
    struct nicbarr_choice candidates[NICBARR_CANDIDATES];
    int challengers[NICBARR_COMPARISON_VARIANTS - 1];
    const int all = nicbarr_candidates(&module->shape, candidates);
    int chosen = all - 1;
    while (chosen >= 0 && !nicbarr_choice_equal(candidates[chosen], module->choice)) {
        --chosen;
    }
    const int count = nicbarr_comparison_challengers(chosen, all, &module->watch.next, challengers);
    choice[0] = module->choice;
    for (int c = 0; c < count; ++c) {
        choice[1 + c] = candidates[challengers[c]];
    }
    return 1 + count;
}

static bool make_plans(const mca_coll_nicbarr_module_t *module, struct nicbarr_comparison_run *run,
                       int count)
{
    bool made = true;
    for (int d = 1; made && d < count; ++d) {
        if (NICBARR_OPENMPI != run->choice[d].algorithm) {
            made = nicbarr_layout_plan(module, run->choice[d], &run->plans[d]);
        }
    }
    return made;
}

/* Returns the index of the first variant that is passed to nicbarr_candidate_groups_join(). Variant
 * 0 is the current choice, whose group has already been joined, so it is not passed. However, if it
 * is Open MPI's barrier, it is passed, because the list for that function must begin with Open
 * MPI's barrier. */
static int first_entrant(const struct nicbarr_comparison_run *run)
{
    return NICBARR_OPENMPI == run->choice[0].algorithm ? 0 : 1;
}

/* Join the variants' groups. Variants whose group cannot be joined are removed. Returns Open MPI's
 * error code. */
static int make_groups(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       struct nicbarr_comparison_run *run, int *count)
{
    struct nicbarr_candidate_groups *contenders = &run->contenders;
    struct nicbarr_choice *choice = &run->choice[first_entrant(run)];
    contenders->count = *count - first_entrant(run);
    memcpy(contenders->choice, choice, (size_t)contenders->count * sizeof(*choice));
    const int rc = nicbarr_candidate_groups_join(module, comm, 0, false, contenders);
    *count = contenders->count + first_entrant(run);
    memcpy(choice, contenders->choice, (size_t)contenders->count * sizeof(*choice));
    return rc;
}

static void free_comparison(struct nicbarr_comparison_run *run)
{
    if (NULL != run) {
        for (int d = 0; d < NICBARR_COMPARISON_VARIANTS; ++d) {
            myr_plan_destroy(&run->plans[d]);
        }
        nicbarr_candidate_groups_leave(&run->contenders);
        free(run);
    }
}

void nicbarr_watch_end(mca_coll_nicbarr_module_t *module)
{
    free_comparison(module->watch.run);
    module->watch.run = NULL;
}

/* ---- barriers ---- */

/* Install the plan of variant `d`, which uses the record's memory. The caller ensures that no
 * process is in a barrier of the previous plan. */
static void switch_plan(mca_coll_nicbarr_module_t *module, struct nicbarr_comparison_run *run,
                        int d)
{
    run->plans[run->in_use] = module->group.plan;
    module->group.plan = run->plans[d];
    run->plans[d] = (struct myr_plan){.nsteps = 0};
    run->in_use = d;
}

/* Returns the group of a variant other than Open MPI's barrier, across nodes. */
static struct myr_nic_group *group_of(mca_coll_nicbarr_module_t *module,
                                      struct nicbarr_comparison_run *run, int d)
{
    return 0 == d ? &module->nic : &run->contenders.group[d - first_entrant(run)];
}

static int run_variant(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, int d)
{
    struct nicbarr_comparison_run *run = module->watch.run;
    if (NICBARR_COMPARISON_APART == d || NICBARR_OPENMPI == run->choice[d].algorithm) {
        return nicbarr_synchronise(module, comm);
    }
    if (module->across) {
        return nicbarr_nic_barrier(module, comm, group_of(module, run, d));
    }
    if (d != run->in_use) {
        switch_plan(module, run, d);
    }
    myr_group_barrier(&module->group);
    return OMPI_SUCCESS;
}

/* ---- end of a comparison ---- */

/* Install the winner in the module. If the previous choice had a group, the process leaves it
 * together with the groups of the other variants. */
static void install_winner(mca_coll_nicbarr_module_t *module, struct nicbarr_comparison_run *run)
{
    const int winner = run->comparison.winner;
    const bool openmpi = NICBARR_OPENMPI == run->choice[winner].algorithm;
    if (!module->across) {
        switch_plan(module, run, winner);
    } else if (0 != winner) {
        nicbarr_group_leave(&module->nic);
        if (!openmpi) {
            struct myr_nic_group *group = group_of(module, run, winner);
            module->nic = *group;
            *group = (struct myr_nic_group){0};
        }
    }
    module->choice = run->choice[winner];
}

/* Apply the result of a comparison: switch to the winner, or confirm the choice. */
static int finish_comparison(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_comparison_run *run = module->watch.run;
    const bool lost = 0 != run->comparison.winner;
    const bool unmeasured = !has_measured(module);
    int rc = OMPI_SUCCESS;
    /* without an entry of its own, this communicator is counted in an entry of the report that
     * several communicators share; remove it from there before its choice changes */
    if (NULL == module->entry) {
        nicbarr_report_retract(module, comm, NULL);
    }
    install_winner(module, run);
    module->watch.run = NULL;
    ++module->watch.comparisons;
    module->watch.switches += lost;
    atomic_fetch_add_explicit(&comparisons, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&switches, lost, memory_order_relaxed);
    module->watch.pause = lost ? 0 : next_pause(module);
    if (lost || nicbarr_is_unproven(module->source)) {
        module->source = NICBARR_WON_COMPARISON;
    }
    nicbarr_report_comparison(module, comm, &run->comparison, run->choice);
    free_comparison(run);
    if (lost && unmeasured) {
        rc = nicbarr_retune(module, comm);
    } else {
        nicbarr_store_choice(nicbarr_shape_key(&module->shape), module->choice, true);
        rc = nicbarr_install_choice(module, comm);
    }
    return rc;
}

/* Called at the end of a round: agree on its results, and finish the comparison if these results
 * decide it. */
static int agree_on_round(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_comparison *comparison = &module->watch.run->comparison;
    double values[NICBARR_COMPARISON_VALUES];
    int rc = nicbarr_maximum(module, comm, values, nicbarr_comparison_values(comparison, values));
    if (OMPI_SUCCESS == rc) {
        nicbarr_comparison_agreed(comparison, values);
    }
    if (OMPI_SUCCESS == rc && comparison->over) {
        rc = finish_comparison(module, comm);
    }
    return rc;
}

int nicbarr_watch_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_comparison *comparison = &module->watch.run->comparison;
    const double arrived_us = nicbarr_now_us();
    const int rc = run_variant(module, comm, nicbarr_comparison_next(comparison));
    if (OMPI_SUCCESS == rc && nicbarr_comparison_record(comparison, arrived_us, nicbarr_now_us())) {
        return agree_on_round(module, comm);
    }
    return rc;
}

/* ---- start of a comparison ---- */

/* Allocate the variants' resources. If that fails on any member, there is no comparison on any. */
static int prepare_comparison(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_comparison_run *run = calloc(1, sizeof(*run));
    struct nicbarr_choice choice[NICBARR_COMPARISON_VARIANTS];
    int count = choose_variants(module, choice);
    double failed = NULL == run;
    if (NULL != run) {
        memcpy(run->choice, choice, sizeof(choice));
        failed = !module->across && !make_plans(module, run, count);
    }
    int rc = nicbarr_maximum(module, comm, &failed, 1);
    if (OMPI_SUCCESS == rc && 0 == failed && module->across) {
        rc = make_groups(module, comm, run, &count);
    }
    if (OMPI_SUCCESS != rc || 0 != failed || count < 2) {
        free_comparison(run);
        return rc;
    }
    nicbarr_comparison_begin(&run->comparison, count, !module->across);
    module->watch.run = run;
    return rc;
}

int nicbarr_watch_compare(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const int rc = prepare_comparison(module, comm);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (NULL == module->watch.run) {
        module->watch.pause = next_pause(module);
        module->watch.until = module->watch.pause;
        return nicbarr_synchronise(module, comm);
    }
    nicbarr_barrier_event(module, NICBARR_EVENT_COMPARISON);
    return nicbarr_watch_barrier(module, comm);
}
