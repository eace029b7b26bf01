/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to other processes.
 *
 * At start-up, Open MPI announces all processes of a job, but most pairs of processes never
 * communicate. Therefore a connection to a process is established only when the first message is
 * sent to it or received from it, or when its NIC sends a packet before there is a connection.
 *
 * Connections to processes of other jobs (MPI_Comm_spawn, MPI_Comm_accept) are established as soon
 * as Open MPI announces these processes, because they are few and about to communicate. A later
 * connection would not be possible: when a packet arrives from an unknown NIC, the receiver
 * searches for this NIC only among the processes of its own job. */
#include "mtl_myr/mtl_myr.h"

#include "ompi/modex.h"
#include "ompi/node.h"

uint64_t mca_mtl_myr_id(const opal_process_name_t *name)
{
    return (uint64_t)name->jobid << 32 | name->vpid;
}

opal_process_name_t mca_mtl_myr_name(uint64_t id)
{
    return (opal_process_name_t){.jobid = (uint32_t)(id >> 32), .vpid = (uint32_t)id};
}

static void report_unreachable_peer(const opal_process_name_t *name, const char *why)
{
    opal_output(0, "nicbarr: mtl myr cannot reach process %s: %s. Run without --mca pml cm",
                OPAL_NAME_PRINT(*name), why);
}

/* Reads the process's modex entry. Returns false if there is none, or if it is of another
 * version. */
static bool read_modex(const opal_process_name_t *name, struct myr_tagged_name *published)
{
    return sizeof(*published) == nicbarr_modex_get(&mca_mtl_myr_component.super.mtl_version, name,
                                                   published, sizeof(*published));
}

static struct myr_tagged_peer *connect_to(const opal_process_name_t *name)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    struct myr_tagged_name published;
    struct myr_tagged_peer *peer;
    struct myr_error error = {0};
    if (!read_modex(name, &published)) {
        report_unreachable_peer(name, "it has no endpoint, or another version of nicbarr");
        return NULL;
    }
    if (MYR_OK !=
        myr_tagged_connect(component->endpoint, mca_mtl_myr_id(name), &published, &peer, &error)) {
        report_unreachable_peer(name, error.text);
        return NULL;
    }
    if (!myr_tagged_is_near(peer) && nicbarr_is_of_other_job(name)) {
        component->peers = MYR_DRAIN_OTHER_JOBS;
        myr_tagged_met_other_job(component->endpoint);
    } else if (!myr_tagged_is_near(peer) && MYR_DRAIN_THIS_NODE == component->peers) {
        component->peers = MYR_DRAIN_OTHER_NODES;
    }
    return peer;
}

static struct myr_tagged_peer *find_or_connect(const opal_process_name_t *name)
{
    struct myr_tagged_peer *peer =
        myr_tagged_peer(mca_mtl_myr_component.endpoint, mca_mtl_myr_id(name));
    return NULL != peer ? peer : connect_to(name);
}

struct myr_tagged_peer *mca_mtl_myr_peer(struct ompi_communicator_t *comm, int rank)
{
    struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    struct myr_tagged_peer **slot =
        (struct myr_tagged_peer **)&proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL];
    if (NULL == *slot) {
        *slot = find_or_connect(&proc->super.proc_name);
    }
    return *slot;
}

struct myr_tagged_peer *mca_mtl_myr_meet(void *context, uint64_t id)
{
    (void)context;
    const opal_process_name_t name = mca_mtl_myr_name(id);
    return connect_to(&name);
}

void mca_mtl_myr_let_in(void)
{
    mca_mtl_myr_component_t *component = &mca_mtl_myr_component;
    opal_process_name_t name;
    while (myr_soft_knocked(component->nic) && nicbarr_next_process(&component->met, &name)) {
        (void)find_or_connect(&name);
    }
}

int mca_mtl_myr_add_procs(mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs)
{
    (void)mtl;
    for (size_t p = 0; p < count; ++p) {
        if (procs[p]->super.proc_arch != opal_proc_local_get()->proc_arch) {
            report_unreachable_peer(&procs[p]->super.proc_name, "it has another CPU architecture");
            return OMPI_ERR_UNREACH;
        }
        procs[p]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = NULL;
        if (nicbarr_is_of_other_job(&procs[p]->super.proc_name)) {
            mca_mtl_myr_lock();
            (void)find_or_connect(&procs[p]->super.proc_name); /* on failure, a later send fails */
            mca_mtl_myr_unlock();
        }
    }
    return OMPI_SUCCESS;
}

/* Peers are kept, because messages in flight use them, and a process may be added again. */
int mca_mtl_myr_del_procs(mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs)
{
    (void)mtl;
    for (size_t p = 0; p < count; ++p) {
        procs[p]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = NULL;
    }
    return OMPI_SUCCESS;
}
