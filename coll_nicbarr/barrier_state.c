/* SPDX-License-Identifier: BSD-3-Clause */
/* See barrier_state.h. */
#include "coll_nicbarr/barrier_state.h"

#include <assert.h>

#include "coll_nicbarr/choice/comparison.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/fallback.h"

/* Start the periodic re-evaluation of the choice, and return true. Returns false if the choice is
 * not to be re-evaluated (nicbarr_watched()), or if Open MPI's own barrier was chosen and the
 * measurements of this job show with sufficient confidence that it is the best. */
static bool begin_watching(mca_coll_nicbarr_module_t *module)
{
    const bool proven = NICBARR_MEASURED == module->source || NICBARR_FROM_JOB == module->source ||
                        module->watch.pause >= NICBARR_PAUSE_MEASURED;
    const bool best = NICBARR_OPENMPI == module->choice.algorithm && proven;
    if (!nicbarr_watched(module->source) || best) {
        return false;
    }
    if (0 == module->watch.pause) {
        module->watch.pause =
            nicbarr_is_unproven(module->source) || NICBARR_WON_COMPARISON == module->source
                ? NICBARR_PAUSE_UNKNOWN
                : NICBARR_PAUSE_MEASURED;
    }
    module->watch.until = module->watch.pause;
    return true;
}

static struct nicbarr_barrier_choice describe_choice(mca_coll_nicbarr_module_t *module)
{
    const bool provisional = NULL != module->tuner;
    return (struct nicbarr_barrier_choice){
        .means = NICBARR_OPENMPI == module->choice.algorithm ? NICBARR_BY_OPENMPI
                 : module->across                            ? NICBARR_BY_NIC
                 : NULL != module->group.plan.leaf           ? NICBARR_BY_COUNTER
                                                             : NICBARR_BY_SLOTS,
        .provisional = provisional,
        .watched = !provisional && begin_watching(module),
        .unmeasured = !module->across && NICBARR_UNDECIDED == module->source,
    };
}

void nicbarr_barrier_event(mca_coll_nicbarr_module_t *module, enum nicbarr_barrier_event event)
{
    struct nicbarr_barrier_choice choice = {.means = NICBARR_BY_OPENMPI};
    if (NICBARR_EVENT_CHOSEN == event) {
        choice = describe_choice(module);
    }
    const enum nicbarr_barrier_state next =
        nicbarr_barrier_next(module->barrier_state, event, &choice);
    assert(NICBARR_BARRIER_STATES != next);
    nicbarr_set_barrier(module, next);
}
