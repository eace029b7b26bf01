/* SPDX-License-Identifier: BSD-3-Clause */
/* Tunes a communicator's barrier: measures all candidates, including Open MPI's own function, on
 * the communicator itself, and installs the fastest. contest.c implements the tuning run; this file
 * provides the candidates' barriers and uses the result.
 *
 * The ranks agree by means of Open MPI's own functions. Between two candidates they synchronise by
 * Open MPI's barrier, because the plans of different candidates may use the same memory, but not at
 * the same time (plan.h).
 *
 * On one node, a candidate is a plan. Across nodes, it is a group of NICs (candidate_groups.h).
 *
 * A choice may be provisional (contest.h). In this case the communicator already uses it, but the
 * contest continues in small batches, with growing pauses, until the choice is final or no batches
 * are left. Meanwhile the module keeps the tuner, which still owns the plan or group of the
 * choice. */
#include "coll_nicbarr/choice/tune.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/barrier_state.h"
#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/expense.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/choice/limits.h"
#include "coll_nicbarr/choice/batches.h"
#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/choice/tuning.h"
#include "coll_nicbarr/declining.h"
#include "coll_nicbarr/suspect_nics.h"
#include "coll_nicbarr/candidate_groups.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/layout.h"
#include "coll_nicbarr/overdue.h"

_Static_assert((int)NICBARR_CANDIDATES <= (int)NICBARR_CONTESTANTS,
               "a contest has space for all candidates");
_Static_assert((int)NICBARR_CONTEST_VALUES <= (int)NICBARR_MOST_VALUES,
               "nicbarr_maximum() accepts the values of a contest");

/* ---- measuring ---- */

struct nicbarr_tuner {
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    bool root; /* this is rank 0 */
    struct nicbarr_tuning tuning;
    struct nicbarr_candidate_groups contenders; /* candidates; across nodes, with groups */
    struct myr_plan plans[NICBARR_CANDIDATES];  /* plans of the candidates on one node */
    struct nicbarr_contest contest;
    struct nicbarr_batches batches;
    int installed; /* the candidate whose plan or group the module uses */
};

static bool is_openmpi(const struct nicbarr_tuner *tuner, int candidate)
{
    return NICBARR_OPENMPI == tuner->contenders.choice[candidate].algorithm;
}

/* Execute one barrier of a candidate. */
static int enter_barrier(void *context, int candidate, int number)
{
    struct nicbarr_tuner *tuner = context;
    if (0 == number) {
        tuner->module->group.plan = tuner->plans[candidate];
    }
    if (is_openmpi(tuner, candidate)) {
        return nicbarr_synchronise(tuner->module, tuner->comm);
    }
    if (tuner->module->across) {
        return nicbarr_nic_barrier(tuner->module, tuner->comm, &tuner->contenders.group[candidate]);
    }
    myr_group_barrier(&tuner->module->group);
    return OMPI_SUCCESS;
}

/* ---- candidates ---- */

/* Returns false if out of memory. */
static bool make_plans(struct nicbarr_tuner *tuner)
{
    const struct nicbarr_candidate_groups *contenders = &tuner->contenders;
    bool made = true;
    for (int c = 1; made && c < contenders->count; ++c) { /* Open MPI's barrier needs no plan */
        made = nicbarr_layout_plan(tuner->module, contenders->choice[c], &tuner->plans[c]);
    }
    return made;
}

/* Join the candidates' groups. Candidates whose group cannot be joined are removed. */
static int make_groups(struct nicbarr_tuner *tuner)
{
    return nicbarr_candidate_groups_join(tuner->module, tuner->comm, 0, false, &tuner->contenders);
}

/* Returns the error to report if no candidate can be used, which is the error of the first NIC of
 * the shape. */
static const struct myr_error *main_error(const struct nicbarr_tuner *tuner)
{
    return &tuner->contenders.errors[__builtin_ctz(tuner->module->shape.nics)];
}

/* ---- batches ---- */

static void predict_times(struct nicbarr_tuner *tuner)
{
    const mca_coll_nicbarr_module_t *module = tuner->module;
    struct nicbarr_tuning *tuning = &tuner->tuning;
    const struct nicbarr_machine machine = {tuning->limits.line_us, tuning->limits.switch_us,
                                            module->shape.processors};
    for (int c = 0; c < tuner->contenders.count; ++c) {
        const struct nicbarr_choice choice = tuner->contenders.choice[c];
        tuning->model_us[c] = module->across
                                  ? nicbarr_model_across_us(choice, module->shape.nodes,
                                                            &tuning->round_trips[choice.nic])
                                  : nicbarr_model_us(choice, module->shape.processes, &machine);
    }
}

/* Measure the raw limits if rank 0 writes a report; nothing else needs them. They are measured
 * after the contest, so that they cannot affect the choice. Across nodes, a ping-pong takes about
 * as long as one sample of a candidate. */
static int measure_limits(struct nicbarr_tuner *tuner)
{
    int repetitions[NICBARR_NICS_MOST] = {0};
    double wanted = tuner->root && nicbarr_report_wanted();
    const int rc = nicbarr_maximum(tuner->module, tuner->comm, &wanted, 1);
    if (OMPI_SUCCESS != rc || 0 == wanted) {
        return rc;
    }
    if (!tuner->module->across) {
        return nicbarr_limits(tuner->module, tuner->comm, &tuner->tuning.limits);
    }
    for (int c = tuner->contenders.count - 1; c > 0; --c) {
        repetitions[tuner->contenders.choice[c].nic] = tuner->contest.of[c].repetitions;
    }
    return nicbarr_round_trips(tuner->module, tuner->comm, repetitions, &tuner->tuning);
}

static double involuntary_switches(void)
{
    struct rusage usage = {.ru_nivcsw = 0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (double)usage.ru_nivcsw;
}

/* Returns the index of the candidate that the module uses at present. */
static int candidate_in_use(const struct nicbarr_tuner *tuner)
{
    int c = tuner->contenders.count - 1;
    while (c > 0 && !nicbarr_choice_equal(tuner->contenders.choice[c], tuner->module->choice)) {
        --c;
    }
    return c;
}

/* Run a batch, whose time counts from `start_us`. */
static int run_batch(struct nicbarr_tuner *tuner, double start_us)
{
    const struct nicbarr_sampler sampler = {tuner->module, tuner->comm, enter_barrier, tuner};
    struct nicbarr_contest *contest = &tuner->contest;
    struct nicbarr_tuning *tuning = &tuner->tuning;
    double busy[] = {0, -involuntary_switches()};
    int rc = nicbarr_sampler_run_batch(contest, &sampler, start_us,
                                       nicbarr_batches_next_us(&tuner->batches));
    nicbarr_batches_record(&tuner->batches, contest);
    (void)getloadavg(&busy[0], 1);
    busy[1] += involuntary_switches();
    /* this also ensures that no rank is still in a barrier of the last candidate */
    if (OMPI_SUCCESS == rc) {
        rc = nicbarr_maximum(tuner->module, tuner->comm, busy, 2);
    }
    tuning->load = busy[0] > tuning->load ? busy[0] : tuning->load;
    tuning->switches += busy[1];
    if (!contest->preliminary_done ||
        (nicbarr_expense_limited() && contest->rounds < NICBARR_CONTEST_STAGE)) {
        /* there are too few measurements for a choice, and the next batch may follow much later, so
         * keep the candidate in use */
        contest->chosen = candidate_in_use(tuner);
    }
    return rc;
}

/* Join the candidates' groups across nodes, and run the first batch. */
static int begin_tuning(struct nicbarr_tuner *tuner)
{
    mca_coll_nicbarr_module_t *module = tuner->module;
    const struct nicbarr_candidate_groups *contenders = &tuner->contenders;
    const double start_us = nicbarr_now_us();

    struct myr_plan before = module->group.plan;
    int rc = module->across ? make_groups(tuner) : OMPI_SUCCESS;
    nicbarr_contest_begin(&tuner->contest, contenders->count);
    rc = OMPI_SUCCESS == rc ? run_batch(tuner, start_us) : rc;
    if (contenders->count > 1) {
        rc = OMPI_SUCCESS == rc ? measure_limits(tuner) : rc;
    }
    tuner->tuning.spent_us = nicbarr_now_us() - start_us;
    module->group.plan = before;
    if (OMPI_SUCCESS == rc) {
        myr_plan_destroy(&module->group.plan);
    }
    return rc;
}

/* ---- results ---- */

/* Install the chosen candidate's plan or group in the module. */
static void install_chosen(struct nicbarr_tuner *tuner)
{
    mca_coll_nicbarr_module_t *module = tuner->module;
    const int best = tuner->installed = tuner->contest.chosen;
    module->choice = tuner->contenders.choice[best];
    module->source = NICBARR_MEASURED;
    module->group.plan = tuner->plans[best];
    module->nic = tuner->contenders.group[best];
    tuner->plans[best] = (struct myr_plan){.nsteps = 0};
    tuner->contenders.group[best] = (struct myr_nic_group){0};
}

static void uninstall_chosen(struct nicbarr_tuner *tuner)
{
    mca_coll_nicbarr_module_t *module = tuner->module;
    tuner->plans[tuner->installed] = module->group.plan;
    tuner->contenders.group[tuner->installed] = module->nic;
    module->group.plan = (struct myr_plan){.nsteps = 0};
    module->nic = (struct myr_nic_group){0};
}

static void free_tuner(struct nicbarr_tuner *tuner)
{
    for (int c = 0; c < NICBARR_CANDIDATES; ++c) {
        myr_plan_destroy(&tuner->plans[c]);
    }
    nicbarr_candidate_groups_leave(&tuner->contenders);
    free(tuner);
}

/* Leave the groups of dropped candidates, so that they do not occupy the memory of NICs. */
static void leave_dropped_groups(struct nicbarr_tuner *tuner)
{
    for (int c = 1; c < tuner->contenders.count; ++c) {
        if (tuner->contest.of[c].dropped) {
            nicbarr_group_leave(&tuner->contenders.group[c]);
        }
    }
}

/* Publish the result to later communicators of this job, and in the report. */
static void publish_choice(struct nicbarr_tuner *tuner)
{
    mca_coll_nicbarr_module_t *module = tuner->module;
    if (nicbarr_report_wanted()) {
        predict_times(tuner);
    }
    nicbarr_store_choice(nicbarr_shape_key(&module->shape), module->choice,
                         !tuner->contest.provisional);
    nicbarr_report_record(module, tuner->comm, &tuner->tuning, NULL);
    nicbarr_report_write();
}

/* Store the measurement for later jobs, once it is complete. */
static void cache_measurement(const struct nicbarr_tuner *tuner)
{
    if (tuner->root && tuner->contest.rounds > 0) {
        nicbarr_cache_add(&tuner->module->shape, NULL, tuner->contenders.choice, &tuner->contest);
    }
}

void nicbarr_tune_end(mca_coll_nicbarr_module_t *module)
{
    if (NULL != module->tuner) {
        cache_measurement(module->tuner);
        free_tuner(module->tuner);
        module->tuner = NULL;
    }
}

/* Install the choice after a batch, provisionally or finally. */
static int install_result(struct nicbarr_tuner *tuner)
{
    mca_coll_nicbarr_module_t *module = tuner->module;
    int rc = OMPI_SUCCESS;
    install_chosen(tuner);
    leave_dropped_groups(tuner);
    const bool more = nicbarr_batches_left(&tuner->batches, &tuner->contest);
    module->tuner = more ? tuner : NULL;
    tuner->tuning.in_between = more && 1 < tuner->batches.finished;
    nicbarr_batches_pause(&tuner->batches);
    rc = nicbarr_install_choice(module, tuner->comm);
    /* If installing failed, the communicator has been declined, and that has been reported. */
    if (OMPI_SUCCESS == rc && !module->declined && tuner->root) {
        publish_choice(tuner);
    }
    if (OMPI_SUCCESS != rc || module->declined) {
        module->tuner = NULL;
        free_tuner(tuner);
    } else if (!more) {
        cache_measurement(tuner);
        free_tuner(tuner);
    }
    return rc;
}

bool nicbarr_tune_due(const mca_coll_nicbarr_module_t *module)
{
    return nicbarr_batches_due(&module->tuner->batches);
}

int nicbarr_tune_continue(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_tuner *tuner = module->tuner;
    const double start_us = nicbarr_now_us();
    if (!nicbarr_affordable(module, comm, nicbarr_batches_next_us(&tuner->batches), false)) {
        nicbarr_batches_postpone(&tuner->batches);
        return nicbarr_synchronise(module, comm);
    }
    uninstall_chosen(tuner);
    const int rc = run_batch(tuner, start_us);
    nicbarr_expense_record(nicbarr_now_us() - start_us, false);
    tuner->tuning.spent_us += nicbarr_now_us() - start_us;
    module->group.plan = (struct myr_plan){.nsteps = 0}; /* the tuner owns the plan */
    if (OMPI_SUCCESS != rc) { /* a member may have failed, and no candidate is installed */
        module->tuner = NULL;
        free_tuner(tuner);
        nicbarr_decline(module, comm, "a call of Open MPI's function failed while measuring");
        return rc;
    }
    return install_result(tuner);
}

/* The data about the shape that rank 0 broadcasts. */
struct stored {
    /* the choice from the cache or from another communicator of this shape, or 0 */
    uint64_t known;
    /* if there is no choice: NICs whose packets got lost on another communicator */
    uint64_t suspect;
    uint64_t reading; /* if there is no choice: the cache has not been read yet */
};

/* Returns rank 0's stored choice for a shape, or 0. */
static uint64_t lookup_choice(const struct nicbarr_shape *shape)
{
    struct nicbarr_choice choice;
    (void)nicbarr_propose(shape, &choice); /* stores the cache's choice in the segment */
    return nicbarr_choice_of_job(shape);
}

static int get_stored_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct stored *stored)
{
    if (0 == ompi_comm_rank(comm)) {
        struct nicbarr_shape shape = module->shape;
        stored->known = lookup_choice(&shape);
        stored->suspect =
            0 == stored->known && module->across ? nicbarr_suspect_nics(shape.nics) : 0;
        if (0 != stored->suspect && nicbarr_shape_without(&shape, (uint32_t)stored->suspect)) {
            stored->known = lookup_choice(&shape);
        }
        stored->reading = 0 == stored->known && !nicbarr_cache_ready();
    }
    return nicbarr_openmpi_bcast(stored, 3, MPI_UINT64_T, 0, comm, &module->openmpi);
}

/* Agree on whether all members have memory for the next step. On entry, *has states whether this
 * member has it; on return, whether all members have it. Collective, with the effect of a barrier;
 * returns Open MPI's error. */
static int agree_on_memory(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, bool *has)
{
    double lacking = !*has;
    const int rc = nicbarr_maximum(module, comm, &lacking, 1);
    *has = OMPI_SUCCESS == rc && 0 == lacking;
    return rc;
}

static void decline_without_memory(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    nicbarr_decline(module, comm, "a process is out of memory");
}

/* Set the module's choice to `known`. Returns false if out of memory. */
static bool set_choice(mca_coll_nicbarr_module_t *module, uint64_t known)
{
    struct nicbarr_choice choice;
    struct myr_plan plan = {.nsteps = 0};
    const enum nicbarr_source source = nicbarr_choice_decode(known, &choice);
    if (NICBARR_OPENMPI != choice.algorithm && !module->across &&
        !nicbarr_layout_plan(module, choice, &plan)) {
        return false;
    }
    myr_plan_destroy(&module->group.plan);
    module->group.plan = plan;
    module->choice = choice;
    module->source = source;
    return true;
}

/* Returns whether this communicator can use the choice `known`. On one node this is not certain:
 * the record has space for the candidates only, and a cache that was read after setup may contain a
 * choice that is not a candidate, because the file was edited, or was written by another version of
 * nicbarr. */
static bool can_adopt(const mca_coll_nicbarr_module_t *module, uint64_t known)
{
    struct nicbarr_choice choice;
    (void)nicbarr_choice_decode(known, &choice);
    return module->across || nicbarr_layout_fits(module, choice);
}

/* Use the choice of another communicator or of an earlier job. Across nodes, the groups are set up
 * only after enough barriers to justify the cost. */
static int adopt_choice(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        uint64_t known)
{
    bool has_memory = set_choice(module, known);
    int rc = agree_on_memory(module, comm, &has_memory);
    if (OMPI_SUCCESS == rc && !has_memory) {
        decline_without_memory(module, comm);
    } else if (OMPI_SUCCESS == rc && module->across) {
        nicbarr_barrier_event(module, NICBARR_EVENT_SHAPE_KNOWN);
    } else if (OMPI_SUCCESS == rc) {
        rc = nicbarr_install_choice(module, comm);
    }
    if (OMPI_SUCCESS == rc && !module->declined) {
        nicbarr_report_record(module, comm, NULL, NULL);
    }
    return rc;
}

/* Returns the budget of the first batch in microseconds. If the time for measuring is limited, the
 * budget is only a fraction of coll_nicbarr_tune_budget, so that the job can afford the batch
 * earlier. */
static double first_batch_us(void)
{
    enum { PARTS = 10 };
    return mca_coll_nicbarr_component.parameters.tune_budget * 1e3 /
           (nicbarr_expense_limited() ? PARTS : 1);
}

/* Create a tuner with its candidates and, on one node, their plans. Returns NULL if out of
 * memory. */
static struct nicbarr_tuner *make_tuner(mca_coll_nicbarr_module_t *module,
                                        ompi_communicator_t *comm)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    struct nicbarr_tuner *tuner = calloc(1, sizeof(*tuner));
    if (NULL == tuner) {
        return NULL;
    }
    tuner->module = module;
    tuner->comm = comm;
    tuner->root = 0 == ompi_comm_rank(comm);
    tuner->tuning = (struct nicbarr_tuning){.contest = &tuner->contest,
                                            .choices = tuner->contenders.choice,
                                            .budget_ms = parameters->tune_budget};
    nicbarr_batches_begin(&tuner->batches, first_batch_us(), parameters->tune_after,
                          nicbarr_expense_limited());
    tuner->contenders.count = nicbarr_candidates(&module->shape, tuner->contenders.choice);
    if (!module->across && !make_plans(tuner)) {
        free_tuner(tuner);
        return NULL;
    }
    return tuner;
}

/* Measure all candidates, because there is no stored choice for the shape. */
static int measure_candidates(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct nicbarr_tuner *tuner = make_tuner(module, comm);
    bool has_memory = NULL != tuner;
    int rc = agree_on_memory(module, comm, &has_memory);
    if (!has_memory) {
        if (NULL != tuner) {
            free_tuner(tuner);
        }
        if (OMPI_SUCCESS == rc) {
            decline_without_memory(module, comm);
        }
        return rc;
    }
    rc = begin_tuning(tuner);
    nicbarr_expense_record(tuner->tuning.spent_us, false);
    if (OMPI_SUCCESS == rc && 1 < tuner->contenders.count) {
        return install_result(tuner);
    }
    if (OMPI_SUCCESS == rc) {
        nicbarr_across_decline(module, comm, main_error(tuner));
    }
    free_tuner(tuner);
    return rc;
}

int nicbarr_retune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    nicbarr_group_leave(&module->nic);
    return measure_candidates(module, comm);
}

/* Returns whether a contest may start now. */
static bool may_measure(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    return 0 != mca_coll_nicbarr_component.parameters.tune_budget &&
           nicbarr_affordable(module, comm, first_batch_us(), false);
}

/* Postpone measuring, each time by twice as many barriers as before, up to a maximum. This barrier
 * is executed by Open MPI's own function. */
static int postpone_tuning(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    enum { LEAST = 10, MOST = 20000 };
    const uint32_t more = module->tune_at < LEAST ? LEAST : module->tune_at;
    module->tune_at += more < MOST ? more : MOST;
    return nicbarr_synchronise(module, comm);
}

int nicbarr_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    struct stored stored = {0, 0, 0};
    const int rc = get_stored_choice(module, comm, &stored);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    const bool nics_left = nicbarr_shape_without(&module->shape, (uint32_t)stored.suspect);
    const bool known = 0 != stored.known && can_adopt(module, stored.known);
    if (nics_left && !known && (0 != stored.reading || !may_measure(module, comm))) {
        return postpone_tuning(module, comm);
    }
    nicbarr_report_retract(module, comm, NULL);
    if (!nics_left) {
        nicbarr_across_decline_suspect(module, comm);
        return nicbarr_synchronise(module, comm);
    }
    return known ? adopt_choice(module, comm, stored.known) : measure_candidates(module, comm);
}
