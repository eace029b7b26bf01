/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_probe: the job that `nicbarr doctor` starts, with PROBE_PER_HOST processes per host. It
 * checks what only a job's processes can check: whether they find the component, what they are
 * permitted to do, which NICs they can use, and whether these can communicate.
 *
 * Each finding is a line of JSON on standard output (findings.h), printed as soon as it is known.
 * All MPI messages are point-to-point, and the first process of each host prints the findings of
 * its host. A host that does not reply therefore does not suppress the findings of others.
 *
 * The parameters of the user are read through MPI_T, which returns the values that the component
 * uses. */
#include "tools/probe/probe.h"

#include <netinet/in.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "coll_nicbarr/files/cache_file.h"
#include "coll_nicbarr/files/cache_locations.h"
#include "coll_nicbarr/nics.h"
#include "firmware/soft/addresses.h"
#include "libmyr/node/segment.h"
#include "libmyr/node/waiter.h"
#include "tools/alloc.h"
#include "tools/findings.h"

enum { VALUE_BYTES = 4096, TAG = 1 };

void probe_print(json_t *json)
{
    char *line = json_dumps(json, JSON_COMPACT);
    if (NULL == line) {
        tool_no_memory();
    }
    printf("%s\n", line);
    fflush(stdout);
    free(line);
    json_decref(json);
}

/* ---- the user's parameters ---- */

/* Reads a parameter of the component into `value`. Returns false if it does not exist. */
static bool read_parameter(const char *name, void *value)
{
    char full[100];
    int index, count;
    MPI_T_cvar_handle handle;
    snprintf(full, sizeof(full), "coll_nicbarr_%s", name);
    if (MPI_SUCCESS != MPI_T_cvar_get_index(full, &index) ||
        MPI_SUCCESS != MPI_T_cvar_handle_alloc(index, NULL, &handle, &count)) {
        return false;
    }
    const bool read = MPI_SUCCESS == MPI_T_cvar_read(handle, value);
    MPI_T_cvar_handle_free(&handle);
    return read;
}

/* Reads a text parameter, to be freed. Returns NULL if it does not exist. */
static char *read_text(const char *name)
{
    char *value = tool_alloc(VALUE_BYTES, 1);
    if (!read_parameter(name, value)) {
        free(value);
        return NULL;
    }
    return value;
}

static void read_values(const struct myr_nic_kind *kind, union myr_value *values)
{
    for (int o = 0; NULL != kind->options[o].name; ++o) {
        const struct myr_option *option = &kind->options[o];
        int number;
        values[o] = option->usual;
        if (MYR_OPTION_TEXT == option->type) {
            values[o].text = read_text(option->name);
        } else if (read_parameter(option->name, &number)) {
            if (MYR_OPTION_FLAG == option->type) {
                values[o].flag = 0 != number;
            } else {
                values[o].number = number;
            }
        }
    }
}

static void free_values(const struct myr_nic_kind *kind, union myr_value *values)
{
    for (int o = 0; NULL != kind->options[o].name; ++o) {
        if (MYR_OPTION_TEXT == kind->options[o].type) {
            free(values[o].text);
        }
    }
}

/* ---- Open MPI, and the component ---- */

/* Prints the release of the MPI library, which `nicbarr doctor` compares with mpirun's release. */
static void check_library(const char *host)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",")] = '\0';
    probe_print(finding(host, PROBE_LIBRARY, FINDING_OK, NULL, "%s", version));
}

static void check_component(const char *host)
{
    int priority;
    if (!read_parameter("priority", &priority)) {
        probe_print(
            finding(host, PROBE_COMPONENT, FINDING_PROBLEM,
                    "check that OMPI_MCA_coll, or \"coll\" in openmpi-mca-params.conf, does "
                    "not exclude it, and that nicbarr is in the same directory on that host",
                    "the processes of a job do not have coll/nicbarr"));
    } else if (priority < 0) {
        probe_print(finding(host, PROBE_COMPONENT, FINDING_PROBLEM,
                            "remove coll_nicbarr_priority where it is set",
                            "it is disabled by coll_nicbarr_priority %d", priority));
    } else {
        probe_print(finding(host, PROBE_COMPONENT, FINDING_OK, NULL,
                            "the processes of a job have coll/nicbarr, with priority %d",
                            priority));
    }
}

/* ---- the tuning cache ---- */

static bool may_make(const struct nicbarr_cache_location *location)
{
    char dir[PATH_MAX];
    const size_t below = strlen(location->below);
    snprintf(dir, sizeof(dir), "%s", location->path);
    for (char *slash = strrchr(dir, '/'); NULL != slash; slash = strrchr(dir, '/')) {
        *slash = '\0';
        if (0 == access('\0' == *dir ? "/" : dir, F_OK)) {
            return 0 == access('\0' == *dir ? "/" : dir, W_OK);
        }
        if (0 == below || 0 != strncmp(dir, location->below, below)) {
            return false; /* the component does not create it */
        }
    }
    return 0 == access(".", W_OK);
}

static void check_cache_file(const char *host, const struct nicbarr_cache_location *location)
{
    static const struct nicbarr_shape any = {.processes = 2, .processors = 1, .homes = 1};
    static struct nicbarr_evidence evidence; /* too large for the stack */
    const struct nicbarr_cache_file file = {location->path, NULL, "", NULL};
    const bool there = 0 == access(location->path, F_OK);
    struct myr_error error = {.text = ""};
    if (!nicbarr_cache_file_read(&file, &any, &evidence, &error)) {
        probe_print(finding(host, "tuning cache", FINDING_PROBLEM,
                            "remove it, or choose another file with coll_nicbarr_cache FILE (or "
                            "none): until then each job measures again",
                            "%s is not used, and left unchanged: %s", location->path, error.text));
    } else if (there ? 0 == access(location->path, W_OK) : may_make(location)) {
        probe_print(finding(host, "tuning cache", FINDING_OK, NULL, "%s can be %s", location->path,
                            there ? "read and written" : "created when something is measured"));
    } else {
        probe_print(finding(host, "tuning cache", FINDING_NOTE,
                            there ? "nothing, if another file of coll_nicbarr_cache is to be "
                                    "written, or none"
                                  : "create its directory, or let this user write there, or choose "
                                    "another file with coll_nicbarr_cache FILE (or none)",
                            there ? "%s can be read, but not written"
                                  : "%s does not exist, and cannot be created",
                            location->path));
    }
}

static void check_cache(const char *host)
{
    char *value = read_text("cache");
    const char *list = value;
    struct nicbarr_cache_location location;
    while (nicbarr_cache_next_location(&list, &location)) {
        if ('\0' != location.path[0]) {
            check_cache_file(host, &location);
        } else if (!location.remeasure) {
            probe_print(finding(host, "tuning cache", FINDING_NOTE,
                                "nothing, if each job is to measure again; otherwise remove "
                                "coll_nicbarr_cache none where it is set",
                                "none is kept (coll_nicbarr_cache %s)", value));
        }
    }
    free(value);
}

/* ---- limits ---- */

/* The default limit of locked memory since Linux 5.16. */
enum { LOCKED_USUAL = 8 << 20 };

static void check_limits(const char *host, bool rdma)
{
    struct rlimit locked;
    if (getrlimit(RLIMIT_MEMLOCK, &locked) < 0) {
        return;
    }
    char size[40];
    if (RLIM_INFINITY == locked.rlim_cur) {
        snprintf(size, sizeof(size), "any amount");
    } else {
        snprintf(size, sizeof(size), "%llu KiB", (unsigned long long)locked.rlim_cur >> 10);
    }
    const bool enough = RLIM_INFINITY == locked.rlim_cur || locked.rlim_cur >= LOCKED_USUAL;
    probe_print(finding(
        host, "locked memory",
        enough ? FINDING_OK
        : rdma ? FINDING_PROBLEM
               : FINDING_NOTE,
        enough
            ? NULL
            : "RDMA cards need locked memory: raise `ulimit -l' (memlock in "
              "/etc/security/limits.conf, LimitMEMLOCK= of the service that starts jobs, such as "
              "slurmd). Without such a card there is nothing to do",
        "a process of a job may lock %s", size));
}

/* ---- NICs ---- */

static void no_progress(void) {}

static char message[240]; /* a message of the kind of NIC that is being opened */

static void record_line(int level, const char *line)
{
    (void)level;
    snprintf(message, sizeof(message), "; %s", line);
}

/* Returns the address of a NIC as text. */
static const char *address_of(const struct probe_nic *nic, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t a = 0; a < nic->name.count && length < bytes; ++a) {
        char ip[MCP_IP_TEXT];
        length += (size_t)snprintf(text + length, bytes - length, " %s %s UDP port %u",
                                   0 == a ? "at" : "and", mcp_ip_text(&nic->name.address[a].ip, ip),
                                   (unsigned)ntohs(nic->name.address[a].port));
    }
    return text;
}

static const char sharing_todo[] =
    "allow processes of one user the call pidfd_getfd: in a container by --cap-add SYS_PTRACE, or "
    "a seccomp profile that has it; outside by kernel.yama.ptrace_scope 1 or 0. Or start myrd on "
    "each host, which passes its NIC to them";

/* Reports a missing NIC. If its kind has no text about its absence, every machine with a network
 * should have such a NIC, so in a job on several hosts its absence is a problem. */
static void report_absence(const struct probe *probe, const struct probe_nic *nic, const char *what,
                           const char *why)
{
    const char *absent = nic->kind->absent;
    const bool expected = NULL == absent && nic->way == nic->kind->name;
    char todo[300];
    snprintf(todo, sizeof(todo), "nothing, unless you want this NIC%s%s",
             NULL == absent ? "" : ": ", NULL == absent ? "" : absent);
    probe_print(finding(probe->host, what,
                        expected && probe->hosts > 1 ? FINDING_PROBLEM : FINDING_NOTE,
                        expected ? "jobs on a single host need no NIC; for jobs on several hosts "
                                   "see coll_nicbarr_network and coll_nicbarr_port"
                                 : todo,
                        "%s%s", why, message));
}

static void report_nic(const struct probe *probe, const struct probe_nic *nic, int process,
                       enum myr_status status, const struct myr_error *error)
{
    char what[100], nic_address[300];
    snprintf(what, sizeof(what), "NIC %s", nic->way);
    if (MYR_OK == status && 0 == process) {
        probe_print(finding(probe->host, what, FINDING_OK, NULL, "available%s%s",
                            address_of(nic, nic_address, sizeof(nic_address)), message));
    } else if (MYR_OK != status && 0 != process) {
        probe_print(finding(probe->host, what, FINDING_PROBLEM, sharing_todo,
                            "the host's first process can use it, the second one cannot: %s",
                            error->text));
    } else if (nic->absent) {
        report_absence(probe, nic, what, error->text);
    } else if (MYR_OK != status) {
        probe_print(
            finding(probe->host, what, FINDING_PROBLEM,
                    "correct that, or leave this NIC out (coll_nicbarr_nic lists those that "
                    "jobs may use)",
                    "not available: %s%s", error->text, message));
    }
}

/* Opens all NICs, under each of their names, and reports them. The first process of a host also
 * reports the NICs that are missing; the second process only reports those that the first one has
 * opened. */
static void open_nics(struct probe *probe, int process, const char *first_has)
{
    for (int k = 0; NULL != nicbarr_kinds[k]; ++k) {
        const struct myr_nic_kind *kind = nicbarr_kinds[k];
        union myr_value values[MYR_OPTIONS_MOST];
        read_values(kind, values);
        const char *way = kind->name;
        for (int w = 0; NULL != way && probe->nics < PROBE_NICS; way = kind->ways[w++]) {
            struct probe_nic *nic = &probe->nic[probe->nics++];
            struct myr_error error = {.text = ""};
            *nic = (struct probe_nic){.kind = kind, .way = way};
            message[0] = '\0';
            const enum myr_status status = kind->open(&probe->site, way, values, &nic->nic, &error);
            nic->absent = MYR_ERR_NOT_THERE == status;
            if (MYR_OK == status) {
                kind->query(nic->nic, &nic->name);
            } else {
                nic->nic = NULL;
            }
            if (0 == process || first_has[probe->nics - 1]) {
                report_nic(probe, nic, process, status, &error);
            }
        }
        free_values(kind, values);
    }
}

static void close_nics(struct probe *probe)
{
    for (int n = 0; n < probe->nics; ++n) {
        if (NULL != probe->nic[n].nic) {
            probe->nic[n].kind->close(probe->nic[n].nic);
        }
    }
}

/* ---- the host's processes ---- */

/* The message of the first process of a host to its other processes. */
struct start {
    char dir[200];
    char has[PROBE_NICS];
};

static bool join_probe_segment(struct probe *probe, const char *dir)
{
    static struct myr_waiter waiter;
    static const struct myr_wait_policy policy = {.spin = -1, .sleep_after = 500, .slice = 1000};
    enum { LIMIT = 64 << 20 };
    struct myr_error error = {.text = ""};
    if (MYR_OK != myr_segment_join(dir, LIMIT, &probe->segment, &error)) {
        probe_print(finding(probe->host, "shared memory", FINDING_PROBLEM,
                            "processes of one host must see each other's PIDs and file descriptors "
                            "in /proc: put all ranks of a host into one container",
                            "%s", error.text));
        return false;
    }
    myr_waiter_init(&waiter, probe->segment, no_progress, &policy);
    probe->site =
        (struct myr_site){.segment = probe->segment, .waiter = &waiter, .print = record_line};
    return true;
}

/* Returns whether a NIC registers memory with a card. This is the case if its kind has connection
 * data (a blob). */
static bool locks_memory(const struct probe_nic *nic)
{
    return !nic->absent && 0 != nic->kind->caps.blob;
}

/* Runs the first process of a host. It makes all checks, and keeps its NICs open until the second
 * process has opened them, too. */
static bool lead(struct probe *probe, int rank)
{
    struct start start = {.dir = ""};
    const char *temporary = getenv("TMPDIR");
    char done;
    check_library(probe->host);
    check_component(probe->host);
    check_cache(probe->host);
    snprintf(start.dir, sizeof(start.dir), "%s/nicbarr-probe.XXXXXX",
             NULL == temporary ? "/tmp" : temporary);
    if (NULL == mkdtemp(start.dir)) {
        probe_print(finding(probe->host, "temporary files", FINDING_PROBLEM,
                            "set TMPDIR to a writable directory", "cannot create %s: %s", start.dir,
                            strerror(errno)));
    } else if (join_probe_segment(probe, start.dir)) {
        open_nics(probe, 0, NULL);
    }
    bool rdma = false;
    for (int n = 0; n < probe->nics; ++n) {
        start.has[n] = NULL != probe->nic[n].nic;
        rdma = rdma || locks_memory(&probe->nic[n]);
    }
    check_limits(probe->host, rdma);
    MPI_Send(&start, sizeof(start), MPI_BYTE, rank + 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(&done, 1, MPI_BYTE, rank + 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const bool all = probe_pairs(probe);
    close_nics(probe);
    if (NULL != probe->segment) {
        myr_segment_leave(probe->segment);
    }
    (void)rmdir(start.dir);
    return all;
}

static void follow(struct probe *probe, int rank)
{
    struct start start;
    const char done = 1;
    MPI_Recv(&start, sizeof(start), MPI_BYTE, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (join_probe_segment(probe, start.dir)) {
        open_nics(probe, 1, start.has);
        close_nics(probe);
        myr_segment_leave(probe->segment);
    }
    MPI_Send(&done, 1, MPI_BYTE, rank - 1, TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct probe probe = {.host = ""};
    int rank, size, provided;
    bool all = true;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gethostname(probe.host, sizeof(probe.host) - 1);
    probe.index = rank / PROBE_PER_HOST;
    probe.hosts = size / PROBE_PER_HOST;
    if (0 == probe.hosts) {
        probe_print(
            finding(probe.host, "Open MPI", FINDING_PROBLEM, probe_same_mpi,
                    "each process is a job of its own, so mpirun and the programs belong to "
                    "different MPIs"));
    } else if (0 == rank % PROBE_PER_HOST) {
        all = lead(&probe, rank);
    } else {
        follow(&probe, rank);
    }
    if (1 == probe.hosts) {
        MPI_Barrier(MPI_COMM_WORLD); /* in this call the component prints why it cannot be used */
    }
    if (all) {
        MPI_T_finalize();
        MPI_Finalize();
    }
    return EXIT_SUCCESS;
}
