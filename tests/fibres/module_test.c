/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the whole component coll/nicbarr returns correct results to any legal program and
 * never hangs it. Random programs run on one node or with one node per rank; the ranks are fibres
 * (fibres.h) on top of a fake Open MPI (mpi_fake.h).
 *
 * All ranks follow one plan, as in an MPI program. They create and free communicators over random
 * ranks, also while requests are outstanding. On these communicators they call:
 *
 * - blocking, non-blocking and persistent collectives of all kinds, with sizes near the boundaries
 *   of size classes;
 * - reductions that each rank starts from within progress at random times, as MPI_Comm_idup does.
 *
 * The conditions are random as well. A rank may lack the component or have another parameter,
 * memory may be scarce, components above and below may forward calls, choices may be forced, and
 * members may compare their calls. Durations are random, so that the component makes and revises
 * every choice. Earlier jobs may have left a tuning cache, which takes any time to read, and
 * earlier communicators may have stored choices in the segment; both contain arbitrary choices, and
 * in some programs no further one can be stored. Ranks are bound to arbitrary processors. In some
 * programs a rank dies (mpirun --with-ft ulfm) at any basic block, which the others detect at
 * random times.
 *
 * Invariants:
 *
 * - All results are correct, as computed by arithmetic alone.
 * - No rank leaves a barrier before all have entered it.
 * - All members of a communicator call the same functions of the underlying components in the same
 *   order.
 * - A blocking collective of the component sets up what non-blocking calls need.
 * - No rank waits for ever, and no record is left at the end.
 * - After all components are closed, no descriptor and no object on the heap is left.
 *
 * The test counts the state transitions that occurred; NICBARR_TRANSITIONS=1 prints them.
 * NICBARR_PROGRAMS=N runs N programs. Each has a seed of its own, which is printed if the program
 * fails; NICBARR_SEED=SEED NICBARR_PROGRAMS=1 repeats that program alone.
 */
#include "tests/fibres/heap.h"
#include "tests/fibres/mpi_fake.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/trial.h"
#include "libmyr/node/segment_inside.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    COMMS = 4,
    OPS = 80,
    PERSISTENTS = 4,         /* persistent requests of a communicator at one time */
    FLIGHTS = 8,             /* outstanding requests of a communicator */
    MOST_BYTES = 1 << 15,    /* size of a rank's block */
    SOME_CALLS = 40,         /* consecutive calls */
    COMPARISON_CALLS = 1500, /* consecutive barriers, enough for a comparison */
    USUAL = 3,               /* collectives that a communicator calls most often */
    BLOCKS_MOST = 400000000, /* basic blocks of a program */
    GRAIN = 16,              /* basic blocks of a time slice */
    PROGRAMS = 60,
    SOON = 20000, /* basic blocks */
};

enum collective { BARRIER, ALLREDUCE, REDUCE, BCAST, ALLGATHER, GATHER, SCATTER, COLLECTIVES };
enum kind { OPEN, CLOSE, CALL, BEGIN, MAKE, START, WAIT, ISSUE, COMPLETE, PROVOKE, KINDS };

struct op {
    enum kind kind;
    uint32_t comm, number;
    enum collective collective;
    uint32_t root, bytes, times;
    bool users;          /* the reduction uses the program's own operation */
    bool in_place;       /* MPI_Allreduce is called in place */
    bool late;           /* CLOSE: before its requests are complete */
    bool wrapped;        /* OPEN */
    bool passed;         /* PROVOKE: a rank has advanced the clock already */
    uint32_t entered[2]; /* ranks that have entered a barrier, one bit for each, by parity of its
                            round */
};

/* A collective call of a rank. */
struct flight {
    struct op *op;
    uint32_t round; /* index of the call of a persistent or repeated operation */
    uint32_t rank, size;
    uint64_t *from, *to;
    ompi_request_t *request;
    bool active; /* started, and not waited for yet */
};

/* A rank's view of a communicator. */
struct side {
    ompi_communicator_t *comm; /* NULL if it is closed, or this rank is no member */
    uint32_t rank, size;
    struct flight flight[FLIGHTS], persistent[PERSISTENTS];
    uint32_t flights, persistents;
    struct flight in_background;
    int background_from, background_to;
    uint32_t to_issue, issued;
    struct op *progress_op;
    bool failed; /* a member has died and a collective has returned an error, so that no more are
                    called */
};

/* The plan of the program, and its state. */
static struct program {
    uint64_t seed;
    bool across;
    uint32_t size, members[COMMS], ops;
    uint32_t burst; /* largest number of consecutive requests */
    struct op op[OPS + FLIGHTS + 3 * COMMS];
    struct op usual[COMMS][USUAL]; /* only collective, bytes and users are used */
    struct side side[FAKE_RANKS][COMMS];
    uint64_t random[FAKE_RANKS]; /* each rank's generator */
    uint32_t at[FAKE_RANKS];     /* the current operation */
    bool in_progress[FAKE_RANKS];
    bool fills;            /* when the clock is first advanced, the table becomes full */
    uint32_t victim, doom; /* the rank that dies (FAKE_RANKS: none), and after which operation */
    bool doomed, died;
    /* Whether a communicator of this size has completed a tuning run or a comparison, of barriers
     * and of each size class. */
    bool proven[FAKE_RANKS + 1];
    bool proven_class[FAKE_RANKS + 1][NICBARR_COLLECTIVES][NICBARR_SIZE_CLASSES];
} program;

static ompi_op_t *users_op;

#define CHECK(condition, ...) CHECK_(condition, __VA_ARGS__, 0)
#define CHECK_(condition, format, ...)                                                             \
    CREW_CHECK(condition, "NICBARR_SEED=0x%llx: rank %u: " format "%.0d",                          \
               (unsigned long long)program.seed, fibres_rank(), __VA_ARGS__)

static uint32_t bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* ---- transitions ---- */

enum barrier_state {
    FIRST,
    UNDECIDED,
    KNOWN, /* across nodes, but not set up yet */
    PROVISIONAL,
    COMPARING,
    OURS,
    OWN,
    WATCHED,
    DECLINED,
    NONE
};
static const char *const barrier_states[] = {"first",     "undecided", "known", "provisional",
                                             "comparing", "ours",      "own",   "watched",
                                             "declined",  "none"};
enum data_state {
    D_OPEN,
    D_TRIAL,
    D_REMEASURED,
    D_OURS,
    D_OWN,
    D_WATCHED_OURS,
    D_WATCHED_OWN,
    D_NONE
};
static const char *const data_states[] = {"open", "trial",        "remeasured",  "ours",
                                          "own",  "watched ours", "watched own", "none"};
enum { STATES = 10, EVENTS = KINDS * COLLECTIVES };
static const char *const kinds[] = {"open",  "close", "call",  "begin",    "make",
                                    "start", "wait",  "issue", "complete", "provoke"};
static const char *const collectives[] = {"barrier",   "allreduce", "reduce", "bcast",
                                          "allgather", "gather",    "scatter"};
enum table { ON_NODE, ACROSS, DATA_ON_NODE, DATA_ACROSS, TABLES };
static const char *const tables[] = {"barrier, one node", "barrier, across", "data, one node",
                                     "data, across"};
static uint32_t taken[TABLES][STATES][EVENTS][STATES];
static const char *const sources[] = {"undecided", "forced", "measured",  "job",
                                      "trial",     "cache",  "comparison"};
static uint32_t from_source[sizeof(sources) / sizeof(sources[0])]; /* calls of MPI_Barrier */

static enum barrier_state state_of_barrier(const ompi_communicator_t *comm)
{
    const mca_coll_nicbarr_module_t *module = fake_module(comm);
    if (NULL == module) {
        return NONE;
    }
    const bool set_up = module->across ? 0 != module->nodes.nodes : NULL != module->group.record;
    return module->declined                                          ? DECLINED
           : !set_up                                                 ? FIRST
           : NULL != module->watch.run                               ? COMPARING
           : NULL != module->tuner                                   ? PROVISIONAL
           : 0 != module->watch.until                                ? WATCHED
           : NICBARR_UNDECIDED == module->source                     ? UNDECIDED
           : module->across && !myr_nic_group_joined(&module->split) ? KNOWN
           : NICBARR_OPENMPI == module->choice.algorithm             ? OWN
                                                                     : OURS;
}

static enum nicbarr_collective class_of(const struct op *op)
{
    switch (op->collective) {
    case REDUCE:
        return op->users ? NICBARR_REDUCE_USER_OP : NICBARR_REDUCE;
    case BCAST:
        return NICBARR_BCAST;
    case ALLGATHER:
        return NICBARR_ALLGATHER;
    case GATHER:
        return NICBARR_GATHER;
    case SCATTER:
        return NICBARR_SCATTER;
    default:
        return op->users ? NICBARR_ALLREDUCE_USER_OP : NICBARR_ALLREDUCE;
    }
}

/* Returns the size class of a call, or NULL if the component does not serve it. */
static const struct nicbarr_class *find_class(const struct side *side, const struct op *op,
                                              uint32_t *size_class)
{
    const mca_coll_nicbarr_module_t *module = fake_module(side->comm);
    const enum nicbarr_collective collective = class_of(op);
    const bool blocks = op->collective >= ALLGATHER;
    const size_t bytes = blocks ? (size_t)op->bytes * side->size : op->bytes;
    if (NULL == module || 0 == bytes || bytes > nicbarr_data_most(module->across)) {
        return NULL;
    }
    *size_class = nicbarr_size_class(bytes);
    static const struct nicbarr_class not_called;
    const struct nicbarr_class *row = module->ways[collective];
    return NULL == row ? &not_called : &row[*size_class];
}

static const struct nicbarr_trial *find_trial(const mca_coll_nicbarr_module_t *module,
                                              enum nicbarr_collective collective,
                                              uint32_t size_class)
{
    const struct nicbarr_trial *trial = module->trials;
    while (NULL != trial && (collective != trial->collective || size_class != trial->size_class)) {
        trial = trial->next;
    }
    return trial;
}

static enum data_state state_of_class(const struct side *side, const struct op *op)
{
    const enum nicbarr_collective collective = class_of(op);
    uint32_t size_class;
    const struct nicbarr_class *class = find_class(side, op, &size_class);
    if (NULL == class) {
        return D_NONE;
    }
    const struct nicbarr_trial *trial = find_trial(fake_module(side->comm), collective, size_class);
    if (NULL != trial) {
        return trial->remeasured ? D_REMEASURED : D_TRIAL;
    }
    switch (class->way) {
    case NICBARR_WAY_NICBARR:
        return D_OURS;
    case NICBARR_WAY_OPENMPI:
        return D_OWN;
    case NICBARR_WAY_WATCHED:
        return NICBARR_WAY_NICBARR == class->now ? D_WATCHED_OURS : D_WATCHED_OWN;
    default:
        return D_OPEN;
    }
}

static uint32_t state_of(const struct side *side, const struct op *op)
{
    return BARRIER == op->collective ? (uint32_t)state_of_barrier(side->comm)
                                     : (uint32_t)state_of_class(side, op);
}

/* Check that a choice that counts as proven originates from a communicator that has measured it to
 * the end, in a tuning run or in a comparison. */
static void check_source(const struct side *own)
{
    const mca_coll_nicbarr_module_t *module = fake_module(own->comm);
    for (uint32_t i = 0; i < FAKE_RANKS * COMMS; ++i) {
        const struct side *side = &program.side[i / COMMS][i % COMMS];
        const mca_coll_nicbarr_module_t *one = NULL == side->comm ? NULL : fake_module(side->comm);
        if (NULL != one && NULL == one->tuner &&
            (NICBARR_MEASURED == one->source || NICBARR_WON_COMPARISON == one->source)) {
            program.proven[side->size] = true;
        }
    }
    CHECK(NULL == module || NICBARR_FROM_JOB != module->source || program.proven[own->size],
          "a choice among %u ranks counts as proven, but was not measured to the end", own->size);
}

/* Returns whether this communicator has decided a size class with confidence. */
static bool is_sure(const mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                    uint32_t size_class)
{
    enum { PAUSE_IF_SURE = 20000 /* minimum number of calls; see remeasure.c */ };
    const struct nicbarr_trial *trial = find_trial(module, collective, size_class);
    const struct nicbarr_class *row = module->ways[collective];
    const bool has_pause = NULL != row && row[size_class].pause >= PAUSE_IF_SURE;
    if (NULL != trial) {
        return has_pause || (trial->contest.rounds > 0 && !trial->contest.provisional);
    }
    return has_pause || (NULL != row && (NICBARR_WAY_NICBARR == row[size_class].way ||
                                         NICBARR_WAY_OPENMPI == row[size_class].way));
}

/* Check that the job's cached choice for a size class originates from a communicator that has
 * measured it to the end. While one communicator still measures, others may treat the choice as
 * proven only if one of them was confident. */
static void check_stored_choice(const struct side *own, const struct op *op)
{
    const mca_coll_nicbarr_module_t *module = fake_module(own->comm);
    const enum nicbarr_collective collective = class_of(op);
    uint32_t c;
    if (BARRIER == op->collective || NULL == find_class(own, op, &c)) {
        return;
    }
    bool *proven = &program.proven_class[own->size][collective][c];
    for (uint32_t i = 0; i < FAKE_RANKS * COMMS; ++i) {
        const struct side *side = &program.side[i / COMMS][i % COMMS];
        const mca_coll_nicbarr_module_t *one = NULL == side->comm ? NULL : fake_module(side->comm);
        *proven =
            *proven || (NULL != one && own->size == side->size && is_sure(one, collective, c));
    }
    if (NULL != find_trial(module, collective, c)) {
        const uint64_t word = fake_stored_choice(module, collective, c);
        CHECK(*proven || NICBARR_FROM_JOB != (word >> 40 & 0xff),
              "size class %u of %s among %u ranks is cached as proven, but was not measured to the "
              "end",
              c, collectives[op->collective], own->size);
    }
}

/* Returns the number of calls until the choice in use is challenged, or 0 if it will not be. */
static uint32_t due_in(const struct side *side, const struct op *op)
{
    const uint32_t state = state_of(side, op);
    uint32_t size_class;
    if (BARRIER == op->collective) {
        return WATCHED == state ? fake_module(side->comm)->watch.until : 0;
    }
    return D_WATCHED_OURS == state || D_WATCHED_OWN == state
               ? find_class(side, op, &size_class)->until
               : 0;
}

static void count_transition(const struct side *side, const struct op *op, uint32_t before)
{
    check_source(side);
    check_stored_choice(side, op);
    const uint32_t event = (uint32_t)(op->kind * COLLECTIVES + op->collective);
    const uint32_t table = (BARRIER == op->collective ? ON_NODE : DATA_ON_NODE) + program.across;
    const mca_coll_nicbarr_module_t *module = fake_module(side->comm);
    ++taken[table][before][event][state_of(side, op)];
    from_source[NULL == module || BARRIER != op->collective ? NICBARR_UNDECIDED : module->source] +=
        1;
}

static void print_transition(uint32_t table, uint32_t from, uint32_t event, uint32_t to)
{
    const char *const *names = table >= DATA_ON_NODE ? data_states : barrier_states;
    printf("%8u  %s: %s, %s %s -> %s\n", taken[table][from][event][to], tables[table], names[from],
           kinds[event / COLLECTIVES], collectives[event % COLLECTIVES], names[to]);
}

static void print_transitions(void)
{
    uint32_t count[TABLES] = {0};
    for (uint32_t i = 0; i < TABLES * STATES * EVENTS * STATES; ++i) {
        const uint32_t to = i % STATES, event = i / STATES % EVENTS;
        const uint32_t from = i / STATES / EVENTS % STATES, table = i / STATES / EVENTS / STATES;
        if (0 != taken[table][from][event][to]) {
            ++count[table];
            if (NULL != getenv("NICBARR_TRANSITIONS")) {
                print_transition(table, from, event, to);
            }
        }
    }
    for (uint32_t t = 0; t < TABLES; ++t) {
        printf("%s: %u transitions\n", tables[t], count[t]);
    }
    printf("barriers by a choice from");
    for (uint32_t s = NICBARR_FORCED; s <= NICBARR_WON_COMPARISON; ++s) {
        printf("%s%s %u", NICBARR_FORCED == s ? " " : ", ", sources[s], from_source[s]);
    }
    printf("\n");
}

/* ---- the plan ---- */

static bool has_root(enum collective collective)
{
    return REDUCE == collective || BCAST == collective || collective >= GATHER;
}

/* Returns the size of one rank's block, near the boundaries of size classes, in units of 8. */
static uint32_t draw_bytes(uint64_t *random)
{
    static const uint32_t borders[] = {8, 32, 112, 256, 512, 560, 1120, 1152, 2048, 4096, 16256};
    const uint32_t border = borders[crew_below(random, sizeof(borders) / sizeof(borders[0]))];
    switch (crew_below(random, 8)) {
    case 0:
        return 0;
    case 1:
        return border + 8;
    case 2:
        return border / 4 / 8 * 8;
    case 3:
        return crew_below(random, MOST_BYTES / 8) * 8;
    default:
        return 0 == crew_below(random, 2) ? 8 : border;
    }
}

static void draw_what(uint64_t *random, struct op *op)
{
    op->collective = (enum collective)crew_below(random, COLLECTIVES);
    op->bytes = BARRIER == op->collective ? 0 : draw_bytes(random);
    op->users = 0 == crew_below(random, 4);
}

/* Append an operation, usually one of the communicator's usual collectives, because decisions
 * need many calls of one kind. */
static void add(uint64_t *random, enum kind kind, uint32_t comm)
{
    struct op *op = &program.op[program.ops];
    const uint32_t usual = crew_below(random, USUAL + 1);
    *op = (struct op){.collective = BARRIER};
    if (usual < USUAL) {
        *op = program.usual[comm][usual];
    } else {
        draw_what(random, op);
    }
    op->kind = kind;
    op->comm = comm;
    op->number = program.ops++;
    op->root = has_root(op->collective) ? crew_below(random, bits(program.members[comm])) : 0;
    op->in_place = 0 == crew_below(random, 4);
    op->late = 0 == crew_below(random, 4);
    op->wrapped = 0 == crew_below(random, 4);
    op->times = 1 + (0 == crew_below(random, 2) ? crew_below(random, SOME_CALLS) : 0);
    if (BARRIER == op->collective && CALL == kind && 0 == crew_below(random, 4)) {
        op->times += crew_below(random, COMPARISON_CALLS);
    }
}

/* The state of a communicator at this point of the plan. */
struct planned {
    bool open, in_background;
    uint32_t flights, persistents;
    bool started;
};

static void draw_op(uint64_t *random, struct planned *at, uint32_t comm)
{
    const enum kind kind = (enum kind)(CLOSE + crew_below(random, KINDS - CLOSE));
    const bool quiet = 0 == at->flights && !at->started && !at->in_background;
    switch (kind) {
    case CLOSE:
        if (0 == crew_below(random, 6) && !at->in_background) {
            add(random, CLOSE, comm);
            *at = (struct planned){.open = false};
        }
        break;
    case BEGIN:
        for (uint32_t more = program.burst; !at->in_background && at->flights < FLIGHTS && more > 0;
             --more) {
            add(random, BEGIN, comm);
            ++at->flights;
        }
        break;
    case MAKE:
        for (uint32_t more = program.burst;
             !at->in_background && at->persistents < PERSISTENTS && !at->started && more > 0;
             --more) {
            add(random, MAKE, comm);
            ++at->persistents;
        }
        break;
    case START:
        if (0 != at->persistents && !at->started && !at->in_background) {
            add(random, START, comm);
            at->started = true;
        }
        break;
    case WAIT:
        add(random, WAIT, comm);
        at->flights = 0;
        at->started = false;
        break;
    case ISSUE: /* libnbc numbers these together with the program's non-blocking calls */
        if (quiet) {
            add(random, ISSUE, comm);
            at->in_background = true;
        }
        break;
    case COMPLETE:
        if (at->in_background) {
            add(random, COMPLETE, comm);
            at->in_background = false;
        }
        break;
    default:
        add(random, kind, comm);
    }
}

static void draw_plan(uint64_t *random)
{
    struct planned at[COMMS] = {{.open = false}};
    for (uint32_t c = 0; c < COMMS; ++c) {
        const uint32_t least = 1 + (0 != crew_below(random, 8));
        do {
            program.members[c] = crew_below(random, UINT32_C(1) << program.size);
        } while (bits(program.members[c]) < least);
        for (uint32_t u = 0; u < USUAL; ++u) {
            draw_what(random, &program.usual[c][u]);
        }
        if (0 == crew_below(random, 2)) {
            program.usual[c][0] = (struct op){.collective = BARRIER};
        }
    }
    const uint32_t calls = 1 + crew_below(random, 4); /* average between other operations */
    program.burst = 1 + crew_below(random, FLIGHTS);
    while (program.ops < OPS) {
        const uint32_t comm = crew_below(random, COMMS);
        if (!at[comm].open) {
            add(random, OPEN, comm);
            at[comm].open = true;
        } else if (0 != crew_below(random, 1 + calls)) {
            add(random, CALL, comm);
        } else {
            draw_op(random, &at[comm], comm);
        }
    }
    for (uint32_t c = 0; c < COMMS; ++c) {
        if (at[c].in_background) {
            add(random, COMPLETE, c);
        }
        if (at[c].open) {
            add(random, CLOSE, c);
        }
    }
}

static void set(struct fake_job *job, uint32_t ranks, const char *name, const char *text)
{
    job->setting[job->settings++] = (struct fake_setting){ranks, name, text};
}

#define ONE_OF(random, ...) one_of(random, (const char *const[]){__VA_ARGS__, NULL})
static const char *one_of(uint64_t *random, const char *const *words)
{
    uint32_t count = 0;
    while (NULL != words[count]) {
        ++count;
    }
    return words[crew_below(random, count)];
}

/* ---- what earlier jobs and communicators have left ---- */

/* Returns any choice that can be named, whether or not it is a candidate. On one node, counters
 * with several leaves are frequent: only those with the number of leaves that fits the binding are
 * candidates, so the record may lack space for others. */
static struct nicbarr_choice draw_choice(uint64_t *random, bool barrier)
{
    static const uint32_t greatest[] = {1, 4, 8, 200, 4096};
    struct nicbarr_choice choice = {.algorithm = NICBARR_OPENMPI};
    if (0 == crew_below(random, 3)) {
        return choice;
    }
    if (barrier && !program.across && 0 == crew_below(random, 2)) {
        choice.algorithm = NICBARR_COUNTER;
        choice.parameter = 2 + crew_below(random, FAKE_RANKS);
        return choice;
    }
    do {
        choice.algorithm = (enum nicbarr_algorithm)crew_below(random, NICBARR_ALGORITHMS);
    } while (barrier && !nicbarr_algorithm_barrier(choice.algorithm));
    if (NICBARR_FLAGS == choice.algorithm) {
        choice.parameter = UINT32_C(4) << crew_below(random, 6);
    } else if (0 != nicbarr_parameter_max(choice.algorithm, 2)) {
        choice.parameter = 1 + crew_below(random, greatest[crew_below(random, 5)]);
    }
    if (nicbarr_algorithm_messages(choice.algorithm) &&
        (program.across || 0 == crew_below(random, 8))) {
        choice.nic = 1 + crew_below(random, 2);
    }
    return choice;
}

/* Returns whether the component can have stored the choice without confidence in it. */
static bool may_be_unsure(const struct fake_past *past)
{
    const bool across = program.across && bits(past->ranks) > 1;
    return NICBARR_COLLECTIVES == past->collective &&
           (across || NICBARR_OPENMPI != past->choice.algorithm);
}

static enum nicbarr_source draw_source(uint64_t *random, const struct fake_past *past)
{
    switch (crew_below(random, 4)) {
    case 0:
        return may_be_unsure(past) ? NICBARR_UNDECIDED : NICBARR_FROM_CACHE;
    case 1:
        return NICBARR_FROM_CACHE;
    case 2:
        return NICBARR_FROM_TRIAL;
    default:
        return NICBARR_FROM_JOB;
    }
}

/* Record that a choice from the table counts as proven, so that check_source() does not require a
 * communicator of this program that has measured it. */
static void note_proven(const struct fake_past *past)
{
    const uint32_t size = bits(past->ranks);
    if (past->in_table && NICBARR_FROM_JOB == past->source) {
        if (NICBARR_COLLECTIVES == past->collective) {
            program.proven[size] = true;
        } else {
            program.proven_class[size][past->collective][past->size_class] = true;
        }
    }
}

/* Add a choice for MPI_Barrier, or for a size class of `op`, on a communicator. */
static void add_past(uint64_t *random, struct fake_job *job, uint32_t comm, const struct op *op,
                     bool in_table)
{
    const bool barrier = BARRIER == op->collective;
    const uint32_t ranks = program.members[comm];
    struct fake_past *past = &job->past[job->pasts];
    *past = (struct fake_past){.ranks = ranks,
                               .view = (uint32_t)__builtin_ctz(ranks),
                               .collective = NICBARR_COLLECTIVES,
                               .choice = draw_choice(random, barrier),
                               .in_table = in_table,
                               .sure = 0 != crew_below(random, 4)};
    if (barrier) {
        while (0 == crew_below(random, 4) || 0 == (ranks >> past->view & 1)) {
            past->view = crew_below(random, program.size);
        }
    } else {
        const size_t bytes = op->collective < ALLGATHER ? op->bytes : op->bytes * bits(ranks);
        past->collective = class_of(op);
        if (0 == bytes || bytes > nicbarr_data_most(program.across)) {
            return;
        }
        past->size_class = nicbarr_size_class(bytes);
        past->one_root = has_root(op->collective) && 0 == crew_below(random, 2);
        if (!program.across && 0 != crew_below(random, 4)) {
            past->choice = (struct nicbarr_choice){
                .algorithm = 0 == crew_below(random, 2)               ? NICBARR_OPENMPI
                             : nicbarr_data_by_ring(past->collective) ? NICBARR_RING
                                                                      : NICBARR_EXCHANGE};
        }
    }
    past->source = draw_source(random, past);
    note_proven(past);
    ++job->pasts;
}

static void add_pasts(uint64_t *random, struct fake_job *job, bool in_table)
{
    static const struct op barrier = {.collective = BARRIER};
    for (uint32_t c = 0; c < COMMS; ++c) {
        for (uint32_t more = crew_below(random, 4); more > 0; --more) {
            add_past(random, job, c, &barrier, in_table);
        }
        for (uint32_t u = 0; u < USUAL; ++u) {
            if (BARRIER != program.usual[c][u].collective && 0 == crew_below(random, 2)) {
                add_past(random, job, c, &program.usual[c][u], in_table);
            }
        }
    }
}

/* If the cache is only to be read, "none" precedes it in the list of files. */
static void draw_cache(uint64_t *random, struct fake_job *job)
{
    static const uint32_t late[] = {0, 1, 20, 300, 300, 1000, 1000, 5000};
    static char read[200];
    const uint32_t all = (UINT32_C(1) << FAKE_RANKS) - 1;
    const uint32_t ranks = 0 == crew_below(random, 4) ? crew_below(random, all) : all;
    snprintf(read, sizeof(read), "none,%s", fake_cache());
    set(job, all, "cache", "none");
    job->late = late[crew_below(random, sizeof(late) / sizeof(late[0]))];
    if (0 == crew_below(random, 4)) {
        return;
    }
    /* A rank that dies may keep the file locked, since its descriptors remain open. */
    const bool writes = !job->survives && 0 == crew_below(random, 4);
    set(job, ranks, "cache", writes ? fake_cache() : read);
    if (0 != crew_below(random, 4)) {
        add_pasts(random, job, false);
    }
}

static void draw_notes(uint64_t *random, struct fake_job *job)
{
    switch (crew_below(random, 8)) {
    case 0:
        job->full = true;
        break;
    case 1:
        program.fills = true;
        break;
    case 2:
    case 3:
        add_pasts(random, job, true);
        break;
    default:
        break;
    }
}

/* Bind no rank, each rank to a processor of its own, all ranks to the same ones, or each to any. */
static void draw_processors(uint64_t *random, struct fake_job *job)
{
    const uint32_t all = (UINT32_C(1) << FAKE_PROCESSORS) - 1;
    const uint32_t how = crew_below(random, 4), same = UINT32_C(3) >> crew_below(random, 2);
    for (uint32_t r = 0; r < program.size; ++r) {
        job->processors[r] = 0 == how   ? all
                             : 1 == how ? UINT32_C(1) << r
                             : 2 == how ? same
                                        : 1 + crew_below(random, 15);
    }
    job->rebinds = 0 == crew_below(random, 4);
}

static void progress(uint32_t rank);

static void draw_job(uint64_t *random, struct fake_job *job)
{
    static const uint32_t steps[] = {100, 1000, 10000, 100000};
    static const char *const forced[] = {"allreduce", "reduce", "bcast",
                                         "allgather", "gather", "scatter"};
    const uint32_t all = (UINT32_C(1) << FAKE_RANKS) - 1;
    *job = (struct fake_job){.seed = program.seed,
                             .ranks = program.size,
                             .step_ns = steps[crew_below(random, 4)],
                             .progress = progress};
    set(job, all, "sleep_after", "-1"); /* a rank that sleeps would block all others */
    set(job, all, "tune_after", ONE_OF(random, "0", "1", "3", "10"));
    if (0 == crew_below(random, 2)) {
        set(job, all, "tune_budget", ONE_OF(random, "0", "1", "1", "5"));
        set(job, all, "tune_share", "100");
    } else { /* a batch must not be too short, because each ends with a test of all rounds */
        set(job, all, "tune_budget", ONE_OF(random, "0", "5", "10"));
        set(job, all, "tune_share", ONE_OF(random, "1", "10", "50"));
    }
    set(job, all, "memory", ONE_OF(random, "1", "1", "4"));
    if (0 == crew_below(random, 4)) {
        set(job, all, "tune_watch", "0");
    }
    if (0 == crew_below(random, 4)) {
        set(job, all, "nonblocking", "0");
    }
    if (0 == crew_below(random, 4)) {
        set(job, all, "algorithm",
            ONE_OF(random, "openmpi", "counter", "flags:4", "flags:128", "tree:2",
                   "dissemination:1", "dissemination:3", "pairwise"));
    }
    for (uint32_t f = 0; f < sizeof(forced) / sizeof(forced[0]); ++f) {
        if (0 == crew_below(random, 4)) {
            const bool ring = 0 == strcmp(forced[f], "bcast") || 0 == strcmp(forced[f], "scatter");
            set(job, all, forced[f],
                0 == crew_below(random, 3) ? "openmpi"
                : ring                     ? "ring"
                                           : "exchange");
        }
    }
    job->across = program.across = 0 == crew_below(random, 2);
    job->survives = !job->across && 0 == crew_below(random, 2);
    if (job->survives && 0 != crew_below(random, 4)) {
        program.victim = crew_below(random, program.size);
        program.doom = crew_below(random, program.ops);
    }
    const uint32_t odd = UINT32_C(1) << crew_below(random, program.size);
    if (job->across) {
        set(job, all, "nic", ONE_OF(random, "auto", "soft", "fake"));
        if (0 == crew_below(random, 8)) {
            set(job, odd, "nic", ONE_OF(random, "auto", "soft", "fake"));
        }
        job->longest = 0 == crew_below(random, 4) ? 100 + crew_below(random, 600) : 0;
        set(job, all, "network", "127.0.0.1");
        set(job, all, "join_after", ONE_OF(random, "0", "2", "30"));
        set(job, all, "timeout", "0"); /* because the clock advances by leaps */
        for (uint32_t r = 0; r < program.size; ++r) {
            job->refusals[r] = 0 == crew_below(random, 8) ? crew_below(random, 12) : 0;
        }
    }
    switch (crew_below(random, 12)) {
    case 0:
        job->without = odd;
        break;
    case 1:
        set(job, odd, "tune_after", "4");
        break;
    default:
        break;
    }
    draw_processors(random, job);
    draw_cache(random, job);
    draw_notes(random, job);
    if (0 == crew_below(random, 8)) {
        set(job, 0 == crew_below(random, 4) ? odd : all, "check", "1");
    }
}

/* ---- values ---- */

static uint64_t value(const struct flight *flight, uint32_t rank)
{
    uint64_t state = ((uint64_t)flight->op->number << 40) + ((uint64_t)flight->round << 8) + rank;
    return crew_random(&state);
}

static void fill(uint64_t *words, uint32_t count, uint64_t first)
{
    for (uint32_t w = 0; w < count; ++w) {
        words[w] = first + w;
    }
}

static void expect(const struct flight *flight, const uint64_t *words, uint64_t first,
                   uint64_t step)
{
    for (uint32_t w = 0; w < flight->op->bytes / 8; ++w) {
        CHECK(first + w * step == words[w],
              "op %u (%s %s of %u bytes, root %u), round %u: word %u is wrong", flight->op->number,
              kinds[flight->op->kind], collectives[flight->op->collective], flight->op->bytes,
              flight->op->root, flight->round, w);
    }
}

/* The program's operation, which is not commutative: the map x -> a x + b (mod 2^32), composed
 * with another one. The upper half of a word is a, the lower half b. */
static uint64_t compose(uint64_t first, uint64_t second)
{
    const uint32_t a1 = (uint32_t)(first >> 32), b1 = (uint32_t)first;
    const uint32_t a2 = (uint32_t)(second >> 32), b2 = (uint32_t)second;
    return (uint64_t)(a1 * a2) << 32 | (uint32_t)(b1 * a2 + b2);
}

static void expect_reduction(const struct flight *flight)
{
    const struct op *op = flight->op;
    uint64_t sum = 0;
    for (uint32_t r = 0; r < flight->size; ++r) {
        sum += value(flight, r);
    }
    for (uint32_t w = 0; op->users && w < op->bytes / 8; ++w) {
        uint64_t composed = value(flight, 0) + w;
        for (uint32_t r = 1; r < flight->size; ++r) {
            composed = compose(composed, value(flight, r) + w);
        }
        CHECK(composed == flight->to[w],
              "op %u (%s %s of %u bytes by the program's operation, root %u), round %u: word %u is "
              "wrong",
              op->number, kinds[op->kind], collectives[op->collective], op->bytes, op->root,
              flight->round, w);
    }
    if (!op->users) {
        expect(flight, flight->to, sum, flight->size);
    }
}

/* Check that the memory of a rank that gets no result is unchanged. */
static void expect_nothing(const struct flight *flight)
{
    const struct op *op = flight->op;
    const uint32_t blocks = GATHER == op->collective ? flight->size : 1;
    for (uint32_t w = 0; w < op->bytes / 8 * blocks; ++w) {
        CHECK(0 == flight->to[w],
              "op %u (%s %s of %u bytes, root %u), round %u: word %u is written, but this is not "
              "the root",
              op->number, kinds[op->kind], collectives[op->collective], op->bytes, op->root,
              flight->round, w);
    }
}

/* ---- collectives ---- */

static void open_flight(struct flight *flight, struct op *op, const struct side *side)
{
    const size_t bytes = (size_t)op->bytes * side->size + 8;
    *flight = (struct flight){.op = op,
                              .rank = side->rank,
                              .size = side->size,
                              .from = malloc(bytes),
                              .to = malloc(bytes),
                              .request = MPI_REQUEST_NULL};
}

static void close_flight(struct flight *flight)
{
    free(flight->from);
    free(flight->to);
}

static void load(struct flight *flight)
{
    const uint32_t words = flight->op->bytes / 8, root = flight->op->root;
    const uint64_t own = value(flight, flight->rank);
    if (BARRIER == flight->op->collective) {
        flight->op->entered[flight->round % 2] |= UINT32_C(1) << flight->rank;
    } else if (BCAST == flight->op->collective) {
        memset(flight->to, 0, flight->op->bytes);
        if (root == flight->rank) {
            fill(flight->to, words, own);
        }
    } else if (SCATTER == flight->op->collective) {
        for (uint32_t r = 0; r < flight->size; ++r) {
            fill(flight->from + r * words, words, value(flight, r));
        }
        memset(flight->to, 0, flight->op->bytes);
    } else {
        fill(flight->from, words, own);
        memset(flight->to, 0, (size_t)flight->op->bytes * flight->size);
        if (flight->op->in_place && ALLREDUCE == flight->op->collective) {
            memcpy(flight->to, flight->from, flight->op->bytes);
        }
    }
}

static void check(struct flight *flight)
{
    const struct op *op = flight->op;
    const bool is_root = op->root == flight->rank;
    switch (op->collective) {
    case BARRIER:
        CHECK(op->entered[flight->round % 2] == (UINT32_C(1) << flight->size) - 1,
              "op %u (%s barrier): a rank leaves when 0x%x of %u have entered", op->number,
              kinds[op->kind], op->entered[flight->round % 2], flight->size);
        /* No rank can enter the barrier after the next one before all have left this one. */
        flight->op->entered[(flight->round + 1) % 2] &= ~(UINT32_C(1) << flight->rank);
        break;
    case REDUCE:
        if (!is_root) {
            expect_nothing(flight);
            break;
        }
        /* fallthrough */
    case ALLREDUCE:
        expect_reduction(flight);
        break;
    case BCAST:
        expect(flight, flight->to, value(flight, op->root), 1);
        break;
    case GATHER:
        if (!is_root) {
            expect_nothing(flight);
            break;
        }
        /* fallthrough */
    case ALLGATHER:
        for (uint32_t r = 0; r < flight->size; ++r) {
            expect(flight, flight->to + r * op->bytes / 8, value(flight, r), 1);
        }
        break;
    case SCATTER:
        expect(flight, flight->to, value(flight, flight->rank), 1);
        break;
    case COLLECTIVES:
        break;
    }
}

/* Calls the collective of `f` on `comm` through coll_BEFOREnameAFTER, with the parameters `more` in
 * front of the module. */
#define UNPACK(...) __VA_ARGS__
#define FORM(name, before, after, more)                                                            \
    static int name(struct flight *f, ompi_communicator_t *comm)                                   \
    {                                                                                              \
        const struct op *op = f->op;                                                               \
        const mca_coll_base_comm_coll_t *t = comm->c_coll;                                         \
        const int n = (int)(op->bytes / 8), root = (int)op->root;                                  \
        ompi_op_t *by = op->users ? users_op : MPI_SUM;                                            \
        ompi_datatype_t *type = MPI_UINT64_T;                                                      \
        const void *from = op->in_place && ALLREDUCE == op->collective ? MPI_IN_PLACE : f->from;   \
        switch (op->collective) {                                                                  \
        case BARRIER:                                                                              \
            return t->coll_##before##barrier##after(                                               \
                comm, UNPACK more t->coll_##before##barrier##after##_module);                      \
        case ALLREDUCE:                                                                            \
            return t->coll_##before##allreduce##after(                                             \
                from, f->to, n, type, by, comm,                                                    \
                UNPACK more t->coll_##before##allreduce##after##_module);                          \
        case REDUCE:                                                                               \
            return t->coll_##before##reduce##after(                                                \
                from, f->to, n, type, by, root, comm,                                              \
                UNPACK more t->coll_##before##reduce##after##_module);                             \
        case BCAST:                                                                                \
            return t->coll_##before##bcast##after(                                                 \
                f->to, n, type, root, comm, UNPACK more t->coll_##before##bcast##after##_module);  \
        case ALLGATHER:                                                                            \
            return t->coll_##before##allgather##after(                                             \
                from, n, type, f->to, n, type, comm,                                               \
                UNPACK more t->coll_##before##allgather##after##_module);                          \
        case GATHER:                                                                               \
            return t->coll_##before##gather##after(                                                \
                from, n, type, f->to, n, type, root, comm,                                         \
                UNPACK more t->coll_##before##gather##after##_module);                             \
        case SCATTER:                                                                              \
            return t->coll_##before##scatter##after(                                               \
                from, n, type, f->to, n, type, root, comm,                                         \
                UNPACK more t->coll_##before##scatter##after##_module);                            \
        case COLLECTIVES:                                                                          \
            break;                                                                                 \
        }                                                                                          \
        return OMPI_ERROR;                                                                         \
    }
FORM(call_blocking, , , ())
FORM(call_nonblocking, i, , (&f->request, ))
FORM(make_persistent, , _init, (MPI_INFO_NULL, &f->request, ))

/* Returns whether a collective has succeeded. If it has not, a member must have died. */
static bool succeeds(struct side *side, const struct op *op, int rc)
{
    CHECK(MPI_SUCCESS == rc ||
              (program.died && 0 != (program.members[op->comm] & UINT32_C(1) << program.victim)),
          "op %u ends with error %d", op->number, rc);
    side->failed = side->failed || MPI_SUCCESS != rc;
    return MPI_SUCCESS == rc;
}

/* Wait for a request by MPI_Wait, and check the completed request. */
static void complete(struct side *side, struct flight *flight)
{
    while (!REQUEST_COMPLETE(flight->request)) {
        opal_progress();
    }
    if (succeeds(side, flight->op, flight->request->req_status.MPI_ERROR)) {
        check(flight);
    }
    flight->active = false;
}

/* ---- reductions from within progress ---- */

static void go_on(struct side *side)
{
    struct flight *flight = &side->in_background;
    const struct op *op = side->progress_op;
    if (!flight->active && 0 != side->to_issue) {
        const mca_coll_base_comm_coll_t *t = side->comm->c_coll;
        side->background_from = (int)(op->number + side->issued * side->rank);
        --side->to_issue;
        flight->active = true;
        flight->request = MPI_REQUEST_NULL;
        if (!succeeds(side, op,
                      t->coll_iallreduce(&side->background_from, &side->background_to, 1, MPI_INT,
                                         MPI_MAX, side->comm, &flight->request,
                                         t->coll_iallreduce_module))) {
            flight->active = false;
            side->to_issue = 0;
        }
    } else if (flight->active && MPI_REQUEST_NULL != flight->request &&
               REQUEST_COMPLETE(flight->request)) {
        if (succeeds(side, op, flight->request->req_status.MPI_ERROR)) {
            CHECK(side->background_to == (int)(op->number + side->issued * (side->size - 1)),
                  "op %u: reduction %u from within progress is wrong", op->number, side->issued);
        } else {
            side->to_issue = 0;
        }
        ++side->issued;
        ompi_request_free(&flight->request);
        flight->active = false;
    }
}

static void progress(uint32_t rank)
{
    struct side *side = &program.side[rank][crew_below(&program.random[rank], COMMS)];
    if (NULL != side->comm && NULL != side->progress_op && !program.in_progress[rank]) {
        program.in_progress[rank] = true;
        go_on(side);
        program.in_progress[rank] = false;
    }
}

/* ---- a rank ---- */

static void open_comm(struct side *side, const struct op *op)
{
    const uint32_t members = program.members[op->comm], rank = fibres_rank();
    *side =
        (struct side){.rank = bits(members & ((UINT32_C(1) << rank) - 1)), .size = bits(members)};
    side->comm = fake_comm(op->number + 1, members, op->wrapped);
}

static void wait_all(struct side *side)
{
    for (uint32_t f = 0; f < side->flights; ++f) {
        complete(side, &side->flight[f]);
        ompi_request_free(&side->flight[f].request);
        close_flight(&side->flight[f]);
    }
    side->flights = 0;
    for (uint32_t p = 0; p < side->persistents; ++p) {
        struct flight *flight = &side->persistent[p];
        if (flight->active) {
            complete(side, flight);
            ++flight->round;
        }
    }
}

static void close_comm(struct side *side, const struct op *op)
{
    ompi_communicator_t *comm = side->comm;
    if (op->late) {
        side->comm = NULL;
        OBJ_RELEASE(comm);
    }
    wait_all(side);
    for (uint32_t p = 0; p < side->persistents; ++p) {
        ompi_request_free(&side->persistent[p].request);
        close_flight(&side->persistent[p]);
    }
    if (!op->late) {
        side->comm = NULL;
        OBJ_RELEASE(comm);
    }
}

/* Returns whether the communicator's blocking function for a collective is the component's. */
static bool is_served(const struct side *side, enum collective collective)
{
    const mca_coll_base_comm_coll_t *t = side->comm->c_coll;
    const mca_coll_base_module_t *const modules[COLLECTIVES] = {
        t->coll_barrier_module, t->coll_allreduce_module, t->coll_reduce_module,
        t->coll_bcast_module,   t->coll_allgather_module, t->coll_gather_module,
        t->coll_scatter_module};
    const mca_coll_nicbarr_module_t *module = fake_module(side->comm);
    return NULL != module && &module->super == modules[collective];
}

static void call(struct side *side, struct op *op)
{
    struct flight flight;
    open_flight(&flight, op, side);
    for (; flight.round < op->times; ++flight.round) {
        const uint32_t before = state_of(side, op), due = due_in(side, op);
        const bool served = is_served(side, op->collective);
        load(&flight);
        if (!succeeds(side, op, call_blocking(&flight, side->comm))) {
            break;
        }
        count_transition(side, op, before);
        CHECK(!served || DECLINED == state_of_barrier(side->comm) ||
                  0 == fake_module(side->comm)->pending,
              "op %u (%s) has not set up what non-blocking calls need", op->number,
              collectives[op->collective]);
        /* The program's operation may be left to Open MPI's own function. */
        CHECK(op->users || due < 2 || 1 == side->size || DECLINED == state_of_barrier(side->comm) ||
                  due_in(side, op) == due - 1,
              "op %u (%s): a watched choice was to be challenged in %u calls, and now in %u",
              op->number, collectives[op->collective], due, due_in(side, op));
        check(&flight);
    }
    close_flight(&flight);
}

static void begin(struct side *side, struct op *op)
{
    struct flight *flight = &side->flight[side->flights++];
    const uint32_t before = state_of(side, op);
    open_flight(flight, op, side);
    load(flight);
    if (!succeeds(side, op, call_nonblocking(flight, side->comm))) {
        --side->flights;
        close_flight(flight);
        return;
    }
    flight->active = true;
    count_transition(side, op, before);
}

static void make(struct side *side, struct op *op)
{
    struct flight *flight = &side->persistent[side->persistents++];
    const uint32_t before = state_of(side, op);
    open_flight(flight, op, side);
    if (!succeeds(side, op, make_persistent(flight, side->comm))) {
        --side->persistents;
        close_flight(flight);
        return;
    }
    count_transition(side, op, before);
}

/* Start the requests in an order that differs between ranks. */
static void start(struct side *side)
{
    const uint32_t first = crew_below(&program.random[fibres_rank()], PERSISTENTS);
    for (uint32_t p = 0; p < side->persistents; ++p) {
        struct flight *flight = &side->persistent[(first + p) % side->persistents];
        load(flight);
        CHECK(MPI_SUCCESS == flight->request->req_start(1, &flight->request),
              "a persistent request does not start");
        flight->active = true;
    }
}

/* Make events that otherwise need many calls or a long time happen in the next calls. All
 * members have the same counters, and set them to the same values. */
static void provoke(const struct side *side, struct op *op)
{
    mca_coll_nicbarr_module_t *module = fake_module(side->comm);
    const uint32_t soon = 1 + op->bytes / 8 % 3;
    if (!op->passed) {
        op->passed = true;
        fake_pass(UINT64_C(1000) * 1000000000);
        if (program.fills) {
            fake_fill_table();
        }
    }
    if (NULL != module && 0 != module->watch.until) {
        module->watch.until = soon;
    }
    for (uint32_t i = 0; NULL != module && i < NICBARR_COLLECTIVES * NICBARR_SIZE_CLASSES; ++i) {
        struct nicbarr_class *row = module->ways[i / NICBARR_SIZE_CLASSES];
        struct nicbarr_class *class = NULL == row ? NULL : &row[i % NICBARR_SIZE_CLASSES];
        if (NULL != class && 0 != class->until) {
            class->until = soon;
        }
    }
}

static void play(struct side *side, struct op *op)
{
    const bool ends = CLOSE == op->kind || WAIT == op->kind || COMPLETE == op->kind;
    if (OPEN != op->kind && !ends && side->failed) {
        return;
    }
    switch (op->kind) {
    case OPEN:
        open_comm(side, op);
        break;
    case CLOSE:
        close_comm(side, op);
        break;
    case CALL:
        call(side, op);
        break;
    case BEGIN:
        begin(side, op);
        break;
    case MAKE:
        make(side, op);
        break;
    case START:
        start(side);
        break;
    case WAIT:
        wait_all(side);
        break;
    case ISSUE:
        side->to_issue = op->times;
        side->issued = 0;
        side->progress_op = op;
        break;
    case COMPLETE:
        while (0 != side->to_issue || side->in_background.active) {
            opal_progress();
        }
        side->progress_op = NULL;
        break;
    case PROVOKE:
        provoke(side, op);
        break;
    case KINDS:
        break;
    }
}

/* Returns whether the rank may die now, which it may not while it may hold the segment's lock:
 * the recovery of the lock is tested elsewhere (tests/unit/segment_test.c). */
static bool try_to_die(uint32_t rank)
{
    pthread_mutex_t *lock = NULL == fake_segment(rank) ? NULL : &fake_segment(rank)->sram->lock;
    if (NULL == lock || 0 != pthread_mutex_trylock(lock)) {
        return false;
    }
    pthread_mutex_unlock(lock);
    program.died = true;
    fake_die(rank);
    return true;
}

static void follow(uint32_t rank, void *context)
{
    (void)context;
    for (uint32_t o = 0; o < program.ops; ++o) {
        struct op *op = &program.op[o];
        if (0 != (program.members[op->comm] & UINT32_C(1) << rank)) {
            program.at[rank] = o;
            if (rank == program.victim && o >= program.doom && !program.doomed) {
                program.doomed = true;
                fibres_doom(rank, 1 + crew_below(&program.random[rank], SOON), try_to_die);
            }
            play(&program.side[rank][op->comm], op);
        }
    }
    program.at[rank] = program.ops;
}

static void print_past(const struct fake_past *past)
{
    static const char *const nics[] = {"soft", "fake", NULL};
    char name[NICBARR_CHOICE_TEXT];
    nicbarr_choice_nics(nics);
    fprintf(stderr, "0x%x seen by %u, ", past->ranks, past->view);
    if (NICBARR_COLLECTIVES == past->collective) {
        fprintf(stderr, "barrier");
    } else {
        fprintf(stderr, "collective %d, class %u%s", (int)past->collective, past->size_class,
                past->one_root ? ", one root" : "");
    }
    fprintf(stderr, ": %s, %s\n", nicbarr_choice_name(past->choice, name),
            past->in_table ? sources[past->source]
            : past->sure   ? "sure"
                           : "unsure");
}

static void print_plan(const struct fake_job *job)
{
    for (uint32_t j = 0; j < job->settings; ++j) {
        fprintf(stderr, "%s %s (0x%x)\n", job->setting[j].name, job->setting[j].text,
                job->setting[j].ranks);
    }
    if (job->survives) {
        fprintf(stderr, "failures are survived; rank %u dies after op %u\n", program.victim,
                program.doom);
    }
    fprintf(stderr, "%u ranks%s, 0x%x without the component; refusals %u %u %u %u\n", job->ranks,
            job->across ? " across nodes" : "", job->without, job->refusals[0], job->refusals[1],
            job->refusals[2], job->refusals[3]);
    fprintf(stderr,
            "processors 0x%x 0x%x 0x%x 0x%x%s; threads last for %u calls%s; packets of %u\n",
            job->processors[0], job->processors[1], job->processors[2], job->processors[3],
            job->rebinds ? ", changing" : "", job->late,
            job->full       ? "; the table is full"
            : program.fills ? "; the table becomes full"
                            : "",
            job->longest);
    for (uint32_t p = 0; p < job->pasts; ++p) {
        print_past(&job->past[p]);
    }
    for (uint32_t o = 0; o < program.ops; ++o) {
        const struct op *op = &program.op[o];
        fprintf(stderr, "%3u  comm %u (0x%x): %s %s, %u bytes, root %u, %u times%s%s%s%s\n", o,
                op->comm, program.members[op->comm], kinds[op->kind], collectives[op->collective],
                op->bytes, op->root, op->times, op->users ? ", users" : "",
                op->in_place ? ", in place" : "", op->late ? ", late" : "",
                op->wrapped ? ", wrapped" : "");
    }
}

static void print_where(void)
{
    for (uint32_t r = 0; r < program.size; ++r) {
        const struct op *op = &program.op[program.at[r]];
        if (program.at[r] < program.ops && !(program.died && r == program.victim)) {
            fprintf(stderr,
                    "rank %u is at op %u of communicator %u (0x%x): %s %s, %u bytes, root %u\n", r,
                    op->number, op->comm, program.members[op->comm], kinds[op->kind],
                    collectives[op->collective], op->bytes, op->root);
        }
    }
}

/* ---- programs ---- */

/* Count records of communicators on one node. (The node's keys have a record as well, and NICs
 * keep groups from which others may still request data.) */
static void count_record(struct myr_record *record, void *context)
{
    if (0 != record->key[1]) {
        fprintf(stderr, "a record is left of communicator %llu: number %llu\n",
                (unsigned long long)record->key[1], (unsigned long long)record->key[3]);
        ++*(uint32_t *)context;
    }
}

/* Returns the bytes of the segment that are in use, or 0 if no rank has the component. */
static size_t bytes_in_use(void)
{
    struct myr_segment *segment = NULL;
    for (uint32_t r = 0; r < program.size && NULL == segment; ++r) {
        segment = fake_segment(r);
    }
    size_t bytes = NULL == segment ? 0 : segment->sram->end;
    for (uint32_t c = 0; NULL != segment && c < MYR_BLOCK_CLASSES; ++c) {
        for (uint32_t at = segment->sram->free_block[c]; 0 != at;
             at = myr_block_at(segment, at)->next) {
            bytes -= myr_block_bytes(c);
        }
    }
    return bytes;
}

/* Check that a node's communicators have left neither records nor other memory in the segment. Only
 * texts of tuning caches and an enlarged key-value table remain. */
static void check_segment(size_t bytes_before)
{
    enum { KEPT_MOST = 1 << 16 /* less than the chunks of one ring */ };
    uint32_t left = 0;
    for (uint32_t r = 0; r < program.size; ++r) {
        if (NULL != fake_segment(r)) {
            myr_records_each(fake_segment(r), count_record, &left);
        }
    }
    CREW_CHECK(0 == left, "NICBARR_SEED=0x%llx: %u records are left",
               (unsigned long long)program.seed, left);
    CREW_CHECK(bytes_in_use() <= bytes_before + KEPT_MOST,
               "NICBARR_SEED=0x%llx: of the segment %zu bytes are in use, and %zu before",
               (unsigned long long)program.seed, bytes_in_use(), bytes_before);
}

static void play_program(uint64_t seed)
{
    uint64_t random = seed;
    struct fake_job job;
    memset(&program, 0, sizeof(program));
    program.seed = seed;
    program.victim = FAKE_RANKS;
    program.size = 2 + crew_below(&random, FAKE_RANKS - 1);
    draw_plan(&random);
    for (uint32_t r = 0; r < FAKE_RANKS; ++r) {
        program.random[r] = crew_random(&random);
    }
    draw_job(&random, &job);
    if (NULL != getenv("NICBARR_PLAN")) {
        print_plan(&job);
    }
    fake_open(&job);
    const size_t bytes_before = bytes_in_use();
    if (!fibres_run(seed, program.size, GRAIN, BLOCKS_MOST, follow, NULL)) {
        print_where();
        crew_fail(__FILE__, __LINE__, "an end", "NICBARR_SEED=0x%llx: ranks hang",
                  (unsigned long long)seed);
    }
    if (!program.across && !program.died) {
        check_segment(bytes_before);
    }
    fake_close();
}

/* Check that a program leaves no objects on the heap and no open descriptors, unless a rank has
 * died, which frees nothing. If a program does leave some, it is run again, up to three times: Open
 * MPI allocates memory when a class is first used, which may happen in any of the first runs,
 * because they differ in the state of the rest of the process. */
static void play_without_leaks(uint64_t seed)
{
    int64_t objects = 0;
    int descriptors = 0;
    for (int again = 0; again < 4; ++again) {
        const int64_t objects_before = heap_objects();
        const uint32_t descriptors_before = crew_descriptors();
        play_program(seed);
        objects = heap_objects() - objects_before;
        descriptors = (int)(crew_descriptors() - descriptors_before);
        if (program.died || (objects <= 0 && descriptors <= 0)) {
            return;
        }
    }
    crew_fail(__FILE__, __LINE__, "no leak",
              "NICBARR_SEED=0x%llx: %lld objects and %d descriptors are left",
              (unsigned long long)seed, (long long)objects, descriptors);
}

static void compose_all(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int w = 0; w < *count; ++w) {
        ((uint64_t *)to)[w] = compose(((const uint64_t *)from)[w], ((uint64_t *)to)[w]);
    }
}

/* The seed of the program that the child process runs, in shared memory, as the child may crash. */
static uint64_t *playing;

static void play_programs(uint32_t rank, void *context)
{
    const uint64_t count = fibres_programs(PROGRAMS);
    const char *build = getenv("builddir");
    char path[400];
    (void)rank;
    snprintf(path, sizeof(path), "%s/tests/fibres/.libs/mca_coll_nicbarr.so",
             NULL == build ? "." : build);
    fake_begin(path, context);
    MPI_Op_create(compose_all, 0, &users_op);
    heap_watch();
    for (uint64_t p = 0; p < count; ++p) {
        *playing = crew_seed() + p;
        play_without_leaks(*playing);
    }
    print_transitions();
    printf("%llu programs, %llu switches\n", (unsigned long long)count,
           (unsigned long long)fibres_switches());
    fflush(stdout);
}

static void random_programs(void **state)
{
    (void)state;
    char dir[64];
    (void)crew_seed();
    playing = crew_memory(sizeof(*playing));
    crew_dir_make(dir, sizeof(dir));
    const bool good = crew_join(crew_fork(play_programs, 0, dir));
    crew_dir_remove(dir);
    if (!good) {
        fprintf(stderr, "NICBARR_SEED=0x%llx NICBARR_PROGRAMS=1 repeats it\n",
                (unsigned long long)*playing);
    }
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
    };
    if (NULL == getenv("NICBARR_PROGRAMS")) {
        crew_watchdog();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
