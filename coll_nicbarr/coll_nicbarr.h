/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/nicbarr, the inside: the component's and the modules' state, and who does what.
 *
 *   component.c  what Open MPI loads: parameters, opening and closing, which communicators to take
 *   members.c    who of a communicator shares our segment, or is on which node, agreed without a
 *                message
 *   module.c     a communicator's module: what lies below it, setting up at the first collective
 *   across.c     the same for communicators on several nodes, whose NICs play the barriers
 *   barrier.c    MPI_Barrier
 *   ibarrier.c   MPI_Ibarrier and persistent barriers
 *   layout.c     from a choice to a plan in a record's memory
 *   schedule.c   the algorithms (pure)              model.c  what they should cost (pure)
 *   shape.h      what a choice depends on (pure)    candidates.c  what is worth measuring (pure)
 *   contest.c    which candidate is best (pure)     statistics.c  medians and quartiles (pure)
 *   tune.c       has the candidates compete         together.c    what ranks do together meanwhile
 *   limits.c     what the node's memory and processors take, for the model
 *   round_trips.c  what messages between nodes take, for the model
 *   pvars.c      the soft NIC's counters for MPI's tools interface
 *   cache.c      choices remembered across jobs     cache_file.c  the file (pure)
 *   report.c     what was measured, as JSON         this_host.c   this host's names
 */
#ifndef COLL_NICBARR_H
#define COLL_NICBARR_H

#include "ompi/release.h"

#include <pthread.h>
#include <stdbool.h>

#include "coll_nicbarr/schedule.h"
#include "coll_nicbarr/shape.h"
#include "libmyr/group.h"
#include "libmyr/kernel_nic.h"
#include "libmyr/nic_daemon.h"
#include "libmyr/nic_group.h"
#include "libmyr/nic_thread.h"
#include "libmyr/segment.h"

/* What may play the barriers across nodes, see coll_nicbarr_nic. */
enum nicbarr_nic {
    NICBARR_NIC_AUTO,
    NICBARR_NIC_SOFT,
    NICBARR_NIC_DAEMON,
    NICBARR_NIC_KERNEL,
    NICBARR_NIC_NONE
};

/* What the person may set; each is an MCA parameter coll_nicbarr_<name>, see component.c. */
struct nicbarr_parameters {
    int priority;
    int verbose;
    char *algorithm;
    int tune_after;
    int tune_budget;
    char *cache;
    char *report;
    int memory;
    bool nonblocking;
    struct myr_patience patience;
    char *nic;
    bool thread;
    char *network;
    int port;
};

typedef struct mca_coll_nicbarr_component {
    mca_coll_base_component_t super;
    struct nicbarr_parameters parameters;
    char *cache, *report; /* copies: Open MPI takes the parameters away before it closes us */
    struct nicbarr_choice forced; /* NICBARR_ALGORITHMS: choose by measurement */
    int output;                   /* Open MPI's output stream for this component */
    struct myr_segment *segment;  /* NULL: this process could not join one */
    struct myr_waiter waiter;
    bool across; /* whether to serve communicators on several nodes */
    enum nicbarr_nic nic_kind;
    struct myr_nic_daemon daemon;  /* whose NIC it is, if it is one's */
    struct myr_nic *nic;           /* soft; NULL: none is wanted, or it could not be opened */
    struct myr_kernel_nic *kernel; /* likewise */
    struct myr_nic_thread *thread; /* runs it; NULL: another process's does, or none */
    bool explained;                /* whether this process, without a segment, has said so */
    pthread_mutex_t lock;          /* the peers that members.c knows, the report */
} mca_coll_nicbarr_component_t;

OMPI_DECLSPEC extern mca_coll_nicbarr_component_t mca_coll_nicbarr_component;

/* Why a module does what it does; the report says it in words. */
enum nicbarr_source {
    NICBARR_UNDECIDED, /* the default algorithm, until it has been measured */
    NICBARR_FORCED,    /* by coll_nicbarr_algorithm */
    NICBARR_MEASURED,  /* on this very communicator */
    NICBARR_FROM_JOB,  /* on another one of the same shape */
    NICBARR_FROM_CACHE /* by an earlier job */
};

/* Where a communicator's processes are. */
struct nicbarr_nodes {
    uint32_t nodes, node;   /* how many nodes, this process's one; in the order of ranks */
    uint32_t locals, local; /* the same for the processes of this node */
    /* Of the nodes' NICs, by player; NULL: not all nodes have one. */
    const struct myr_nic_name *names[NICBARR_PLAYERS];
    struct myr_nic_name storage[]; /* of these names */
};

/* The function of one collective that this component covers, and the module that goes with it. */
#define NICBARR_LOWER(collective)                                                                  \
    struct {                                                                                       \
        mca_coll_base_module_##collective##_fn_t function;                                         \
        mca_coll_base_module_t *module;                                                            \
    }

typedef struct mca_coll_nicbarr_module {
    mca_coll_base_module_t super;
    struct myr_group group; /* record NULL: not set up yet */
    NICBARR_LOWER(barrier) barrier;
    NICBARR_LOWER(ibarrier) ibarrier;
    NICBARR_LOWER(barrier_init) barrier_init;
    bool declined;           /* tried to set up, and all members went back to Open MPI's */
    bool tuning;             /* MPI_Barrier is being measured, by means of Open MPI's own */
    uint64_t members_digest; /* who is in the communicator; valid when set up */
    uint32_t *homes;         /* by rank: the processors it is bound to, numbered from 0 */
    struct nicbarr_shape shape;
    struct nicbarr_choice choice;
    enum nicbarr_source source;
    size_t counter_bytes; /* of the record's slots that only counters use; see layout.c */
    uint64_t persistent;  /* persistent barriers made so far */
    /* On several nodes instead of the group and what belongs to it: */
    bool across;
    struct nicbarr_nodes *nodes; /* NULL: not set up yet */
    struct myr_nic_group nic;    /* MPI_Barrier's; no record: it is not the NICs' (yet) */
    struct myr_nic_group split;  /* MPI_Ibarrier's */
    uint64_t nic_key;            /* from which the groups' keys are made */
    uint32_t barriers;           /* done while undecided */
} mca_coll_nicbarr_module_t;

OBJ_CLASS_DECLARATION(mca_coll_nicbarr_module_t);

/* ---- component.c ---- */

/* What is said once on a node, whoever finds it first; the number is the key of a note. */
enum nicbarr_saying {
    NICBARR_SAID_DECLINED = 1,
    NICBARR_SAID_CACHE,
    NICBARR_SAID_REPORT,
};
bool nicbarr_say_once(enum nicbarr_saying saying); /* true: go ahead, you are the first */

/* One line that says why Open MPI's own barrier runs. */
void nicbarr_explain(ompi_communicator_t *comm, const char *why);

/* What a process tells the others when it starts. */
struct nicbarr_hello {
    uint64_t identity; /* of its segment; 0: it has none, and `why` says why */
    uint64_t digest;   /* of version and parameters: processes that differ would disagree */
    uint32_t index;    /* in the segment */
    uint32_t zero;
    struct myr_nic_name nic;    /* its node's soft one; without addresses: it has none */
    struct myr_nic_name kernel; /* the same for the kernel's */
    char why[240];              /* it has no segment, or else no NIC */
};

void nicbarr_hello_make(struct nicbarr_hello *hello); /* this process's */

uint64_t nicbarr_digest(uint64_t digest, const void *data, size_t bytes); /* FNV-1a; start from 0 */

void nicbarr_progress(void); /* Open MPI's, in the form that libmyr calls */

/* ---- members.c ---- */

void nicbarr_members_open(void);
void nicbarr_members_close(void);

/* What all processes of the job know it by, on all nodes: the segment of the first of them. 0: that
 * has none. */
uint64_t nicbarr_job_identity(void);

/* Can all members of `comm` share this process's segment? All of them come to the same answer. When
 * yes, `module` learns its digest, homes and shape. */
bool nicbarr_members_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const char **why);

/* The same for communicators on several nodes: are there NICs of one kind everywhere? When yes,
 * `module` learns its nodes, homes (of this node's processes) and shape. */
bool nicbarr_nodes_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const char **why);

/* Has any member of `comm` a segment? */
bool nicbarr_members_any(ompi_communicator_t *comm);

/* ---- module.c ---- */

mca_coll_base_module_t *nicbarr_comm_query(ompi_communicator_t *comm, int *priority);

/* A choice and where it comes from, as one word that processes can pass on; never 0. */
uint64_t nicbarr_pack(struct nicbarr_choice choice, enum nicbarr_source source);
enum nicbarr_source nicbarr_unpack(uint64_t word, struct nicbarr_choice *choice);

/* What keeps the forced choice from being played there, in words; NULL: nothing. All members come
 * to the same answer. */
const char *nicbarr_forced_in_vain(const struct nicbarr_shape *shape);

/* What this process would have a communicator of `shape` use. */
enum nicbarr_source nicbarr_propose(const struct nicbarr_shape *shape,
                                    struct nicbarr_choice *choice);

/* Give all collectives back to what lies below; `why` is explained and reported. */
void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why);

/* Set up at the first collective. False: this communicator's collectives stay Open MPI's own, and
 * its function pointers have been put back. No communication. */
bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence);

/* What the job knows about a shape, as one word that processes can pass on; 0: nothing measured. */
uint64_t nicbarr_recall(const struct nicbarr_shape *shape);
void nicbarr_remember(const struct nicbarr_shape *shape, struct nicbarr_choice choice);

/* Go by what another communicator has found out. False when out of memory. */
bool nicbarr_adopt(mca_coll_nicbarr_module_t *module, uint64_t known);

/* Have MPI_Barrier call the function of `module->choice` from now on. */
void nicbarr_install_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* ---- across.c ---- */

/* Set up at the first MPI_Barrier; collective over `comm`. Afterwards MPI_Barrier has its next
 * function. */
int nicbarr_across_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Join a group in which the choice's player plays it; `number` tells the module's groups apart. */
enum nicbarr_group_number {
    NICBARR_GROUP_SPLIT,
    NICBARR_GROUP_BARRIER, /* and one for each candidate */
    NICBARR_GROUP_PING_PONG = 64
};
bool nicbarr_across_join(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         uint32_t number, struct myr_nic_group *group, struct myr_error *error);
void nicbarr_across_leave(struct myr_nic_group *group);

/* The same for a ping-pong between one process each of nodes 0 to `peers`; for these only. */
bool nicbarr_across_join_ping_pong(const mca_coll_nicbarr_module_t *module,
                                   enum nicbarr_player player, uint32_t peers, uint32_t number,
                                   struct myr_nic_group *group, struct myr_error *error);

/* One barrier, or ping-pong, that may fail: false if it did not come through in the time that it
 * should. */
bool nicbarr_across_try(struct myr_nic_group *group);

/* Go back to Open MPI's own, as all members do: there was an `error` here (else NULL or empty), or
 * packets do not come through. */
void nicbarr_across_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct myr_error *error);

/* Install what was chosen: the NICs' barrier over module->nic, or Open MPI's own. Collective. */
int nicbarr_across_install(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* ---- barrier.c, ibarrier.c: what MPI calls ---- */

int nicbarr_barrier_first(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_slots(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_counter(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_across_first(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_across_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_barrier_nic(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **request,
                         mca_coll_base_module_t *module);
int nicbarr_requests_open(void);
void nicbarr_requests_close(void);

/* ---- layout.c ---- */

/* Bytes of slots that `choice` needs in a communicator of `shape`, counters apart from the rest. */
struct nicbarr_bytes {
    size_t counters, others;
};
struct nicbarr_bytes nicbarr_layout_bytes(const struct nicbarr_shape *shape,
                                          struct nicbarr_choice choice);

/* Where the slots behind the counters begin. */
void *nicbarr_layout_slots(const mca_coll_nicbarr_module_t *module);

/* Make `plan` for the module's group over the record's slots. False when out of memory. */
bool nicbarr_layout_plan(const mca_coll_nicbarr_module_t *module, struct nicbarr_choice choice,
                         struct myr_plan *plan);

/* ---- tune.c ---- */

/* Measure, choose and install; collective over `comm`. */
int nicbarr_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* ---- pvars.c ---- */

void nicbarr_pvars_register(void);

/* ---- report.c ---- */

struct nicbarr_tuning; /* see tuning.h */

/* Is there a report to write? Processes need not agree. */
bool nicbarr_report_wanted(void);

/* Note what `comm` uses, once it is known, with what was measured, if anything; `declined` says why
 * Open MPI's own runs. Only rank 0's process does anything. */
void nicbarr_report_note(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_tuning *tuning, const char *declined);
/* Take back that `comm` goes by the default; for one that has learnt better. */
void nicbarr_report_retract(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
void nicbarr_report_write(void); /* bring the file up to date */
void nicbarr_report_close(void); /* the same, for the last time */

#endif
