/* SPDX-License-Identifier: BSD-3-Clause */
/* The component that Open MPI loads: its registration, opening and closing.
 *
 * Open MPI opens the component before the modex. When the component is opened, the process joins
 * the segment of its node and publishes whether this succeeded. If it did not, the job continues:
 * the component stays open, so that its peers learn about the failure, and all communicators use
 * Open MPI's own functions. */
#include "coll_nicbarr/coll_nicbarr.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll_nicbarr/choice/expense.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/digest.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/cache_locations.h"
#include "coll_nicbarr/files/json_functions.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/failures.h"
#include "coll_nicbarr/long_waits.h"
#include "coll_nicbarr/module.h"
#include "coll_nicbarr/peers.h"
#include "coll_nicbarr/pvars.h"
#include "coll_nicbarr/requests.h"
#include "coll_nicbarr/shape.h"
#include "firmware/wire.h"
#include "ompi/exits.h"
#include "ompi/node.h"
#include "ompi/survival.h"
#include "os/clock.h"

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
};

/* ---- parameters ---- */

static int component_register(void)
{
    nicbarr_parameters_register();
    nicbarr_pvars_register();
    return OMPI_SUCCESS;
}

static void parse_algorithm(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    static const struct nicbarr_choice none = {NICBARR_ALGORITHMS, 0, 0};
    const char *given = component->parameters.algorithm;
    component->forced = none;
    nicbarr_choice_nics(nicbarr_nic_names());
    if ('\0' != *given && 0 != strcmp(given, "auto") &&
        !nicbarr_choice_parse(given, &component->forced)) {
        char all[160], by_nics[80];
        component->forced = none;
        nicbarr_complain(
            "coll_nicbarr_algorithm \"%.60s\" is not an algorithm; use auto, openmpi, %s; or "
            "with a NIC, as in tree:4@%s, one of %s. Using auto",
            given, nicbarr_algorithm_list(false, all, sizeof(all)), nicbarr_kind(1)->name,
            nicbarr_algorithm_list(true, by_nics, sizeof(by_nics)));
    }
}

/* Parse the name of the implementation of a collective that carries data. */
static enum nicbarr_way parse_way(enum nicbarr_collective collective, const char *parameter,
                                  const char *given)
{
    char openmpi[NICBARR_CHOICE_TEXT], ours[NICBARR_CHOICE_TEXT];
    (void)nicbarr_choice_name(nicbarr_way_choice(collective, NICBARR_WAY_OPENMPI), openmpi);
    (void)nicbarr_choice_name(nicbarr_way_choice(collective, NICBARR_WAY_NICBARR), ours);
    const bool rooted = NICBARR_ALLREDUCE == collective && 0 == strcmp(given, "rooted");
    if (0 == strcmp(given, ours) || rooted) {
        mca_coll_nicbarr_component.forced_rooted |= rooted;
        return NICBARR_WAY_NICBARR;
    }
    if (0 == strcmp(given, openmpi)) {
        return NICBARR_WAY_OPENMPI;
    }
    if ('\0' != *given && 0 != strcmp(given, "auto")) {
        nicbarr_complain(
            "coll_nicbarr_%s \"%s\" is not known; use auto, openmpi%s or %s. Using auto", parameter,
            given, NICBARR_ALLREDUCE == collective ? ", rooted" : "", ours);
    }
    return NICBARR_WAY_OPEN;
}

/* Check the list of cache files. An empty list is an error, because a user who wants no cache
 * specifies "none". */
static void check_cache_list(char **given)
{
    if ('\0' == (*given)[strspn(*given, ",")]) {
        nicbarr_complain("coll_nicbarr_cache \"%s\" names no file; use auto, none, or paths, "
                         "separated by commas. Using auto",
                         *given);
        free(*given);
        *given = strdup("auto");
    }
}

/* Check that the functions by which the tuning cache and the report read and write JSON are those
 * of libjansson. */
static void check_json(void)
{
    const char *file = NULL;
    const char *name = nicbarr_json_check(&file);
    if (NULL != name) {
        nicbarr_complain("the tuning cache and the report are unavailable: %s defines %s(), and "
                         "hides the function of libjansson. Link it without -rdynamic, or rename "
                         "the function",
                         file, name);
    }
}

static void replace_text(char **text, char *by)
{
    if (NULL != by) {
        free(*text);
        *text = by;
    }
}

static char *absolute_path(const char *path, const char *directory)
{
    char *absolute = NULL;
    return '\0' == *path || '/' == *path || asprintf(&absolute, "%s/%s", directory, path) < 0
               ? NULL
               : absolute;
}

/* Make the paths of files absolute, because the program may change its working directory before
 * they are written. */
static void make_paths_absolute(struct nicbarr_parameters *parameters)
{
    char *directory = getcwd(NULL, 0);
    if (NULL != directory) {
        replace_text(&parameters->cache, nicbarr_cache_absolute(parameters->cache, directory));
        replace_text(&parameters->report, absolute_path(parameters->report, directory));
    }
    free(directory);
}

static void read_parameters(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    char words[200];
    nicbarr_parameters_read(&component->parameters, &component->nics);
    if (!nicbarr_nics_parse(&component->nics, component->parameters.nic)) {
        nicbarr_complain(
            "coll_nicbarr_nic \"%s\" is not a list of NICs; use one or more of %s, separated by "
            "commas. Using auto",
            component->parameters.nic, nicbarr_nic_words(words, sizeof(words)));
    }
    check_cache_list(&component->parameters.cache);
    check_json();
    make_paths_absolute(&component->parameters);
    component->forced_rooted = false;
    parse_algorithm();
    component->forced_ways[NICBARR_ALLREDUCE] =
        parse_way(NICBARR_ALLREDUCE, "allreduce", component->parameters.allreduce);
    component->forced_ways[NICBARR_REDUCE] =
        parse_way(NICBARR_REDUCE, "reduce", component->parameters.reduce);
    component->forced_ways[NICBARR_ALLREDUCE_USER_OP] = component->forced_ways[NICBARR_ALLREDUCE];
    component->forced_ways[NICBARR_REDUCE_USER_OP] = component->forced_ways[NICBARR_REDUCE];
    component->forced_ways[NICBARR_BCAST] =
        parse_way(NICBARR_BCAST, "bcast", component->parameters.bcast);
    component->forced_ways[NICBARR_ALLGATHER] =
        parse_way(NICBARR_ALLGATHER, "allgather", component->parameters.allgather);
    component->forced_ways[NICBARR_GATHER] =
        parse_way(NICBARR_GATHER, "gather", component->parameters.gather);
    component->forced_ways[NICBARR_SCATTER] =
        parse_way(NICBARR_SCATTER, "scatter", component->parameters.scatter);
}

/* Returns a digest of everything that determines the protocol between processes, and must therefore
 * be equal on all processes of a communicator. Processes with different versions of nicbarr can
 * serve a communicator together if their digests are equal. */
static uint64_t protocol_digest(void)
{
    const struct {
        uint64_t schedules, parameters;
        uint32_t host_memory_only, wire;
    } alike = {
        nicbarr_schedules_digest(),
        nicbarr_parameters_digest(&mca_coll_nicbarr_component.parameters),
        nicbarr_host_memory_only(),
        MCP_WIRE_VERSION,
    };
    return nicbarr_digest(0, &alike, sizeof(alike));
}

/* ---- the NICs ---- */

/* Returns whether the job is on one node. Such a job needs no NIC, unless it connects to other jobs
 * later. */
static bool on_one_node(void)
{
    return (uint32_t)ompi_process_info.num_local_peers + 1 == (uint32_t)ompi_process_info.num_procs;
}

static void print_verbose_line(int level, const char *line)
{
    opal_output_verbose(level, mca_coll_nicbarr_component.output, "nicbarr: %s", line);
}

static void warn_stuck(const char *line)
{
    if (nicbarr_warn_once(NICBARR_MESSAGE_STUCK)) {
        print_verbose_line(0, line);
    }
}

/* A process may be stopped (by SIGSTOP or a debugger) while it holds the lock of the soft NIC.
 * Returns the times after which the other processes of the node warn about this process, and stop
 * waiting for it. They are the same as for a node that does not respond. */
static struct myr_soft_bounds bounds_of(const struct nicbarr_parameters *parameters)
{
    const uint64_t second = UINT64_C(1000) * 1000 * 1000;
    return (struct myr_soft_bounds){
        .warn_ns = parameters->warn > 0 ? (uint64_t)parameters->warn * second : UINT64_MAX,
        .give_up_ns = parameters->timeout > 0 ? (uint64_t)parameters->timeout * second : UINT64_MAX,
        .print = warn_stuck,
    };
}

/* Poll the NICs on behalf of other nodes, which may be waiting although no process on this node
 * is. */
static int tend_nics(void)
{
    return (int)nicbarr_nics_run(&mca_coll_nicbarr_component.nics, false);
}

static bool tending; /* tend_nics() is registered */

/* Open the NICs. During MPI_Init `hurry` is true, and a daemon that does not answer immediately is
 * skipped. It is queried again when the first communicator across nodes is set up, whose members
 * then exchange hellos once more (across.c). */
static void open_nics(struct nicbarr_hello *hello, bool hurry)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const struct myr_site site = {component->segment, &component->waiter, print_verbose_line, hurry,
                                  bounds_of(&component->parameters)};
    struct myr_error error = {0};
    if (MYR_OK != nicbarr_nics_open(&component->nics, &site, &hello->later, &error)) {
        snprintf(hello->why, sizeof(hello->why), "%s", hello->later ? "" : error.text);
        return;
    }
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        if (NULL != component->nics.nic[nic]) {
            nicbarr_kind(nic)->query(component->nics.nic[nic], &hello->nic[nic]);
        }
    }
    if (!tending) {
        opal_progress_register_lp(tend_nics);
        tending = true;
    }
}

void nicbarr_open_nics_now(struct nicbarr_hello *hello)
{
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&opening); /* several threads may set up communicators concurrently */
    *hello = *nicbarr_hello_own();
    if (hello->later) {
        open_nics(hello, false);
        nicbarr_hello_renew(hello);
    }
    pthread_mutex_unlock(&opening);
}

/* How long the NICs continue to run. The time is sufficient for about a dozen retransmission
 * requests of a peer (firmware/backoff.h). */
enum {
    LINGER_US = 500 * 1000,
    LINGER_NAP_US = 1000 /* a NIC waits at least a millisecond before it requests a message */
};

/* Run the NICs for another LINGER_US before they are closed. The processes of this job have
 * completed their collectives, but the last messages to a process of another job may have been
 * lost. The NIC of that process requests such messages repeatedly, and this process may be the last
 * one that can run the NIC of this node and answer. */
static void run_nics_for_others(void)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const uint64_t end_us = os_now_us() + LINGER_US;
    opal_output_verbose(2, component->output,
                        "nicbarr: the NICs run for another %d ms, for processes of other jobs",
                        LINGER_US / 1000);
    while (os_now_us() < end_us) {
        if (0 == nicbarr_nics_run(&component->nics, false)) {
            (void)usleep(LINGER_NAP_US);
        }
    }
}

static void close_nics(void)
{
    if (tending) {
        opal_progress_unregister(tend_nics);
        tending = false;
    }
    if (mca_coll_nicbarr_component.lingers) {
        run_nics_for_others();
        mca_coll_nicbarr_component.lingers = false;
    }
    nicbarr_nics_close(&mca_coll_nicbarr_component.nics);
}

/* ---- opening and closing ---- */

static bool is_open;

/* Join the node's segment. On failure, returns false with the reason in `hello`. */
static bool join_segment(struct nicbarr_hello *hello)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const struct nicbarr_parameters *p = &component->parameters;
    const struct myr_wait_policy policy = {p->spin, p->sleep_after, p->sleep_slice};
    struct myr_error error = {0};
    char *dir = nicbarr_node_dir();
    const enum myr_status status =
        myr_segment_join(dir, (uint32_t)p->memory << 20, &component->segment, &error);
    free(dir);
    if (MYR_OK != status) {
        component->segment = NULL;
        snprintf(hello->why, sizeof(hello->why), "%s", error.text);
        return false;
    }
    hello->identity = myr_segment_identity(component->segment);
    hello->number = myr_segment_number(component->segment);
    myr_waiter_init(&component->waiter, component->segment, nicbarr_progress, &policy);
    component->waiter.long_wait = nicbarr_long_wait;
    if (NULL != nicbarr_failure) {
        component->waiter.abandons = nicbarr_abandons;
        nicbarr_exits_open(component->segment);
    }
    return true;
}

static void print_waiting(const char *line)
{
    print_verbose_line(0, line);
}

static int component_open(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const char *wrong = nicbarr_wrong_release();
    if (NULL != wrong) {
        nicbarr_complain("%s", wrong);
        return OMPI_ERR_NOT_AVAILABLE;
    }
    read_parameters();
    nicbarr_failure = nicbarr_failures_are_survived() ? nicbarr_comm_failure : NULL;
    is_open = true;
    ++component->opened;
    component->output = opal_output_open(NULL);
    opal_output_set_verbosity(component->output, component->parameters.verbose);

    myr_segment_print = print_waiting;
    struct nicbarr_hello hello = {.digest = protocol_digest()};
    struct myr_key_pair keys = {0};
    if (join_segment(&hello) && nicbarr_nics_wanted(&component->nics)) {
        myr_key_pair_of(component->segment, &keys);
        hello.key = keys.public;
        if (on_one_node()) {
            hello.later = true;
        } else {
            open_nics(&hello, true);
        }
    }
    nicbarr_expense_open();
    if (0 == opal_proc_local_get()->proc_name.vpid) {
        nicbarr_report_check();
    }
    const int rc = nicbarr_requests_open();
    return OMPI_SUCCESS == rc ? nicbarr_peers_open(&hello, &keys) : rc;
}

static int component_close(void)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    if (!is_open) {
        return OMPI_SUCCESS;
    }
    is_open = false;
    nicbarr_report_close();
    nicbarr_cache_close();
    nicbarr_requests_close();
    nicbarr_peers_close();
    close_nics();
    if (NULL != component->segment) {
        nicbarr_exits_close();
        myr_waits_end(component->segment);
        myr_segment_leave(component->segment);
        component->segment = NULL;
    }
    nicbarr_parameters_free(&component->parameters, &component->nics);
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

/* If there are more processes than cores, Open MPI configures opal_progress() to yield the CPU
 * after a call without progress. This function disables the yield for the duration of the call,
 * because nicbarr's own wait loops yield. These loops infer from the CPU time of a call whether it
 * has made progress, so a yield within the call, which was observed to take 5 us of CPU time, would
 * be mistaken for progress. Several threads may call this function concurrently, so only a thread
 * that has found the yield enabled enables it again. */
void nicbarr_progress(void)
{
    const bool yields = opal_progress_yield_when_idle;
    if (yields) {
        opal_progress_yield_when_idle = false;
    }
    opal_progress();
    if (yields) {
        opal_progress_yield_when_idle = true;
    }
}

/* ---- messages ---- */

bool nicbarr_warn_once(enum nicbarr_message message)
{
    struct myr_segment *segment = mca_coll_nicbarr_component.segment;
    return NULL != segment && myr_kv_add(segment, message, 1);
}

const char *nicbarr_comm_name(const ompi_communicator_t *comm, char *text)
{
    uint64_t scope, id;
    nicbarr_comm_identity(comm, &scope, &id);
    if ('\0' != comm->c_name[0]) {
        snprintf(text, NICBARR_COMM_TEXT, "%s", comm->c_name);
    } else {
        snprintf(text, NICBARR_COMM_TEXT, "an unnamed communicator (context id %llu)",
                 (unsigned long long)id);
    }
    return text;
}

/* Returns whether this process is the first member that has the component. Once a member is found
 * to lack it, no further hellos are read (peers.h), and members with unknown hellos are ignored.
 * The result may then be true on several nodes. */
static bool is_first_with_component(ompi_communicator_t *comm)
{
    bool lacking = false;
    for (int r = 0; r < ompi_comm_rank(comm); ++r) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        const struct nicbarr_peer *peer =
            lacking ? nicbarr_peer_if_read(&name) : nicbarr_peer(&name);
        if (NULL != peer && !nicbarr_peer_lacks_component(peer)) {
            return false;
        }
        lacking = true;
    }
    return true;
}

void nicbarr_explain(ompi_communicator_t *comm, const char *why)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    char name[NICBARR_COMM_TEXT];
    /* All members use Open MPI's barrier for the same reason, so only one of them prints it, even
     * if the members are on several nodes or in containers without a common segment. */
    const bool speak = is_first_with_component(comm) &&
                       (NULL != component->segment ? nicbarr_warn_once(NICBARR_MESSAGE_DECLINED)
                                                   : !component->explained);
    if (speak) {
        component->explained = true;
        opal_output(0, "nicbarr: barriers on %s (%d processes) are left to Open MPI: %s",
                    nicbarr_comm_name(comm, name), ompi_comm_size(comm), why);
    }
}
