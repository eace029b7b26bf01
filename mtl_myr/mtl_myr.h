/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal interface of the component mtl/myr. It carries MPI's point-to-point messages for pml/cm,
 * as tagged messages of libmyr, which matches and transfers them (libmyr/messages/tagged.h).
 *
 *   component.c  what Open MPI loads: parameters, opening the endpoint, the modex
 *   peers.c      connections to other processes
 *   messages.c   sends, receives, probes, cancelling
 *   progress.c   completed requests, and finalization
 *   runner.c     a progress thread for the time when the host computes
 *
 * As in Zhang's MPI-NP II+, the MPI library only passes the envelopes of messages and receives, and
 * the layer below it matches them. An envelope contains the number of the communicator as its
 * context, and a rank of this communicator as its source.
 *
 * Threads: `lock` protects the endpoint. It is not held while a request of Open MPI is completed,
 * because this may call back into this component. */
#ifndef MTL_MYR_H
#define MTL_MYR_H

#include "ompi/nic_options.h"
#include "ompi/release.h"

#include <stdatomic.h>

#include "ompi/mca/mtl/base/base.h"
#include "ompi/mca/mtl/mtl.h"

#include "libmyr/messages/pace.h"
#include "libmyr/messages/tagged.h"

typedef struct mca_mtl_myr_component {
    mca_mtl_base_component_t super;
    struct {
        struct nicbarr_nic_options nic;
        int buffers;
        int messages;
        bool direct;
        bool runner;
    } parameters;

    /* All members from here on are reset when the component is opened. */
    struct myr_segment *segment; /* also used by the NIC and the endpoint; NULL: none */
    struct myr_soft_nic *nic;
    struct myr_tagged *endpoint;
    opal_mutex_t lock;
    _Atomic uint32_t calls;   /* calls by the host; counted only if there is a progress thread */
    _Atomic uint32_t readers; /* threads of the host that are reading a chunk */
    uint32_t met; /* number of processes of this job, from rank 0 on, that mca_mtl_myr_let_in() has
                     tried */
    uint64_t runner_bytes; /* bytes of long messages that the progress thread has read */
    enum myr_drain_peers
        peers; /* the most distant kind of peer that this process communicates with */
    struct myr_seldom silence; /* rate limit of the check for silent nodes */
} mca_mtl_myr_component_t;

OMPI_DECLSPEC extern mca_mtl_myr_component_t mca_mtl_myr_component;
extern mca_mtl_base_module_t mca_mtl_myr_module;

/* A request of Open MPI, followed by this component's part, for which pml/cm reserves memory. */
struct mca_mtl_myr_request {
    mca_mtl_request_t super;
    struct myr_tagged_request tagged;
    struct opal_convertor_t *convertor; /* set if the request is a receive into `packed` */
    void *packed;                       /* a packed copy, to be freed; NULL: none */
    bool receive;
};

/* Open MPI's locks have no effect while the program has only one thread, and Open MPI does not know
 * about the progress thread. Therefore, with a progress thread, the component locks regardless of
 * Open MPI's setting. */
static inline bool mca_mtl_myr_locks(void)
{
    return mca_mtl_myr_component.parameters.runner || opal_using_threads();
}

static inline void mca_mtl_myr_lock(void)
{
    if (mca_mtl_myr_locks()) {
        opal_mutex_lock(&mca_mtl_myr_component.lock);
    }
}

static inline bool mca_mtl_myr_try_lock(void)
{
    return !mca_mtl_myr_locks() || 0 == opal_mutex_trylock(&mca_mtl_myr_component.lock);
}

static inline void mca_mtl_myr_unlock(void)
{
    if (mca_mtl_myr_locks()) {
        opal_mutex_unlock(&mca_mtl_myr_component.lock);
    }
}

/* ---- peers.c ---- */

int mca_mtl_myr_add_procs(mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs);
int mca_mtl_myr_del_procs(mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs);

/* Returns the peer with this rank in the communicator. The first call for a peer connects to it. If
 * this fails, reports the error and returns NULL. Called with the lock held. */
struct myr_tagged_peer *mca_mtl_myr_peer(struct ompi_communicator_t *comm, int rank);

/* Callback of libmyr: connects to a process that has sent a message, and returns its peer. */
struct myr_tagged_peer *mca_mtl_myr_meet(void *context, uint64_t id);

/* Called when this node has received a message from a NIC to which it has no connection. Connects
 * to the NICs of this job's processes, one after another, until the sender is found; each process
 * is tried only once. Called with the lock held. */
void mca_mtl_myr_let_in(void);

/* Convert a process's name to a number, and back. */
uint64_t mca_mtl_myr_id(const opal_process_name_t *name);
opal_process_name_t mca_mtl_myr_name(uint64_t id);

/* ---- messages.c ---- */

int mca_mtl_myr_send(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
                     int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode);
int mca_mtl_myr_isend(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
                      int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode,
                      bool blocking, mca_mtl_request_t *request);
int mca_mtl_myr_irecv(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
                      int tag, struct opal_convertor_t *convertor, mca_mtl_request_t *request);
int mca_mtl_myr_iprobe(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
                       int tag, int *flag, struct ompi_status_public_t *status);
int mca_mtl_myr_improbe(mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
                        int tag, int *matched, struct ompi_message_t **message,
                        struct ompi_status_public_t *status);
int mca_mtl_myr_imrecv(mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor,
                       struct ompi_message_t **message, mca_mtl_request_t *request);
int mca_mtl_myr_cancel(mca_mtl_base_module_t *mtl, mca_mtl_request_t *request, int flag);

/* ---- progress.c ---- */

/* Progress functions for Open MPI, without and with a progress thread. */
int mca_mtl_myr_progress(void);
int mca_mtl_myr_progress_beside_runner(void);

/* Reads chunks of long messages until there are none left, or `go_on` returns false. Called with
 * the lock held; while a chunk is read, the lock is released. Returns the number of bytes read. */
uint64_t mca_mtl_myr_read_chunks(bool (*go_on)(void));

/* Completes a request for Open MPI. Called without the lock. */
void mca_mtl_myr_complete(struct mca_mtl_myr_request *request);

/* Callback of libmyr: messages to a process have been lost. */
void mca_mtl_myr_lost(void *context, uint64_t id, enum myr_status status);

/* Waits until nothing is outstanding, with a timeout. */
void mca_mtl_myr_drain(void);

/* ---- pvars.c ---- */

void mca_mtl_myr_pvars_register(void);

/* ---- runner.c ---- */

int mca_mtl_myr_runner_start(void);
void mca_mtl_myr_runner_stop(void);

#endif
