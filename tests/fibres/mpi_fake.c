/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements the fake Open MPI of mpi_fake.h. */
#include "tests/fibres/mpi_fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ompi/modex.h"
#include "ompi/node.h"
#include "ompi/exits.h"
#include "ompi/survival.h"
#include "opal/mca/base/mca_base_var.h"
#include "tests/unit/crew.h"

enum { CALLBACKS = 8, HELLO_BYTES = 1024, THREADS = 4, NOBODY = FIBRES_MOST };

static const uint64_t second = UINT64_C(1000) * 1000 * 1000;

typedef struct below_request below_request_t;

/* A thread that has not run yet. */
struct thread {
    void *(*run)(void *);
    void *context;
};

static struct {
    struct fake_job job;
    mca_coll_nicbarr_component_t *component[FAKE_RANKS];
    const struct fake_copy *copy[FAKE_RANKS];
    bool open[FAKE_RANKS];
    uint32_t opening; /* the rank whose component is being opened or closed, or NOBODY */
    uint64_t now_ns, random;
    uint64_t switches; /* number of switches of fibres at the last reading of the clock */
    char file[400];    /* the component */
    /* for the marker files of the nodes' segments, copies of the component, NICs and the cache */
    char dir[100];
    char cache[140]; /* path of the cache */
    /* indexed by the locality in the view of a rank */
    ompi_proc_t *near[FAKE_RANKS], *far[FAKE_RANKS];
    struct {
        uint8_t hello[HELLO_BYTES];
        size_t hello_bytes;
        opal_progress_callback_t callback[CALLBACKS];
        uint32_t callbacks;
        below_request_t *pending;
        bool detected; /* whether the rank has detected the death of another one */
        uint32_t late; /* average number of calls of progress until a rank detects a failure */
        struct thread thread[THREADS];
        uint32_t threads;
        uint32_t processors; /* to which it is bound, one bit each */
    } of[FAKE_RANKS];
    uint32_t dead; /* the rank that has died, or NOBODY */
    uint32_t copies;
} world = {.opening = NOBODY, .dead = NOBODY};

/* Returns the rank that is running the component, or NOBODY. */
static uint32_t rank_now(void)
{
    return NOBODY != world.opening ? world.opening : fibres_rank();
}

/* ---- functions of the system that the component calls ---- */

/* The system's or Open MPI's own function with this name, behind the one that this file defines. */
#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (NOBODY == rank_now()) {
        return (int)syscall(SYS_clock_gettime, clock, time);
    }
    const uint64_t steps = 1 + fibres_switches() - world.switches;
    world.switches = fibres_switches();
    world.now_ns += 1 + crew_below(&world.random, world.job.step_ns) * steps;
    time->tv_sec = (time_t)(world.now_ns / second);
    time->tv_nsec = (long)(world.now_ns % second);
    return 0;
}

void fake_pass(uint64_t ns)
{
    world.now_ns += ns;
}

/* The ranks' PIDs are simulated (crew.h). If a rank dies, Open MPI notifies the others. */
int kill(pid_t pid, int signal)
{
    return NOBODY == rank_now() ? (int)syscall(SYS_kill, pid, signal) : 0;
}

/* Returns the time of day, which the cache stores with each measurement. */
time_t time(time_t *copy)
{
    enum { START = 1700000000 };
    if (NOBODY == rank_now()) {
        return REAL(time)(copy);
    }
    return START + (time_t)(world.now_ns / second);
}

/* Only fibres may run. Therefore a thread of the component does not start here, but runs to its end
 * when its rank later calls progress or sleeps. This is impossible for threads of NICs, which run
 * until the NIC is closed; NICs create them while the component is opened, so this function fails
 * then. */
int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *context)
{
    const uint32_t rank = rank_now();
    if (NOBODY == rank) {
        return REAL(pthread_create)(id, attributes, run, context);
    }
    if (NOBODY != world.opening || 0 == world.job.late) {
        return EAGAIN;
    }
    CREW_CHECK(world.of[rank].threads < THREADS, "too many threads");
    world.of[rank].thread[world.of[rank].threads++] = (struct thread){run, context};
    *id = pthread_self();
    return 0;
}

int pthread_detach(pthread_t id)
{
    return NOBODY == rank_now() ? REAL(pthread_detach)(id) : 0;
}

int setpriority(__priority_which_t which, id_t who, int priority)
{
    return NOBODY == rank_now() ? REAL(setpriority)(which, who, priority) : 0;
}

static void run_thread(uint32_t rank)
{
    const struct thread thread = world.of[rank].thread[--world.of[rank].threads];
    (void)thread.run(thread.context);
}

/* Run a thread of the rank with this probability. */
static void perhaps_run_thread(uint32_t rank, uint32_t one_in)
{
    if (0 != world.of[rank].threads && 0 == crew_below(&world.random, one_in)) {
        run_thread(rank);
    }
}

static void sleep_briefly(void)
{
    perhaps_run_thread(rank_now(), 2);
    fibres_yield();
}

int nanosleep(const struct timespec *duration, struct timespec *left)
{
    if (NOBODY == rank_now()) {
        return (int)syscall(SYS_nanosleep, duration, left);
    }
    sleep_briefly();
    return 0;
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout_ms)
{
    if (NOBODY == rank_now() || 0 != count) {
        return REAL(poll)(descriptors, count, timeout_ms);
    }
    sleep_briefly();
    return 0;
}

/* ---- the ranks' processors, and the network ---- */

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    const uint32_t rank = rank_now();
    if (NOBODY == rank) {
        return REAL(sched_getaffinity)(pid, bytes, set);
    }
    if (world.job.rebinds && NOBODY == world.opening && 0 == crew_below(&world.random, 4)) {
        world.of[rank].processors = 1 + crew_below(&world.random, (1 << FAKE_PROCESSORS) - 1);
    }
    CPU_ZERO_S(bytes, set);
    for (int p = 0; p < FAKE_PROCESSORS; ++p) {
        if (0 != (world.of[rank].processors >> p & 1)) {
            CPU_SET_S(p, bytes, set);
        }
    }
    return 0;
}

/* Returns whether the packets of a message are too long. If the message has a control field, the
 * field contains the size of all its packets except the last one; otherwise it is a single packet.
 */
static bool is_lost(const struct msghdr *message)
{
    size_t bytes = 0;
    for (size_t i = 0; i < message->msg_iovlen; ++i) {
        bytes += message->msg_iov[i].iov_len;
    }
    if (0 != message->msg_controllen) {
        uint16_t size;
        memcpy(&size, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof(size));
        bytes = size;
    }
    return 0 != world.job.longest && bytes > world.job.longest;
}

/* Sends one message. If it is lost, the clock advances by a second, so that the loss is detected
 * soon. */
int sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags)
{
    const bool ours = NOBODY != rank_now() && 0 != count;
    if (ours && is_lost(&messages->msg_hdr)) {
        fake_pass(second);
        return 1;
    }
    return REAL(sendmmsg)(socket, messages, ours ? 1 : count, flags);
}

/* ---- functions of Open MPI that the component calls ---- */

static bool below_progress(uint32_t rank);

void opal_progress(void)
{
    const uint32_t rank = rank_now();
    if (NOBODY == rank) {
        REAL(opal_progress)();
        return;
    }
    for (uint32_t c = 0; c < world.of[rank].callbacks; ++c) {
        (void)world.of[rank].callback[c]();
    }
    world.of[rank].detected =
        world.of[rank].detected ||
        (NOBODY != world.dead && 0 == crew_below(&world.random, world.of[rank].late));
    perhaps_run_thread(rank, world.job.late);
    while (below_progress(rank)) {
    }
    world.job.progress(rank);
    fibres_yield();
}

int opal_progress_register(opal_progress_callback_t callback)
{
    const uint32_t rank = rank_now();
    if (NOBODY == rank) {
        return REAL(opal_progress_register)(callback);
    }
    CREW_CHECK(world.of[rank].callbacks < CALLBACKS, "too many progress functions");
    world.of[rank].callback[world.of[rank].callbacks++] = callback;
    return OPAL_SUCCESS;
}

int opal_progress_register_lp(opal_progress_callback_t callback)
{
    return NOBODY == rank_now() ? REAL(opal_progress_register_lp)(callback)
                                : opal_progress_register(callback);
}

int opal_progress_unregister(opal_progress_callback_t callback)
{
    const uint32_t rank = rank_now();
    if (NOBODY == rank) {
        return REAL(opal_progress_unregister)(callback);
    }
    uint32_t left = 0;
    for (uint32_t c = 0; c < world.of[rank].callbacks; ++c) {
        if (callback != world.of[rank].callback[c]) {
            world.of[rank].callback[left++] = world.of[rank].callback[c];
        }
    }
    CREW_CHECK(left + 1 == world.of[rank].callbacks, "the progress function is not registered");
    world.of[rank].callbacks = left;
    return OPAL_SUCCESS;
}

static void print(const char *format, va_list arguments)
{
    if (NOBODY == rank_now() || NULL != getenv("NICBARR_SAY")) {
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
}

void opal_output(int id, const char *format, ...)
{
    va_list arguments;
    (void)id;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

#undef opal_output_verbose
void opal_output_verbose(int level, int id, const char *format, ...)
{
    va_list arguments;
    (void)id;
    va_start(arguments, format);
    if (level <= 0) {
        print(format, arguments);
    }
    va_end(arguments);
}

opal_proc_t *opal_proc_local_get(void)
{
    const uint32_t rank = rank_now();
    return NOBODY == rank ? REAL(opal_proc_local_get)() : &world.near[rank]->super;
}

int ompi_mpi_abort(struct ompi_communicator_t *comm, int code)
{
    (void)comm;
    crew_fail(__FILE__, __LINE__, "no abort", "NICBARR_SEED=0x%llx: rank %u aborts with %d",
              (unsigned long long)world.job.seed, rank_now(), code);
}

int mca_base_component_var_register(const mca_base_component_t *component, const char *name,
                                    const char *description, mca_base_var_type_t type,
                                    mca_base_var_enum_t *enumerator, int bind,
                                    mca_base_var_flag_t flags, mca_base_var_info_lvl_t level,
                                    mca_base_var_scope_t scope, void *storage)
{
    const uint32_t rank = rank_now();
    if (NOBODY == rank) {
        return REAL(mca_base_component_var_register)(component, name, description, type, enumerator,
                                                     bind, flags, level, scope, storage);
    }
    for (uint32_t s = 0; s < world.job.settings; ++s) {
        const struct fake_setting *setting = &world.job.setting[s];
        if (0 == (setting->ranks & UINT32_C(1) << rank) || 0 != strcmp(name, setting->name)) {
            continue;
        }
        switch (type) {
        case MCA_BASE_VAR_TYPE_STRING:
            *(const char **)storage = setting->text;
            break;
        case MCA_BASE_VAR_TYPE_BOOL:
            *(bool *)storage = '1' == *setting->text;
            break;
        default:
            *(int *)storage = atoi(setting->text);
        }
    }
    return 0;
}

int mca_base_component_pvar_register(const mca_base_component_t *component, const char *name,
                                     const char *description, mca_base_var_info_lvl_t level,
                                     int class, mca_base_var_type_t type,
                                     mca_base_var_enum_t *enumerator, int bind,
                                     mca_base_pvar_flag_t flags, mca_base_get_value_fn_t get,
                                     mca_base_set_value_fn_t set, mca_base_notify_fn_t notify,
                                     void *context)
{
    return NOBODY == rank_now()
               ? REAL(mca_base_component_pvar_register)(component, name, description, level, class,
                                                        type, enumerator, bind, flags, get, set,
                                                        notify, context)
               : 0;
}

/* ---- in place of ompi/modex.c and ompi/node.c ---- */

int nicbarr_modex_put(const mca_base_component_t *component, const void *data, size_t bytes)
{
    const uint32_t rank = rank_now();
    (void)component;
    CREW_CHECK(bytes <= HELLO_BYTES, "%zu bytes for the modex", bytes);
    memcpy(world.of[rank].hello, data, bytes);
    world.of[rank].hello_bytes = bytes;
    return OMPI_SUCCESS;
}

size_t nicbarr_modex_get(const mca_base_component_t *component, const opal_process_name_t *peer,
                         void *data, size_t room)
{
    (void)component;
    const size_t bytes = world.of[peer->vpid].hello_bytes;
    CREW_CHECK(bytes <= room, "room for %zu bytes of %zu", room, bytes);
    memcpy(data, world.of[peer->vpid].hello, bytes);
    return bytes;
}

bool nicbarr_next_process(uint32_t *walked, opal_process_name_t *name)
{
    if (*walked >= world.job.ranks) {
        return false;
    }
    *name = world.near[(*walked)++]->super.proc_name;
    return true;
}

const char *nicbarr_wrong_release(void)
{
    return NULL;
}

bool nicbarr_asked_for(const char *list, const char *component)
{
    (void)list;
    (void)component;
    return false;
}

char *nicbarr_node_dir(void)
{
    char *dir;
    return asprintf(&dir, "%s/node%u", world.dir, world.job.across ? rank_now() : 0) < 0 ? NULL
                                                                                         : dir;
}

/* ---- the underlying collectives: calls that members join ---- */

enum kind { BARRIER, ALLREDUCE, REDUCE, BCAST, ALLGATHER, GATHER, SCATTER };

/* Calls of one channel are numbered, and all ranks must make them in the same order. */
enum channel {
    BLOCKING,
    NONBLOCKING,
    PERSISTENT /* each persistent request has a channel, from this number on */,
    CHANNELS = 40
};

/* A rank's arguments. `count` and `type` are those of one rank's block. */
struct arguments {
    enum kind kind;
    int root; /* rank in the communicator; 0 if there is no root */
    const void *from;
    void *to;
    size_t block; /* size of one rank's block */
    int count;
    ompi_datatype_t *type;
    ompi_op_t *op;
};

struct call {
    struct call *next;
    uint32_t comm, channel, number;
    enum kind kind;
    int root;
    size_t block;
    bool stray;            /* the first rank to join had already detected a failure */
    uint32_t joined, left; /* ranks in the communicator, one bit for each */
    uint8_t *data[FAKE_RANKS];
};

typedef struct fake_comm {
    ompi_communicator_t super; /* the first member, because the component uses this type */
    mca_coll_base_comm_coll_t slots;
    ompi_group_t group;
    ompi_proc_t *procs[FAKE_RANKS];
    uint32_t id, rank, size, numbers[CHANNELS], persistent;
    mca_coll_base_module_t *below;
    mca_coll_base_module_t *leaving, *above; /* forwarders, or NULL */
    mca_coll_base_module_t *ours;            /* the component's, or NULL */
    bool checked;                            /* it only compares calls */
} fake_comm_t;

/* Calls are in a hash table, because roots of broadcasts run ahead by thousands of calls. */
enum { BUCKETS = 4096 };
static struct call *calls[BUCKETS];

static struct call **bucket(uint32_t comm, uint32_t channel, uint32_t number)
{
    return &calls[(((comm * CHANNELS + channel) << 8) + number) % BUCKETS];
}

/* Join a call, or create it. Returns NULL if this rank has detected a failure and the other ranks
 * make a different call. The calls cannot complete then, because their messages have different
 * tags.
 */
static struct call *join(fake_comm_t *comm, uint32_t channel, uint32_t number,
                         const struct arguments *arguments)
{
    const uint32_t bit = UINT32_C(1) << comm->rank;
    struct call **first = bucket(comm->id, channel, number);
    struct call *call = *first;
    while (NULL != call &&
           (call->comm != comm->id || call->channel != channel || call->number != number)) {
        call = call->next;
    }
    if (NULL == call) {
        call = calloc(1, sizeof(*call));
        *call = (struct call){.next = *first,
                              .comm = comm->id,
                              .channel = channel,
                              .number = number,
                              .kind = arguments->kind,
                              .root = arguments->root,
                              .block = arguments->block,
                              .stray = OMPI_SUCCESS != nicbarr_comm_failure(&comm->super)};
        *first = call;
    }
    const bool same = call->kind == arguments->kind && call->root == arguments->root &&
                      call->block == arguments->block;
    if (!same && OMPI_SUCCESS != nicbarr_comm_failure(&comm->super)) {
        return NULL;
    }
    if (!same && call->stray) {
        call->kind = arguments->kind;
        call->root = arguments->root;
        call->block = arguments->block;
        call->joined = 0;
        call->stray = false;
    }
    CREW_CHECK(call->kind == arguments->kind && call->root == arguments->root &&
                   call->block == arguments->block,
               "NICBARR_SEED=0x%llx: underlying call %u (channel %u) of communicator %u is "
               "collective %d, root %d, %zu bytes on one rank, and %d, %d, %zu on rank %u",
               (unsigned long long)world.job.seed, number, channel, comm->id, (int)call->kind,
               call->root, call->block, (int)arguments->kind, arguments->root, arguments->block,
               comm->rank);
    CREW_CHECK(0 == (call->joined & bit), "rank %u joins twice", comm->rank);
    call->joined |= bit;
    const bool roots = BCAST == arguments->kind || SCATTER == arguments->kind;
    if (!roots || arguments->root == (int)comm->rank) {
        const size_t bytes =
            SCATTER == arguments->kind ? comm->size * arguments->block : arguments->block;
        call->data[comm->rank] = malloc(bytes + 1);
        if (0 != bytes) {
            memcpy(call->data[comm->rank], arguments->from, bytes);
        }
    }
    return call;
}

/* Returns whether this rank's call can return. */
static bool is_done(const fake_comm_t *comm, const struct call *call)
{
    const bool all = call->joined == (UINT32_C(1) << comm->size) - 1;
    const bool is_root = call->root == (int)comm->rank;
    switch (call->kind) {
    case BARRIER:
    case ALLREDUCE:
    case ALLGATHER:
        return all;
    case REDUCE:
    case GATHER:
        return all || !is_root;
    case BCAST:
    case SCATTER:
        return is_root || 0 != (call->joined & UINT32_C(1) << call->root);
    }
    return false;
}

static void combine(const fake_comm_t *comm, const struct call *call,
                    const struct arguments *arguments)
{
    memcpy(arguments->to, call->data[comm->size - 1], arguments->block);
    for (uint32_t r = comm->size - 1; r > 0; --r) {
        ompi_op_reduce(arguments->op, call->data[r - 1], arguments->to, arguments->count,
                       arguments->type);
    }
}

static void concatenate(const fake_comm_t *comm, const struct call *call,
                        const struct arguments *arguments)
{
    for (uint32_t r = 0; r < comm->size; ++r) {
        memcpy((uint8_t *)arguments->to + r * arguments->block, call->data[r], arguments->block);
    }
}

static void free_call(struct call *call)
{
    for (uint32_t r = 0; r < FAKE_RANKS; ++r) {
        free(call->data[r]);
    }
    free(call);
}

static void take(const fake_comm_t *comm, struct call *call, const struct arguments *arguments)
{
    const bool is_root = call->root == (int)comm->rank;
    if (0 != arguments->block) {
        switch (call->kind) {
        case BARRIER:
            break;
        case ALLREDUCE:
            combine(comm, call, arguments);
            break;
        case REDUCE:
            if (is_root) {
                combine(comm, call, arguments);
            }
            break;
        case ALLGATHER:
            concatenate(comm, call, arguments);
            break;
        case GATHER:
            if (is_root) {
                concatenate(comm, call, arguments);
            }
            break;
        case BCAST:
            if (!is_root) {
                memcpy(arguments->to, call->data[call->root], arguments->block);
            }
            break;
        case SCATTER:
            memcpy(arguments->to, call->data[call->root] + comm->rank * arguments->block,
                   arguments->block);
            break;
        }
    }
    call->left |= UINT32_C(1) << comm->rank;
    if (call->left == (UINT32_C(1) << comm->size) - 1) {
        struct call **at = bucket(call->comm, call->channel, call->number);
        while (*at != call) {
            at = &(*at)->next;
        }
        *at = call->next;
        free_call(call);
    }
}

/* ---- in place of ompi/survival.c ---- */

bool nicbarr_failures_are_survived(void)
{
    return world.job.survives;
}

/* Returns whether a member has died, even if this rank has not detected it. */
static bool has_dead(const ompi_communicator_t *comm)
{
    bool found = false;
    for (int r = 0; NOBODY != world.dead && r < comm->c_local_group->grp_proc_count; ++r) {
        found =
            found || world.dead == comm->c_local_group->grp_proc_pointers[r]->super.proc_name.vpid;
    }
    return found;
}

int nicbarr_comm_failure(ompi_communicator_t *comm)
{
    return world.of[rank_now()].detected && has_dead(comm) ? NICBARR_PROC_FAILED : OMPI_SUCCESS;
}

/* Replaces ompi/exits.c: ranks detect failures at random times. */
void nicbarr_exits_open(struct myr_segment *segment)
{
    (void)segment;
}

void nicbarr_exits_close(void) {}

void nicbarr_exits_watch(const opal_process_name_t *name, uint32_t number)
{
    (void)name;
    (void)number;
}

/* ---- blocking calls ---- */

static int call_blocking(ompi_communicator_t *base, const struct arguments *arguments)
{
    fake_comm_t *comm = (fake_comm_t *)base;
    struct call *call = join(comm, BLOCKING, comm->numbers[BLOCKING]++, arguments);
    while (NULL == call || !is_done(comm, call)) {
        opal_progress();
        if (OMPI_SUCCESS != nicbarr_comm_failure(base)) {
            return NICBARR_PROC_FAILED;
        }
    }
    take(comm, call, arguments);
    return OMPI_SUCCESS;
}

/* ---- requests ---- */

struct below_request {
    ompi_request_t super;
    below_request_t *next; /* of the list of pending requests */
    fake_comm_t *comm;
    struct arguments arguments;
    uint32_t channel;
    struct call *call;
};

static bool below_progress(uint32_t rank)
{
    for (below_request_t **at = &world.of[rank].pending; NULL != *at; at = &(*at)->next) {
        below_request_t *request = *at;
        const int failure = nicbarr_comm_failure(&request->comm->super);
        if (OMPI_SUCCESS != failure) {
            *at = request->next;
            request->super.req_status.MPI_ERROR = failure;
            ompi_request_complete(&request->super, true);
            return true;
        }
        if (NULL != request->call && is_done(request->comm, request->call)) {
            *at = request->next;
            take(request->comm, request->call, &request->arguments);
            ompi_request_complete(&request->super, true);
            return true;
        }
    }
    return false;
}

static int start_one(below_request_t *request)
{
    const uint32_t rank = rank_now();
    fake_comm_t *comm = request->comm;
    request->super.req_complete = REQUEST_PENDING;
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    request->call =
        join(comm, request->channel, comm->numbers[request->channel]++, &request->arguments);
    request->next = world.of[rank].pending;
    world.of[rank].pending = request;
    return OMPI_SUCCESS;
}

static int start_below(size_t count, ompi_request_t **requests)
{
    for (size_t r = 0; r < count; ++r) {
        (void)start_one((below_request_t *)requests[r]);
    }
    return OMPI_SUCCESS;
}

static int free_below(ompi_request_t **handle)
{
    below_request_t *request = (below_request_t *)*handle;
    OMPI_REQUEST_FINI(&request->super);
    OBJ_RELEASE(request->comm);
    OBJ_RELEASE(request);
    *handle = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static OBJ_CLASS_INSTANCE(below_request_t, ompi_request_t, NULL, NULL);

static int new_request(ompi_communicator_t *base, const struct arguments *arguments,
                       bool persistent, ompi_request_t **handle)
{
    fake_comm_t *comm = (fake_comm_t *)base;
    below_request_t *request = OBJ_NEW(below_request_t);
    OMPI_REQUEST_INIT(&request->super, persistent);
    OBJ_RETAIN(comm);
    request->super.req_type = OMPI_REQUEST_COLL;
    request->super.req_free = free_below;
    request->super.req_start = start_below;
    request->super.req_mpi_object.comm = base;
    request->super.req_status = ompi_status_empty;
    request->comm = comm;
    request->arguments = *arguments;
    request->channel = persistent ? PERSISTENT + comm->persistent++ : NONBLOCKING;
    CREW_CHECK(request->channel < CHANNELS, "too many underlying persistent requests");
    *handle = &request->super;
    return persistent ? OMPI_SUCCESS : start_one(request);
}

/* ---- the underlying functions, in MPI's three forms ---- */

static size_t bytes_of(int count, ompi_datatype_t *type)
{
    size_t size;
    ompi_datatype_type_size(type, &size);
    return (size_t)count * size;
}

static struct arguments reduction_arguments(enum kind kind, const void *from, void *to, int count,
                                            ompi_datatype_t *type, ompi_op_t *op, int root)
{
    return (struct arguments){.kind = kind,
                              .root = root,
                              .from = MPI_IN_PLACE == from ? to : from,
                              .to = to,
                              .block = bytes_of(count, type),
                              .count = count,
                              .type = type,
                              .op = op};
}

static struct arguments bytes_arguments(enum kind kind, const void *from, void *to, size_t block,
                                        int root)
{
    return (struct arguments){.kind = kind, .root = root, .from = from, .to = to, .block = block};
}

/* Define a collective in MPI's three forms, from its parameters and the arguments of the call. */
#define THREE_FORMS(name, parameters, arguments_of)                                                \
    static int below_##name(UNPACK parameters ompi_communicator_t *comm,                           \
                            mca_coll_base_module_t *module)                                        \
    {                                                                                              \
        (void)module;                                                                              \
        const struct arguments arguments = arguments_of;                                           \
        return call_blocking(comm, &arguments);                                                    \
    }                                                                                              \
    static int below_i##name(UNPACK parameters ompi_communicator_t *comm, ompi_request_t **handle, \
                             mca_coll_base_module_t *module)                                       \
    {                                                                                              \
        (void)module;                                                                              \
        const struct arguments arguments = arguments_of;                                           \
        return new_request(comm, &arguments, false, handle);                                       \
    }                                                                                              \
    static int below_##name##_init(UNPACK parameters ompi_communicator_t *comm,                    \
                                   struct ompi_info_t *info, ompi_request_t **handle,              \
                                   mca_coll_base_module_t *module)                                 \
    {                                                                                              \
        (void)info;                                                                                \
        (void)module;                                                                              \
        const struct arguments arguments = arguments_of;                                           \
        return new_request(comm, &arguments, true, handle);                                        \
    }
#define UNPACK(...) __VA_ARGS__

#define BLOCKS                                                                                     \
    const void *from, int count, ompi_datatype_t *type, void *to, int to_count,                    \
        ompi_datatype_t *to_type

/* On a rank that is not the root, the parameters that only the root uses are not significant. */
THREE_FORMS(barrier, (), bytes_arguments(BARRIER, NULL, NULL, 0, 0))
THREE_FORMS(allreduce,
            (const void *from, void *to, int count, ompi_datatype_t *type, ompi_op_t *op, ),
            reduction_arguments(ALLREDUCE, from, to, count, type, op, 0))
THREE_FORMS(reduce,
            (const void *from, void *to, int count, ompi_datatype_t *type, ompi_op_t *op,
             int root, ),
            reduction_arguments(REDUCE, from, to, count, type, op, root))
THREE_FORMS(bcast, (void *from, int count, ompi_datatype_t *type, int root, ),
            bytes_arguments(BCAST, from, from, bytes_of(count, type), root))
THREE_FORMS(allgather, (BLOCKS, ),
            ((void)to_count, (void)to_type,
             bytes_arguments(ALLGATHER, from, to, bytes_of(count, type), 0)))
THREE_FORMS(gather, (BLOCKS, int root, ),
            ((void)to_count, (void)to_type,
             bytes_arguments(GATHER, from, to, bytes_of(count, type), root)))
THREE_FORMS(scatter, (BLOCKS, int root, ),
            ((void)count, (void)type,
             bytes_arguments(SCATTER, from, to, bytes_of(to_count, to_type), root)))

/* Supports only bytes, in padded blocks. */
static int below_allgatherv(const void *from, int count, ompi_datatype_t *type, void *to,
                            const int *counts, const int *displs, ompi_datatype_t *to_type,
                            ompi_communicator_t *base, mca_coll_base_module_t *module)
{
    const fake_comm_t *comm = (fake_comm_t *)base;
    size_t most = 0, size;
    ompi_datatype_type_size(type, &size);
    CREW_CHECK(1 == size && type == to_type, "bytes only");
    (void)module;
    for (uint32_t r = 0; r < comm->size; ++r) {
        most = (size_t)counts[r] > most ? (size_t)counts[r] : most;
    }
    uint8_t *own = calloc(1, most + 1), *all = malloc(comm->size * most + 1);
    memcpy(own, from, (size_t)count);
    const struct arguments arguments = bytes_arguments(ALLGATHER, own, all, most, 0);
    const int rc = call_blocking(base, &arguments);
    for (uint32_t r = 0; r < comm->size; ++r) {
        memcpy((uint8_t *)to + displs[r], all + r * most, (size_t)counts[r]);
    }
    free(own);
    free(all);
    return rc;
}

/* The blocking collectives that are called. */
#define BLOCKING_BELOW(each)                                                                       \
    each(barrier) each(allreduce) each(reduce) each(bcast) each(allgather) each(allgatherv)        \
        each(gather) each(scatter)

static mca_coll_base_module_t *make_below(void)
{
    mca_coll_base_module_t *module = OBJ_NEW(mca_coll_base_module_t);
#define OFFER(name) module->coll_##name = below_##name;
    BLOCKING_BELOW(OFFER)
    NICBARR_REQUESTS(OFFER)
    return module;
}

/* ---- components that forward calls ----
 *
 * One has a higher priority than nicbarr, like coll/monitoring. The other one has a lower priority,
 * above the lowest component. Like coll/han, it replaces its functions in the communicator's table
 * when one of them is first called: all of them, or only the one that is called. */

#define FORWARDED(each)                                                                            \
    each(barrier) each(allreduce) each(reduce) each(bcast) each(allgather) each(allgatherv)

#define COUNT(name) uint32_t name;
typedef struct forwarder {
    mca_coll_base_module_t super;
    mca_coll_base_comm_coll_t saved;
    bool leaves, singly; /* replaces all functions, or one at a time */
    struct {
        FORWARDED(COUNT)
    } calls;
} forwarder_t;

static OBJ_CLASS_INSTANCE(forwarder_t, mca_coll_base_module_t, NULL, NULL);

#define LEAVE(name)                                                                                \
    if (&forwarder->super == comm->c_coll->coll_##name##_module) {                                 \
        mca_coll_base_module_t *left = comm->c_coll->coll_##name##_module;                         \
        comm->c_coll->coll_##name = forwarder->saved.coll_##name;                                  \
        comm->c_coll->coll_##name##_module = forwarder->saved.coll_##name##_module;                \
        OBJ_RETAIN(comm->c_coll->coll_##name##_module);                                            \
        OBJ_RELEASE(left);                                                                         \
    }

static void leave_all(const forwarder_t *forwarder, const ompi_communicator_t *comm)
{
    FORWARDED(LEAVE)
}

/* Check that a function that replaces itself is called at most twice: once by nicbarr, and once by
 * the program. */
static void check_left(const ompi_communicator_t *comm, const char *name, uint32_t count)
{
    CREW_CHECK(
        count <= 2,
        "NICBARR_SEED=0x%llx: %s of communicator %u has replaced itself, but is still called",
        (unsigned long long)world.job.seed, name, ((const fake_comm_t *)comm)->id);
}

/* Returns whether the component of higher priority calls a function of this component directly,
 * because nicbarr does not offer it on this communicator. Such a function cannot replace itself. */
#define IS_WRAPPED(name)                                                                           \
    (NULL != ((fake_comm_t *)comm)->above &&                                                       \
     module == ((forwarder_t *)((fake_comm_t *)comm)->above)->saved.coll_##name##_module)

/* `settles`: whether this call may replace functions. */
#define FORWARD(name, settles, parameters, arguments)                                              \
    static int forward_##name(UNPACK parameters ompi_communicator_t *comm,                         \
                              mca_coll_base_module_t *module)                                      \
    {                                                                                              \
        forwarder_t *forwarder = (forwarder_t *)module;                                            \
        if (forwarder->leaves && (settles) && !IS_WRAPPED(name)) {                                 \
            check_left(comm, #name, ++forwarder->calls.name);                                      \
            LEAVE(name)                                                                            \
            if (!forwarder->singly) {                                                              \
                leave_all(forwarder, comm);                                                        \
            }                                                                                      \
        }                                                                                          \
        return forwarder->saved.coll_##name(UNPACK arguments comm,                                 \
                                            forwarder->saved.coll_##name##_module);                \
    }
FORWARD(barrier, true, (), ())
FORWARD(allreduce, ompi_op_is_commute(op),
        (const void *from, void *to, int count, ompi_datatype_t *type, ompi_op_t *op, ),
        (from, to, count, type, op, ))
FORWARD(reduce, ompi_op_is_commute(op),
        (const void *from, void *to, int count, ompi_datatype_t *type, ompi_op_t *op, int root, ),
        (from, to, count, type, op, root, ))
FORWARD(bcast, true, (void *from, int count, ompi_datatype_t *type, int root, ),
        (from, count, type, root, ))
FORWARD(allgather, true, (BLOCKS, ), (from, count, type, to, to_count, to_type, ))
FORWARD(allgatherv, true,
        (const void *from, int count, ompi_datatype_t *type, void *to, const int *counts,
         const int *displs, ompi_datatype_t *to_type, ),
        (from, count, type, to, counts, displs, to_type, ))

static forwarder_t *make_forwarder(const fake_comm_t *comm)
{
    forwarder_t *forwarder = OBJ_NEW(forwarder_t);
    forwarder->saved = comm->slots;
    forwarder->leaves = false;
    forwarder->singly = false;
    memset(&forwarder->calls, 0, sizeof(forwarder->calls));
#define OFFER_FORWARD(name) forwarder->super.coll_##name = forward_##name;
    FORWARDED(OFFER_FORWARD)
    return forwarder;
}

/* ---- communicators ---- */

/* As in Open MPI, a slot of the communicator holds a reference. */
#define INSTALL(name)                                                                              \
    if (NULL != module->coll_##name) {                                                             \
        if (NULL != comm->slots.coll_##name##_module) {                                            \
            OBJ_RELEASE(comm->slots.coll_##name##_module);                                         \
        }                                                                                          \
        OBJ_RETAIN(module);                                                                        \
        comm->slots.coll_##name = module->coll_##name;                                             \
        comm->slots.coll_##name##_module = module;                                                 \
    }

static void install(fake_comm_t *comm, mca_coll_base_module_t *module)
{
    NICBARR_BLOCKING(INSTALL)
    NICBARR_REQUESTS(INSTALL)
}

/* No slot of a blocking collective is empty, although only some are called. */
#define FILL(name)                                                                                 \
    OBJ_RETAIN(comm->below);                                                                       \
    comm->slots.coll_##name##_module = comm->below;

#define EMPTY(name)                                                                                \
    if (NULL != comm->slots.coll_##name##_module) {                                                \
        OBJ_RELEASE(comm->slots.coll_##name##_module);                                             \
    }

static void comm_destruct(fake_comm_t *comm)
{
    NICBARR_BLOCKING(EMPTY)
    NICBARR_REQUESTS(EMPTY)
    if (NULL != comm->above) {
        OBJ_RELEASE(comm->above);
    }
    if (NULL != comm->ours) {
        OBJ_RELEASE(comm->ours);
    }
    if (NULL != comm->leaving) {
        OBJ_RELEASE(comm->leaving);
    }
    OBJ_RELEASE(comm->below);
}

static OBJ_CLASS_INSTANCE(fake_comm_t, opal_object_t, NULL, comm_destruct);

ompi_communicator_t *fake_comm(uint32_t id, uint32_t ranks, bool wrapped)
{
    const uint32_t self = rank_now();
    fake_comm_t *comm = OBJ_NEW(fake_comm_t);
    memset((uint8_t *)comm + sizeof(opal_object_t), 0, sizeof(*comm) - sizeof(opal_object_t));
    comm->id = id;
    for (uint32_t r = 0; r < world.job.ranks; ++r) {
        if (0 != (ranks & UINT32_C(1) << r)) {
            comm->rank = r == self ? comm->size : comm->rank;
            comm->procs[comm->size++] =
                world.job.across && r != self ? world.far[r] : world.near[r];
        }
    }
    comm->group.grp_proc_count = (int)comm->size;
    comm->group.grp_my_rank = (int)comm->rank;
    comm->group.grp_proc_pointers = comm->procs;
    comm->group.grp_flags = OMPI_GROUP_DENSE;
    comm->super.c_contextid = id;
    comm->super.c_my_rank = (int)comm->rank;
    comm->super.c_local_group = comm->super.c_remote_group = &comm->group;
    comm->super.c_coll = &comm->slots;

    comm->below = make_below();
    NICBARR_BLOCKING(FILL)
    install(comm, comm->below);
    if (0 != id % 2) {
        forwarder_t *leaving = make_forwarder(comm);
        leaving->leaves = true;
        leaving->singly = 3 == id % 4;
        comm->leaving = &leaving->super;
        install(comm, comm->leaving);
    }
    if (world.open[self]) {
        int priority;
        mca_coll_base_module_t *module =
            world.component[self]->super.collm_comm_query(&comm->super, &priority);
        if (NULL != module && OMPI_SUCCESS == module->coll_module_enable(module, &comm->super)) {
            comm->ours = module;
            comm->checked = world.component[self]->parameters.check;
            install(comm, module);
        }
    }
    if (wrapped) {
        comm->above = &make_forwarder(comm)->super;
        install(comm, comm->above);
    }
    return &comm->super;
}

mca_coll_nicbarr_module_t *fake_module(const ompi_communicator_t *comm)
{
    const fake_comm_t *fake = (const fake_comm_t *)comm;
    return fake->checked ? NULL : (mca_coll_nicbarr_module_t *)fake->ours;
}

/* ---- the job ---- */

/* Load a copy of the component's file, so that it has globals of its own. */
static void load(uint32_t rank)
{
    char copy[sizeof(world.dir) + 32];
    struct stat about;
    snprintf(copy, sizeof(copy), "%s/component%u.so", world.dir, world.copies++);
    const int from = open(world.file, O_RDONLY | O_CLOEXEC);
    const int to = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    CREW_CHECK(from >= 0 && 0 == fstat(from, &about), "cannot read %s", world.file);
    CREW_CHECK(about.st_size == sendfile(to, from, NULL, (size_t)about.st_size), "cannot write %s",
               copy);
    close(from);
    close(to);
    void *handle = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    CREW_CHECK(NULL != handle, "%s", dlerror());
    world.component[rank] = dlsym(handle, "mca_coll_nicbarr_component");
    world.copy[rank] = dlsym(handle, "fake_copy");
}

static ompi_proc_t *make_proc(uint32_t rank, uint16_t flags)
{
    ompi_proc_t *proc = calloc(1, sizeof(*proc));
    proc->super.proc_name = ompi_proc_local()->super.proc_name;
    proc->super.proc_name.vpid = rank;
    proc->super.proc_flags = flags;
    return proc;
}

/* Create a directory for the marker file of a node's segment, or for the memory of NICs. */
static void make_dir(const char *name, uint32_t number)
{
    char path[sizeof(world.dir) + 32];
    snprintf(path, sizeof(path), "%s/%s%u", world.dir, name, number);
    CREW_CHECK(0 == mkdir(path, 0700), "cannot make %s", path);
}

static void remove_dir(const char *name, uint32_t number)
{
    char path[sizeof(world.dir) + 32];
    snprintf(path, sizeof(path), "%s/%s%u", world.dir, name, number);
    crew_dir_remove(path);
}

static void place(uint32_t rank)
{
    char refusals[16], dir[sizeof(world.dir) + 8];
    snprintf(refusals, sizeof(refusals), "%u", world.job.refusals[rank]);
    snprintf(dir, sizeof(dir), "%s/nics0", world.dir);
    setenv("NICBARR_FAKE_REFUSALS", refusals, 1);
    setenv("NICBARR_FAKE", dir, 1);
    make_dir("node", rank);
}

void fake_begin(const char *component_file, const char *dir)
{
    snprintf(world.file, sizeof(world.file), "%s", component_file);
    snprintf(world.dir, sizeof(world.dir), "%s", dir);
    setenv("OMPI_MCA_coll", "^nicbarr", 1);
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 1);
    snprintf(world.cache, sizeof(world.cache), "%s/cache0/tuning.jsonl", dir);
    CREW_CHECK(MPI_SUCCESS == MPI_Init(NULL, NULL), "no MPI");
    for (uint32_t r = 0; r < FAKE_RANKS; ++r) {
        load(r);
        world.near[r] = make_proc(r, OPAL_PROC_ON_NODE);
        world.far[r] = make_proc(r, 0);
    }
}

const char *fake_cache(void)
{
    return world.cache;
}

/* Returns the shape of a communicator of these ranks as its rank `view` sees it. */
static struct nicbarr_shape shape_of(uint32_t ranks, uint32_t view)
{
    const uint32_t processes = (uint32_t)__builtin_popcount(ranks);
    struct nicbarr_shape shape = {.nodes = world.job.across ? processes : 1};
    uint32_t homes = 0, nics = UINT32_MAX;
    for (uint32_t r = 0; r < world.job.ranks; ++r) {
        if (0 != (ranks & UINT32_C(1) << r)) {
            world.opening = r;
            homes |= UINT32_C(1) << world.copy[r]->read_shape(&shape);
            nics &= shape.nics;
        }
    }
    world.opening = view;
    (void)world.copy[view]->read_shape(&shape);
    world.opening = NOBODY;
    shape.processes = processes;
    shape.homes = shape.nodes > 1 ? 1 : (uint32_t)__builtin_popcount(homes);
    shape.nics = nics;
    return shape;
}

/* Store what earlier jobs and communicators have left. */
static void leave_past(void)
{
    for (uint32_t p = 0; p < world.job.pasts; ++p) {
        const struct fake_past *past = &world.job.past[p];
        if (0 == (past->ranks & world.job.without)) {
            const struct nicbarr_shape shape = shape_of(past->ranks, past->view);
            world.opening = past->view;
            world.copy[past->view]->store(&shape, past, world.cache);
            world.opening = NOBODY;
        }
    }
}

void fake_fill_table(void)
{
    for (uint32_t r = 0; r < world.job.ranks; ++r) {
        if (world.open[r]) {
            world.copy[r]->fill_table();
        }
    }
}

void fake_open(const struct fake_job *job)
{
    static const uint32_t late[] = {1, 20, 200};
    world.job = *job;
    world.random = job->seed;
    world.now_ns = 1000000000;
    world.switches = fibres_switches();
    ompi_process_info.num_procs = job->across ? job->ranks : 1;
    make_dir("nics", 0);
    make_dir("cache", 0);
    for (uint32_t r = 0; r < job->ranks; ++r) {
        world.of[r].processors = job->processors[r];
        world.of[r].hello_bytes = 0;
        world.of[r].detected = false;
        world.of[r].late = late[crew_below(&world.random, 3)];
        place(r);
        if (0 != (job->without & UINT32_C(1) << r)) {
            continue;
        }
        world.opening = r;
        crew_pretend_another();
        const mca_base_component_t *component = &world.component[r]->super.collm_version;
        (void)component->mca_register_component_params();
        world.open[r] = OMPI_SUCCESS == component->mca_open_component();
        CREW_CHECK(world.open[r], "NICBARR_SEED=0x%llx: rank %u's component does not open",
                   (unsigned long long)job->seed, r);
        crew_pretend_no_more();
        world.opening = NOBODY;
    }
    leave_past();
    if (job->full) {
        fake_fill_table();
    }
}

void fake_die(uint32_t rank)
{
    world.dead = rank;
}

/* Discard the state that a dead rank has left: calls that it never joined, and a component in
 * any state. The next job loads another copy of the component. */
static void discard_dead(void)
{
    for (size_t b = 0; b < BUCKETS; ++b) {
        while (NULL != calls[b]) {
            struct call *call = calls[b];
            calls[b] = call->next;
            free_call(call);
        }
    }
    opal_output_close(world.component[world.dead]->output);
    world.of[world.dead].callbacks = 0;
    world.of[world.dead].pending = NULL;
    world.of[world.dead].threads = 0;
    world.open[world.dead] = false;
    load(world.dead);
    world.dead = NOBODY;
}

void fake_close(void)
{
    if (NOBODY != world.dead) {
        discard_dead();
    }
    for (size_t b = 0; b < BUCKETS; ++b) {
        CREW_CHECK(NULL == calls[b],
                   "NICBARR_SEED=0x%llx: an underlying call of communicator %u was not completed",
                   (unsigned long long)world.job.seed, calls[b]->comm);
    }
    for (uint32_t r = 0; r < world.job.ranks; ++r) {
        if (world.open[r]) {
            world.opening = r;
            perhaps_run_thread(r, 2);
            (void)world.component[r]->super.collm_version.mca_close_component();
            while (0 != world.of[r].threads) {
                run_thread(r);
            }
            world.open[r] = false;
            world.opening = NOBODY;
        }
        CREW_CHECK(0 == world.of[r].callbacks,
                   "NICBARR_SEED=0x%llx: rank %u left a progress function registered",
                   (unsigned long long)world.job.seed, r);
        remove_dir("node", r);
    }
    remove_dir("nics", 0);
    remove_dir("cache", 0);
}

uint64_t fake_stored_choice(const mca_coll_nicbarr_module_t *module,
                            enum nicbarr_collective collective, uint32_t size_class)
{
    return world.copy[rank_now()]->stored_choice(module, collective, size_class);
}

struct myr_segment *fake_segment(uint32_t rank)
{
    return world.open[rank] ? world.component[rank]->segment : NULL;
}
