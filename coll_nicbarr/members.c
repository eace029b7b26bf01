/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who of a communicator shares our segment, or is on which node.
 *
 * Every process has told the others at start-up (by the modex) which segment it is in and what its
 * parameters are. All members of a communicator compare the same data, so all come to the same
 * answer, and nobody installs anything that another one does not have.
 */
#include "coll_nicbarr/coll_nicbarr.h"

#include <stdlib.h>
#include <string.h>

#include "opal/class/opal_hash_table.h"
#include "ompi/modex.h"

/* What is known of a peer: its number in the segment + 1, or that it is not one of us. */
enum { STRANGER = UINT32_MAX };

static opal_hash_table_t peers; /* by process name; under the component's lock */
static bool peers_ready;
static char stranger_why[256]; /* what keeps the last stranger that was met out */

static uint32_t meet(const opal_process_name_t *name)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    struct nicbarr_hello mine, hello;
    nicbarr_hello_make(&mine);
    if (!nicbarr_modex_get(&component->super.collm_version, name, &hello, sizeof(hello))) {
        snprintf(stranger_why, sizeof(stranger_why),
                 "process %u does not have the component, or another version of it",
                 (unsigned)name->vpid);
        return STRANGER;
    }
    if (0 == hello.identity) {
        snprintf(stranger_why, sizeof(stranger_why), "process %u: %s", (unsigned)name->vpid,
                 hello.why);
        return STRANGER;
    }
    if (hello.digest != mine.digest) {
        snprintf(stranger_why, sizeof(stranger_why),
                 "process %u has other coll_nicbarr parameters or another version",
                 (unsigned)name->vpid);
        return STRANGER;
    }
    if (hello.identity != mine.identity) {
        snprintf(stranger_why, sizeof(stranger_why),
                 "process %u is in another container or was started by another mpirun",
                 (unsigned)name->vpid);
        return STRANGER;
    }
    return hello.index + 1;
}

static uint32_t look_up(const opal_process_name_t *name)
{
    const uint64_t key = (uint64_t)name->jobid << 32 | name->vpid;
    void *known = NULL;
    if (OPAL_SUCCESS == opal_hash_table_get_value_uint64(&peers, key, &known)) {
        return (uint32_t)(uintptr_t)known;
    }
    const uint32_t found = meet(name);
    opal_hash_table_set_value_uint64(&peers, key, (void *)(uintptr_t)found);
    return found;
}

uint64_t nicbarr_job_identity(void)
{
    opal_process_name_t first = ompi_proc_local()->super.proc_name;
    struct nicbarr_hello hello;
    first.vpid = 0;
    return nicbarr_modex_get(&mca_coll_nicbarr_component.super.collm_version, &first, &hello,
                             sizeof(hello))
               ? hello.identity
               : 0;
}

void nicbarr_members_open(void)
{
    OBJ_CONSTRUCT(&peers, opal_hash_table_t);
    peers_ready = OPAL_SUCCESS == opal_hash_table_init(&peers, 256);
}

void nicbarr_members_close(void)
{
    OBJ_DESTRUCT(&peers);
    peers_ready = false;
}

/* Number the different homes in the order of ranks, in place; returns how many there are. */
static uint32_t number_homes(uint32_t *homes, uint32_t size)
{
    uint32_t count = 0;
    uint32_t *seen = malloc(size * sizeof(*seen));
    for (uint32_t r = 0; NULL != seen && r < size; ++r) {
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

bool nicbarr_members_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const char **why)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    uint64_t digest = 0;
    bool agreed = peers_ready;

    module->homes = malloc(size * sizeof(*module->homes));
    if (NULL == module->homes) {
        *why = "out of memory";
        return false;
    }
    pthread_mutex_lock(&component->lock);
    for (uint32_t r = 0; agreed && r < size; ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, (int)r);
        const uint32_t found = look_up(&name);
        agreed = STRANGER != found;
        if (agreed) {
            module->homes[r] = myr_segment_home(component->segment, found - 1);
            digest = nicbarr_digest(digest, &name, sizeof(name));
        }
    }
    *why = stranger_why;
    pthread_mutex_unlock(&component->lock);
    if (!agreed) {
        return false;
    }
    module->members_digest = digest;
    module->shape = (struct nicbarr_shape){
        .nodes = 1,
        .processes = size,
        .homes = number_homes(module->homes, size),
        .processors = myr_segment_processors(component->segment),
        .players = UINT32_C(1) << NICBARR_SOFT,
        .oversubscribed = myr_waiter_oversubscribed(&component->waiter),
    };
    return true;
}

/* ---- several nodes ---- */

/* What keeps a process with this hello from talking to us; NULL if nothing does. */
static const char *obstacle(const struct nicbarr_hello *mine, const struct nicbarr_hello *theirs)
{
    return 0 == theirs->identity || (0 == theirs->nic.count && 0 == theirs->kernel.count)
               ? theirs->why
           : theirs->digest != mine->digest
               ? "it has other coll_nicbarr parameters or another version"
               : NULL;
}

/* The members, put together by what they share: a NIC or a segment. */
struct sharing {
    bool all;                   /* of them have one */
    uint32_t count, own;        /* how many different ones, this process's; in the order of ranks */
    uint32_t locals, local;     /* how many share ours, which of them this process is */
    struct myr_nic_name *names; /* [count] */
};

/* The next member in the order of ranks; returns the number of what it has. */
static uint32_t count_in(struct sharing *sharing, const struct myr_nic_name *theirs,
                         const struct myr_nic_name *mine, bool myself)
{
    uint32_t n = 0;
    while (n < sharing->count && theirs->key != sharing->names[n].key) {
        ++n;
    }
    if (n == sharing->count) {
        sharing->names[n] = *theirs;
        ++sharing->count;
    }
    if (myself) {
        sharing->own = n;
        sharing->local = sharing->locals;
    }
    sharing->locals += theirs->key == mine->key;
    sharing->all = sharing->all && 0 != theirs->count;
    return n;
}

/* What is found out about all members. */
struct census {
    struct sharing nics[NICBARR_PLAYERS], segments;
    bool kernel_as_segments; /* what shares a kernel's NIC shares a segment, and nobody else does */
    bool kernel_as_soft;     /* the same for a soft NIC */
    uint32_t *homes;         /* of the `neighbours` in our segment */
    uint32_t neighbours;
};

static void count_member(struct census *census, const struct nicbarr_hello *hello,
                         const struct nicbarr_hello *mine, bool myself)
{
    const struct myr_nic_name segment = {.key = hello->identity, .count = 1};
    const struct myr_nic_name own_segment = {.key = mine->identity, .count = 1};
    const uint32_t by_segment = count_in(&census->segments, &segment, &own_segment, myself);
    const uint32_t by_soft = count_in(&census->nics[NICBARR_SOFT], &hello->nic, &mine->nic, myself);
    const uint32_t by_kernel =
        count_in(&census->nics[NICBARR_KERNEL], &hello->kernel, &mine->kernel, myself);
    census->kernel_as_segments = census->kernel_as_segments && by_kernel == by_segment;
    census->kernel_as_soft = census->kernel_as_soft && by_kernel == by_soft;
    if (hello->identity == mine->identity) {
        census->homes[census->neighbours++] =
            myr_segment_home(mca_coll_nicbarr_component.segment, hello->index);
    }
}

/* Look at all members; false with `why` at the first who cannot take part. */
static bool take_census(struct census *census, ompi_communicator_t *comm, const char **why)
{
    static char trouble[sizeof(stranger_why)];
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    struct nicbarr_hello mine, hello;
    nicbarr_hello_make(&mine);
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        const char *what = "it does not have the component, or another version of it";
        if (nicbarr_modex_get(&component->super.collm_version, &name, &hello, sizeof(hello))) {
            what = obstacle(&mine, &hello);
        }
        if (NULL != what) {
            snprintf(trouble, sizeof(trouble), "process %u: %s", (unsigned)name.vpid, what);
            *why = trouble;
            return false;
        }
        count_member(census, &hello, &mine, r == ompi_comm_rank(comm));
    }
    return true;
}

/* From all that was found out to the nodes and their players; false with `why` if there is none. */
static bool conclude(struct nicbarr_nodes *nodes, const struct census *census, const char **why)
{
    const struct sharing *soft = &census->nics[NICBARR_SOFT];
    const struct sharing *kernel = &census->nics[NICBARR_KERNEL];
    const bool use_kernel =
        kernel->all && census->kernel_as_segments && (!soft->all || census->kernel_as_soft);
    if (!soft->all && !use_kernel) {
        *why = kernel->all ? "processes that share no memory share a kernel's NIC, or the other "
                             "way round"
                           : "some processes have the kernel's NIC alone, others have none there "
                             "(coll_nicbarr_nic; is myrd --kernel running on all nodes?)";
        return false;
    }
    const struct sharing *by = soft->all ? soft : kernel;
    nodes->nodes = by->count;
    nodes->node = by->own;
    nodes->locals = by->locals;
    nodes->local = by->local;
    nodes->names[NICBARR_SOFT] = soft->all ? soft->names : NULL;
    nodes->names[NICBARR_KERNEL] = use_kernel ? kernel->names : NULL;
    return true;
}

/* As bits, for the shape. */
static uint32_t players_of(const struct nicbarr_nodes *nodes)
{
    uint32_t players = 0;
    for (uint32_t p = 0; p < NICBARR_PLAYERS; ++p) {
        players |= NULL != nodes->names[p] ? UINT32_C(1) << p : 0;
    }
    return players;
}

bool nicbarr_nodes_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const char **why)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    struct nicbarr_nodes *nodes =
        calloc(1, sizeof(*nodes) + (NICBARR_PLAYERS + 1) * size * sizeof(nodes->storage[0]));
    module->nodes = nodes;
    module->homes = malloc(size * sizeof(*module->homes));
    if (NULL == module->homes || NULL == nodes) {
        *why = "out of memory";
        return false;
    }
    struct census census = {
        .kernel_as_segments = true, .kernel_as_soft = true, .homes = module->homes};
    for (uint32_t p = 0; p < NICBARR_PLAYERS; ++p) {
        census.nics[p] = (struct sharing){.all = true, .names = nodes->storage + p * size};
    }
    census.segments =
        (struct sharing){.all = true, .names = nodes->storage + NICBARR_PLAYERS * size};
    if (!take_census(&census, comm, why) || !conclude(nodes, &census, why)) {
        return false;
    }
    module->shape = (struct nicbarr_shape){
        .nodes = nodes->nodes,
        .processes = size,
        .homes = number_homes(module->homes, census.neighbours),
        .processors = myr_segment_processors(component->segment),
        .players = players_of(nodes),
        .oversubscribed = myr_waiter_oversubscribed(&component->waiter),
    };
    return true;
}

bool nicbarr_members_any(ompi_communicator_t *comm)
{
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        struct nicbarr_hello hello;
        if (nicbarr_modex_get(&mca_coll_nicbarr_component.super.collm_version, &name, &hello,
                              sizeof(hello)) &&
            0 != hello.identity) {
            return true;
        }
    }
    return false;
}
