/* SPDX-License-Identifier: BSD-3-Clause */
/* A trial: the contest (contest.h) that decides a class of size, from the call that begins it to
 * the one that ends it.
 *
 * Like a barrier's contest (tune.c), it is played in portions: at once as long as the machine is
 * too slow or too busy to be sure, up to four budgets; then, if the choice is still provisional, a
 * small portion after some calls, and after half as many again (portions.h). Meanwhile calls use
 * the best so far. The class's way is open until the end, so that its calls are counted, and a call
 * that finds it open advances the trial. Decided classes are not affected.
 *
 * A watched class may be tried again (data_watch.h). Then the implementation in use stays until
 * another one is better with sufficient confidence. Such portions must be affordable, and all
 * others if measuring has a limit (expense.h).
 *
 * All of it happens within blocking collectives of all members. Each counts the same calls, and all
 * agree on the values. So they continue, choose and end alike.
 *
 * data_tune.c and data_across.c have a kind of trial each. */
#ifndef NICBARR_TRIAL_H
#define NICBARR_TRIAL_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/portions.h"
#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_trial {
    const struct nicbarr_trial_kind *kind;
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    enum nicbarr_collective collective;
    uint32_t size_class;
    const struct nicbarr_choice *choices; /* the candidates */
    bool forced;                          /* the user forces one of nicbarr's */
    bool once;                            /* for its figures only: not continued */
    /* The user forces nothing: the result is remembered, and the class is watched afterwards. */
    bool watched;
    bool anew; /* remeasurement: it was decided before, with this candidate in use: */
    int standing;
    enum nicbarr_way way; /* of calls meanwhile, for a remeasurement; else install() sets it */
    /* Private to trial.c: */
    struct nicbarr_contest contest;
    struct nicbarr_portions portions;
    struct nicbarr_trial *next; /* in the module's list */
};

struct nicbarr_trial_kind {
    /* As in struct nicbarr_race; `trial` is the context. */
    int (*call)(void *trial, int candidate, int number);
    /* Called before the trial continues, to undo what was installed; NULL: nothing to undo. */
    void (*take_back)(struct nicbarr_trial *trial);
    void (*install)(struct nicbarr_trial *trial); /* contest.chosen, or the forced one */
    void (*free)(struct nicbarr_trial *trial);    /* with everything that is not installed */
};

/* The job's knowledge about a class, or the cache's if that is sure: a word of nicbarr_pack(). 0:
 * none; NICBARR_READING: none yet. Rank 0 broadcasts its own. Collective, with module->tuning set;
 * Open MPI's error. */
int nicbarr_trial_ask(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class, uint64_t *known);

/* Begin a trial with this number of candidates; the caller has filled in its first fields. Sets the
 * class's way, provisionally or finally. The trial is freed at its end, in this call or later. The
 * time since `since_us` (nicbarr_now_us()) counts. Collective, with module->tuning set; Open MPI's
 * error. */
int nicbarr_trial_begin(struct nicbarr_trial *trial, int candidates, double since_us);

/* Postpone the decision on the class by more calls. All members do so in the same call. */
void nicbarr_trial_put_off(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                           uint32_t size_class);

/* May a trial begin now for a class of which nothing is known? If the job cannot afford it, the
 * trial is postponed. Collective, with module->tuning set. */
bool nicbarr_trial_affordable(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              enum nicbarr_collective collective, uint32_t size_class);

/* The root of call number `number` of the contest: the root of the program's calls if that is
 * constant, else each rank in turn. */
int nicbarr_trial_root(const struct nicbarr_trial *trial, int number);

/* The trial of a class; NULL: none. */
struct nicbarr_trial *nicbarr_trial_of(const mca_coll_nicbarr_module_t *module,
                                       enum nicbarr_collective collective, uint32_t size_class);

/* Count a call of its class. True: the trial was continued, collectively, and may be over. */
bool nicbarr_trial_call(struct nicbarr_trial *trial);

/* Conclude with the portions so far. Local. */
void nicbarr_trial_end(struct nicbarr_trial *trial);
void nicbarr_trials_end(mca_coll_nicbarr_module_t *module);

#endif
