/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning: all candidates for a communicator's barrier compete on the real communicator, Open MPI's
 * own function among them, and the fastest is taken. The contest itself is contest.c's. Here is
 * what its turns are, and what is done with its result.
 *
 * What is agreed on goes by Open MPI's own functions. Between two candidates all ranks meet in Open
 * MPI's own barrier: plans may use the same memory one after the other, but not at once (see
 * plan.h).
 *
 * On one node a candidate is a plan. On several it is a group of NICs (entrants.h).
 */
#include "coll_nicbarr/tune.h"

#include <stdlib.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/cache.h"
#include "coll_nicbarr/candidates.h"
#include "coll_nicbarr/contest.h"
#include "coll_nicbarr/entrants.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/layout.h"
#include "coll_nicbarr/limits.h"
#include "coll_nicbarr/module.h"
#include "coll_nicbarr/overdue.h"
#include "coll_nicbarr/report.h"
#include "coll_nicbarr/together.h"
#include "coll_nicbarr/tuning.h"

_Static_assert((int)NICBARR_CANDIDATES <= (int)NICBARR_CONTESTANTS, "all can take part");
_Static_assert((int)NICBARR_CONTEST_VALUES <= (int)NICBARR_MOST_VALUES, "nicbarr_maximum()");

/* ---- measuring ---- */

struct tuner {
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    struct nicbarr_tuning tuning;
    struct myr_plan plans[NICBARR_CANDIDATES]; /* on one node */
    struct nicbarr_entrants entrants;          /* on several */
    struct nicbarr_contest contest;
};

static int meet(const struct tuner *tuner)
{
    return nicbarr_meet(tuner->module, tuner->comm);
}

static bool is_own(const struct tuner *tuner, int candidate)
{
    return NICBARR_OPENMPI == tuner->tuning.candidates[candidate].choice.algorithm;
}

/* One barrier of a candidate. */
static int enter_barrier(void *context, int candidate, int number)
{
    struct tuner *tuner = context;
    if (0 == number) {
        tuner->module->group.plan = tuner->plans[candidate];
    }
    if (is_own(tuner, candidate)) {
        return meet(tuner);
    }
    if (tuner->module->across) {
        return nicbarr_nic_barrier(tuner->module, tuner->comm, &tuner->entrants.group[candidate]);
    }
    myr_group_barrier(&tuner->module->group);
    return OMPI_SUCCESS;
}

/* ---- what competes ---- */

/* Have a group of NICs for each candidate, as far as that can be. */
static int make_groups(struct tuner *tuner)
{
    struct nicbarr_tuning *tuning = &tuner->tuning;
    const int rc = nicbarr_entrants_join(tuner->module, tuner->comm, NICBARR_GROUP_BARRIER + 1, 0,
                                         false, &tuner->entrants);
    tuning->count = tuner->entrants.count;
    for (int c = 0; c < tuning->count; ++c) {
        tuning->candidates[c].choice = tuner->entrants.choice[c];
    }
    return rc;
}

/* What to say where nobody can play: the error of the first NIC that could have. */
static const struct myr_error *main_error(const struct tuner *tuner)
{
    return &tuner->entrants.errors[__builtin_ctz(tuner->module->shape.players)];
}

/* ---- the whole of it ---- */

static void predict(const mca_coll_nicbarr_module_t *module, struct nicbarr_tuning *tuning)
{
    const struct nicbarr_machine machine = {tuning->limits.line_us, tuning->limits.switch_us,
                                            module->shape.processors};
    for (int c = 0; c < tuning->count; ++c) {
        struct nicbarr_candidate *candidate = &tuning->candidates[c];
        const struct nicbarr_choice choice = candidate->choice;
        candidate->model_us = module->across
                                  ? nicbarr_model_across_us(choice, module->shape.nodes,
                                                            &tuning->round_trips[choice.nic])
                                  : nicbarr_model_us(choice, module->shape.processes, &machine);
    }
}

/* The raw limits across nodes. Only the report's reader needs them, so they are measured if rank 0
 * writes one. That happens after the contest, so that the choice does not depend on it. A ping-pong
 * gets the time of a candidate's turn. */
static int probe_across(struct tuner *tuner)
{
    int turns[NICBARR_NICS_MOST] = {0};
    double wanted = 0 == ompi_comm_rank(tuner->comm) && nicbarr_report_wanted();
    const int rc = nicbarr_maximum(tuner->comm, &wanted, 1);
    if (OMPI_SUCCESS != rc || 0 == wanted) {
        return rc;
    }
    for (int c = tuner->tuning.count - 1; c > 0; --c) {
        turns[tuner->tuning.candidates[c].choice.nic] = tuner->contest.of[c].repetitions;
    }
    return nicbarr_round_trips(tuner->module, tuner->comm, turns, &tuner->tuning);
}

/* Have a plan for each candidate. */
static int make_plans(struct tuner *tuner)
{
    struct nicbarr_tuning *tuning = &tuner->tuning;
    bool made = true;
    for (int c = 1; made && c < tuning->count; ++c) { /* the first is Open MPI's own */
        made = nicbarr_layout_plan(tuner->module, tuning->candidates[c].choice, &tuner->plans[c]);
    }
    return made ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

/* Measure them all. */
static int compete(struct tuner *tuner, double start_us, double budget_us)
{
    const struct nicbarr_race race = {tuner->module, tuner->comm, enter_barrier, tuner};
    struct nicbarr_tuning *tuning = &tuner->tuning;
    const int rc = nicbarr_race_run(&tuner->contest, &race, tuning->count, start_us, budget_us);
    for (int c = 0; c < tuning->count; ++c) {
        tuning->candidates[c].rounds = (uint32_t)tuner->contest.of[c].rounds;
        tuning->candidates[c].us = tuner->contest.of[c].us;
    }
    return OMPI_SUCCESS == rc ? meet(tuner) : rc; /* all have done with the last one's plan */
}

/* Have MPI_Barrier go by what was chosen. */
static void take(struct tuner *tuner)
{
    mca_coll_nicbarr_module_t *module = tuner->module;
    const int best = tuner->contest.chosen;
    module->choice = tuner->tuning.candidates[best].choice;
    module->source = NICBARR_MEASURED;
    module->group.plan = tuner->plans[best];
    module->nic = tuner->entrants.group[best];
    tuner->plans[best] = (struct myr_plan){.nsteps = 0};
    tuner->entrants.group[best] = (struct myr_nic_group){0};
}

static int run(struct tuner *tuner)
{
    mca_coll_nicbarr_module_t *module = tuner->module;
    struct nicbarr_tuning *tuning = &tuner->tuning;
    struct nicbarr_entrants *entrants = &tuner->entrants;
    const double start_us = nicbarr_now_us(), budget_us = tuning->budget_ms * 1e3;

    const int count = nicbarr_candidates(&module->shape, entrants->choice);
    tuning->count = entrants->count = count;
    for (int c = 0; c < count; ++c) {
        tuning->candidates[c].choice = entrants->choice[c];
    }
    struct myr_plan before = module->group.plan;
    int rc = module->across ? make_groups(tuner) : make_plans(tuner);
    if (OMPI_SUCCESS == rc && !module->across) {
        rc = nicbarr_limits(module, tuner->comm, &tuning->limits);
    }
    rc = OMPI_SUCCESS == rc ? compete(tuner, start_us, budget_us) : rc;
    if (tuning->count > 1 && module->across) {
        rc = OMPI_SUCCESS == rc ? probe_across(tuner) : rc;
    }
    tuning->spent_us = nicbarr_now_us() - start_us;

    module->group.plan = before;
    if (OMPI_SUCCESS == rc) {
        take(tuner);
        myr_plan_destroy(&before);
    }
    for (int c = 0; c < count; ++c) {
        myr_plan_destroy(&tuner->plans[c]);
    }
    nicbarr_entrants_leave(entrants);
    return rc;
}

/* What rank 0 knows. */
struct word {
    uint64_t known;    /* another communicator of this shape was tuned meanwhile; 0: none was */
    uint64_t left_out; /* packets did not come through for another one meanwhile */
};

static int ask_root(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, struct word *word)
{
    if (0 == ompi_comm_rank(comm)) {
        word->known = nicbarr_recall(&module->shape);
        word->left_out = 0 == word->known && module->across && nicbarr_across_in_doubt();
    }
    return comm->c_coll->coll_bcast(word, 2, MPI_UINT64_T, 0, comm,
                                    comm->c_coll->coll_bcast_module);
}

/* Tell what was measured to those who come later: in this job, in later ones, and people. */
static void publish(struct tuner *tuner)
{
    const mca_coll_nicbarr_module_t *module = tuner->module;
    predict(module, &tuner->tuning);
    nicbarr_remember(&module->shape, module->choice);
    struct nicbarr_choice choices[NICBARR_CANDIDATES];
    for (int c = 0; c < tuner->tuning.count; ++c) {
        choices[c] = tuner->tuning.candidates[c].choice;
    }
    nicbarr_cache_add(&module->shape, NULL, choices, &tuner->contest);
    nicbarr_report_note(module, tuner->comm, &tuner->tuning, NULL);
    nicbarr_report_write();
}

int nicbarr_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct word word = {0, 0};

    module->tuning = true; /* collectives below may call MPI_Barrier's function on `comm` */
    struct tuner *tuner = calloc(1, sizeof(*tuner));
    int rc = NULL == tuner ? OMPI_ERR_OUT_OF_RESOURCE : ask_root(module, comm, &word);
    if (OMPI_SUCCESS == rc) {
        nicbarr_report_retract(module, comm, NULL);
    }
    if (OMPI_SUCCESS == rc && 0 != word.left_out) {
        nicbarr_across_leave_out(module, comm);
    } else if (OMPI_SUCCESS == rc && 0 != word.known) {
        rc = nicbarr_adopt(module, word.known) ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
        rc = OMPI_SUCCESS == rc ? nicbarr_meet(module, comm) : rc;
    } else if (OMPI_SUCCESS == rc) {
        tuner->module = module;
        tuner->comm = comm;
        tuner->tuning.budget_ms = mca_coll_nicbarr_component.parameters.tune_budget;
        rc = run(tuner);
        if (OMPI_SUCCESS == rc && 1 == tuner->tuning.count) {
            nicbarr_across_decline(module, comm, main_error(tuner));
        }
    }
    if (OMPI_SUCCESS == rc && module->across && !module->declined) {
        rc = nicbarr_across_install(module, comm);
    } else if (OMPI_SUCCESS == rc && !module->across) {
        nicbarr_install_barrier(module, comm);
    }
    /* What could not be installed has been declined, and reported as that. */
    if (OMPI_SUCCESS == rc && !module->declined && 0 != word.known) {
        nicbarr_report_note(module, comm, NULL, NULL);
    } else if (OMPI_SUCCESS == rc && !module->declined && 0 == ompi_comm_rank(comm)) {
        publish(tuner);
    }
    free(tuner);
    module->tuning = false;
    return rc;
}
