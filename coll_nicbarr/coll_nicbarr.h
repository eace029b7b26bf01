/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/nicbarr, the inside: the component's and the modules' state, and who does what. (pure) needs
 * neither Open MPI nor shared memory.
 *
 *   component.c     what Open MPI loads: opening and closing
 *   parameters.c    what the user may set
 *   pvars.c         counters for MPI's tools interface
 *   kinds.c         the kinds of NICs that there are
 *   nics.c          those of this process
 *   peers.c         what the processes know of each other
 *   hello.c         their words as bytes (pure)
 *   census.c        from processes to nodes (pure)
 *   shape.c         what a choice depends on (pure)
 *   schedule.c      the algorithms (pure)
 *   digest.c        one number for data (pure)
 *
 *   module.c        a communicator's module
 *   fallback.c         the communicator's table of functions, and what lies below
 *   declining.c     the communicator is left to Open MPI
 *   members.c       can a communicator be served?
 *   setup.c         setting up at the first collective, on one node
 *   layout.c        from a choice to a plan in a record's memory
 *   across.c        setting up communicators on several nodes, whose NICs play the barriers
 *   sharing.c       how their secrets come to all members
 *   groups.c        groups of NICs: joining them
 *   candidate_groups.c      many of them, to be measured
 *   suspect_nics.c         NICs whose packets did not come through
 *   overdue.c       collectives that take long: who is missing?
 *
 *   barrier_transitions.c   the states of MPI_Barrier, and which follows from what (pure)
 *   barrier_state.c a communicator's, by its choice
 *   split.c         on the way to a group of NICs for MPI_Ibarrier
 *   barrier.c       MPI_Barrier
 *   ibarrier.c      MPI_Ibarrier and persistent barriers
 *   requests.c      non-blocking collectives under way
 *
 * choice/: measuring and choosing
 *   known.c         what is known of a shape, and what to begin with
 *   candidates.c    what is worth measuring (pure)
 *   model.c         what it should cost (pure)
 *   limits.c, round_trips.c   what is measured for that
 *   tune.c          has the candidates compete
 *   contest.c       which one is best (pure)
 *   portions.c      when a contest goes on (pure)
 *   watch.c         is the choice still good?
 *   duel.c          by duels (pure)
 *   remeasure.c          when a class of data is measured anew (pure)
 *   measuring.c      what ranks do together meanwhile
 *   statistics.c    medians and quartiles (pure)
 *   evidence.c      what follows from what earlier jobs have measured (pure)
 *   order.c         the order in which values are combined (pure)
 *
 * data/: collectives that carry data
 *   data.c          when they are served
 *   classes.c       classes of size, and how each is done
 *   trial.c         the contest of a class; data_watch.c: when another one begins
 *   data_tune.c     on one node: a trial's calls; memory.c: records
 *   data_across.c   across nodes: a trial's calls; traits.c: what differs for each collective
 *   carriers.c      what a communicator's classes go by across nodes
 *   carrier.c       one of them; rooted.c: where one process combines
 *   reduction.c     a reduction under way, on one node
 *   stream.c        one process's data on their way to all, on one node; streamed.c: not blocking
 *   packing.c       values of any type as bytes
 *   user_op.c       operations of the program's
 *   persistent.c    what persistent ones have of their own
 *   allreduce.c, allreduce_across.c, bcast.c, bcast_across.c, gather.c, scatter.c   what MPI calls
 *
 * files/: what is remembered and reported
 *   cache.c         what earlier jobs have measured: read by node_cache.c, added to by
 *                   cache_writer.c; cache_places.c, cache_file.c, cache_lines.c (pure)
 *   report.c        what was measured, as JSON; report_file.c: the file (pure)
 *   network.c       this host's network (pure)
 *   this_host.c     its names
 *   regular_file.c  opening files whose names the user gives (pure)
 */
#ifndef COLL_NICBARR_H
#define COLL_NICBARR_H

#include "ompi/release.h"

#include <stdbool.h>

#include "coll_nicbarr/barrier_transitions.h"
#include "coll_nicbarr/census.h"
#include "coll_nicbarr/data/reduction.h"
#include "coll_nicbarr/data/stream.h"
#include "coll_nicbarr/nics.h"
#include "coll_nicbarr/parameters.h"
#include "coll_nicbarr/schedule.h"
#include "coll_nicbarr/shape.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/segment.h"

/* Collectives that carry data (data.h), and who does them. */
enum nicbarr_collective {
    NICBARR_ALLREDUCE,
    NICBARR_REDUCE,
    NICBARR_BCAST,
    NICBARR_ALLREDUCE_USERS, /* by operations that the program has defined */
    NICBARR_REDUCE_USERS,
    NICBARR_ALLGATHER,
    NICBARR_GATHER,
    NICBARR_SCATTER,
    NICBARR_COLLECTIVES
};
enum nicbarr_way {
    NICBARR_WAY_OPEN, /* not decided: Open MPI's own, for the time being */
    NICBARR_WAY_OURS,
    NICBARR_WAY_OWN,    /* Open MPI's */
    NICBARR_WAY_WATCHED /* one of these two, and calls are counted (data_watch.h) */
};
enum { NICBARR_SIZE_CLASSES = 11 /* see data.h */ };

typedef struct mca_coll_nicbarr_component {
    mca_coll_base_component_t super;
    struct nicbarr_parameters parameters;
    struct nicbarr_choice forced; /* NICBARR_ALGORITHMS: choose by measurement */
    enum nicbarr_way forced_ways[NICBARR_COLLECTIVES];
    bool forced_rooted;          /* of MPI_Allreduce across nodes: one process is to combine */
    int output;                  /* Open MPI's output stream for this component */
    struct myr_segment *segment; /* NULL: this process could not join one */
    struct myr_waiter waiter;
    struct nicbarr_nics nics;
    bool explained;  /* whether this process, without a segment, has said so */
    uint32_t opened; /* how often; sessions of 5.0 do so again */
} mca_coll_nicbarr_component_t;

OMPI_DECLSPEC extern mca_coll_nicbarr_component_t mca_coll_nicbarr_component;

/* Why a module does what it does; the report says it in words. */
enum nicbarr_source {
    NICBARR_UNDECIDED,  /* the default algorithm, until it has been measured */
    NICBARR_FORCED,     /* by coll_nicbarr_algorithm */
    NICBARR_MEASURED,   /* on this very communicator */
    NICBARR_FROM_JOB,   /* on another one of the same shape */
    NICBARR_FROM_TRIAL, /* likewise, but its measuring goes on: nobody is sure of it */
    NICBARR_FROM_CACHE, /* by an earlier job */
    NICBARR_DUELLED     /* it has won a duel on this communicator (watch.c) */
};

/* The collectives that this component covers. */
#define NICBARR_COVERED(each)                                                                      \
    each(barrier) each(ibarrier) each(barrier_init) each(allreduce) each(iallreduce)               \
        each(allreduce_init) each(reduce) each(ireduce) each(reduce_init) each(bcast) each(ibcast) \
            each(bcast_init) each(allgather) each(iallgather) each(allgather_init) each(gather)    \
                each(igather) each(gather_init) each(scatter) each(iscatter) each(scatter_init)

/* Those that it only uses. */
#define NICBARR_USED(each) each(allgatherv)

/* The function of one of them that lies below, and the module that goes with it. */
#define NICBARR_FALLBACK(collective)                                                               \
    struct {                                                                                       \
        mca_coll_base_module_##collective##_fn_t function;                                         \
        mca_coll_base_module_t *module;                                                            \
    } collective;

/* A bit of what is to be decided on: there were many MPI_Ibarrier, which can set up nothing. */
#define NICBARR_PENDING_BARRIER (UINT32_C(1) << 31)
enum { NICBARR_PENDING_BCAST = 8 /* the first of its bits */ };

/* How a collective is done, in a class of size. */
struct nicbarr_class {
    enum nicbarr_way way;
    uint32_t calls,
        wanted; /* while it is open; until it is looked at, 0: coll_nicbarr_tune_after */
    /* The same, and while it is watched; see nicbarr_data_one_root(): */
    int root_seen;
    uint32_t root_changes; /* calls whose root was not that of the call before */
    /* data_watch.c: */
    enum nicbarr_way now;    /* of one that is watched: ours or Open MPI's own */
    uint32_t until, pause;   /* calls until it may be measured anew; between two such times */
    uint16_t anew, switches; /* how often it was, and another one was taken */
    struct json_t *entry;    /* of the report; NULL: none (yet) */
};

typedef struct mca_coll_nicbarr_module {
    mca_coll_base_module_t super;
    struct myr_group group; /* record NULL: not set up yet */
    NICBARR_COVERED(NICBARR_FALLBACK)
    NICBARR_USED(NICBARR_FALLBACK)
    /* Its function is in the communicator's slot, unless a component above has wrapped this one. */
    enum nicbarr_barrier_state barrier_state;
    /* Collectives that carry data, by their bytes: [NICBARR_SIZE_CLASSES]. NULL before the first
     * call, as most communicators use few of them or none; see nicbarr_class_of(). */
    struct nicbarr_class *ways[NICBARR_COLLECTIVES];
    struct nicbarr_trial *trials; /* of classes whose choice is provisional (trial.h) */
    uint32_t pending; /* across nodes: what is to be decided on, as bits: classes of MPI_Allreduce
                         and (NICBARR_PENDING_BCAST) MPI_Bcast, and NICBARR_PENDING_BARRIER */
    /* On one node, what blocking calls go by: their rounds are in the program's order. */
    struct nicbarr_reducer reducer;
    struct nicbarr_streamer streamer;
    /* Non-blocking calls have rounds of their own: Open MPI issues some of them from within
     * progress (MPI_Comm_idup), on each process at another moment of the program. Requests' lock.
     */
    struct {
        struct nicbarr_reducer reducer;
        struct nicbarr_streamer streamer;
        uint32_t calls;  /* before they are ours */
        bool no_room[2]; /* in shared memory: for an exchange, for a ring */
    } nonblocking;
    bool declined;               /* tried to set up, and all members went back to Open MPI's */
    bool tuning;                 /* MPI_Barrier is being measured, by means of Open MPI's own */
    uint32_t tune_at;            /* barriers, or MPI_Ibarriers, after which it is to be */
    struct nicbarr_tuner *tuner; /* of a provisional choice (tune.c); NULL: there is none */
    struct {                     /* watch.c */
        uint32_t until;          /* barriers until the next duel */
        uint32_t pause;          /* barriers between two duels; 0: not known yet */
        uint32_t next;           /* candidate to be challenged to the next one */
        uint32_t duels, switches;
        struct nicbarr_dueling *dueling; /* NULL: no duel is under way */
    } watch;
    struct json_t *entry;    /* of the report, that is about this communicator alone */
    bool agreed;             /* all members can be served; valid: */
    uint64_t members_digest; /* who is in the communicator */
    uint32_t *homes;         /* by rank: the processors it is bound to, numbered from 0 */
    struct nicbarr_shape shape;
    struct nicbarr_choice choice;
    enum nicbarr_source source;
    size_t counter_bytes; /* of the record's slots that only counters use; see layout.c */
    uint64_t persistent;  /* numbers given to what persistent collectives have of their own */
    /* On several nodes instead of the group and what belongs to it: */
    bool across;
    struct nicbarr_nodes nodes; /* none: not set up yet */
    struct myr_nic_group nic;   /* MPI_Barrier's; no record: it is not the NICs' (yet) */
    struct myr_nic_group split; /* MPI_Ibarrier's, which plays: */
    struct nicbarr_choice split_choice;
    struct mcp_secret secret;     /* from which the groups' keys and secrets are made */
    bool sealed;                  /* it came from rank 0 sealed, not as it is */
    uint64_t groups;              /* of NICs, that were named so far; the same on all members */
    uint32_t barriers, ibarriers; /* done by Open MPI's own functions so far */
    bool told;                    /* that its NICs have failed */
    struct nicbarr_carriers *carriers; /* of collectives that carry data; NULL: none (yet) */
} mca_coll_nicbarr_module_t;

OBJ_CLASS_DECLARATION(mca_coll_nicbarr_module_t);

/* ---- component.c ---- */

/* What is said once on a node, whoever finds it first; the number is the key of a note. */
enum nicbarr_saying {
    NICBARR_SAID_DECLINED = 1,
    NICBARR_SAID_CACHE,
    NICBARR_SAID_REPORT,
    NICBARR_SAID_DATA,
    NICBARR_SAID_PIECES,
    NICBARR_SAID_STUCK,
};
bool nicbarr_say_once(enum nicbarr_saying saying); /* true: go ahead, you are the first */

/* One line that says why Open MPI's own barrier runs. */
void nicbarr_explain(ompi_communicator_t *comm, const char *why);

/* What a user knows a communicator by: the name it was given, else its number; returns text. */
enum { NICBARR_COMM_TEXT = MPI_MAX_OBJECT_NAME + 40 };
const char *nicbarr_comm_name(const ompi_communicator_t *comm, char *text);

void nicbarr_progress(void); /* Open MPI's, in the form that libmyr calls */

struct nicbarr_hello;

/* Open the NICs, unless that was done, as there is a use for them now. `hello` is what this process
 * says of itself from then on. Any thread. */
void nicbarr_open_nics_now(struct nicbarr_hello *hello);

#endif
