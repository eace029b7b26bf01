/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the cost of setting up a communicator grows with its number of processes no more than
 * necessary. A failure means that large jobs start slowly or use much memory.
 *
 * The test sets up a communicator of 65,536 processes on 1,024 nodes with the component's own code
 * (peers.c, members.c, sharing.c, across.c, groups.c, known.c, files/), but without a job. All
 * processes publish their hello. Some are simulated completely, one after the other, and the test
 * counts and prints their reads, messages and allocations. The test uses Open MPI's headers and
 * hash table, and a communicator built by hand. It replaces the modex and the collectives of the
 * underlying components.
 *
 * Only numbers of operations and bytes decide the result, on 1,024 nodes, and on 16 for costs that
 * must not grow. Times are only printed.
 */
#include <unistd.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/choice/known.h"
#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/peers.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/overdue.h"
#include "libmyr/groups/group_ops.h"
#include "ompi/exits.h"
#include "ompi/modex.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    NODES = 1024,
    FEW_NODES = 16,
    PER_NODE = 64,
    SIZE = NODES * PER_NODE,
    SIMULATED = 7,             /* ranks: on the first node, in the middle, and on the last node */
    SEGMENT_BYTES = 256 << 20, /* the default */
    JOB = 0x10001,
    SOFT = 1,
    KERNEL = 2,
    VERBS = 3,
};

/* ---- the kinds of NICs: real capabilities, but groups are not opened ---- */

static enum myr_status prepare(void *nic, const struct myr_site *site,
                               const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                               const void *context, struct myr_nic_group *group, void *blob,
                               struct myr_error *error)
{
    (void)nic, (void)site, (void)members, (void)schedule_of, (void)context, (void)group, (void)blob,
        (void)error;
    return MYR_OK;
}

static struct myr_nic_kind soft, kernel, verbs;
const struct myr_nic_kind *const nicbarr_kinds[] = {&soft, &kernel, &verbs, NULL};

static void copy_kinds(void)
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
    struct myr_segment *segment[PER_NODE]; /* each process's segment; NULL: not simulated */
};

static struct {
    uint32_t nodes, size;
    struct node node[NODES];
    uint8_t *published[SIZE]; /* published in the modex by each process */
    size_t bytes[SIZE];
    ompi_group_t group;
    ompi_communicator_t comm;
    ompi_proc_t own;
    uint64_t digest; /* digest of the schedules */
    uint32_t rank;   /* rank of the simulated process */
} job;

/* The costs of the simulated process's set-up. */
static struct costs {
    uint32_t gets, broadcasts, gathers;
    uint32_t vain; /* queries for the hello of a process that has published none */
    size_t got_bytes, broadcast_bytes;
    size_t blob_bytes; /* exchanged for the groups of MPI_Barrier and MPI_Ibarrier on RDMA NICs */
    double us;
    size_t kept, once_more; /* memory for the first communicator, and for another one */
} seen;

static uint32_t gets_limit; /* further hellos are not there yet */

/* The broadcasts of rank 0: a few bytes, and a bounded number of bytes for each node. */
enum { BROADCASTS = 2, LETTER_BYTES = 64 + NODES * sizeof(struct myr_sealed) };
static uint8_t letter[BROADCASTS][LETTER_BYTES];
static uint32_t cache_reads;

/* ---- replacements of Open MPI, and of unnecessary parts of the component ---- */

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
    free(job.published[job.rank]);
    job.published[job.rank] = malloc(bytes);
    assert_non_null(job.published[job.rank]);
    memcpy(job.published[job.rank], data, bytes);
    job.bytes[job.rank] = bytes;
    return OMPI_SUCCESS;
}

size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room)
{
    (void)component;
    const size_t bytes = seen.gets < gets_limit ? job.bytes[peer->vpid] : 0;
    assert_true(bytes <= room);
    if (0 == bytes) {
        ++seen.vain;
        return 0;
    }
    memcpy(data, job.published[peer->vpid], bytes);
    ++seen.gets;
    seen.got_bytes += bytes;
    return bytes;
}

void nicbarr_exits_watch(const opal_process_name_t *name, uint32_t number)
{
    (void)name, (void)number;
}

static int broadcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)comm, (void)module;
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

/* Count the call, and fail. */
static int gather_all(const void *from, int count, struct ompi_datatype_t *type, void *to,
                      const int *counts, const int *displs, struct ompi_datatype_t *to_type,
                      struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)from, (void)type, (void)to, (void)displs, (void)to_type, (void)module;
    assert_int_equal(count, counts[ompi_comm_rank(comm)]);
    ++seen.gathers;
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        assert_true(0 == counts[r] || 0 == r % PER_NODE);
        seen.blob_bytes += (size_t)counts[r];
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

void nicbarr_end_without_memory(ompi_communicator_t *comm)
{
    (void)comm;
    fail();
    abort();
}

void nicbarr_decline(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, const char *why)
{
    (void)comm;
    module->declined = true;
    fail_msg("the communicator was declined: %s", why);
}

void nicbarr_barrier_event(mca_coll_nicbarr_module_t *module, enum nicbarr_barrier_event event)
{
    assert_true(NICBARR_EVENT_CHOSEN != event);
    module->barrier_state = nicbarr_barrier_next(module->barrier_state, event, NULL);
}

void nicbarr_report_record(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const struct nicbarr_tuning *tuning, const char *declined)
{
    (void)module, (void)comm, (void)tuning, (void)declined;
}

bool nicbarr_warn_once(enum nicbarr_message message)
{
    (void)message;
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
    return myr_nic_group_wait(group, wait->epoch, NICBARR_CHECK_US);
}

uint32_t nicbarr_overdue_silence(struct myr_nic_group *group, struct nicbarr_wait *wait,
                                 uint32_t *node)
{
    (void)group, (void)wait;
    *node = 0;
    return 0;
}

/* ---- the modex ---- */

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

/* Returns the hello of a host with an IPv4 and an IPv6 address, and a kernel NIC at one of
 * them. */
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

static bool is_simulated(uint32_t node)
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

/* Make a node. All its processes join its segment if one of them is simulated, otherwise only the
 * first. */
static void make_node(uint32_t n)
{
    struct node *node = &job.node[n];
    struct myr_error error = {0};
    join_first(node);
    for (uint32_t l = 1; is_simulated(n) && l < PER_NODE; ++l) {
        const int fd = dup(myr_segment_fd(node->segment[0]));
        crew_pretend_another();
        assert_int_equal(myr_segment_join_fd(fd, &node->segment[l], &error), MYR_OK);
        crew_pretend_no_more();
    }
    node->identity = myr_segment_identity(node->segment[0]);
    myr_key_pair_of(node->segment[0], &node->keys);
    if (!is_simulated(n)) {
        leave(node, 0);
    }
}

/* Act as `rank` until stop(). */
static void start(uint32_t rank)
{
    static const struct myr_wait_policy policy = {0, 0, 1}; /* never used */
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
    gets_limit = job.size;
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

/* Begin a job in which every `step`-th process has the component, from the first one on. */
static void begin_job(uint32_t nodes, uint32_t step)
{
    static ompi_proc_t *sentinels[SIZE]; /* processes without an ompi_proc_t, as in Open MPI */
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
    for (uint32_t r = 0; r < job.size; r += step) {
        start(r);
        stop();
    }
}

static void end_job(void)
{
    for (uint32_t r = 0; r < job.size; ++r) {
        free(job.published[r]);
        job.published[r] = NULL;
        job.bytes[r] = 0;
    }
    for (uint32_t n = 0; n < job.nodes; ++n) {
        for (uint32_t l = 0; l < PER_NODE; ++l) {
            if (NULL != job.node[n].segment[l]) {
                leave(&job.node[n], l);
            }
        }
    }
}

/* ---- the set-up of some processes ---- */

/* A digest of the ranks by node, and of the NICs' names, which must be equal on all members. */
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
    static mca_coll_base_comm_coll_t table = {.coll_bcast = broadcast,
                                              .coll_allgatherv = gather_all};
    memset(module, 0, sizeof(*module));
    job.comm.c_coll = &table;
    (void)nicbarr_openmpi_save(&module->openmpi, &job.comm);
    assert_int_equal(nicbarr_across_set_up(module, &job.comm), OMPI_SUCCESS);
}

/* Exchange blobs for both groups of MPI_Barrier and MPI_Ibarrier on RDMA NICs. */
static void exchange_blobs(mca_coll_nicbarr_module_t *module)
{
    struct myr_error errors[NICBARR_NICS_MOST] = {{0}};
    const struct nicbarr_choice choice = {NICBARR_DISSEMINATION, 1, VERBS};
    struct nicbarr_joining list[] = {{.choice = choice, .group = &module->nic},
                                     {.choice = choice, .group = &module->split}};
    (void)nicbarr_groups_join(module, &job.comm, list, 2, errors);
    assert_int_equal(seen.gathers, 1);
}

/* Simulate the set-up of this process. Returns a digest of its result, which must be equal on all
 * members. */
static uint64_t simulate(uint32_t rank, struct costs *costs)
{
    static mca_coll_nicbarr_module_t module, another;
    start(rank);
    const size_t before = crew_allocated();
    const double start_us = crew_cpu_us();
    set_up(&module);
    seen.us = crew_cpu_us() - start_us;
    seen.kept = crew_allocated() - before;
    assert_int_equal(module.nodes.node, rank / PER_NODE);
    assert_int_equal(module.nodes.local, rank % PER_NODE);
    assert_int_equal(module.nodes.locals, PER_NODE);
    assert_int_equal(module.shape.nodes, job.nodes);
    assert_int_equal(module.shape.processes, job.size);
    assert_int_equal(module.shape.nics, 1 << SOFT | 1 << KERNEL);
    assert_int_equal(module.sealed, myr_seals());
    uint64_t digest = digest_of_nodes(&module.nodes);
    digest = nicbarr_digest(digest, &module.shape, sizeof(module.shape));
    digest = nicbarr_digest(digest, &module.secret, sizeof(module.secret));
    digest = nicbarr_digest(digest, &module.choice, sizeof(module.choice));
    digest = nicbarr_digest(digest, &module.source, sizeof(module.source));

    if (0 != verbs.caps.blob) {
        exchange_blobs(&module);
    }
    *costs = seen;

    const size_t between = crew_allocated();
    set_up(&another);
    costs->once_more = crew_allocated() - between;
    assert_int_equal(seen.gets, costs->gets); /* no hello is read twice */
    nicbarr_nodes_free(&another.nodes);
    nicbarr_nodes_free(&module.nodes);
    stop();
    return digest;
}

/* ---- the tests ---- */

static void print_set_up(const char *description, const struct costs *costs)
{
    printf("%s of %u processes on %u nodes: %u hellos read from the modex (%zu bytes), %u from the "
           "segment; %u broadcast of %zu bytes; %.1f ms of CPU time; %zu bytes kept (%.1f per "
           "process), %zu for one more communicator; blobs of RDMA NICs %zu bytes\n",
           description, job.size, job.nodes, costs->gets, costs->got_bytes, job.size - costs->gets,
           costs->broadcasts, costs->broadcast_bytes, costs->us * 1e-3, costs->kept,
           (double)costs->kept / job.size, costs->once_more, costs->blob_bytes);
}

/* All processes of the first node read hellos concurrently: each claims its share before the
 * others have claimed theirs, so that no process reads more. */
static void share_out(void)
{
    uint32_t sum = 0, most = 0;
    for (uint32_t l = 0; l < PER_NODE; ++l) {
        start(l);
        gets_limit = job.nodes;
        free(nicbarr_peers_of(&job.comm));
        sum += seen.gets;
        most = seen.gets > most ? seen.gets : most;
        stop();
    }
    printf("%d concurrent processes of a node: up to %u hellos from the modex each, %u in total\n",
           PER_NODE, most, sum);
    assert_int_equal(sum, job.size - PER_NODE);
    assert_true(most <= job.nodes);
}

/* Set up a communicator of all processes. Returns the costs of rank 0, and in `other` those of
 * another node's first rank. */
static struct costs simulate_some(uint32_t nodes, struct costs *other)
{
    struct costs costs[SIMULATED];
    uint64_t first = 0;
    begin_job(nodes, 1);
    share_out();
    const uint32_t middle = nodes / 2 * PER_NODE;
    const uint32_t rank[SIMULATED] = {
        0, 1, PER_NODE - 1, middle, middle + 5, job.size - 1, job.size - PER_NODE};
    for (uint32_t p = 0; p < SIMULATED; ++p) {
        const bool alone = middle == rank[p] || job.size - 1 == rank[p]; /* the first of its node */
        const uint64_t digest = simulate(rank[p], &costs[p]);
        first = 0 == p ? digest : first;
        assert_int_equal(digest, first);
        assert_int_equal(costs[p].broadcasts, costs[0].broadcasts);
        assert_int_equal(costs[p].broadcast_bytes, costs[0].broadcast_bytes);
        assert_int_equal(costs[p].blob_bytes, costs[0].blob_bytes);
        assert_int_equal(costs[p].gets, alone ? job.size - PER_NODE : 0);
    }
    print_set_up("rank 0, after its neighbours,", &costs[0]);
    print_set_up("rank 1, after its neighbours,", &costs[1]);
    print_set_up("the last rank, before its neighbours,", &costs[SIMULATED - 2]);
    const size_t bytes = myr_segment_bytes(job.node[0].segment[0]);
    printf("the segment of a node has %zu bytes\n", bytes);
    assert_true(bytes <= ((size_t)1 << 20) + (size_t)job.size * 256);
    *other = costs[SIMULATED - 1];
    return costs[0];
}

static void print_modex(void)
{
    struct nicbarr_hello hello;
    size_t sum = 0, most = 0;
    for (uint32_t r = 0; r < job.size; ++r) {
        sum += job.bytes[r];
        most = job.bytes[r] > most ? job.bytes[r] : most;
    }
    const double start_us = crew_cpu_us();
    for (uint32_t r = 0; r < job.size; ++r) {
        assert_true(nicbarr_hello_read(job.published[r], job.bytes[r], &hello));
    }
    printf("modex of %u processes: %zu bytes, at most %zu per hello; %.0f ns to read one\n",
           job.size, sum, most, (crew_cpu_us() - start_us) * 1e3 / job.size);
    assert_true(most <= 256);
}

/* All ranks compute the same nodes. To save time, a rank of each node uses the hellos that rank 0
 * has read. */
static void check_census(void)
{
    uint64_t first = 0;
    start(0);
    const struct nicbarr_peer **peers = nicbarr_peers_of(&job.comm);
    assert_non_null(peers);
    const double start_us = crew_cpu_us();
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
    printf("census of %u processes: %.0f us\n", job.size, (crew_cpu_us() - start_us) / job.nodes);
    free(peers);
    stop();
}

TEST(test_set_up)
{
    struct costs other, few_other;
    const struct costs few = simulate_some(FEW_NODES, &few_other);
    end_job();
    const struct costs many = simulate_some(NODES, &other);
    print_modex();
    check_census();
    end_job();

    /* There is one broadcast for any size. */
    assert_int_equal(many.broadcasts, 1);
    assert_int_equal(few.broadcasts, 1);
    assert_true(many.blob_bytes <= (size_t)NODES * 2 * (sizeof(uint32_t) + MYR_BLOB_MOST));

    /* Memory is allocated once for each process of the job, and for each node in each
     * communicator. */
    assert_true(many.kept <= (size_t)SIZE * 64);
    assert_true(other.kept <= (size_t)SIZE * 64);
    assert_true(many.once_more <= NODES * (2 * sizeof(void *) + 2 * sizeof(uint32_t)) + 256);
    printf("Open MPI, for comparison: %zu bytes per process of a group, %zu per process that "
           "has an ompi_proc_t\n",
           sizeof(ompi_proc_t *), sizeof(ompi_proc_t));
}

/* If half of the processes lack the component, the communicator is left to Open MPI. The modex may
 * take half a minute to find out that a process has published no hello, so no process queries it
 * for two of them, not even when a second communicator is set up. */
TEST(test_lacking)
{
    const uint32_t ranks[] = {0, 2, FEW_NODES / 2 * PER_NODE, FEW_NODES * PER_NODE - 2};
    begin_job(FEW_NODES, 2);
    for (uint32_t p = 0; p < sizeof(ranks) / sizeof(ranks[0]); ++p) {
        mca_coll_nicbarr_module_t module;
        memset(&module, 0, sizeof(module));
        start(ranks[p]);
        for (uint32_t again = 0; again < 2; ++again) {
            assert_false(nicbarr_members_lack_nics(&job.comm));
            const char *why = nicbarr_nodes_determine(&module, &job.comm);
            assert_non_null(why);
            assert_non_null(strstr(why, " does not have the component"));
            assert_int_equal(strtoul(why + strlen("process "), NULL, 10) % 2, 1);
            assert_int_equal(seen.vain, 1);
        }
        stop();
    }
    end_job();
}

/* Returns how many processes of this node, beginning at `rank`, open the tuning cache in the
 * first two barriers of a communicator of `size` processes. */
static uint32_t count_reads(uint32_t rank, uint32_t size)
{
    const uint32_t before = cache_reads;
    job.group.grp_proc_count = (int)size;
    for (uint32_t r = rank; r < rank + PER_NODE && r < size; ++r) {
        job.comm.c_my_rank = (int)r;
        nicbarr_cache_prefetch(&job.comm, 0);
        nicbarr_cache_prefetch(&job.comm, 1);
        while (0 == r && !nicbarr_cache_ready()) { /* read by a thread */
            (void)usleep(100);
        }
    }
    return cache_reads - before;
}

TEST(test_cache)
{
    char dir[100], path[120];
    uint32_t of_all = 0, of_nodes = 0;
    crew_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/tuning.jsonl", dir);
    mca_coll_nicbarr_component.parameters.cache = path;
    job.comm.c_local_group = &job.group;
    for (uint32_t n = 0; n < NODES; ++n) {
        join_first(&job.node[n]);
        mca_coll_nicbarr_component.segment = job.node[n].segment[0];
        of_all += count_reads(n * PER_NODE, SIZE);
        of_nodes += count_reads(0, PER_NODE);
        assert_int_equal(count_reads(0, PER_NODE / 2), 0); /* another communicator on the node */
        leave(&job.node[n], 0);
    }
    printf("tuning cache: of %d processes, %u opens the file for a communicator of all, and %u "
           "more for communicators on each node\n",
           SIZE, of_all, of_nodes);
    assert_int_equal(of_all, 1);
    assert_int_equal(of_nodes, NODES - 1);
    mca_coll_nicbarr_component.segment = NULL;
    crew_dir_remove(dir);
}

int main(void)
{
    crew_watchdog();
    copy_kinds();
    nicbarr_choice_nics(nicbarr_nic_names());
    return test_run(NULL);
}
