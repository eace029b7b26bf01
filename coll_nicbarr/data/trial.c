/* SPDX-License-Identifier: BSD-3-Clause */
/* See trial.h. */
#include "coll_nicbarr/data/trial.h"

#include "coll_nicbarr/choice/remeasure.h"
#include "coll_nicbarr/choice/expense.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/data/classes.h"
#include "coll_nicbarr/data/data_watch.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/report.h"

enum {
    AT_ONCE = 4,  /* maximum time of the first call, in budgets */
    IN_A_ROW = 10 /* minimum number of calls in a sample of a loosely synchronous collective */
};

/* Returns whether a process may leave the collective before others have entered it. In such a
 * collective, an isolated call takes a different time from a call in a long sequence. With 16
 * hosts, an isolated broadcast took five times as long, and a different candidate was the fastest
 * (docs/figures.md). */
static bool loosely_synchronous(enum nicbarr_collective collective)
{
    return NICBARR_BCAST == collective || NICBARR_SCATTER == collective ||
           NICBARR_GATHER == collective || NICBARR_REDUCE == collective ||
           NICBARR_REDUCE_USER_OP == collective;
}

static enum nicbarr_way *way_of(const struct nicbarr_trial *trial)
{
    return &trial->module->ways[trial->collective][trial->size_class].way;
}

static bool is_rank_0(const struct nicbarr_trial *trial)
{
    return 0 == ompi_comm_rank(trial->comm);
}

/* Across nodes, the algorithm that the user forces for barriers is also the only candidate of
 * collectives that carry data. */
bool nicbarr_trial_is_free(const struct nicbarr_trial *trial)
{
    return !nicbarr_data_forced(trial->collective) &&
           (!trial->module->across ||
            NICBARR_ALGORITHMS == mca_coll_nicbarr_component.forced.algorithm);
}

/* ---- stored results ---- */

static uint64_t load_choice(const mca_coll_nicbarr_module_t *module,
                            enum nicbarr_collective collective, uint32_t size_class)
{
    char text[NICBARR_CLASS_TEXT];
    struct nicbarr_choice choice;
    bool sure;
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    const uint64_t key = nicbarr_data_kv_key(module, collective, size_class);
    const uint64_t value = myr_kv_get(segment, key);
    if (0 != value) {
        return value;
    }
    if (!nicbarr_cache_ready()) {
        return NICBARR_READING;
    }
    if (!nicbarr_cache_read(&module->shape,
                            nicbarr_class_name(module, collective, size_class, text), &choice,
                            &sure) ||
        !sure) {
        return 0;
    }
    const uint64_t word = nicbarr_choice_encode(choice, NICBARR_FROM_CACHE);
    (void)myr_kv_add(segment, key, word); /* keeps a choice that was measured meanwhile */
    return word;
}

int nicbarr_trial_stored_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                enum nicbarr_collective collective, uint32_t size_class,
                                uint64_t *known)
{
    *known = 0 == ompi_comm_rank(comm) ? load_choice(module, collective, size_class) : 0;
    return nicbarr_openmpi_bcast(known, 1, MPI_UINT64_T, 0, comm, &module->openmpi);
}

/* Publish the choice to other communicators of this shape in the job. Called after at least one
 * round. */
static void store_choice(const struct nicbarr_trial *trial)
{
    if (nicbarr_trial_is_free(trial)) {
        nicbarr_store_choice(
            nicbarr_data_kv_key(trial->module, trial->collective, trial->size_class),
            trial->choices[trial->contest.chosen], !trial->contest.provisional);
    }
}

/* Publish the result in the report, and to later jobs. Called at the end of the trial. */
static void publish_trial(const struct nicbarr_trial *trial)
{
    char text[NICBARR_CLASS_TEXT];
    if (nicbarr_trial_is_free(trial)) {
        nicbarr_cache_add(
            &trial->module->shape,
            nicbarr_class_name(trial->module, trial->collective, trial->size_class, text),
            trial->choices, &trial->contest);
    }
    nicbarr_report_data(trial->module, trial->comm, trial->collective, trial->size_class,
                        nicbarr_data_forced(trial->collective) ? NICBARR_FORCED : NICBARR_MEASURED,
                        &trial->contest, trial->choices);
    nicbarr_report_write();
}

/* ---- batches ---- */

static void unlink_trial(struct nicbarr_trial *trial)
{
    struct nicbarr_trial **link = &trial->module->trials;
    while (trial != *link) {
        link = &(*link)->next;
    }
    *link = trial->next;
}

void nicbarr_trial_end(struct nicbarr_trial *trial)
{
    const bool proven = !trial->contest.provisional;
    const bool conclusive = !trial->remeasured || trial->contest.rounds > 0;
    unlink_trial(trial);
    if (trial->remeasured && conclusive) {
        nicbarr_data_watch_record(trial->module, trial->collective, trial->size_class,
                                  trial->incumbent != trial->contest.chosen, proven);
    }
    if (nicbarr_trial_is_free(trial)) {
        nicbarr_data_watch(trial->module, trial->collective, trial->size_class, trial->way, proven);
    } else {
        *way_of(trial) = trial->way;
    }
    if (is_rank_0(trial) && !trial->module->declined && conclusive) {
        publish_trial(trial);
    }
    trial->kind->free(trial);
}

void nicbarr_trials_end(mca_coll_nicbarr_module_t *module)
{
    while (NULL != module->trials) {
        nicbarr_trial_end(module->trials);
    }
}

/* End a trial after an error, which Open MPI's function then returns. */
static void fail_trial(struct nicbarr_trial *trial)
{
    unlink_trial(trial);
    *way_of(trial) = NICBARR_WAY_OPENMPI;
    trial->kind->free(trial);
}

/* Returns whether the trial is run only once, for its measurements, because the user forces its
 * only candidate. */
static bool is_forced(const struct nicbarr_trial *trial)
{
    return nicbarr_data_forced(trial->collective) && 2 == trial->contest.count;
}

/* Returns whether each batch of the trial must be affordable. */
static bool is_limited(const struct nicbarr_trial *trial)
{
    return trial->remeasured || (nicbarr_trial_is_free(trial) && nicbarr_expense_limited());
}

/* Run a batch, and further batches as long as all of them together take at most `at_once_us`. */
static int run_batches(struct nicbarr_trial *trial, double since_us, double at_once_us)
{
    const struct nicbarr_sampler sampler = {trial->module, trial->comm, trial->kind->call, trial};
    struct nicbarr_batches *batches = &trial->batches;
    const double began_us = since_us;
    bool more = false;
    int rc;
    do {
        const double batch_us = nicbarr_batches_next_us(batches);
        rc = nicbarr_sampler_run_batch(&trial->contest, &sampler, since_us, batch_us);
        nicbarr_batches_record(batches, &trial->contest);
        more = !is_forced(trial) && nicbarr_batches_left(batches, &trial->contest);
        at_once_us -= batch_us;
        since_us = nicbarr_now_us();
    } while (OMPI_SUCCESS == rc && more && nicbarr_batches_next_us(batches) <= at_once_us);
    if (OMPI_SUCCESS != rc) {
        fail_trial(trial);
        return rc;
    }
    nicbarr_expense_record(nicbarr_now_us() - began_us, trial->remeasured);
    if (trial->remeasured) {
        trial->contest.chosen =
            trial->contest.provisional ? trial->incumbent : trial->contest.chosen;
    } else if (is_limited(trial) && trial->contest.rounds < NICBARR_CONTEST_STAGE) {
        /* keep Open MPI's own function, because the next batch may follow much later */
        trial->contest.chosen = 0;
    }
    trial->kind->install(trial);
    if (is_rank_0(trial) && trial->contest.rounds > 0) {
        store_choice(trial);
    }
    if (more) {
        nicbarr_batches_pause(batches);
        *way_of(trial) = NICBARR_WAY_OPEN;
    } else {
        nicbarr_trial_end(trial);
    }
    return rc;
}

static void uninstall_choice(struct nicbarr_trial *trial)
{
    if (NULL != trial->kind->uninstall) {
        trial->kind->uninstall(trial);
    }
}

int nicbarr_trial_begin(struct nicbarr_trial *trial, int candidates, double since_us)
{
    mca_coll_nicbarr_module_t *module = trial->module;
    const double budget_us = nicbarr_data_budget_us(module);
    const int tune_after = mca_coll_nicbarr_component.parameters.tune_after;
    nicbarr_contest_begin(&trial->contest, candidates);
    trial->contest.in_a_row = loosely_synchronous(trial->collective) ? IN_A_ROW : 0;
    nicbarr_batches_begin(&trial->batches, budget_us,
                          trial->remeasured ? 2 * (int)nicbarr_remeasure_pause(0, false)
                                            : tune_after,
                          is_limited(trial));
    trial->next = module->trials;
    module->trials = trial;
    if (trial->remeasured) {
        uninstall_choice(trial);
    }
    return run_batches(trial, since_us, is_limited(trial) ? 0 : AT_ONCE * budget_us);
}

void nicbarr_trial_postpone(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                            uint32_t size_class)
{
    enum { LEAST = 10 };
    struct nicbarr_class *class = &module->ways[collective][size_class];
    class->wanted = class->wanted < LEAST ? LEAST : class->wanted + 1;
    (void)nicbarr_remeasure_postpone(&class->wanted);
    class->until = class->wanted;
    class->now = NICBARR_WAY_OPENMPI;
}

bool nicbarr_trial_affordable(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              enum nicbarr_collective collective, uint32_t size_class)
{
    if (nicbarr_affordable(module, comm, nicbarr_data_budget_us(module), false)) {
        return true;
    }
    nicbarr_trial_postpone(module, collective, size_class);
    return false;
}

int nicbarr_trial_root(const struct nicbarr_trial *trial, int number)
{
    const int root = nicbarr_data_one_root(trial->module, trial->collective, trial->size_class);
    return NICBARR_NO_ROOT != root ? root : number % ompi_comm_size(trial->comm);
}

struct nicbarr_trial *nicbarr_trial_of(const mca_coll_nicbarr_module_t *module,
                                       enum nicbarr_collective collective, uint32_t size_class)
{
    struct nicbarr_trial *trial = module->trials;
    while (NULL != trial && (collective != trial->collective || size_class != trial->size_class)) {
        trial = trial->next;
    }
    return trial;
}

bool nicbarr_trial_call(struct nicbarr_trial *trial)
{
    mca_coll_nicbarr_module_t *module = trial->module;
    struct nicbarr_batches *batches = &trial->batches;
    if (!nicbarr_batches_due(batches)) {
        return false;
    }
    const bool affordable = !is_limited(trial) ||
                            nicbarr_affordable(module, trial->comm,
                                               nicbarr_batches_next_us(batches), trial->remeasured);
    if (affordable) {
        uninstall_choice(trial);
        (void)run_batches(trial, nicbarr_now_us(), 0);
    } else {
        nicbarr_batches_postpone(batches);
    }
    return affordable;
}
