/* SPDX-License-Identifier: BSD-3-Clause */
/* See barrier_state.h. */
#include "coll_nicbarr/barrier_state.h"

#include "coll_nicbarr/choice/duel.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/lower.h"

/* Is the choice to be watched? Open MPI's own is not where this job is sure of it. */
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
            nicbarr_is_unproven(module->source) || NICBARR_DUELLED == module->source
                ? NICBARR_PAUSE_UNKNOWN
                : NICBARR_PAUSE_MEASURED;
    }
    module->watch.until = module->watch.pause;
    return true;
}

static enum nicbarr_barrier_state state_of_choice(mca_coll_nicbarr_module_t *module)
{
    if (NULL != module->tuner) {
        return NICBARR_BARRIER_PROVISIONAL;
    }
    const bool watched = begin_watching(module);
    if (NICBARR_OPENMPI == module->choice.algorithm) {
        return watched ? NICBARR_BARRIER_WATCHED_OWN : NICBARR_BARRIER_OWN;
    }
    if (module->across) {
        return watched ? NICBARR_BARRIER_WATCHED_NIC : NICBARR_BARRIER_NIC;
    }
    if (NICBARR_UNDECIDED == module->source) {
        return NICBARR_BARRIER_UNDECIDED;
    }
    if (NULL != module->group.plan.leaf) {
        return watched ? NICBARR_BARRIER_WATCHED_COUNTER : NICBARR_BARRIER_COUNTER;
    }
    return watched ? NICBARR_BARRIER_WATCHED_SLOTS : NICBARR_BARRIER_SLOTS;
}

void nicbarr_install_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    nicbarr_set_barrier(module, comm, state_of_choice(module));
}
