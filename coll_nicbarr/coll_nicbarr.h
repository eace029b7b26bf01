/* SPDX-License-Identifier: BSD-3-Clause */
/* The internal interface of coll/nicbarr: the state of the component and of its modules. The
 * component consists of the following files. Those marked (pure) use neither Open MPI nor shared
 * memory:
 *
 *   component.c             what Open MPI loads: opening and closing
 *   parameters.c            user parameters
 *   pvars.c                 counters for MPI's tools interface
 *   kinds.c                 the kinds of NICs
 *   nics.c                  the NICs of this process
 *   peers.c                 the hellos of all processes
 *   hello.c                 the encoding of hellos (pure)
 *   census.c                grouping processes into nodes (pure)
 *   shape.c                 the properties on which a choice depends (pure)
 *   schedule.c              the algorithms (pure)
 *   digest.c                hash of data (pure)
 *
 *   module.c                a communicator's module
 *   fallback.c              the communicator's table of functions, and the previous ones in it
 *   openmpi.c               calls of Open MPI's own functions
 *   declining.c             leaving the communicator to Open MPI; no_memory.c: ending the job
 *   members.c               whether a communicator can be served
 *   setup.c                 setup at the first collective, on one node
 *   layout.c                slots and plan of a choice in a record
 *   across.c                setup across nodes, where NICs execute the barriers
 *   sharing.c               distribution of secrets to all members
 *   groups.c                joining groups of NICs
 *   candidate_groups.c      groups of all candidates, to be measured
 *   suspect_nics.c          NICs whose packets did not get through
 *   overdue.c               timeouts of collectives: missing nodes
 *   checking.c              comparing the calls of all members, for debugging
 *   failures.c              failed processes, in programs that survive them; surviving.c: blocking
 *                           collectives there
 *   long_waits.c            long waits of a process, for `nicbarr status`
 *
 *   barrier_transitions.c   state machine of MPI_Barrier (pure)
 *   barrier_state.c         a communicator's state and its changes
 *   split.c                 setting up a group of NICs for MPI_Ibarrier
 *   barrier.c               MPI_Barrier
 *   ibarrier.c              MPI_Ibarrier and persistent barriers
 *   requests.c              outstanding non-blocking collectives
 *
 * choice/: measuring and choosing
 *   known.c                 stored choices for a shape, and the initial choice
 *   candidates.c            the algorithms worth measuring (pure)
 *   model.c                 predicted cost (pure)
 *   limits.c, round_trips.c measurements for the model
 *   tune.c                  tuning runs of MPI_Barrier
 *   contest.c               finding the best candidate (pure)
 *   batches.c               when a contest continues (pure)
 *   watch.c                 periodic re-evaluation of a choice
 *   comparison.c            A/B comparisons for it (pure)
 *   remeasure.c             when a class of data is remeasured (pure)
 *   measuring.c             collective steps of measurements
 *   expense.c               limit of the time that measuring may take
 *   statistics.c            medians and quartiles (pure)
 *   evidence.c              conclusions from measurements of earlier jobs (pure)
 *   order.c                 the order in which values are combined (pure)
 *
 * data/: collectives that carry data
 *   data.c                  when nicbarr serves them
 *   classes.c               size classes, and the implementation of each
 *   trial.c                 the contest of a class; data_watch.c: its repetition
 *   data_tune.c             a trial's calls on one node; memory.c: records
 *   data_across.c           a trial's calls across nodes; traits.c: how each collective is called
 *   carriers.c              a communicator's carriers across nodes, by class
 *   carrier.c               a carrier; rooted.c: reductions at one process
 *   reduction.c             a reduction under way, on one node; scattered.c: of long vectors
 *   stream.c                data from one process to all, on one node; streamed.c: non-blocking
 *   packing.c               packing of values of any type
 *   user_op.c               user-defined operations
 *   persistent.c            resources of persistent collectives
 *   allreduce.c, allreduce_across.c, bcast.c, bcast_across.c, gather.c, scatter.c
 *                           the MPI functions
 *
 * files/: cache and report
 *   cache.c                 measurements of earlier jobs: read by node_cache.c, extended by
 *                           cache_writer.c; cache_locations.c, cache_file.c, cache_lines.c (pure)
 *   report.c                measurements as JSON; report_file.c: the file (pure)
 *   network.c               this host's network (pure)
 *   this_host.c             names of host and processor
 *   json_functions.c        whether the JSON functions are those of jansson
 *   regular_file.c          opening files with names given by the user (pure) */
#ifndef COLL_NICBARR_H
#define COLL_NICBARR_H

#include "ompi/release.h"

#include <stdbool.h>

#include "coll_nicbarr/barrier_transitions.h"
#include "coll_nicbarr/census.h"
#include "coll_nicbarr/data/reduction.h"
#include "coll_nicbarr/data/stream.h"
#include "coll_nicbarr/nics.h"
#include "coll_nicbarr/openmpi.h"
#include "coll_nicbarr/parameters.h"
#include "coll_nicbarr/schedule.h"
#include "coll_nicbarr/shape.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/segment.h"

/* The collectives that carry data (data.h), and the possible decisions on how to implement one of
 * them. */
enum nicbarr_collective {
    NICBARR_ALLREDUCE,
    NICBARR_REDUCE,
    NICBARR_BCAST,
    NICBARR_ALLREDUCE_USER_OP, /* with user-defined operations */
    NICBARR_REDUCE_USER_OP,
    NICBARR_ALLGATHER,
    NICBARR_GATHER,
    NICBARR_SCATTER,
    NICBARR_COLLECTIVES
};
enum nicbarr_way {
    NICBARR_WAY_OPEN, /* undecided: Open MPI's own function for the time being */
    NICBARR_WAY_NICBARR,
    NICBARR_WAY_OPENMPI, /* Open MPI's own function */
    NICBARR_WAY_WATCHED  /* one of the two, periodically re-evaluated (data_watch.h) */
};
enum { NICBARR_SIZE_CLASSES = 14 /* see classes.h */ };

typedef struct mca_coll_nicbarr_component {
    mca_coll_base_component_t super;
    struct nicbarr_parameters parameters;
    struct nicbarr_choice forced; /* NICBARR_ALGORITHMS: choose by measurement */
    enum nicbarr_way forced_ways[NICBARR_COLLECTIVES];
    bool forced_rooted;          /* MPI_Allreduce across nodes must use a rooted carrier */
    int output;                  /* Open MPI's output stream for this component */
    struct myr_segment *segment; /* NULL: this process could not join a segment */
    struct myr_waiter waiter;
    struct nicbarr_nics nics;
    bool lingers;    /* before the NICs are closed, run them for a while on behalf of other jobs
                        (groups.c) */
    bool explained;  /* this process has explained that it has no segment */
    uint32_t opened; /* number of times it was opened; sessions of Open MPI 5.0 open it again */
} mca_coll_nicbarr_component_t;

OMPI_DECLSPEC extern mca_coll_nicbarr_component_t mca_coll_nicbarr_component;

/* The source of a module's choice, which the report names. */
enum nicbarr_source {
    NICBARR_UNDECIDED,     /* the default algorithm, until it was measured */
    NICBARR_FORCED,        /* forced by coll_nicbarr_algorithm */
    NICBARR_MEASURED,      /* measured on this communicator */
    NICBARR_FROM_JOB,      /* measured on another communicator of the same shape, in this job */
    NICBARR_FROM_TRIAL,    /* likewise, but preliminary, because the contest there continues */
    NICBARR_FROM_CACHE,    /* measured by an earlier job */
    NICBARR_WON_COMPARISON /* won a comparison on this communicator (watch.c) */
};

/* The non-blocking and persistent collectives that this component implements. */
#define NICBARR_REQUESTS(each)                                                                     \
    each(ibarrier) each(barrier_init) each(iallreduce) each(allreduce_init) each(ireduce)          \
        each(reduce_init) each(ibcast) each(bcast_init) each(iallgather) each(allgather_init)      \
            each(igather) each(gather_init) each(iscatter) each(scatter_init)

/* A function of a collective, and the module to pass to it. */
#define NICBARR_FALLBACK(collective)                                                               \
    struct {                                                                                       \
        mca_coll_base_module_##collective##_fn_t function;                                         \
        mca_coll_base_module_t *module;                                                            \
    } collective;

/* A bit of `pending`: there were enough calls of MPI_Ibarrier to justify a group, which
 * MPI_Ibarrier cannot set up itself. */
#define NICBARR_PENDING_BARRIER (UINT32_C(1) << 31)
enum { NICBARR_PENDING_BCAST = 8 /* the first bit of MPI_Bcast */ };

/* The implementation of a collective in a size class. */
struct nicbarr_class {
    enum nicbarr_way way;
    enum nicbarr_way now; /* while it is open or watched: the implementation in use */
    uint32_t until;       /* likewise: number of calls until the next measurement */
    uint32_t wanted; /* while it is open: total number of calls before the measurement; 0: no call
                        was counted yet */
    uint32_t pause;  /* while it is watched: calls between two remeasurements */
    /* While it is open or watched; see nicbarr_data_one_root(): */
    int root_seen;
    uint32_t
        root_changes; /* number of calls whose root differed from the root of the previous call */
    uint16_t remeasured, switches; /* number of remeasurements, and how many changed the choice */
    struct json_t *entry;          /* entry in the report; NULL: none (yet) */
};

typedef struct mca_coll_nicbarr_module {
    mca_coll_base_module_t super;
    struct myr_group group; /* MPI_Barrier's group on one node; record NULL: not set up yet */
    /* The saved functions, which the communicator's table contained before this module was enabled.
     * They are restored when the communicator is declined. */
    struct nicbarr_openmpi openmpi; /* blocking */
    NICBARR_REQUESTS(NICBARR_FALLBACK)
    /* The communicator's table contains the function of this state, unless a component above has
     * wrapped it. */
    enum nicbarr_barrier_state barrier_state;
    /* The size classes of each collective that carries data: [NICBARR_SIZE_CLASSES]. NULL before
     * the first call, because most communicators use few of these collectives or none; see
     * nicbarr_class_of(). */
    struct nicbarr_class *ways[NICBARR_COLLECTIVES];
    struct nicbarr_trial *trials; /* trials of classes whose choice is provisional (trial.h) */
    uint32_t pending; /* across nodes: bit mask of groups that the next blocking collective must set
                         up: size classes of MPI_Allreduce, of MPI_Bcast (from NICBARR_PENDING_BCAST
                         on), and NICBARR_PENDING_BARRIER */
    /* The exchanges and the ring for blocking calls on one node. Their rounds are assigned in the
     * order of the program's calls. */
    struct nicbarr_reducer reducers[MYR_SLOTS_KINDS];
    bool slots_decided[MYR_SLOTS_KINDS]; /* for the kinds wide and large: the members have either
                                            set up the reducer, or agreed that there is no memory
                                            for it */
    struct nicbarr_streamer streamer;
    /* Non-blocking calls have an exchange and a ring of their own, because Open MPI issues some of
     * them from within progress (MPI_Comm_idup), at a different point of the program on each
     * process. The requests' lock (requests.h) protects these fields. */
    struct {
        struct nicbarr_reducer reducer;
        struct nicbarr_streamer streamer;
        uint32_t calls;  /* number of calls until nicbarr's functions are used */
        bool no_room[2]; /* no shared memory for an exchange, for a ring */
    } nonblocking;
    bool declined;    /* setup failed, and all members fell back to Open MPI's own functions */
    uint32_t tune_at; /* number of calls of MPI_Barrier, or of MPI_Ibarrier, after which to measure.
                         As long as measuring is not affordable, it is increased further and
                         further, so that it wraps around like the counts of calls */
    /* continues the contest of a provisional choice (tune.c); NULL: none */
    struct nicbarr_tuner *tuner;
    struct {            /* watch.c */
        uint32_t until; /* barriers until the next comparison */
        uint32_t pause; /* barriers between two comparisons; 0: not known yet */
        uint32_t next;  /* next candidate to compare with the choice */
        uint32_t comparisons, switches;
        struct nicbarr_comparison_run *run; /* NULL: no comparison is under way */
    } watch;
    struct json_t *entry;    /* in the report: the entry of this communicator alone */
    bool agreed;             /* all members can be served; the following are valid: */
    uint64_t members_digest; /* digest of the communicator's members */
    uint32_t *homes; /* by rank: number of its home, the lowest processor to which it is bound */
    struct nicbarr_shape shape;
    struct nicbarr_choice choice;
    enum nicbarr_source source;
    size_t counter_bytes; /* bytes of the record's slots that only counters use; see layout.c */
    uint64_t persistent;  /* how many numbers have been assigned to the resources of persistent
                             collectives */
    /* Across nodes, in place of the group and its fields: */
    bool across;
    struct nicbarr_nodes nodes; /* empty: not set up yet */
    struct myr_nic_group nic;   /* MPI_Barrier's group; no record: NICs do not execute it (yet) */
    struct myr_nic_group split; /* MPI_Ibarrier's group, and the choice that it executes: */
    struct nicbarr_choice split_choice;
    struct mcp_secret secret;     /* secret from which the groups' keys and secrets are derived */
    bool sealed;                  /* rank 0 has sent it encrypted */
    uint64_t groups;              /* number of groups of NICs so far; the same on all
                                   * members */
    uint32_t barriers, ibarriers; /* number of calls executed by Open MPI's own functions so far */
    bool failure_reported;        /* the failure of its group has been reported */
    struct nicbarr_carriers *carriers; /* for collectives that carry data; NULL: none (yet) */
} mca_coll_nicbarr_module_t;

OBJ_CLASS_DECLARATION(mca_coll_nicbarr_module_t);

/* ---- component.c ---- */

/* Messages that are printed only once per node. Each number is a key of the segment's key-value
 * table; an entry with this key records that a process of the node has printed the message. */
enum nicbarr_message {
    NICBARR_MESSAGE_DECLINED = 1,
    NICBARR_MESSAGE_CACHE,
    NICBARR_MESSAGE_REPORT,
    NICBARR_MESSAGE_DATA,
    NICBARR_MESSAGE_CHUNKS,
    NICBARR_MESSAGE_STUCK,
    NICBARR_MESSAGE_DEAD_MEMBER,
};
bool nicbarr_warn_once(enum nicbarr_message message); /* returns whether this process is the first
                                                         and must therefore print the message */

/* Print a message that explains why Open MPI's own barrier is used. */
void nicbarr_explain(ompi_communicator_t *comm, const char *why);

/* Write the name that the user gave to a communicator, or else its number, into `text`; returns
 * text. */
enum { NICBARR_COMM_TEXT = MPI_MAX_OBJECT_NAME + 40 };
const char *nicbarr_comm_name(const ompi_communicator_t *comm, char *text);

/* Open MPI's progress function, with the signature that libmyr needs */
void nicbarr_progress(void);

struct nicbarr_hello;

/* Open the NICs that were not opened at start-up, unless an earlier call has done so. `hello`
 * becomes this process's hello, which now describes these NICs as well. Any thread may call
 * this. */
void nicbarr_open_nics_now(struct nicbarr_hello *hello);

#endif
