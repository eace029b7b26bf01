/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trial: the contest (contest.h) by which a class of size is decided, from the call that begins
 * it to the one that ends it.
 *
 * As a barrier's (tune.c), it is played in portions: at once as long as the machine is too slow or
 * too busy to be sure, up to four budgets; then, if the choice is still provisional, a small
 * portion after some calls, and after half as many again (portions.h). Meanwhile calls go by what
 * is best so far. The class's way is open until the end, so that its calls are counted: whoever
 * finds it open asks for a trial. Classes that are decided do not notice.
 *
 * A class that is watched may be tried anew (data_watch.h). Then what is in use stays until another
 * one is better for sure. Such portions have to be affordable, and all others where measuring has a
 * limit (expense.h).
 *
 * All of it happens within blocking collectives of all members. Each counts the same calls, and all
 * agree on the figures. So they go on, choose and end alike.
 *
 * data_tune.c and data_across.c have a kind of trial each.
 */
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
    bool forced;                          /* the user wants one of nicbarr's */
    bool once; /* nothing but figures can come of it: it is not continued */
    /* The user forces nothing: what is measured is remembered, and the class is watched
     * afterwards. */
    bool watched;
    bool anew; /* it was decided before; this candidate is in use: */
    int standing;
    enum nicbarr_way way; /* that calls go by meanwhile, if it is anew; else install() says it */
    /* The rest is trial.c's: */
    struct nicbarr_contest contest;
    struct nicbarr_portions portions;
    struct nicbarr_trial *next; /* of the module's */
};

struct nicbarr_trial_kind {
    /* As that of struct nicbarr_race; `trial` is the context. */
    int (*call)(void *trial, int candidate, int number);
    /* What was installed, or stands, before it goes on; NULL: nothing to do. */
    void (*take_back)(struct nicbarr_trial *trial);
    void (*install)(struct nicbarr_trial *trial); /* contest.chosen, or what the user wants */
    void (*free)(struct nicbarr_trial *trial);    /* with all but what is installed */
};

/*
 * What the job knows of a class, or the cache if that is sure: a word of nicbarr_pack(). 0:
 * nothing; NICBARR_READING: nothing yet. Rank 0 knows, the others go by what it says. Collective,
 * with module->tuning set; Open MPI's error.
 */
int nicbarr_trial_ask(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                      enum nicbarr_collective collective, uint32_t size_class, uint64_t *known);

/*
 * Begin it, with what comes first filled in, and so many candidates. Sets the class's way, at the
 * end or until then. It is freed at its end, in this very call or later. What was spent since
 * `since_us` (nicbarr_now_us()) counts. Collective, with module->tuning set; Open MPI's error.
 */
int nicbarr_trial_begin(struct nicbarr_trial *trial, int candidates, double since_us);

/* Not now: the class is looked at again after more calls. All members say so in the same call. */
void nicbarr_trial_put_off(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                           uint32_t size_class);

/* May a trial of a class of which nothing is known begin now? If the job cannot afford it, it is
 * put off. Collective, with module->tuning set. */
bool nicbarr_trial_affordable(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              enum nicbarr_collective collective, uint32_t size_class);

/* The root of the `number`-th call that competes: that of the program's calls where it is always
 * the same, else each rank in turn. */
int nicbarr_trial_root(const struct nicbarr_trial *trial, int number);

/* The one of a class; NULL: there is none. */
struct nicbarr_trial *nicbarr_trial_of(const mca_coll_nicbarr_module_t *module,
                                       enum nicbarr_collective collective, uint32_t size_class);

/* A call of its class has come. True: it went on, and may be over; collective then. */
bool nicbarr_trial_call(struct nicbarr_trial *trial);

/* What is known by now is all. Local. */
void nicbarr_trial_end(struct nicbarr_trial *trial);
void nicbarr_trials_end(mca_coll_nicbarr_module_t *module);

#endif
