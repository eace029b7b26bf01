/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal interface of the component btl/myr, which carries messages of ob1 between processes as
 * messages between ports of libmyr.
 *
 *   component.c  what Open MPI loads: parameters, opening the port, the modex
 *   module.c     the modules: adding peers, reporting errors, finalization
 *   endpoint.c   peers: their published addresses, and connections to their ports
 *   fragment.c   descriptors with memory, of two sizes
 *   send.c       short messages to peers' inlets, fragments to the port and back
 *   progress.c   received messages, and completed fragments
 *   direct.c     reading another process's memory
 *   backlog.c    a thread that passes messages to the NIC while the process waits elsewhere
 *   onesided.c   windows: requests for puts, gets and atomic operations, and their replies
 *   held.c       locks of osc/rdma that this process holds
 *
 * Three modules share one port:
 *
 * - `direct` carries messages of ob1 to processes of this node if both sides can read each other's
 *   memory. It announces btl_get, so large messages are copied only once.
 * - `copying` carries messages of ob1 to all other processes, on this node and on other nodes. It
 *   cuts large messages into fragments.
 * - `onesided` serves one-sided communication by Open MPI's osc/rdma, and does not carry messages
 *   of ob1. osc/rdma requires one module that reaches all processes of a window, including the
 *   process itself, so this module has separate endpoints.
 *
 * Both sides must use the same module. Therefore both derive it from the same published data
 * (struct mca_btl_myr_hello).
 *
 * Short messages within a node bypass the NIC (libmyr/messages/inlet.h), so they may overtake other
 * messages to the same process. This is harmless: since ob1 may use several BTLs for a peer, it
 * orders messages by its own sequence numbers.
 *
 * Messages to a process that makes no MPI calls stay in fragments of the sender. If they occupied
 * all fragments of a pool, they would delay messages to other processes. Therefore, when at most a
 * quarter of the pool is free, an endpoint gets another fragment only if it has fewer fragments
 * than are free. When none is free, the pool grows by one fragment for each endpoint that has none,
 * and the added fragments remain reserved for such endpoints.
 *
 * If an endpoint gets no fragment for a message, the message is copied to the heap (an *overflow*
 * fragment) and waits at the endpoint until a fragment is free. The number of overflow fragments is
 * limited, except for control packets. Beyond the limit the send fails, and ob1 retries it from its
 * progress function. ob1 would retry a control packet only when another fragment has completed,
 * which never happens if all fragments in flight were sent to a receiver that is stuck.
 *
 * A process that has communicated with other jobs may block in MPI_Comm_disconnect, where Open MPI
 * does not call this component. Meanwhile other processes of the node run the NIC, but they cannot
 * pass the overflow fragments of the blocked process to it. Therefore, if a process that has
 * communicated with other jobs gets no fragment for a message, it hands the message to a thread,
 * even if the receiver belongs to the same job (backlog.c).
 *
 * Threads: `lock` protects the port and the lists of fragments. It is not held while ob1 is called,
 * because ob1 calls back into this component. */
#ifndef BTL_MYR_H
#define BTL_MYR_H

#include "ompi/nic_options.h"
#include "ompi/release.h"

#include <stdatomic.h>

#include "libmyr/messages/pace.h"
#include "libmyr/messages/port.h"
#include "libmyr/node/direct.h"
#include "libmyr/node/segment.h"
#include "libmyr/soft/nic.h"

enum {
    MCA_BTL_MYR_DIRECT,
    MCA_BTL_MYR_COPYING,
    MCA_BTL_MYR_ONESIDED,
    MCA_BTL_MYR_MODULES,
};

/* Pools of fragments. */
enum mca_btl_myr_pools {
    MCA_BTL_MYR_EAGER,  /* for ob1: short messages */
    MCA_BTL_MYR_LARGE,  /* for ob1: parts of long messages */
    MCA_BTL_MYR_ACTIVE, /* for windows: requests */
    MCA_BTL_MYR_CHUNK,  /* for windows: large data */
    MCA_BTL_MYR_POOLS,
};

enum {
    MCA_BTL_MYR_BUCKETS = 256,     /* size of the hash table of endpoints */
    MCA_BTL_MYR_LATENCY = 1,       /* microseconds, for comparison with other BTLs */
    MCA_BTL_MYR_BANDWIDTH = 10000, /* Mbit/s */
    MCA_BTL_MYR_EXCLUSIVITY = MCA_BTL_EXCLUSIVITY_LOW + 50 /* below tcp's 100: used if alone */
};

/* The header of each message, in front of its payload. */
struct mca_btl_myr_header {
    mca_btl_base_tag_t tag;
    uint8_t module; /* index of the sender's module */
    uint8_t zero[6];
    opal_process_name_t from;
};
_Static_assert(16 == sizeof(struct mca_btl_myr_header), "payloads are aligned to 16");

/* The data that a process publishes in the modex, so that others can reach it. */
struct mca_btl_myr_hello {
    struct myr_port_name port;
    struct myr_direct direct;
    uint32_t buffer_bytes;
    uint32_t zero;
};

/* The way to access another process's memory. */
enum mca_btl_myr_reach {
    MCA_BTL_MYR_BY_MESSAGES,
    MCA_BTL_MYR_BY_CALLS, /* system calls, such as process_vm_readv */
    MCA_BTL_MYR_ITSELF,
};

/* The messages to an endpoint that were handed to the send thread. All members except `count` are
 * protected by the thread's lock. */
struct mca_btl_myr_backlog {
    _Atomic uint32_t count;                        /* number of all these messages */
    struct mca_btl_myr_backlogged *first, **last;  /* those that wait */
    struct mca_btl_base_endpoint_t *next_endpoint; /* the next one with such messages */
    uint32_t sending;                              /* number of those that the port sends */
};

/* An endpoint. A process may have two: one for messages, and one for windows (`module` is
 * MCA_BTL_MYR_ONESIDED). */
struct mca_btl_base_endpoint_t {
    opal_list_item_t super;               /* in the list of endpoints with a nonempty `waiting` */
    struct mca_btl_base_endpoint_t *next; /* next endpoint in the same bucket */
    opal_list_t waiting;                  /* overflow fragments in order; for windows: tasks */
    struct mca_btl_myr_backlog backlog;   /* for backlog.c */
    _Atomic uint32_t overflow;            /* number of overflow fragments that are not sent */
    _Atomic uint32_t held[MCA_BTL_MYR_POOLS]; /* fragments of each pool */
    uint32_t in_flight;                       /* fragments from btl_send to their callback */
    opal_proc_t *proc;                        /* NULL: released by ob1 */
    bool left; /* for windows: released by Open MPI; outstanding fragments to it still complete */
    opal_process_name_t name;
    struct myr_remote remote;
    int module;
    enum mca_btl_myr_reach reach;
    uint32_t pid;
};

/* Fragments of one size, with registered memory. */
struct mca_btl_myr_pool {
    opal_free_list_t list;
    _Atomic uint32_t left;  /* number of free fragments */
    _Atomic uint32_t added; /* fragments that were added, for endpoints that have none */
    uint32_t quarter;       /* a quarter of the fragments with which the pool was created */
    size_t payload;         /* maximum in bytes */
};

typedef struct mca_btl_myr_fragment {
    mca_btl_base_descriptor_t base;
    mca_btl_base_segment_t segment;
    enum mca_btl_myr_pools pool;
    bool overflow; /* whether its memory is on the heap, and is copied into a fragment of the pool
                      before it is sent */
    struct mca_btl_myr_fragment *registered; /* of an overflow fragment: the fragment of the pool;
                                                NULL while it waits for one */
    struct mca_btl_myr_header *header;       /* the payload follows */
    struct mca_btl_base_endpoint_t *endpoint;
    enum myr_status status;
} mca_btl_myr_fragment_t;
OBJ_CLASS_DECLARATION(mca_btl_myr_fragment_t);

struct mca_btl_myr_module {
    mca_btl_base_module_t super;
    mca_btl_base_module_error_cb_fn_t error;
};

typedef struct mca_btl_myr_component {
    mca_btl_base_component_t super;
    struct {
        struct nicbarr_nic_options nic;
        int tokens;
        int buffers;
        bool inlet;
        size_t far_eager_limit;
    } parameters;

    /* All members from here on are reset to 0 by component_open(). */
    bool asked_for; /* whether the user has requested this component; it is open then */
    struct myr_segment *segment; /* also used by the NIC and the port; NULL: none */
    bool alone;                  /* whether joining the segment has failed */
    struct myr_soft_nic *nic;
    struct myr_port *port;
    struct myr_intake intake; /* short messages from this node; progress.c */
    struct mca_btl_myr_hello self;
    struct mca_btl_myr_pool pool[MCA_BTL_MYR_POOLS];
    bool pools;     /* whether the pools are open */
    uint8_t *arena; /* registered memory for all buffers and fragments, up to `arena_end` */
    uint8_t *arena_end;

    opal_mutex_t lock;
    opal_list_t waiting; /* endpoints with overflow fragments */
    opal_list_t sent;    /* fragments whose callback is due */
    opal_list_t asking;  /* for windows: endpoints with requests that are not sent completely */
    opal_free_list_t spare_tasks;
    uint32_t asked;      /* number of outstanding operations at other processes */
    bool has_other_jobs; /* whether there are endpoints of other jobs */
    atomic_bool full;    /* whether it was printed that the NIC has too many connections */
    enum myr_drain_peers
        peers;    /* the most distant kind of peer that this process communicates with */
    uint32_t met; /* number of processes of this job, from rank 0 on, that mca_btl_myr_meet() has
                     tried */
    void *spent;  /* a buffer to be provided to the port again */
    struct myr_pace pace;
    struct myr_seldom silence; /* rate limit of the check for silent nodes */

    mca_btl_myr_fragment_t **added; /* [added_most]: fragments that were added to the pools */
    uint32_t nadded, added_most;

    opal_mutex_t table_lock;
    struct mca_btl_base_endpoint_t *endpoint[MCA_BTL_MYR_BUCKETS];
} mca_btl_myr_component_t;

OMPI_DECLSPEC extern mca_btl_myr_component_t mca_btl_myr_component;
extern struct mca_btl_myr_module mca_btl_myr_module[MCA_BTL_MYR_MODULES];

/* Adds to a counter that several threads may change. The addition is atomic only if the program has
 * several threads, because an atomic addition would increase the time of a message within a node by
 * a tenth. */
static inline void mca_btl_myr_add(_Atomic uint32_t *counter, uint32_t number)
{
    if (opal_using_threads()) {
        atomic_fetch_add_explicit(counter, number, memory_order_relaxed);
    } else {
        const uint32_t old = atomic_load_explicit(counter, memory_order_relaxed);
        atomic_store_explicit(counter, old + number, memory_order_relaxed);
    }
}

static inline void mca_btl_myr_subtract(_Atomic uint32_t *counter, uint32_t number)
{
    mca_btl_myr_add(counter, -number);
}

/* ---- module.c ---- */

/* Reports why `endpoint` is unusable, and has ob1 abort the job. */
void mca_btl_myr_lost(const struct mca_btl_base_endpoint_t *endpoint);

/* Reports that the NIC itself is unusable, for all endpoints, and has ob1 abort the job. */
void mca_btl_myr_broken(void);

/* Reports that a request of a window cannot be answered. */
void mca_btl_myr_no_answer(const opal_process_name_t *to);

/* ---- endpoint.c ---- */

/* Returns the endpoint of a process: the one for windows, or the one for messages. Creates the
 * endpoint if it does not exist yet. Returns NULL if the process cannot be reached. */
struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_of(opal_proc_t *proc, bool for_windows);

/* Like mca_btl_myr_endpoint_of(), for a process that is known only by its name, because it has sent
 * a message. */
struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_named(const opal_process_name_t *name,
                                                           bool for_windows);

/* Called when this node has received a message from a NIC to which it has no connection. Connects
 * to the NICs of this job's processes, one after another, until the sender is found; each process
 * is tried only once. (Connections to processes of other jobs are established by MPI calls.)
 * Returns false if no process is left to try. */
bool mca_btl_myr_meet(void);

/* Records that this process communicates with a peer of this kind. */
static inline void mca_btl_myr_has_peer(enum myr_drain_peers peer)
{
    if (mca_btl_myr_component.peers < peer) {
        mca_btl_myr_component.peers = peer;
    }
}

/* Returns an endpoint with fragments in flight, or NULL if there is none. If `of_other_job` is set,
 * the search is limited to endpoints of other jobs that may still receive these fragments. */
struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_in_flight(bool of_other_job);

/* Returns the name of a process that is reached through this connection of the NIC, or NULL. */
const opal_process_name_t *mca_btl_myr_process_by(uint32_t connection);

void mca_btl_myr_endpoints_free(void);

/* ---- fragment.c ---- */

/* Returns the number of send tokens that the port needs: at least one for each fragment. */
uint32_t mca_btl_myr_tokens(void);

/* Allocates all memory, provides the receive buffers, and creates the fragments. */
enum myr_status mca_btl_myr_memory_open(struct myr_error *error);
void mca_btl_myr_memory_close(void);

/* Returns a fragment for a message of `size` bytes (at most the payload of the pool) to this
 * endpoint, or NULL if the remaining fragments are reserved for other endpoints. An endpoint
 * without a fragment always gets one, unless memory is exhausted or too many fragments were added
 * before. Called with the lock held. */
mca_btl_myr_fragment_t *mca_btl_myr_take_fragment(enum mca_btl_myr_pools pool,
                                                  struct mca_btl_base_endpoint_t *endpoint,
                                                  size_t size, uint8_t order, uint32_t flags);

/* Returns a fragment, possibly an overflow fragment, for one of ob1's messages. Returns NULL if
 * `size` (bytes) is too large, or if the endpoint has too many fragments and the message is not a
 * control packet. */
mca_btl_myr_fragment_t *mca_btl_myr_fragment_for(struct mca_btl_base_endpoint_t *endpoint,
                                                 bool is_control, size_t size, uint8_t order,
                                                 uint32_t flags);

/* Copies an overflow fragment into a fragment of its pool. Returns false if there is none for its
 * endpoint. */
bool mca_btl_myr_register(mca_btl_myr_fragment_t *fragment);

mca_btl_base_descriptor_t *mca_btl_myr_alloc(mca_btl_base_module_t *btl,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             uint8_t order, size_t size, uint32_t flags);
int mca_btl_myr_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor);
mca_btl_base_descriptor_t *mca_btl_myr_prepare_src(mca_btl_base_module_t *btl,
                                                   struct mca_btl_base_endpoint_t *endpoint,
                                                   struct opal_convertor_t *convertor,
                                                   uint8_t order, size_t reserve, size_t *size,
                                                   uint32_t flags);

/* ---- send.c ---- */

int mca_btl_myr_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int mca_btl_myr_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t **descriptor);

/* Passes waiting overflow fragments to the port, if their endpoints can get fragments of the pool.
 * Called with the lock held. */
void mca_btl_myr_send_waiting(void);

/* ---- progress.c ---- */

int mca_btl_myr_progress(void);

/* Waits until all fragments in flight have completed. For receivers of this job the wait has a
 * timeout; for receivers of other jobs it lasts until the fragments have been received. Messages
 * that arrive meanwhile are dropped. */
void mca_btl_myr_drain(void);

/* ---- direct.c ---- */

/* ob1's btl_get; implemented by the module `direct`. */
int mca_btl_myr_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                    void *data);

/* ---- backlog.c ---- */

/* Hands a copy of a fragment to the send thread. Returns false if that is impossible, because
 * memory or the NIC's ports are exhausted. */
bool mca_btl_myr_backlog_append(const mca_btl_myr_fragment_t *fragment);

/* Returns whether the backlog has messages to the endpoint that may still be delivered (port.h). */
bool mca_btl_myr_has_backlog(const struct mca_btl_base_endpoint_t *endpoint);

void mca_btl_myr_backlog_close(void);

/* ---- onesided.c ---- */

/* Initializes the module for windows, with the limits of the other modules, and registers the
 * receiver of its requests. */
void mca_btl_myr_onesided_open(mca_btl_base_module_t *module);
void mca_btl_myr_onesided_close(void);

/* The part of a process's memory that was registered for windows. */
struct mca_btl_base_registration_handle_t {
    uint64_t base, bytes;
};

/* An atomic operation on a 64-bit word. Its execution replaces the operand by the previous value of
 * the word. */
struct mca_btl_myr_atomic {
    bool swaps;         /* true: compare and swap with the operand; false: fetch and add */
    bool locks_regions; /* before the execution: the operation may acquire a lock of the kind that
                           held.c handles; afterwards: it has acquired one */
    uint64_t operand, compare;
};

/* ---- held.c ---- */

/* Returns whether the operation may acquire the lock of a list of attached memory. `handle` belongs
 * to the memory that contains the word (NULL: none). */
bool mca_btl_myr_may_lock_regions(const struct mca_btl_myr_atomic *atomic, uint64_t address,
                                  const struct mca_btl_base_registration_handle_t *handle);

/* Returns whether the word at `address` in this process is the lock of a list of attached memory.
 * Called after an operation that may acquire such a lock has changed the word. */
bool mca_btl_myr_locks_regions(uint64_t address);

/* Called before an atomic operation. Returns whether this process already holds the lock
 * exclusively, and osc/rdma is now trying to acquire the same lock as shared, an attempt that would
 * fail and be repeated forever. */
bool mca_btl_myr_waits_for_itself(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                                  const struct mca_btl_myr_atomic *atomic);

/* Called after an atomic operation. Returns the value to be passed to osc/rdma. */
uint64_t mca_btl_myr_found(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                           bool waits_for_itself, const struct mca_btl_myr_atomic *result);

#endif
