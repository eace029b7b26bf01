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
        .oversubscribed = myr_waiter_oversubscribed(&component->waiter),
    };
    return true;
}

/* ---- several nodes ---- */

/* What keeps a process with this hello from talking to us; NULL if nothing does. */
static const char *obstacle(const struct nicbarr_hello *mine, const struct nicbarr_hello *theirs)
{
    return 0 == theirs->identity || 0 == theirs->nic.count ? theirs->why
           : theirs->digest != mine->digest
               ? "it has other coll_nicbarr parameters or another version"
               : NULL;
}

/* Number the NICs in the order of ranks: a node is whatever shares one. */
static uint32_t number_of(struct nicbarr_nodes *nodes, const struct myr_nic_name *name)
{
    uint32_t n = 0;
    while (n < nodes->nodes && name->key != nodes->names[n].key) {
        ++n;
    }
    if (n == nodes->nodes) {
        nodes->names[n] = *name;
        ++nodes->nodes;
    }
    return n;
}

/* Look at all members; false with `why` at the first who cannot take part. */
static bool number_nodes(struct nicbarr_nodes *nodes, ompi_communicator_t *comm, uint32_t *homes,
                         const char **why)
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
        const uint32_t node = number_of(nodes, &hello.nic);
        if (r == ompi_comm_rank(comm)) {
            nodes->node = node;
            nodes->local = nodes->locals;
        }
        if (hello.nic.key == mine.nic.key) {
            homes[nodes->locals++] = myr_segment_home(component->segment, hello.index);
        }
    }
    return true;
}

bool nicbarr_nodes_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const char **why)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const uint32_t size = (uint32_t)ompi_comm_size(comm);
    module->homes = malloc(size * sizeof(*module->homes));
    module->nodes = calloc(1, sizeof(*module->nodes) + size * sizeof(module->nodes->names[0]));
    if (NULL == module->homes || NULL == module->nodes) {
        *why = "out of memory";
        return false;
    }
    const bool agreed = number_nodes(module->nodes, comm, module->homes, why);
    if (agreed) {
        module->shape = (struct nicbarr_shape){
            .nodes = module->nodes->nodes,
            .processes = size,
            .homes = number_homes(module->homes, module->nodes->locals),
            .processors = myr_segment_processors(component->segment),
            .oversubscribed = myr_waiter_oversubscribed(&component->waiter),
        };
    }
    return agreed;
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
