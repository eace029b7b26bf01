/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Open MPI loads: the component's parameters, its opening and closing.
 *
 * Opening happens before the modex: there the process joins the node's segment and tells the others
 * whether that worked. A failure here is never an error for the job: the component stays open, so
 * that it can tell its peers, and every communicator stays Open MPI's own.
 */
#include "coll_nicbarr/coll_nicbarr.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/modex.h"
#include "ompi/node.h"

static int component_register(void);
static int component_open(void);
static int component_close(void);
static int component_init_query(bool enable_progress_threads, bool enable_mpi_threads);

mca_coll_nicbarr_component_t mca_coll_nicbarr_component = {
    .super =
        {
            .collm_version =
                {
                    NICBARR_COLL_VERSION,
                    .mca_component_name = "nicbarr",
                    MCA_BASE_MAKE_VERSION(component, NICBARR_MAJOR, NICBARR_MINOR, NICBARR_RELEASE),
                    .mca_open_component = component_open,
                    .mca_close_component = component_close,
                    .mca_register_component_params = component_register,
                },
            .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
            .collm_init_query = component_init_query,
            .collm_comm_query = nicbarr_comm_query,
        },
    .output = -1,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

uint64_t nicbarr_digest(uint64_t digest, const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    digest = 0 == digest ? UINT64_C(0xcbf29ce484222325) : digest;
    for (size_t i = 0; i < bytes; ++i) {
        digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

/* ---- parameters ---- */

static void add_int(const char *name, int *value, const char *help, int level)
{
    mca_base_component_var_register(&mca_coll_nicbarr_component.super.collm_version, name, help,
                                    MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, level,
                                    MCA_BASE_VAR_SCOPE_READONLY, value);
}

static void add_string(const char *name, char **value, const char *help, int level)
{
    mca_base_component_var_register(&mca_coll_nicbarr_component.super.collm_version, name, help,
                                    MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, level,
                                    MCA_BASE_VAR_SCOPE_READONLY, value);
}

static int component_register(void)
{
    struct nicbarr_parameters *p = &mca_coll_nicbarr_component.parameters;
    *p = (struct nicbarr_parameters){
        .priority = 95,
        .algorithm = (char *)"auto",
        .tune_after = 20,
        .tune_budget = 50,
        .cache = (char *)"auto",
        .report = (char *)"",
        .memory = 256,
        .nonblocking = true,
        .patience = {.spin = -1, .sleep_after = 500, .slice = 1000},
        .nic = (char *)"auto",
        .network = (char *)"",
    };
    add_int("priority", &p->priority,
            "Priority of the component, 0 to 100; the highest one that can serve a communicator "
            "does. Negative: never use it",
            OPAL_INFO_LVL_9);
    add_int("verbose", &p->verbose,
            "0: only say what went wrong. 1: also say which barrier each communicator uses, and "
            "why. 2: also say which communicators are left to Open MPI",
            OPAL_INFO_LVL_9);
    add_string("algorithm", &p->algorithm,
               "Barrier algorithm: auto (the fastest as measured), openmpi (Open MPI's own), or "
               "counter[:leaves], flags[:bytes apart, 4 to 128], tree[:degree], "
               "dissemination[:n], pairwise; the last three with @kernel behind them: played by "
               "the kernel's NIC, between nodes only",
               OPAL_INFO_LVL_2);
    add_int("tune_after", &p->tune_after,
            "How many barriers a communicator of a new shape does before the algorithms are "
            "measured on it; programs with fewer barriers than that are not held up",
            OPAL_INFO_LVL_4);
    add_int("tune_budget", &p->tune_budget,
            "How long measuring may take, once for each shape of communicator (milliseconds). 0: "
            "do not measure, use the default algorithm or what the cache knows",
            OPAL_INFO_LVL_4);
    add_string("cache", &p->cache,
               "File that remembers what was measured for the next jobs: auto (nicbarr/tuning.json "
               "in $XDG_CACHE_HOME or ~/.cache), none, or a path",
               OPAL_INFO_LVL_4);
    add_string("report", &p->report,
               "Write what was tried, what it cost and what was chosen to this file (JSON; read it "
               "with: nicbarr report FILE)",
               OPAL_INFO_LVL_2);
    add_int("memory", &p->memory,
            "The most shared memory that all processes of a job on one node take together (MiB, 1 "
            "to 1024); communicators beyond that keep Open MPI's own barrier",
            OPAL_INFO_LVL_5);
    mca_base_component_var_register(&mca_coll_nicbarr_component.super.collm_version, "nonblocking",
                                    "Whether to serve MPI_Ibarrier and persistent barriers as well",
                                    MCA_BASE_VAR_TYPE_BOOL, NULL, 0, 0, OPAL_INFO_LVL_4,
                                    MCA_BASE_VAR_SCOPE_READONLY, &p->nonblocking);
    add_int("spin", &p->patience.spin,
            "How often to look before giving up the processor while waiting. -1: about 50 "
            "microseconds' worth with a processor each, not at all with more processes than "
            "processors",
            OPAL_INFO_LVL_5);
    add_int("sleep_after", &p->patience.sleep_after,
            "How long to wait before going to sleep (microseconds, after polling). -1: never sleep",
            OPAL_INFO_LVL_5);
    add_int("sleep_slice", &p->patience.slice,
            "The longest sleep before other traffic is looked after again (microseconds, 1 to "
            "1000000)",
            OPAL_INFO_LVL_5);
    add_string("nic", &p->nic,
               "What plays the barriers of communicators on several nodes: soft (UDP packets, sent "
               "and received by the job's processes), daemon (the same by way of the daemon myrd, "
               "for all jobs of the user), kernel (the NIC in the kernel, where myrd --kernel runs "
               "on all nodes), auto (the kernel's if there is one, and the daemon's if there is "
               "one, else soft), or none (Open MPI's own)",
               OPAL_INFO_LVL_2);
    mca_base_component_var_register(
        &mca_coll_nicbarr_component.super.collm_version, "thread",
        "Whether a thread of one process on each node runs the NIC, so that MPI_Ibarrier goes on "
        "while all processes compute",
        MCA_BASE_VAR_TYPE_BOOL, NULL, 0, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
        &p->thread);
    add_string("network", &p->network,
               "What the NIC may use, best first, separated by commas: interfaces (eth1) or "
               "networks (10.0.0.0/8). Empty: all but loopback and point-to-point ones",
               OPAL_INFO_LVL_2);
    add_int("port", &p->port, "UDP port of the NIC on each node; 0: any that is free",
            OPAL_INFO_LVL_4);
    nicbarr_pvars_register();
    return OMPI_SUCCESS;
}

/* Said by one process of the node, whatever they all find. */
static void complain(const char *format, ...)
{
    if (0 == ompi_process_info.my_local_rank) {
        char text[300];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        opal_output(0, "nicbarr: %s", text);
    }
}

static void keep_within(const char *name, int *value, int least, int most)
{
    const int given = *value;
    *value = given < least ? least : given > most ? most : given;
    if (given != *value) {
        complain("coll_nicbarr_%s is %d, but goes from %d to %d: using %d", name, given, least,
                 most, *value);
    }
}

static enum nicbarr_nic nic_kind(const char *given)
{
    static const char *const kinds[] = {
        [NICBARR_NIC_AUTO] = "auto",     [NICBARR_NIC_SOFT] = "soft",
        [NICBARR_NIC_DAEMON] = "daemon", [NICBARR_NIC_KERNEL] = "kernel",
        [NICBARR_NIC_NONE] = "none",
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
        if (NULL != given && 0 == strcmp(given, kinds[k])) {
            return (enum nicbarr_nic)k;
        }
    }
    if (NULL != given && '\0' != *given) {
        complain("coll_nicbarr_nic \"%s\" is none; use auto, soft, daemon, kernel or none. Using "
                 "auto",
                 given);
    }
    return NICBARR_NIC_AUTO;
}

static void take_parameters(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    struct nicbarr_parameters *p = &component->parameters;
    keep_within("verbose", &p->verbose, 0, 100);
    keep_within("tune_after", &p->tune_after, 0, INT_MAX);
    keep_within("tune_budget", &p->tune_budget, 0, 60000);
    keep_within("memory", &p->memory, 1, 1024);
    keep_within("spin", &p->patience.spin, -1, INT_MAX);
    keep_within("sleep_after", &p->patience.sleep_after, -1, INT_MAX);
    keep_within("port", &p->port, 0, 65535);
    keep_within("sleep_slice", &p->patience.slice, 1, 1000000);
    component->nic_kind = nic_kind(p->nic);
    component->cache = strdup(NULL == p->cache ? "none" : p->cache);
    component->report = strdup(NULL == p->report ? "" : p->report);
    const struct nicbarr_choice none = {NICBARR_ALGORITHMS, 0, NICBARR_SOFT};
    component->forced = none;
    if (NULL != p->algorithm && '\0' != *p->algorithm && 0 != strcmp(p->algorithm, "auto") &&
        !nicbarr_choice_parse(p->algorithm, &component->forced)) {
        component->forced = none;
        complain(
            "coll_nicbarr_algorithm \"%s\" is none; use auto, openmpi, counter[:leaves], "
            "flags[:4|8|...|128], tree[:degree], dissemination[:n] or pairwise, the last three "
            "also with @kernel. Using auto",
            p->algorithm);
    }
}

/* What must be equal in all processes of a communicator, or they would act differently. */
static uint64_t parameters_digest(void)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const struct nicbarr_parameters *p = &component->parameters;
    uint64_t digest = nicbarr_digest(0, NICBARR_VERSION, sizeof(NICBARR_VERSION));
    digest = nicbarr_digest(digest, &component->forced, sizeof(component->forced));
    digest = nicbarr_digest(digest, &p->tune_after, sizeof(p->tune_after));
    digest = nicbarr_digest(digest, &p->tune_budget, sizeof(p->tune_budget));
    return nicbarr_digest(digest, &p->nonblocking, sizeof(p->nonblocking));
}

/* ---- the NICs ---- */

/* Jobs on one node need none. (Later they may meet others by spawning or connecting; communicators
 * with those stay Open MPI's.) */
static bool wants_nic(void)
{
    return (uint32_t)ompi_process_info.num_local_peers + 1 <
               (uint32_t)ompi_process_info.num_procs &&
           NICBARR_NIC_NONE != mca_coll_nicbarr_component.nic_kind;
}

/* Others' NICs may want something of ours while nobody here waits. */
static int progress_nic(void)
{
    return (int)myr_nic_poll_now_and_then(mca_coll_nicbarr_component.nic);
}

/*
 * The daemon's NIC, or the job's own, in the job's segment. Groups live in the NIC's segment, local
 * barriers in the job's. Whether all processes of a node find the daemon is up to chance when it
 * comes or goes just now: so a node is what shares a NIC (see members.c), and two make two.
 */
static enum myr_status open_soft(struct myr_error *error)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const struct myr_nic_options options = {
        .network = component->parameters.network,
        .port = (uint16_t)component->parameters.port,
    };
    enum myr_status status = MYR_ERR_NOT_THERE;
    if (NICBARR_NIC_SOFT != component->nic_kind) {
        status = myr_nic_daemon_open(NULL, &component->daemon, error);
        component->nic = component->daemon.nic;
    }
    if (MYR_OK != status && NICBARR_NIC_DAEMON != component->nic_kind) {
        if (MYR_ERR_NOT_THERE != status) { /* it is there, and of no use */
            opal_output_verbose(1, component->output, "nicbarr: %s", error->text);
        }
        status = myr_nic_open(component->segment, &options, &component->nic, error);
    }
    if (MYR_OK == status) {
        opal_progress_register_lp(progress_nic);
    }
    return status;
}

/* What is wanted and there; MYR_OK if that is any. The kernel's needs nobody to run it. */
static enum myr_status open_nics(struct myr_error *error)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const bool alone = NICBARR_NIC_KERNEL == component->nic_kind;
    enum myr_status kernel = MYR_ERR_NOT_THERE;
    if (alone || NICBARR_NIC_AUTO == component->nic_kind) {
        kernel = myr_kernel_nic_open(&component->kernel, error);
    }
    if (alone) {
        return kernel;
    }
    if (MYR_OK != kernel && MYR_ERR_NOT_THERE != kernel) {
        opal_output_verbose(1, component->output, "nicbarr: %s", error->text);
    }
    const enum myr_status soft = open_soft(error);
    if (MYR_OK != soft && MYR_OK == kernel) {
        opal_output_verbose(1, component->output, "nicbarr: %s", error->text);
    }
    return MYR_OK == kernel ? kernel : soft;
}

/* Without a thread whoever waits runs the NIC; so that there is none is no reason to do without it.
 */
static void start_thread(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    struct myr_error error = {0};
    if (component->parameters.thread &&
        MYR_OK !=
            myr_nic_thread_start(component->nic, MYR_NIC_THREAD, &component->thread, &error)) {
        opal_output(0, "nicbarr: %s; the NIC is run by the processes that wait", error.text);
    }
}

static void close_nics(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    if (NULL != component->kernel) {
        myr_kernel_nic_close(component->kernel);
        component->kernel = NULL;
    }
    if (NULL != component->nic) {
        opal_progress_unregister(progress_nic);
        myr_nic_thread_stop(component->thread);
        component->thread = NULL;
        if (NULL != component->daemon.nic) {
            myr_nic_daemon_close(&component->daemon);
        } else {
            myr_nic_close(component->nic);
        }
        component->nic = NULL;
    }
}

/* ---- opening and closing ---- */

static struct nicbarr_hello own_hello;

void nicbarr_hello_make(struct nicbarr_hello *hello)
{
    *hello = own_hello;
}

static int component_open(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    struct myr_error error = {0};

    if (!nicbarr_right_release()) {
        complain("built for Open MPI " NICBARR_SERIES ", but another one is running: not used. "
                 "Source the env.sh that goes with this mpirun");
        return OMPI_ERR_NOT_AVAILABLE;
    }
    take_parameters();
    component->output = opal_output_open(NULL);
    opal_output_set_verbosity(component->output, component->parameters.verbose);

    char *folder = nicbarr_node_folder();
    enum myr_status status = myr_segment_join(folder, (uint32_t)component->parameters.memory << 20,
                                              &component->segment, &error);
    free(folder);
    memset(&own_hello, 0, sizeof(own_hello));
    own_hello.digest = parameters_digest();
    if (MYR_OK == status) {
        own_hello.identity = myr_segment_identity(component->segment);
        own_hello.index = myr_segment_index(component->segment);
        myr_waiter_init(&component->waiter, component->segment, nicbarr_progress,
                        &component->parameters.patience);
    } else {
        component->segment = NULL;
    }
    component->across = wants_nic();
    if (MYR_OK == status && component->across) {
        status = open_nics(&error);
        if (NULL != component->nic) {
            myr_nic_get_name(component->nic, &own_hello.nic);
            start_thread();
        }
        if (NULL != component->kernel) {
            myr_kernel_nic_get_name(component->kernel, &own_hello.kernel);
        }
    }
    if (MYR_OK != status) {
        snprintf(own_hello.why, sizeof(own_hello.why), "%s", error.text);
    }
    nicbarr_members_open();
    int rc = nicbarr_requests_open();
    if (OMPI_SUCCESS == rc) {
        rc = nicbarr_modex_put(&component->super.collm_version, &own_hello, sizeof(own_hello));
    }
    return rc;
}

static int component_close(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    if (component->output < 0) {
        return OMPI_SUCCESS; /* was not opened */
    }
    nicbarr_report_close();
    nicbarr_requests_close();
    nicbarr_members_close();
    close_nics();
    if (NULL != component->segment) {
        myr_segment_leave(component->segment);
        component->segment = NULL;
    }
    free(component->cache);
    free(component->report);
    component->explained = false;
    opal_output_close(component->output);
    component->output = -1;
    return OMPI_SUCCESS;
}

static int component_init_query(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void)enable_progress_threads;
    (void)enable_mpi_threads;
    return OMPI_SUCCESS;
}

void nicbarr_progress(void)
{
    opal_progress();
}

bool nicbarr_say_once(enum nicbarr_saying saying)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    return NULL != segment && myr_note_add(segment, saying, 1);
}

void nicbarr_explain(ompi_communicator_t *comm, const char *why)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    bool speak;
    if (ompi_group_have_remote_peers(comm->c_local_group)) {
        /* All have found the same; one line is enough for all nodes. */
        speak = 0 == ompi_comm_rank(comm) &&
                (NULL != component->segment ? nicbarr_say_once(NICBARR_SAID_DECLINED)
                                            : !component->explained);
    } else {
        /* Processes without a segment cannot know who has spoken: they leave it to those who have
         * one. */
        speak = NULL != component->segment
                    ? nicbarr_say_once(NICBARR_SAID_DECLINED)
                    : 0 == ompi_process_info.my_local_rank && !component->explained &&
                          !nicbarr_members_any(comm);
    }
    if (speak) {
        component->explained = true;
        opal_output(0, "nicbarr: barriers on %s (%d processes) stay Open MPI's own: %s",
                    comm->c_name, ompi_comm_size(comm), why);
    }
}
