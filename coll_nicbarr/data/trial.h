/* SPDX-License-Identifier: BSD-3-Clause */
/* A trial is the tuning run that chooses the implementation of a size class. It consists of a
 * contest (contest.h) and of the state that is kept from the call that begins it to the call that
 * ends it.
 *
 * Like the contest of a barrier (tune.c), a trial measures in batches. The call that begins the
 * trial runs the first batch. If its result is uncertain, because the machine is slow or busy, the
 * same call runs further batches, until all of them together have taken four times the budget. (It
 * does not if the user has limited the time for measuring.) If the choice is still provisional
 * after that, the following calls use the best implementation so far, and run small batches at
 * growing intervals (batches.h). Until the trial ends, the `way` of the class stays open, and its
 * calls are counted, because each of them may have to run a batch.
 *
 * A decided class may be remeasured (data_watch.h). The implementation in use is then kept, unless
 * another one is better with sufficient confidence. The batches of a remeasurement are run only
 * when the job can afford them. The same holds for the first measurement of a class if the time for
 * measuring is limited (expense.h), unless the user forces an implementation.
 *
 * A trial runs while all members execute a blocking collective. Since all members count the same
 * calls, and agree on the measured values, they make the same choice, and continue and end the
 * trial in the same calls.
 *
 * data_tune.c and data_across.c each implement a kind of trial. */
#ifndef NICBARR_TRIAL_H
#define NICBARR_TRIAL_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/batches.h"
#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_trial {
    const struct nicbarr_trial_kind *kind;
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    enum nicbarr_collective collective;
    uint32_t size_class;
    const struct nicbarr_choice *choices; /* the candidates */
    bool remeasured; /* remeasurement of a decided class, whose candidate in use is: */
    int incumbent;
    /* the implementation that calls use while the trial continues; initially that of a remeasured
     * class, then set by install() */
    enum nicbarr_way way;
    /* Private to trial.c: */
    struct nicbarr_contest contest;
    struct nicbarr_batches batches;
    struct nicbarr_trial *next; /* next trial in the module's list */
};

struct nicbarr_trial_kind {
    /* As in struct nicbarr_sampler; `trial` is the context. May change the class's way. */
    int (*call)(void *trial, int candidate, int number);
    /* Called before the trial continues, to undo what was installed; NULL if there is nothing to
     * undo. */
    void (*uninstall)(struct nicbarr_trial *trial);
    /* Install contest.chosen, or the forced candidate. */
    void (*install)(struct nicbarr_trial *trial);
    /* Free the trial, with all resources that are not installed. */
    void (*free)(struct nicbarr_trial *trial);
};

/* Returns whether the user leaves the choice to measurements. Then the result is stored, and the
 * class is re-evaluated from time to time. */
bool nicbarr_trial_is_free(const struct nicbarr_trial *trial);

/* Look up the choice that the job has stored for this class, or else the choice of the tuning
 * cache, provided that its confidence is sufficient. `*known` becomes the choice as encoded by
 * nicbarr_choice_encode(), 0 if there is none, or NICBARR_READING while the cache is still being
 * read. Rank 0 looks it up and broadcasts the result. Collective; returns Open MPI's error. */
int nicbarr_trial_stored_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class,
                                uint64_t *known);

/* Begin a trial of `candidates` candidates, and set the `way` of its class, provisionally or
 * finally. The caller has filled in all fields that are not private to trial.c. The trial is freed
 * when it ends, in this call or later. The time since `since_us` (nicbarr_now_us()), which the
 * caller has spent on preparations, is charged to the budget. Collective; returns Open MPI's error.
 */
int nicbarr_trial_begin(struct nicbarr_trial *trial, int candidates, double since_us);

/* Postpone the decision on the class by more calls. All members do so in the same call. */
void nicbarr_trial_postpone(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                            uint32_t size_class);

/* Returns whether a trial may begin now for a class without a stored choice. If the job cannot
 * afford it, the trial is postponed. Collective. */
bool nicbarr_trial_affordable(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              enum nicbarr_collective collective, uint32_t size_class);

/* Returns the root to be used in call `number` of a tuning run. If the program always calls the
 * collective with the same root, this root is used; otherwise the ranks take turns. */
int nicbarr_trial_root(const struct nicbarr_trial *trial, int number);

/* Returns the trial of a class, or NULL if there is none. */
struct nicbarr_trial *nicbarr_trial_of(const mca_coll_nicbarr_module_t *module,
                                       enum nicbarr_collective collective, uint32_t size_class);

/* Count a call of the trial's class, and run a batch if one is due. Returns whether a batch was
 * run. If it was the last one, the trial has been freed. Collective. */
bool nicbarr_trial_call(struct nicbarr_trial *trial);

/* End the trial, or all trials of a module, with the result of the batches so far. Local. */
void nicbarr_trial_end(struct nicbarr_trial *trial);
void nicbarr_trials_end(mca_coll_nicbarr_module_t *module);

#endif
