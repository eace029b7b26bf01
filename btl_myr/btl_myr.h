/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/myr, the inside: ob1's messages from process to process, as messages from port to port.
 *
 *   component.c  what Open MPI loads: parameters, opening the port, telling the others
 *   module.c     the modules: which peers each reaches, errors, the end
 *   endpoint.c   peers: what they told about themselves, the way to their ports
 *   fragment.c   descriptors with registered memory, of two sizes
 *   send.c       short messages into others' inlets, fragments to the port and back
 *   progress.c   what has come: messages, and fragments that were sent
 *   direct.c     reading and writing another process's memory
 *   onesided.c   windows: puts, gets and atomic operations, asked for and answered
 *   held.c       locks of osc/rdma that this process holds
 *
 * Three modules share one port. Two carry ob1's messages. `direct` reaches processes of this node
 * where each side can read the other's memory. It announces btl_get, and ob1 has large messages
 * copied once. `copying` reaches all others, on this node or not. It cuts large messages into
 * fragments. Both sides must use the same module. They conclude from the same words which one it
 * is. `onesided` carries no message of ob1's. It serves one-sided communication by Open MPI's
 * osc/rdma, which wants one module that reaches all processes of a window, also the process itself.
 * So it has endpoints of its own.
 *
 * Short messages within the node go past the NIC (libmyr/messages/inlet.h). They may overtake
 * others by that. ob1 puts messages in order by numbers of its own, as several BTLs may serve one
 * peer.
 *
 * Threads: who uses the port or changes the lists of fragments holds `lock`. Nobody calls ob1 while
 * it holds the lock, as ob1 calls back into here.
 */
#ifndef BTL_MYR_H
#define BTL_MYR_H

#include "ompi/nic_options.h"
#include "ompi/release.h"

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

enum {
    MCA_BTL_MYR_BUCKETS = 256,                             /* of the table of endpoints */
    MCA_BTL_MYR_LATENCY = 1,                               /* microseconds, for who compares */
    MCA_BTL_MYR_BANDWIDTH = 10000,                         /* Mbit/s */
    MCA_BTL_MYR_EXCLUSIVITY = MCA_BTL_EXCLUSIVITY_LOW + 50 /* below tcp's 100: used if alone */
};

/* In front of each message. */
struct mca_btl_myr_header {
    mca_btl_base_tag_t tag;
    uint8_t module; /* the sender's */
    uint8_t zero[6];
    opal_process_name_t from;
};
_Static_assert(16 == sizeof(struct mca_btl_myr_header), "payloads are aligned to 16");

/* What a process tells the others. */
struct mca_btl_myr_hello {
    struct myr_port_name port;
    struct myr_direct direct;
    uint32_t buffer_bytes;
    uint32_t zero;
};

/* How a process comes at another one's memory. */
enum mca_btl_myr_reach {
    MCA_BTL_MYR_BY_MESSAGES,
    MCA_BTL_MYR_BY_CALLS, /* of the system, such as process_vm_readv */
    MCA_BTL_MYR_ITSELF,
};

/* There is one for each process and use: messages, or windows (module is MCA_BTL_MYR_ONESIDED). */
struct mca_btl_base_endpoint_t {
    struct mca_btl_base_endpoint_t *next; /* in its bucket */
    opal_proc_t *proc;                    /* NULL: ob1 has taken leave of it */
    bool left; /* of one for windows: the same. The fragments sent there come back all the same */
    opal_process_name_t name;
    struct myr_remote remote;
    int module;
    enum mca_btl_myr_reach reach;
    uint32_t pid;
};

/* A list of fragments of one size. */
struct mca_btl_myr_pool {
    opal_free_list_t list;
    size_t payload; /* bytes */
};

typedef struct mca_btl_myr_fragment {
    mca_btl_base_descriptor_t base;
    mca_btl_base_segment_t segment;
    struct mca_btl_myr_pool *pool;
    struct mca_btl_myr_header *header; /* registered memory; the payload follows */
    struct mca_btl_base_endpoint_t *endpoint;
    bool counted; /* in `without_callback` */
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

    /* All that follows is of one opening: component_open() sets it to 0. */
    bool asked_for;              /* and therefore open */
    struct myr_segment *segment; /* NULL: none, as for the NIC and the port */
    bool alone;                  /* it could not be joined */
    struct myr_soft_nic *nic;
    struct myr_port *port;
    struct myr_intake intake; /* short messages from this node; progress.c */
    struct mca_btl_myr_hello self;
    struct mca_btl_myr_pool eager, large;
    struct mca_btl_myr_pool letter, piece; /* of windows: without and with much data */
    bool pools;
    uint8_t *arena; /* registered memory for all buffers and fragments, up to `arena_end` */
    uint8_t *arena_end;

    opal_mutex_t lock;
    opal_list_t waiting; /* fragments that have no send token yet, in order */
    opal_list_t sent;    /* fragments whose callback is due */
    opal_list_t tasks;   /* of windows: what has not been sent altogether */
    opal_free_list_t spare_tasks;
    uint32_t asked;                 /* operations that were asked of others and are not over */
    uint32_t in_flight;             /* fragments from btl_send to their callback */
    uint32_t without_callback;      /* those of them, from the eager pool, that nobody waits for, */
    uint32_t without_callback_most; /* ... and how many of these there may be */
    bool talks_to_others;           /* there are endpoints on other nodes */
    uint32_t met;                   /* processes of this job, from rank 0 on, whose NICs were met */
    void *spent;                    /* a buffer that is to be provided again */
    struct myr_pace pace;
    struct myr_seldom silence; /* looked for */

    opal_mutex_t table_lock;
    struct mca_btl_base_endpoint_t *endpoint[MCA_BTL_MYR_BUCKETS];
} mca_btl_myr_component_t;

OMPI_DECLSPEC extern mca_btl_myr_component_t mca_btl_myr_component;
extern struct mca_btl_myr_module mca_btl_myr_module[MCA_BTL_MYR_MODULES];

/* ---- module.c ---- */

/* Say why there can be no going on with `endpoint`, and have ob1 end the job. */
void mca_btl_myr_lost(const struct mca_btl_base_endpoint_t *endpoint);

/* The same for all: the NIC itself is of no use any more. */
void mca_btl_myr_broken(void);

/* A window's request cannot be answered. */
void mca_btl_myr_no_answer(const opal_process_name_t *to);

/* ---- endpoint.c ---- */

/* The endpoint for a process, for windows or for messages: the one that there is, else a new one.
 * NULL if it cannot be reached. */
struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_of(opal_proc_t *proc, bool for_windows);

/* The same for one that is known by name only, because it has sent something. */
struct mca_btl_base_endpoint_t *mca_btl_myr_endpoint_named(const opal_process_name_t *name,
                                                           bool for_windows);

/* A NIC has sent something to this node that nobody here knows: look for it among the job's
 * processes. Each is looked at once. (Those of other jobs come by way of MPI's own calls.) False if
 * there is nobody left to look at. */
bool mca_btl_myr_meet(void);

/* A process that is reached by that connection of the NIC's; NULL: none. */
const opal_process_name_t *mca_btl_myr_process_by(uint32_t connection);

void mca_btl_myr_endpoints_free(void);

/* ---- fragment.c ---- */

/* Take memory for everything, provide the receive buffers, make the fragments. */
enum myr_status mca_btl_myr_memory_open(struct myr_error *error);
void mca_btl_myr_memory_close(void);

/* A fragment for `size` bytes, which the pool's are large enough for. NULL: all are in use. */
mca_btl_myr_fragment_t *mca_btl_myr_take_fragment(struct mca_btl_myr_pool *pool, size_t size,
                                                  uint8_t order, uint32_t flags);

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

/* Give to the port what waits for tokens, as far as there are any. Locked. */
void mca_btl_myr_send_waiting(void);

/* ---- progress.c ---- */

int mca_btl_myr_progress(void);

/* Wait until nothing is in flight any more, but not for ever; what comes meanwhile is dropped. */
void mca_btl_myr_drain(void);

/* ---- direct.c ---- */

/* ob1's btl_get, of the module `direct`. */
int mca_btl_myr_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                    void *data);

/* ---- onesided.c ---- */

/* Fill in the module for windows, which has the others' limits. Have its requests come here. */
void mca_btl_myr_onesided_open(mca_btl_base_module_t *module);
void mca_btl_myr_onesided_close(void);

/* What is done to a word of 64 bits, in one step for all processors. */
struct mca_btl_myr_atomic {
    bool swaps;            /* puts the operand there, if `compare` is there; else it adds it */
    bool waits_for_itself; /* held.c */
    uint64_t operand, compare;
};

/* ---- held.c ---- */

/* Before an atomic operation: does this process try in vain to share a lock that it holds alone? */
bool mca_btl_myr_waits_for_itself(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                                  const struct mca_btl_myr_atomic *atomic);

/* After it: what osc/rdma is told that was found. */
uint64_t mca_btl_myr_found(const struct mca_btl_base_endpoint_t *endpoint, uint64_t address,
                           const struct mca_btl_myr_atomic *atomic, uint64_t found);

#endif
