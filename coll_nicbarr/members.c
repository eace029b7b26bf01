/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines whether nicbarr can serve a communicator. To this end it finds out which members share
 * the segment of this process, and on which node each member is.
 *
 * All members compare the same hellos (peers.h), so they get the same answer, and a function is
 * installed either on all members or on none. If a job connects to processes of another node after
 * it was started, hellos are exchanged once more within the communicator; see across.c. */
#include "coll_nicbarr/members.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/nics.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/peers.h"
#include "ompi/exits.h"
#include "ompi/node.h"

enum { WHY_BYTES = 300 };

/* Returns an uninitialized array with one number for each member, which the caller frees. If memory
 * is exhausted, the job is ended. */
static uint32_t *numbers_of_members(ompi_communicator_t *comm)
{
    return nicbarr_allocate(comm, (size_t)ompi_comm_size(comm) * sizeof(uint32_t));
}

/* Replace the first `size` homes by consecutive numbers from 0. Returns the number of different
 * homes. */
static uint32_t number_homes(uint32_t *homes, uint32_t size, ompi_communicator_t *comm)
{
    uint32_t count = 0;
    uint32_t *seen = numbers_of_members(comm);
    for (uint32_t r = 0; r < size; ++r) {
        uint32_t h = 0;
        while (h < count && seen[h] != homes[r]) {
            ++h;
        }
        if (h == count) {
            seen[count++] = homes[r];
        }
        homes[r] = h;
    }
    free(seen);
    return count;
}

/* Returns whether a process with this trouble cannot participate in any communicator. */
static bool excludes_process(uint8_t trouble)
{
    return NICBARR_NO_COMPONENT == trouble || NICBARR_NO_SEGMENT == trouble ||
           NICBARR_OTHER_PARAMETERS == trouble;
}

/* Fill in the fields of the shape that follow from this node. */
static void fill_shape(struct nicbarr_shape *shape, uint32_t processes, uint32_t homes)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    shape->processes = processes;
    shape->homes = homes;
    shape->processors = myr_segment_processors(component->segment);
    shape->oversubscribed = myr_waiter_oversubscribed(&component->waiter);
}

bool nicbarr_has_other_jobs(ompi_communicator_t *comm)
{
    bool has = false;
    for (int r = 0; !has && r < ompi_comm_size(comm); ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        has = nicbarr_is_of_other_job(&name);
    }
    return has;
}

/* Returns whether a member is known to have the same segment as this process. */
static bool shares_segment(const struct nicbarr_peer *const *peers, int rank,
                           ompi_communicator_t *comm)
{
    return NULL != peers[rank] && peers[rank]->segment == peers[ompi_comm_rank(comm)]->segment;
}

bool nicbarr_is_across(ompi_communicator_t *comm)
{
    if (OMPI_COMM_IS_INTER(comm) || !nicbarr_has_other_jobs(comm)) {
        return ompi_group_have_remote_peers(comm->c_local_group);
    }
    const int size = ompi_comm_size(comm);
    const struct nicbarr_peer **peers = nicbarr_peers_of(comm);
    int r = 0;
    while (r < size && shares_segment(peers, r, comm)) {
        ++r;
    }
    free(peers);
    return r < size;
}

/* Returns NULL if all members share the segment; otherwise the reason, valid until the next
 * call. */
static const char *check_segment(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    static char text[WHY_BYTES];
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    const struct nicbarr_peer **peers = nicbarr_peers_of(comm);
    uint64_t digest = 0;
    free(module->homes); /* allocated by an attempt that failed */
    module->homes = numbers_of_members(comm);
    const char *why = NULL;
    for (uint32_t r = 0; NULL == why && r < size; ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, (int)r);
        if (NULL == peers[r]) {
            continue; /* another member lacks the component */
        }
        if (excludes_process(peers[r]->trouble)) {
            why = nicbarr_peer_trouble(&name, peers[r], text, sizeof(text));
        } else if (!shares_segment(peers, (int)r, comm)) {
            snprintf(text, sizeof(text),
                     "process %u is in another container, was started by another mpirun, or denies "
                     "access to its /proc/PID/fd",
                     (unsigned)name.vpid);
            why = text;
        } else {
            nicbarr_exits_watch(&name, peers[r]->number);
            module->homes[r] = myr_segment_home(component->segment, peers[r]->number);
            digest = nicbarr_digest(digest, &name, sizeof(name));
        }
    }
    free(peers);
    if (NULL == why) {
        module->members_digest = digest;
        module->shape = (struct nicbarr_shape){.nodes = 1, .nics = 1};
        fill_shape(&module->shape, size, number_homes(module->homes, size, comm));
    }
    return why;
}

const char *nicbarr_members_check(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *why = NULL;
    if (NULL == mca_coll_nicbarr_component.segment) {
        return nicbarr_hello_own()->why;
    }
    /* MPI_Comm_idup may call this from another thread's progress at the same time. */
    pthread_mutex_lock(&lock);
    if (!module->agreed) {
        why = check_segment(module, comm);
        module->agreed = NULL == why;
    }
    pthread_mutex_unlock(&lock);
    return why;
}

struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence)
{
    struct myr_key key = {.members = module->members_digest, .sequence = sequence};
    nicbarr_comm_identity(comm, &key.scope, &key.id);
    return key;
}

/* ---- across nodes ---- */

/* Returns the number of different homes of those members that share this process's segment. */
static uint32_t count_homes(const struct nicbarr_peer *const *peers, ompi_communicator_t *comm)
{
    uint32_t neighbours = 0;
    uint32_t *homes = numbers_of_members(comm);
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        if (shares_segment(peers, r, comm)) {
            homes[neighbours++] =
                myr_segment_home(mca_coll_nicbarr_component.segment, peers[r]->number);
        }
    }
    const uint32_t count = number_homes(homes, neighbours, comm);
    free(homes);
    return count;
}

/* Returns the bit mask of NICs whose processes must share the job's segment. */
static uint32_t segment_sharing_nics(void)
{
    uint32_t bits = 0;
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        bits |= 0 != (nicbarr_kind(nic)->caps.flags & MYR_SHARES_SEGMENT) ? UINT32_C(1) << nic : 0;
    }
    return bits;
}

/* Returns the first member that is known to be unable to participate, or -1 if there is none. */
static int first_in_trouble(const struct nicbarr_peer *const *peers, int size)
{
    int r = 0;
    while (r < size && (NULL == peers[r] || NICBARR_TROUBLE_NONE == peers[r]->trouble)) {
        ++r;
    }
    return r < size ? r : -1;
}

static const char *describe_missing_nic(char *text, size_t bytes)
{
    int length = snprintf(text, bytes, "not all processes have a NIC of the same kind");
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        const struct myr_nic_kind *kind = nicbarr_kind(nic);
        if (NULL != kind->absent && length < (int)bytes) {
            length += snprintf(text + length, bytes - (size_t)length, "; %s: %s", kind->title,
                               kind->absent);
        }
    }
    return text;
}

const char *nicbarr_nodes_determine(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    static char text[WHY_BYTES];
    const int size = ompi_comm_size(comm);
    const struct nicbarr_peer **peers = nicbarr_peers_of(comm);
    const int odd = first_in_trouble(peers, size);
    if (odd >= 0) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, odd);
        const char *why = nicbarr_peer_trouble(&name, peers[odd], text, sizeof(text));
        free(peers);
        return why;
    }
    const enum nicbarr_census_result counted =
        nicbarr_peers_census(peers, comm, segment_sharing_nics(), &module->nodes);
    const uint32_t homes = NICBARR_COUNTED == counted ? count_homes(peers, comm) : 0;
    free(peers);
    switch (counted) {
    case NICBARR_NO_MEMORY:
        nicbarr_end_without_memory(comm);
        break;
    case NICBARR_NO_COMMON_NIC:
        return describe_missing_nic(text, sizeof(text));
    case NICBARR_MIXED:
        return "some processes share a NIC but no memory, or memory but no NIC";
    case NICBARR_COUNTED:
        break;
    }
    module->shape = (struct nicbarr_shape){
        .nodes = module->nodes.nodes,
        .nics = module->nodes.nics,
    };
    fill_shape(&module->shape, (uint32_t)size, homes);
    return NULL;
}

bool nicbarr_members_lack_nics(ompi_communicator_t *comm)
{
    const struct nicbarr_peer **peers = nicbarr_peers_of(comm);
    bool later = false, good = true;
    for (int r = 0; good && r < ompi_comm_size(comm); ++r) {
        const struct nicbarr_peer *peer = peers[r];
        later = later || (NULL != peer && peer->later);
        /* A member that had not opened all NICs when it started may have sent a second hello since,
         * which only some of the other members may have read. They may therefore disagree on
         * whether this member has a NIC, so it is excluded only for reasons that do not depend on
         * its NICs. (Without an element, another member lacks the component.) */
        good = NULL != peer && (peer->later ? !excludes_process(peer->trouble)
                                            : NICBARR_TROUBLE_NONE == peer->trouble);
    }
    free(peers);
    return good && later;
}
