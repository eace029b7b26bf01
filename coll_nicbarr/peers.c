/* SPDX-License-Identifier: BSD-3-Clause */
/* See peers.h. */
#include "coll_nicbarr/peers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/no_memory.h"
#include "ompi/modex.h"
#include "opal/class/opal_hash_table.h"

/* Identities of segments or NICs, numbered from 1 in the order in which they were first read. */
struct registry {
    opal_hash_table_t numbers; /* number of each, by identity */
    uint32_t count, room;
    const struct myr_nic_name **names; /* names of the NICs, by number - 1 */
};

/* The public key of a segment, and the key that was agreed with this segment. */
struct node_key {
    struct myr_public_key public;
    bool agreed;
    struct myr_agreed_key key;
};

static struct nicbarr_hello own;
static struct myr_key_pair pair;                         /* key pair of this process's segment */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the variables below */
static bool ready;
static struct nicbarr_peer *own_job; /* [own_job_size]: by process; NULL: no hello was read yet */
static uint32_t own_job_size;
static opal_hash_table_t peers; /* processes of other jobs, by name: struct nicbarr_peer */
static struct registry segments, nics[NICBARR_NICS_MOST];
static struct node_key *node_keys; /* [segments.count]: by number - 1 */
static uint32_t node_key_room;

static uint64_t key_of(const opal_process_name_t *name)
{
    return (uint64_t)name->jobid << 32 | name->vpid;
}

/* ---- this node's cache of hellos, because the modex takes about 50 us per process ---- */

/* The table of the hellos of a job's processes. It stays in the segment until the job ends; other
 * processes find it by its offset, which is an entry of the segment's key-value table. Each process
 * stores there its own hello, and the hellos that it has read from the modex. Therefore a node
 * reads each hello from the modex about once, or slightly more often if several of its processes
 * need the same hello at the same time. */
struct hello_table {
    uint32_t size;
    /* by process: the offset of its hello in the segment; 0: not stored yet */
    _Atomic uint32_t at[];
};

/* An encoded hello in the segment. */
struct encoded {
    uint32_t count;
    uint8_t bytes[];
};

static struct hello_table *own_table; /* the table of this process's job; NULL: out of memory */

/* Memory for the hellos of other processes. It is allocated in larger chunks, because each
 * allocation takes at least 128 bytes. */
static struct {
    uint8_t *at;
    size_t left, step;
} chunk;

/* Returns the key under which the segment's key-value table stores the location of a job's table of
 * hellos. This key changes whenever a process opens the component again, because the process then
 * has another hello. */
static uint64_t kv_key(opal_jobid_t job)
{
    const uint32_t words[] = {job, OPAL_VPID_INVALID, mca_coll_nicbarr_component.opened};
    return nicbarr_digest(0, words, sizeof(words)) | UINT64_C(1) << 63;
}

static uint64_t offset_of(const void *memory)
{
    return (uint64_t)((const uint8_t *)memory -
                      myr_segment_base(mca_coll_nicbarr_component.segment));
}

static void *memory_at(uint64_t offset)
{
    return myr_segment_base(mca_coll_nicbarr_component.segment) + offset;
}

/* Create the table of a job, unless another process of the node has done so. */
static void create_table(opal_jobid_t job, uint32_t size)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    const size_t bytes = sizeof(struct hello_table) + size * sizeof(own_table->at[0]);
    struct hello_table *table =
        0 != myr_kv_get(segment, kv_key(job)) ? NULL : myr_segment_alloc_if_plenty(segment, bytes);
    if (NULL != table) {
        memset(table, 0, bytes);
        table->size = size;
        (void)myr_kv_add(segment, kv_key(job), offset_of(table));
        if (offset_of(table) != myr_kv_get(segment, kv_key(job))) {
            myr_segment_free(segment, table);
        }
    }
}

/* Returns the table of a job, or NULL if no process of that job is on this node, or if out of
 * memory. */
static struct hello_table *table_of(opal_jobid_t job)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    if (NULL != own_table && job == opal_proc_local_get()->proc_name.jobid) {
        return own_table;
    }
    const uint64_t offset = NULL == segment ? 0 : myr_kv_get(segment, kv_key(job));
    return 0 == offset ? NULL : memory_at(offset);
}

static struct encoded *allocate_encoded(size_t count)
{
    enum { FIRST = 1024, MOST = 65536, BESIDES = 128, ALIGNED = sizeof(uint64_t) };
    const size_t bytes = (sizeof(struct encoded) + count + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (bytes > chunk.left) {
        chunk.step = 0 == chunk.step ? FIRST : chunk.step < MOST ? 2 * chunk.step : MOST;
        chunk.left = chunk.step - BESIDES;
        chunk.at = myr_segment_alloc_if_plenty(mca_coll_nicbarr_component.segment, chunk.left);
        chunk.left = NULL == chunk.at ? 0 : chunk.left;
    }
    if (bytes > chunk.left) {
        return NULL;
    }
    struct encoded *room = (struct encoded *)chunk.at;
    chunk.at += bytes;
    chunk.left -= bytes;
    return room;
}

/* Store a hello for the other processes of this node. If there was no memory (`encoded` is NULL),
 * they query the modex. */
static void store_hello(struct hello_table *table, uint32_t process, struct encoded *encoded,
                        const uint8_t *bytes, size_t count)
{
    if (NULL != encoded) {
        encoded->count = (uint32_t)count;
        memcpy(encoded->bytes, bytes, count);
        atomic_store_explicit(&table->at[process], (uint32_t)offset_of(encoded),
                              memory_order_release);
    }
}

static void store_own_hello(const uint8_t *bytes, size_t count)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    const opal_process_name_t name = opal_proc_local_get()->proc_name;
    memset(&chunk, 0, sizeof(chunk));
    if (NULL != segment) {
        create_table(name.jobid, own_job_size);
        own_table = table_of(name.jobid);
    }
    if (NULL != own_table && name.vpid < own_table->size) {
        store_hello(own_table, name.vpid,
                    myr_segment_alloc_if_plenty(segment, sizeof(struct encoded) + count), bytes,
                    count);
    }
}

/* Get the hello of a process, from the segment or from the modex. Called with the lock held. */
static bool get_hello(const opal_process_name_t *name, struct nicbarr_hello *hello)
{
    struct hello_table *table = table_of(name->jobid);
    const bool listed = NULL != table && name->vpid < table->size;
    const uint32_t offset =
        listed ? atomic_load_explicit(&table->at[name->vpid], memory_order_acquire) : 0;
    if (0 != offset) {
        const struct encoded *encoded = memory_at(offset);
        return nicbarr_hello_read(encoded->bytes, encoded->count, hello);
    }
    uint8_t bytes[NICBARR_HELLO_BYTES];
    const size_t count = nicbarr_modex_get(&mca_coll_nicbarr_component.super.collm_version, name,
                                           bytes, sizeof(bytes));
    const bool good = 0 != count && nicbarr_hello_read(bytes, count, hello);
    if (good && listed) {
        store_hello(table, name->vpid, allocate_encoded(count), bytes, count);
    }
    return good;
}

/* ---- known identities ---- */

/* Returns the number of the segment or NIC with this identity, which is assigned when the identity
 * is first seen, or 0 if the identity is 0. For a NIC, a copy of its name is kept. If memory is
 * exhausted, the job is ended. */
static uint32_t number_of(struct registry *registry, uint64_t identity,
                          const struct myr_nic_name *name)
{
    void *known = NULL;
    if (0 == identity) {
        return 0;
    }
    if (OPAL_SUCCESS == opal_hash_table_get_value_uint64(&registry->numbers, identity, &known)) {
        return (uint32_t)(uintptr_t)known;
    }
    if (NULL != name && registry->count == registry->room) {
        const uint32_t room = 0 == registry->room ? 16 : 2 * registry->room;
        void *more = realloc(registry->names, room * sizeof(*registry->names));
        if (NULL == more) {
            nicbarr_end_without_memory(&ompi_mpi_comm_world.comm);
        }
        registry->names = more;
        registry->room = room;
    }
    struct myr_nic_name *kept = NULL == name ? NULL : malloc(sizeof(*kept));
    if (NULL != kept) {
        *kept = *name;
        registry->names[registry->count] = kept;
    } else if (NULL != name) {
        nicbarr_end_without_memory(&ompi_mpi_comm_world.comm);
    }
    const uint32_t number = registry->count + 1;
    if (OPAL_SUCCESS !=
        opal_hash_table_set_value_uint64(&registry->numbers, identity, (void *)(uintptr_t)number)) {
        nicbarr_end_without_memory(&ompi_mpi_comm_world.comm);
    }
    registry->count = number;
    return number;
}

/* Store the public key of a segment when it is first read. If memory is exhausted, the key is lost,
 * and no secret can be sealed for the processes of this segment. */
static void store_key(uint32_t segment, const struct myr_public_key *public)
{
    if (segment > node_key_room) {
        const uint32_t room = 2 * segment;
        struct node_key *more = realloc(node_keys, room * sizeof(*node_keys));
        if (NULL == more) {
            return;
        }
        memset(more + node_key_room, 0, (room - node_key_room) * sizeof(*more));
        node_keys = more;
        node_key_room = room;
    }
    if (0 != segment) {
        node_keys[segment - 1].public = *public;
    }
}

static enum nicbarr_trouble trouble_of(const struct nicbarr_hello *hello)
{
    bool any = false;
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        any = any || 0 != hello->nic[nic].key;
    }
    return 0 == hello->identity          ? NICBARR_NO_SEGMENT
           : hello->digest != own.digest ? NICBARR_OTHER_PARAMETERS
           : any                         ? NICBARR_TROUBLE_NONE
           : hello->later                ? NICBARR_NIC_LATER
                                         : NICBARR_NO_NIC;
}

/* Store the part of a hello that may differ in a second hello. */
static void describe_nics(struct nicbarr_peer *peer, const struct nicbarr_hello *hello)
{
    peer->why = '\0' == hello->why[0] ? NULL : strdup(hello->why);
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        peer->nic[nic] = number_of(&nics[nic], hello->nic[nic].key, &hello->nic[nic]);
    }
    peer->trouble = (uint8_t)trouble_of(hello);
}

static void describe_peer(struct nicbarr_peer *peer, const struct nicbarr_hello *hello)
{
    peer->segment = number_of(&segments, hello->identity, NULL);
    peer->number = hello->number;
    peer->later = hello->later;
    peer->sealed = myr_has_key(&hello->key);
    store_key(peer->segment, &hello->key);
    describe_nics(peer, hello);
}

/* Returns the entry of a process, which may be empty, or NULL if out of memory. */
static struct nicbarr_peer *peer_entry(const opal_process_name_t *name)
{
    const uint64_t key = key_of(name);
    void *known = NULL;
    if (name->vpid < own_job_size && name->jobid == opal_proc_local_get()->proc_name.jobid) {
        own_job = NULL == own_job ? calloc(own_job_size, sizeof(*own_job)) : own_job;
        return NULL == own_job ? NULL : &own_job[name->vpid];
    }
    if (OPAL_SUCCESS != opal_hash_table_get_value_uint64(&peers, key, &known)) {
        known = calloc(1, sizeof(struct nicbarr_peer));
        if (NULL != known) {
            opal_hash_table_set_value_uint64(&peers, key, known);
        }
    }
    return known;
}

/* Returns the data about a process, or NULL if out of memory. If its hello has not been read yet,
 * it is read now, or, without `may_query`, NULL is returned. */
static struct nicbarr_peer *lookup_peer(const opal_process_name_t *name, bool may_query)
{
    struct nicbarr_hello hello;
    pthread_mutex_lock(&lock);
    struct nicbarr_peer *peer = ready ? peer_entry(name) : NULL;
    if (NULL != peer && !peer->hello_read && !may_query) {
        peer = NULL;
    } else if (NULL != peer && !peer->hello_read) {
        if (get_hello(name, &hello)) {
            describe_peer(peer, &hello);
        } else {
            peer->trouble = NICBARR_NO_COMPONENT;
        }
        peer->hello_read = true;
    }
    pthread_mutex_unlock(&lock);
    return peer;
}

const struct nicbarr_peer *nicbarr_peer(const opal_process_name_t *name)
{
    return lookup_peer(name, true);
}

const struct nicbarr_peer *nicbarr_peer_if_read(const opal_process_name_t *name)
{
    return lookup_peer(name, false);
}

bool nicbarr_peer_lacks_component(const struct nicbarr_peer *peer)
{
    return NULL != peer && NICBARR_NO_COMPONENT == peer->trouble;
}

void nicbarr_peer_renew(const opal_process_name_t *name, const uint8_t *bytes, size_t count)
{
    struct nicbarr_hello hello;
    struct nicbarr_peer *peer = lookup_peer(name, true);
    if (NULL == peer || !nicbarr_hello_read(bytes, count, &hello)) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (peer->later && !peer->renewed) { /* further hellos are ignored */
        describe_nics(peer, &hello);
        peer->renewed = true;
    }
    pthread_mutex_unlock(&lock);
}

bool nicbarr_peer_agree(const struct nicbarr_peer *peer, struct myr_agreed_key *key)
{
    bool good = false;
    pthread_mutex_lock(&lock);
    if (0 != peer->segment && peer->segment <= node_key_room) {
        struct node_key *node = &node_keys[peer->segment - 1];
        node->agreed = node->agreed || myr_agree(&pair, &node->public, &node->key);
        good = node->agreed;
        *key = node->key;
    }
    pthread_mutex_unlock(&lock);
    return good;
}

const char *nicbarr_peer_trouble(const opal_process_name_t *name, const struct nicbarr_peer *peer,
                                 char *text, size_t bytes)
{
    const unsigned process = (unsigned)name->vpid;
    switch ((enum nicbarr_trouble)peer->trouble) {
    case NICBARR_TROUBLE_NONE:
        text[0] = '\0';
        break;
    case NICBARR_NO_COMPONENT:
        snprintf(text, bytes,
                 "process %u does not have the component, has another version of it, or has the "
                 "other byte order",
                 process);
        break;
    case NICBARR_OTHER_PARAMETERS:
        snprintf(text, bytes, "process %u has other coll_nicbarr parameters, or another version",
                 process);
        break;
    case NICBARR_NIC_LATER:
        snprintf(text, bytes, "process %u has opened no NIC, because its job was on one node",
                 process);
        break;
    case NICBARR_NO_SEGMENT:
    case NICBARR_NO_NIC:
        snprintf(text, bytes, "process %u: %s", process,
                 NULL == peer->why ? "it has no NIC (coll_nicbarr_nic)" : peer->why);
        break;
    }
    return text;
}

/* Returns the rank whose hello this process reads first. Each process of a node begins with a
 * different member, and later finds most hellos in the segment, where the other processes have
 * stored them. */
static int first_to_query(int size)
{
    const uint64_t locals = (uint64_t)ompi_process_info.num_local_peers + 1;
    return (int)((uint64_t)size * (ompi_process_info.my_local_rank % locals) / locals);
}

const struct nicbarr_peer **nicbarr_peers_of(ompi_communicator_t *comm)
{
    const int size = ompi_comm_size(comm), first = first_to_query(size);
    const struct nicbarr_peer **list = calloc((size_t)size, sizeof(*list));
    bool good = NULL != list, lacking = false;
    for (int r = 0; good && r < size; ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        list[r] = r == ompi_comm_rank(comm) ? nicbarr_peer(&name) : nicbarr_peer_if_read(&name);
        lacking = lacking || nicbarr_peer_lacks_component(list[r]);
    }
    for (int asked = 0; good && !lacking && asked < size; ++asked) {
        const int r = (first + asked) % size;
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        list[r] = NULL == list[r] ? nicbarr_peer(&name) : list[r];
        good = NULL != list[r];
        lacking = nicbarr_peer_lacks_component(list[r]);
    }
    if (!good) {
        nicbarr_end_without_memory(comm);
    }
    return list;
}

enum nicbarr_census_result nicbarr_peers_census(const struct nicbarr_peer *const *list,
                                                ompi_communicator_t *comm, uint32_t by_segment,
                                                struct nicbarr_nodes *nodes)
{
    struct nicbarr_known known_ids;
    pthread_mutex_lock(&lock);
    known_ids.segments = segments.count;
    for (uint32_t nic = 0; nic < NICBARR_NICS_MOST; ++nic) {
        known_ids.nics[nic] = nics[nic].count;
        known_ids.names[nic] = nics[nic].names;
    }
    const enum nicbarr_census_result counted =
        nicbarr_census(list, (uint32_t)ompi_comm_size(comm), (uint32_t)ompi_comm_rank(comm),
                       &known_ids, by_segment, nodes);
    pthread_mutex_unlock(&lock);
    return counted;
}

const struct myr_nic_name *nicbarr_nic_name(uint32_t nic, uint32_t number)
{
    pthread_mutex_lock(&lock);
    const struct myr_nic_name *name =
        0 == number || number > nics[nic].count ? NULL : nics[nic].names[number - 1];
    pthread_mutex_unlock(&lock);
    return name;
}

uint64_t nicbarr_job_identity(void)
{
    opal_process_name_t first = opal_proc_local_get()->proc_name;
    struct nicbarr_hello hello;
    first.vpid = 0;
    if (nicbarr_peer_lacks_component(nicbarr_peer(&first))) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    const uint64_t identity = get_hello(&first, &hello) ? hello.identity : 0;
    pthread_mutex_unlock(&lock);
    return identity;
}

/* ---- opening and closing ---- */

static void registry_close(struct registry *registry)
{
    for (uint32_t n = 0; NULL != registry->names && n < registry->count; ++n) {
        free((void *)registry->names[n]);
    }
    free(registry->names);
    OBJ_DESTRUCT(&registry->numbers);
    memset(registry, 0, sizeof(*registry));
}

const struct nicbarr_hello *nicbarr_hello_own(void)
{
    return &own;
}

void nicbarr_hello_renew(const struct nicbarr_hello *hello)
{
    own = *hello;
}

int nicbarr_peers_open(const struct nicbarr_hello *hello, const struct myr_key_pair *keys)
{
    enum { FIRST = 64 /* entries of a hash table, which grows */ };
    uint8_t bytes[NICBARR_HELLO_BYTES];
    own = *hello;
    pair = *keys;
    OBJ_CONSTRUCT(&peers, opal_hash_table_t);
    OBJ_CONSTRUCT(&segments.numbers, opal_hash_table_t);
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        OBJ_CONSTRUCT(&nics[nic].numbers, opal_hash_table_t);
    }
    ready = true;
    int rc = opal_hash_table_init(&peers, FIRST);
    rc = OPAL_SUCCESS == rc ? opal_hash_table_init(&segments.numbers, FIRST) : rc;
    for (uint32_t nic = 1; OPAL_SUCCESS == rc && nic < NICBARR_NICS_MOST; ++nic) {
        rc = opal_hash_table_init(&nics[nic].numbers, FIRST);
    }
    if (OPAL_SUCCESS != rc) {
        nicbarr_peers_close();
        return rc;
    }
    own_job_size = (uint32_t)ompi_process_info.num_procs;
    const size_t count = nicbarr_hello_write(&own, bytes);
    store_own_hello(bytes, count);
    return nicbarr_modex_put(&mca_coll_nicbarr_component.super.collm_version, bytes, count);
}

void nicbarr_peers_close(void)
{
    uint64_t key;
    void *peer, *at;
    if (!ready) {
        return;
    }
    ready = false;
    own_table = NULL;
    for (int rc = opal_hash_table_get_first_key_uint64(&peers, &key, &peer, &at); 0 == rc;
         rc = opal_hash_table_get_next_key_uint64(&peers, &key, &peer, at, &at)) {
        free(((struct nicbarr_peer *)peer)->why);
        free(peer);
    }
    OBJ_DESTRUCT(&peers);
    for (uint32_t p = 0; NULL != own_job && p < own_job_size; ++p) {
        free(own_job[p].why);
    }
    free(own_job);
    own_job = NULL;
    registry_close(&segments);
    free(node_keys);
    node_keys = NULL;
    node_key_room = 0;
    memset(&pair, 0, sizeof(pair));
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        registry_close(&nics[nic]);
    }
}
