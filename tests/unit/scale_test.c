/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of a communicator of 65,536 processes on 1,024 nodes, by the component's own code
 * (peers.c, members.c, sharing.c, across.c, groups.c, known.c, files/), without a job: all of them
 * say what they are, some are played to the end, one after the other, and what they read, send and
 * keep is counted and printed. Of Open MPI there are its headers, its hash table and a communicator
 * made by hand; the modex, and the collectives below the component, are this file's.
 *
 * Counts and bytes decide, on 1,024 nodes and on 16 for what must not grow; times are only printed.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/peers.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/overdue.h"
#include "libmyr/groups/group_player.h"
#include "ompi/exits.h"
#include "ompi/modex.h"
#include "tests/unit/crew.h"

enum {
    NODES = 1024,
    FEW_NODES = 16,
    PER_NODE = 64,
    SIZE = NODES * PER_NODE,
    PLAYED = 7,                /* ranks, on the first node, on one in the middle, and on the last */
    SEGMENT_BYTES = 256 << 20, /* as by default */
    JOB = 0x10001,
    SOFT = 1,
    KERNEL = 2,
    VERBS = 3,
};

/* ---- the kinds of NICs: what they can do is theirs, groups are not opened ---- */

static enum myr_status prepare(void *nic, const struct myr_site *site,
                               const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                               const void *context, struct myr_nic_group *group, void *blob,
                               struct myr_error *error)
{
    (void)nic;
    (void)site;
    (void)members;
    (void)schedule_of;
    (void)context;
    (void)group;
    (void)blob;
    (void)error;
    return MYR_OK;
}

static struct myr_nic_kind soft, kernel, verbs;
const struct myr_nic_kind *const nicbarr_kinds[] = {&soft, &kernel, &verbs, NULL};

static void take_kinds(void)
{
    soft = myr_soft_kind;
    kernel = myr_kernel_kind;
    verbs = myr_verbs_kind;
    verbs.prepare = prepare;
}

/* ---- the job ---- */

struct node {
    uint64_t identity;
    struct myr_key_pair keys;
    struct myr_segment *segment[PER_NODE]; /* each process's own; NULL: nobody is played there */
};

static struct {
    uint32_t nodes, size;
    struct node node[NODES];
    uint8_t *words[SIZE]; /* what each has told the modex */
    size_t bytes[SIZE];
    ompi_group_t group;
    ompi_communicator_t comm;
    ompi_proc_t own;
    uint64_t digest; /* of schedules */
    uint32_t rank;   /* who is played */
} job;

/* What the played process has done. */
static struct {
    uint32_t gets, gets_most, broadcasts, gathers;
    size_t got_bytes, broadcast_bytes, gathered_bytes;
    const char *declined;
} seen;

/* What rank 0 has sent to all: some words, and for each node a bounded number of bytes. */
enum { BROADCASTS = 2, LETTER_BYTES = 64 + NODES * sizeof(struct myr_sealed) };
static uint8_t letter[BROADCASTS][LETTER_BYTES];
static uint32_t cache_reads;

/* ---- in place of Open MPI, and of parts of the component that are not needed here ---- */

mca_coll_nicbarr_component_t mca_coll_nicbarr_component = {
    .forced = {.algorithm = NICBARR_ALGORITHMS}, .output = -1};

opal_proc_t *opal_proc_local_get(void)
{
    return &job.own.super;
}

ompi_proc_t *ompi_group_get_proc_ptr_raw(ompi_group_t *group, int rank)
{
    return group->grp_proc_pointers[rank];
}

int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes)
{
    (void)component;
    free(job.words[job.rank]);
    job.words[job.rank] = malloc(bytes);
    assert_non_null(job.words[job.rank]);
    memcpy(job.words[job.rank], data, bytes);
    job.bytes[job.rank] = bytes;
    return OMPI_SUCCESS;
}

size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room)
{
    (void)component;
    const size_t bytes = seen.gets < seen.gets_most ? job.bytes[peer->vpid] : 0;
    assert_true(bytes <= room);
    if (0 == bytes) {
        return 0;
    }
    memcpy(data, job.words[peer->vpid], bytes);
    ++seen.gets;
    seen.got_bytes += bytes;
    return bytes;
}

void nicbarr_exits_watch(const opal_process_name_t *name, uint32_t number)
{
    (void)name;
    (void)number;
}

static int broadcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)comm;
    (void)module;
    assert_ptr_equal(type, MPI_BYTE);
    assert_int_equal(root, 0);
    assert_true(seen.broadcasts < BROADCASTS);
    const size_t bytes = (size_t)count;
    assert_true(bytes <= 64 + job.nodes * sizeof(struct myr_sealed));
    if (0 == job.rank) {
        memcpy(letter[seen.broadcasts], buffer, bytes);
    } else {
        memcpy(buffer, letter[seen.broadcasts], bytes);
    }
    ++seen.broadcasts;
    seen.broadcast_bytes += bytes;
    return OMPI_SUCCESS;
}

/* It only counts, and is refused. */
static int gather_all(const void *from, int count, struct ompi_datatype_t *type, void *to,
                      const int *counts, const int *places, struct ompi_datatype_t *to_type,
                      struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)from;
    (void)type;
    (void)to;
    (void)places;
    (void)to_type;
    (void)module;
    assert_int_equal(count, counts[ompi_comm_rank(comm)]);
    ++seen.gathers;
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        assert_true(0 == counts[r] || 0 == r % PER_NODE);
        seen.gathered_bytes += (size_t)counts[r];
    }
    return OMPI_ERR_NOT_AVAILABLE;
}

char *__real_nicbarr_cache_file_text(const char *path, size_t *bytes, struct myr_error *error);
char *__wrap_nicbarr_cache_file_text(const char *path, size_t *bytes, struct myr_error *error);
char *__wrap_nicbarr_cache_file_text(const char *path, size_t *bytes, struct myr_error *error)
{
    __atomic_add_fetch(&cache_reads, 1, __ATOMIC_SEQ_CST);
    return __real_nicbarr_cache_file_text(path, bytes, error);
}

void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why)
{
    (void)comm;
    module->declined = true;
    seen.declined = why;
}

void nicbarr_barrier_event(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_barrier_event event)
{
    (void)comm;
    assert_true(NICBARR_EVENT_CHOSEN != event);
    module->barrier_state = nicbarr_barrier_next(module->barrier_state, event, NULL);
}

void nicbarr_report_note(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         const struct nicbarr_tuning *tuning, const char *declined)
{
    (void)module;
    (void)comm;
    (void)tuning;
    (void)declined;
}

bool nicbarr_say_once(enum nicbarr_saying saying)
{
    (void)saying;
    return false;
}

void nicbarr_progress(void) {}

void nicbarr_complain(const char *format, ...)
{
    fail_msg("%s", format);
}

void nicbarr_open_nics_now(struct nicbarr_hello *hello)
{
    (void)hello;
    fail();
}

uint32_t nicbarr_now_ms(void)
{
    return 0;
}

bool nicbarr_overdue_more(struct myr_nic_group *group, const struct nicbarr_wait *wait)
{
    return myr_nic_group_wait(group, wait->epoch, NICBARR_LOOK_US);
}

uint32_t nicbarr_overdue_silence(struct myr_nic_group *group, const struct nicbarr_wait *wait,
                                 uint32_t *node)
{
    (void)group;
    (void)wait;
    *node = 0;
    return 0;
}

/* ---- all say what they are ---- */

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* What malloc() has given; 0 where it does not tell. */
static size_t allocated(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

static struct myr_nic_name name_of(uint64_t key, uint32_t addresses)
{
    struct myr_nic_name name;
    memset(&name, 0, sizeof(name));
    name.key = key;
    name.count = addresses;
    for (uint32_t a = 0; a < addresses; ++a) {
        memcpy(&name.address[a].ip, &key, sizeof(key));
        name.address[a].port = 7300;
    }
    return name;
}

/* A host with an IPv4 and an IPv6 address, and the kernel's NIC at one of these. */
static struct nicbarr_hello hello_of(uint32_t node, uint32_t number)
{
    struct nicbarr_hello hello = {
        .identity = job.node[node].identity,
        .digest = job.digest,
        .number = number,
        .key = job.node[node].keys.public,
    };
    hello.nic[SOFT] = name_of(1000000 + node, 2);
    hello.nic[KERNEL] = name_of(2000000 + node, 1);
    return hello;
}

static bool is_played(uint32_t node)
{
    return 0 == node || job.nodes / 2 == node || job.nodes - 1 == node;
}

static void join_first(struct node *node)
{
    struct myr_error error = {0};
    assert_int_equal(myr_segment_join(NULL, SEGMENT_BYTES, &node->segment[0], &error), MYR_OK);
}

static void leave(struct node *node, uint32_t local)
{
    myr_segment_leave(node->segment[local]);
    node->segment[local] = NULL;
}

/* Each process of the node joins its segment, where one is played; else the first alone. */
static void make_node(uint32_t n)
{
    struct node *node = &job.node[n];
    struct myr_error error = {0};
    join_first(node);
    for (uint32_t l = 1; is_played(n) && l < PER_NODE; ++l) {
        const int fd = dup(myr_segment_fd(node->segment[0]));
        crew_pretend_another();
        assert_int_equal(myr_segment_join_fd(fd, &node->segment[l], &error), MYR_OK);
        crew_pretend_no_more();
    }
    node->identity = myr_segment_identity(node->segment[0]);
    myr_key_pair_of(node->segment[0], &node->keys);
    if (!is_played(n)) {
        leave(node, 0);
    }
}

/* From here on `rank` is this process, until it stops. */
static void start(uint32_t rank)
{
    static const struct myr_wait_policy policy = {0, 0, 1}; /* nobody waits */
    const uint32_t n = rank / PER_NODE, l = rank % PER_NODE;
    struct node *node = &job.node[n];
    struct myr_segment *segment = node->segment[l];
    const struct nicbarr_hello hello =
        hello_of(n, NULL == segment ? 1 + l : myr_segment_number(segment));
    job.rank = rank;
    job.own.super.proc_name = (opal_process_name_t){JOB, rank};
    job.comm.c_my_rank = (int)rank;
    mca_coll_nicbarr_component.segment = segment;
    if (NULL != segment) {
        myr_waiter_init(&mca_coll_nicbarr_component.waiter, segment, NULL, &policy);
    }
    memset(&seen, 0, sizeof(seen));
    seen.gets_most = job.size;
    ompi_process_info.num_procs = job.size;
    ompi_process_info.num_local_peers = PER_NODE - 1;
    ompi_process_info.my_local_rank = (uint16_t)l;
    assert_int_equal(nicbarr_peers_open(&hello, &node->keys), OMPI_SUCCESS);
}

static void stop(void)
{
    nicbarr_peers_close();
    mca_coll_nicbarr_component.segment = NULL;
}

static void begin_job(uint32_t nodes)
{
    static ompi_proc_t *sentinels[SIZE]; /* processes that Open MPI has not met, as it has them */
    job.digest = nicbarr_schedules_digest();
    job.nodes = nodes;
    job.size = nodes * PER_NODE;
    for (uint32_t r = 0; r < job.size; ++r) {
        sentinels[r] =
            (ompi_proc_t *)ompi_proc_name_to_sentinel((opal_process_name_t){JOB, r}); // NOLINT
    }
    job.group.grp_proc_count = (int)job.size;
    job.group.grp_proc_pointers = sentinels;
    job.group.grp_flags = OMPI_GROUP_DENSE;
    job.comm.c_local_group = &job.group;
    for (uint32_t n = 0; n < nodes; ++n) {
        make_node(n);
    }
    for (uint32_t r = 0; r < job.size; ++r) {
        start(r);
        stop();
    }
}

static void end_job(void)
{
    for (uint32_t r = 0; r < job.size; ++r) {
        free(job.words[r]);
        job.words[r] = NULL;
    }
    for (uint32_t n = 0; n < job.nodes; ++n) {
        for (uint32_t l = 0; l < PER_NODE; ++l) {
            if (NULL != job.node[n].segment[l]) {
                leave(&job.node[n], l);
            }
        }
    }
}

/* ---- some of them set up ---- */

/* What a process has come to: equal on all members. */
struct agreed {
    struct nicbarr_shape shape;
    uint64_t nodes; /* a digest of who is where, and of the NICs' names */
    struct mcp_secret secret;
    struct nicbarr_choice choice;
    enum nicbarr_source source;
    bool sealed;
};

/* What that has taken. */
struct taken {
    uint32_t gets, told, broadcasts;
    size_t got_bytes, broadcast_bytes, blob_bytes;
    double us;
    size_t kept, once_more; /* memory, for the first communicator and for another one */
};

static uint64_t digest_of_nodes(const struct nicbarr_nodes *nodes)
{
    uint64_t digest = nicbarr_digest(0, nodes->firsts, nodes->nodes * sizeof(*nodes->firsts));
    digest = nicbarr_digest(digest, nodes->ranks, nodes->nodes * sizeof(*nodes->ranks));
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        for (uint32_t n = 0; NULL != nodes->names[nic] && n < nodes->nodes; ++n) {
            digest = nicbarr_digest(digest, nodes->names[nic][n], sizeof(*nodes->names[nic][n]));
        }
    }
    return digest;
}

static void set_up(mca_coll_nicbarr_module_t *module)
{
    memset(module, 0, sizeof(*module));
    module->bcast.function = broadcast;
    module->allgatherv.function = gather_all;
    assert_int_equal(nicbarr_across_set_up(module, &job.comm), OMPI_SUCCESS);
    if (module->declined) {
        fail_msg("it is declined: %s", seen.declined);
    }
}

/* The bytes that both groups of MPI_Barrier and MPI_Ibarrier have to exchange, if they are `nic`'s.
 */
static size_t exchange_blobs(mca_coll_nicbarr_module_t *module, uint32_t nic)
{
    struct myr_error errors[NICBARR_NICS_MOST] = {{0}};
    const struct nicbarr_choice choice = {NICBARR_DISSEMINATION, 1, nic};
    struct nicbarr_joining list[] = {{.choice = choice, .group = &module->nic},
                                     {.choice = choice, .group = &module->split}};
    (void)nicbarr_groups_join(module, &job.comm, list, 2, errors);
    assert_int_equal(seen.gathers, 1);
    return seen.gathered_bytes;
}

static void play(uint32_t rank, struct agreed *agreed, struct taken *taken)
{
    static mca_coll_nicbarr_module_t module, another;
    start(rank);
    const size_t before = allocated();
    const double start_us = now_us();
    set_up(&module);
    *taken = (struct taken){.gets = seen.gets,
                            .told = job.size - seen.gets,
                            .broadcasts = seen.broadcasts,
                            .got_bytes = seen.got_bytes,
                            .broadcast_bytes = seen.broadcast_bytes,
                            .us = now_us() - start_us,
                            .kept = allocated() - before};
    memset(agreed, 0, sizeof(*agreed));
    agreed->shape = module.shape;
    agreed->nodes = digest_of_nodes(&module.nodes);
    agreed->secret = module.secret;
    agreed->choice = module.choice;
    agreed->source = module.source;
    agreed->sealed = module.sealed;
    assert_int_equal(module.nodes.node, rank / PER_NODE);
    assert_int_equal(module.nodes.local, rank % PER_NODE);
    assert_int_equal(module.nodes.locals, PER_NODE);
    taken->blob_bytes = 0 == verbs.caps.blob ? 0 : exchange_blobs(&module, VERBS);

    const size_t between = allocated();
    set_up(&another);
    taken->once_more = allocated() - between;
    assert_int_equal(seen.gets, taken->gets); /* nobody is asked twice */
    nicbarr_nodes_free(&another.nodes);
    nicbarr_nodes_free(&module.nodes);
    stop();
}

/* ---- the tests ---- */

static void print_set_up(const char *who, const struct taken *taken)
{
    printf("%s of %u processes on %u nodes: %u hellos read by the modex (%zu bytes), %u in the "
           "segment; %u broadcast of %zu bytes; %.1f ms of processor time; %zu bytes kept (%.1f a "
           "process), %zu for one more communicator; blobs of RDMA NICs %zu bytes\n",
           who, job.size, job.nodes, taken->gets, taken->got_bytes, taken->told, taken->broadcasts,
           taken->broadcast_bytes, taken->us * 1e-3, taken->kept, (double)taken->kept / job.size,
           taken->once_more, taken->blob_bytes);
}

/* All processes of the first node ask at once: none gets further than its share before the others
 * have asked for theirs, so none asks for more. */
static void share_out(void)
{
    uint32_t sum = 0, most = 0;
    for (uint32_t l = 0; l < PER_NODE; ++l) {
        start(l);
        seen.gets_most = job.nodes;
        free(nicbarr_peers_of(&job.comm));
        sum += seen.gets;
        most = seen.gets > most ? seen.gets : most;
        stop();
    }
    printf("%d of a node that ask at once: up to %u hellos by the modex each, %u together\n",
           PER_NODE, most, sum);
    assert_int_equal(sum, job.size - PER_NODE);
    assert_true(most <= job.nodes);
}

/* A communicator of all; returns what it has taken rank 0, and in `other` another one. */
static struct taken play_some(uint32_t nodes, struct taken *other)
{
    struct agreed agreed[PLAYED];
    struct taken taken[PLAYED];
    begin_job(nodes);
    share_out();
    const uint32_t middle = nodes / 2 * PER_NODE;
    const uint32_t rank[PLAYED] = {
        0, 1, PER_NODE - 1, middle, middle + 5, job.size - 1, job.size - PER_NODE};
    for (uint32_t p = 0; p < PLAYED; ++p) {
        const bool alone = middle == rank[p] || job.size - 1 == rank[p]; /* before its neighbours */
        play(rank[p], &agreed[p], &taken[p]);
        assert_memory_equal(&agreed[p], &agreed[0], sizeof(agreed[0]));
        assert_int_equal(taken[p].broadcasts, taken[0].broadcasts);
        assert_int_equal(taken[p].broadcast_bytes, taken[0].broadcast_bytes);
        assert_int_equal(taken[p].blob_bytes, taken[0].blob_bytes);
        assert_int_equal(taken[p].gets, alone ? job.size - PER_NODE : 0);
    }
    assert_int_equal(agreed[0].shape.nodes, nodes);
    assert_int_equal(agreed[0].shape.processes, job.size);
    assert_int_equal(agreed[0].shape.players, 1 << SOFT | 1 << KERNEL);
    assert_int_equal(agreed[0].sealed, myr_seals());
    print_set_up("rank 0, whose neighbours have asked,", &taken[0]);
    print_set_up("rank 1, whose neighbours have asked,", &taken[1]);
    print_set_up("the last rank, which asks alone,", &taken[PLAYED - 2]);
    const size_t bytes = myr_segment_bytes(job.node[0].segment[0]);
    printf("the segment of a node has %zu bytes\n", bytes);
    assert_true(bytes <= ((size_t)1 << 20) + (size_t)job.size * 256);
    *other = taken[PLAYED - 1];
    return taken[0];
}

static void print_modex(void)
{
    struct nicbarr_hello hello;
    size_t sum = 0, most = 0;
    for (uint32_t r = 0; r < job.size; ++r) {
        sum += job.bytes[r];
        most = job.bytes[r] > most ? job.bytes[r] : most;
    }
    const double start_us = now_us();
    for (uint32_t r = 0; r < job.size; ++r) {
        assert_true(nicbarr_hello_read(job.words[r], job.bytes[r], &hello));
    }
    printf("modex of %u processes: %zu bytes, %zu for a hello at the most; %.0f ns to read one\n",
           job.size, sum, most, (now_us() - start_us) * 1e3 / job.size);
    assert_true(most <= 256);
}

/* All ranks count the same nodes: one process's words, with the eyes of a rank of each node. */
static void check_census(void)
{
    uint64_t first = 0;
    start(0);
    const struct nicbarr_peer **peers = nicbarr_peers_of(&job.comm);
    assert_non_null(peers);
    const double start_us = now_us();
    for (uint32_t n = 0; n < job.nodes; ++n) {
        struct nicbarr_nodes nodes;
        const uint32_t local = n % PER_NODE;
        job.comm.c_my_rank = (int)(n * PER_NODE + local);
        assert_int_equal(nicbarr_peers_census(peers, &job.comm, 1 << KERNEL, &nodes),
                         NICBARR_COUNTED);
        const uint64_t digest = digest_of_nodes(&nodes);
        first = 0 == n ? digest : first;
        assert_int_equal(digest, first);
        assert_int_equal(nodes.nodes, job.nodes);
        assert_int_equal(nodes.node, n);
        assert_int_equal(nodes.local, local);
        nicbarr_nodes_free(&nodes);
    }
    printf("census of %u processes: %.0f us\n", job.size, (now_us() - start_us) / job.nodes);
    free(peers);
    stop();
}

static void test_set_up(void **state)
{
    struct taken other, few_other;
    (void)state;
    const struct taken few = play_some(FEW_NODES, &few_other);
    end_job();
    const struct taken many = play_some(NODES, &other);
    print_modex();
    check_census();
    end_job();

    /* One broadcast, whatever the size. */
    assert_int_equal(many.broadcasts, 1);
    assert_int_equal(few.broadcasts, 1);
    assert_true(many.blob_bytes <= (size_t)NODES * 2 * (sizeof(uint32_t) + MYR_BLOB_MOST));

    /* What is kept: for each process of the job once, for each node in each communicator. */
    assert_true(many.kept <= (size_t)SIZE * 64);
    assert_true(other.kept <= (size_t)SIZE * 64);
    assert_true(many.once_more <= NODES * (2 * sizeof(void *) + 2 * sizeof(uint32_t)) + 256);
    printf("of Open MPI, for comparison: %zu bytes for each process of a group, %zu for each that "
           "is met (ompi_proc_t)\n",
           sizeof(ompi_proc_t *), sizeof(ompi_proc_t));
}

/* What the nodes' NICs send in a barrier, by each algorithm that is worth trying. */
static void test_barriers(void **state)
{
    const struct nicbarr_shape shape = {.nodes = NODES,
                                        .processes = SIZE,
                                        .homes = 1,
                                        .processors = PER_NODE,
                                        .players = 1 << SOFT};
    struct nicbarr_choice choices[NICBARR_CANDIDATES];
    uint32_t rounds = 0;
    (void)state;
    while (UINT32_C(1) << rounds < NODES) {
        ++rounds;
    }
    const int count = nicbarr_candidates(&shape, choices);
    for (int c = 1; c < count; ++c) { /* the first is Open MPI's own */
        char name[NICBARR_CHOICE_TEXT];
        uint32_t most = 0, of_first = 0;
        for (uint32_t n = 0; n < NODES; ++n) {
            struct myr_schedule schedule;
            assert_true(nicbarr_schedule_create(choices[c], NODES, n, &schedule));
            const uint32_t sends = myr_schedule_lengths(&schedule).sends;
            of_first = 0 == n ? sends : of_first;
            most = sends > most ? sends : most;
            nicbarr_schedule_destroy(&schedule);
        }
        printf("a barrier of %d nodes, %s: node 0 sends %u messages, others up to %u\n", NODES,
               nicbarr_choice_name(choices[c], name), of_first, most);
        assert_true(most <= (choices[c].parameter + 1) * rounds);
    }
}

/* The first and the second barrier of a communicator of `size` processes, of which those from
 * `rank` on are on this node: who opens the tuning cache? */
static uint32_t count_reads(uint32_t rank, uint32_t size)
{
    const uint32_t before = cache_reads;
    job.group.grp_proc_count = (int)size;
    for (uint32_t r = rank; r < rank + PER_NODE && r < size; ++r) {
        job.comm.c_my_rank = (int)r;
        nicbarr_cache_soon(&job.comm, 0);
        nicbarr_cache_soon(&job.comm, 1);
        while (0 == r && !nicbarr_cache_ready()) { /* a thread reads it */
            (void)usleep(100);
        }
    }
    return cache_reads - before;
}

static void test_cache(void **state)
{
    char folder[100], path[120];
    uint32_t of_all = 0, of_nodes = 0;
    (void)state;
    crew_folder_make(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/tuning.jsonl", folder);
    mca_coll_nicbarr_component.parameters.cache = path;
    job.comm.c_local_group = &job.group;
    for (uint32_t n = 0; n < NODES; ++n) {
        join_first(&job.node[n]);
        mca_coll_nicbarr_component.segment = job.node[n].segment[0];
        of_all += count_reads(n * PER_NODE, SIZE);
        of_nodes += count_reads(0, PER_NODE);
        assert_int_equal(count_reads(0, PER_NODE / 2), 0); /* another communicator there */
        leave(&job.node[n], 0);
    }
    printf("tuning cache: of %d processes %u opens the file for a communicator of all, %u more for "
           "communicators on each node\n",
           SIZE, of_all, of_nodes);
    assert_int_equal(of_all, 1);
    assert_int_equal(of_nodes, NODES - 1);
    mca_coll_nicbarr_component.segment = NULL;
    crew_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_up),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_cache),
    };
    crew_watchdog();
    take_kinds();
    nicbarr_choice_nics(nicbarr_nic_names());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
