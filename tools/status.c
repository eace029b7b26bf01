/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `nicbarr status`: the NICs that this node's processes have at present, what they count, and who
 * waits for whom (waiting.h); also the kernel's NIC, if there is one.
 *
 * It looks at the memory that nicbarr's processes share (libmyr/soft/nic_look.h), but takes no part
 * in it. The daemon of the kernel's NIC reports about that (libmyr/kernel/kernel_nic.h). What is
 * read may be a mixture of two moments. That does no harm.
 */
#include <argp.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libmyr/kernel/kernel_nic.h"
#include "libmyr/kernel/kernel_words.h"
#include "libmyr/seal.h"
#include "libmyr/soft/nic_look.h"
#include "os/clock.h"
#include "tools/alloc.h"
#include "tools/commands.h"
#include "tools/metrics.h"
#include "tools/segments.h"
#include "tools/table.h"
#include "tools/text.h"
#include "tools/waiting.h"

enum { GROUPS_SHOWN = 8, COUNTERS = sizeof(struct mcp_counters) / sizeof(uint64_t) };

static const struct {
    const char *name, *text;
} counters[COUNTERS] = {
#define COUNTER(name, text) {#name, text},
    MCP_COUNTERS(COUNTER)
#undef COUNTER
};

struct settings {
    enum { TEXT, JSON, PROMETHEUS } form;
    bool all;        /* also groups that have not waited for long */
    bool counters;   /* also those that are zero */
    const char *job; /* its processes alone; NULL: everybody's */
    double watch;    /* seconds; 0: once */
};

/* One segment, as far as it could be looked at. */
struct sight {
    struct myr_segment_view segment;
    struct myr_nic_view nic;
    enum myr_status segment_status, nic_status;
    struct myr_error error; /* of whichever could not be looked at */
};

static void look(const struct segment *segment, struct sight *sight)
{
    memset(sight, 0, sizeof(*sight));
    sight->nic_status = MYR_ERR_NOT_THERE;
    sight->segment_status = myr_look_at_segment(segment->fd, &sight->segment, &sight->error);
    if (MYR_OK == sight->segment_status) {
        sight->nic_status = myr_look_at_nic(segment->fd, &sight->nic, &sight->error);
    }
}

/* A segment, and what it was like a second ago, if that matters. */
struct sights {
    struct sight now, earlier;
};

/*
 * Look at all segments. They are to be freed, with their NICs. Nobody writes down since when a
 * group has waited for processes of its own node. So where a group does, a second look, a second
 * later, shows whether it still does. Where `all` groups are shown, that is not needed.
 */
static struct sights *look_twice(const struct segments *segments, bool all)
{
    const struct timespec pause = {.tv_sec = 1};
    struct sights *sights = tool_alloc(segments->count, sizeof(*sights));
    bool again = false;
    for (size_t s = 0; s < segments->count; ++s) {
        look(&segments->segment[s], &sights[s].now);
        again = again || (!all && waiting_here(&sights[s].now.nic));
    }
    if (again) {
        nanosleep(&pause, NULL);
    }
    for (size_t s = 0; again && s < segments->count; ++s) {
        sights[s].earlier = sights[s].now;
        look(&segments->segment[s], &sights[s].now);
    }
    return sights;
}

/* The kernel's NIC in the words of the others'. MYR_ERR_NOT_THERE: there is none. */
struct kernel_sight {
    struct myr_kernel_report report;
    struct myr_nic_view nic;
    struct myr_group_view group[MCP_KERNEL_GROUPS];
    enum myr_status status;
    struct myr_error error;
};

static struct myr_node_view view_node(const struct myr_kernel_node *node)
{
    return (struct myr_node_view){node->node, node->ip, node->heard_ms};
}

static void view_kernel(struct kernel_sight *sight)
{
    const struct myr_kernel_report *report = &sight->report;
    sight->nic = (struct myr_nic_view){
        .there = true,
        .runner = report->pid,
        .name = report->nic,
        .counters = report->counters,
        .groups = report->groups,
        .group = sight->group,
    };
    for (uint32_t g = 0; g < report->groups; ++g) {
        const struct myr_kernel_group_words *group = &report->group[g];
        sight->group[g] = (struct myr_group_view){
            .place = g,
            .node = group->node,
            .done = group->done,
            .started = group->done + group->waits,
            .failed = 0 != group->failed,
            .lost = view_node(&group->lost),
            .since_ns = group->since_ms * 1000000,
            .nodes = group->missing,
        };
        for (uint32_t m = 0; m < group->missing && m < MYR_KERNEL_NODES; ++m) {
            sight->group[g].missing[sight->group[g].named++] = view_node(&group->node_missing[m]);
        }
    }
}

static void look_at_kernel(struct kernel_sight *sight)
{
    struct myr_kernel_nic *nic;
    memset(sight, 0, sizeof(*sight));
    sight->status = myr_kernel_nic_open(false, &nic, &sight->error);
    if (MYR_OK == sight->status) {
        sight->status = myr_kernel_nic_report(nic, &sight->report, &sight->error);
        myr_kernel_nic_close(nic);
    }
    if (MYR_OK == sight->status) {
        view_kernel(sight);
    }
}

static void counts_of(const struct mcp_counters *counted, uint64_t counts[COUNTERS])
{
    memcpy(counts, counted, sizeof(*counted));
}

static uint32_t groups_in_a_barrier(const struct myr_nic_view *nic)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < nic->groups; ++g) {
        count += nic->group[g].started != nic->group[g].done;
    }
    return count;
}

static const char *runner_words(const struct myr_nic_view *nic)
{
    static const char *const words[] = {
        [MYR_NIC_POLLED] = "polled",
        [MYR_NIC_THREAD] = "thread",
        [MYR_NIC_DAEMON] = "daemon",
    };
    return (unsigned)nic->runs_as < sizeof(words) / sizeof(words[0]) ? words[nic->runs_as] : "?";
}

/* ---- text ---- */

/* In the largest unit that has at least one of it. */
static void print_bytes(uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); ++unit) {
        value /= 1024;
    }
    printf(value < 100 && value != (double)(uint64_t)value ? "%.1f %s" : "%.0f %s", value,
           units[unit]);
}

static void print_processes(const struct segment *segment)
{
    for (size_t p = 0; p < segment->count; ++p) {
        const struct process *process = &segment->processes[p];
        printf("%s%s (%d)", 0 == p ? "  processes  " : ", ", process->name, (int)process->pid);
        if ('\0' != process->job[0]) {
            printf(" rank %s of job %s", process->rank, process->job);
        }
    }
    putchar('\n');
}

static void print_addresses(const struct myr_nic_view *nic, const char *kind)
{
    for (uint32_t a = 0; a < nic->name.count; ++a) {
        char text[MCP_NETWORK_TEXT];
        printf("%s%s%s port %u", 0 == a ? "  NIC        " : "", 0 == a ? kind : ", ",
               mcp_network_text(&nic->name.address[a].ip, nic->name.address[a].prefix, text),
               (unsigned)ntohs(nic->name.address[a].port));
    }
    putchar('\n');
}

static void print_nic(const struct myr_nic_view *nic)
{
    print_addresses(nic, "soft, ");
    printf("  run by     ");
    if (nic->broken) {
        printf("nobody: a process was killed while it ran it, so it is of no use any more\n");
    } else if (MYR_NIC_POLLED == nic->runs_as) {
        printf("the processes that wait\n");
    } else {
        printf("%s process %u, and the processes that wait\n",
               MYR_NIC_DAEMON == nic->runs_as ? "myrd," : "a thread of", (unsigned)nic->runner);
    }
}

/* Of this build: whoever was built with another one, nobody sees from here. */
static const char *secrets_words(void)
{
    return myr_seals() ? "sealed" : "clear";
}

static void print_secrets(void)
{
    printf("  secrets    %s\n", myr_seals()
                                    ? "sealed while they travel to other nodes (libsodium)"
                                    : "travel in clear: nicbarr was built without libsodium");
}

static void print_groups(const struct myr_nic_view *nic)
{
    printf("  groups     %u open, %u in a barrier", (unsigned)nic->groups,
           (unsigned)groups_in_a_barrier(nic));
    for (uint32_t g = 0; g < nic->groups && g < GROUPS_SHOWN; ++g) {
        const struct myr_group_view *group = &nic->group[g];
        printf("%s%u%s", 0 == g ? "; barriers done: " : ", ", (unsigned)group->done,
               group->failed ? " (failed)" : "");
    }
    printf("%s\n", nic->groups > GROUPS_SHOWN ? ", ..." : "");
}

static void print_ports(const struct myr_nic_view *nic)
{
    for (uint32_t p = 0; p < nic->ports; ++p) {
        const struct myr_port_view *port = &nic->port[p];
        printf("%snumber %u of process %u: %u messages under way", 0 == p ? "  ports      " : "; ",
               (unsigned)port->number, (unsigned)port->pid, (unsigned)port->under_way);
    }
    if (0 != nic->ports) {
        putchar('\n');
    }
}

static void print_counters(const struct myr_nic_view *nic, bool zeros)
{
    static const struct table_column columns[] = {
        {"count", "", true}, {"counter", "", false}, {"of what", "", false}};
    uint64_t counts[COUNTERS];
    struct table table;
    counts_of(&nic->counters, counts);
    table_begin(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int c = 0; c < COUNTERS; ++c) {
        if (zeros || 0 != counts[c]) {
            table_cell(&table, "%" PRIu64, counts[c]);
            table_cell(&table, "%s", counters[c].name);
            table_cell(&table, "%s", counters[c].text);
        }
    }
    if (0 == table.count) {
        puts("  counters   all are zero");
    } else {
        table_print(&table, stdout, 2);
    }
    table_end(&table);
}

static void print_rdma(const struct segment *segment)
{
    uint32_t count;
    struct myr_verbs_shown *list = myr_look_at_rdma(segment->fd, &count);
    for (uint32_t i = 0; i < count; ++i) {
        const struct myr_verbs_shown *nic = &list[i];
        printf("  RDMA NIC   %s, port %u, of process %u: %u queue pairs", nic->device,
               (unsigned)nic->port, (unsigned)nic->pid, (unsigned)nic->links);
        if (0 != nic->routed) {
            printf(" (ways of %u by librdmacm)", (unsigned)nic->routed);
        }
        if (0 != nic->broken) {
            printf(" (%u have failed)", (unsigned)nic->broken);
        }
        printf(", ");
        print_bytes(nic->registered);
        printf(" registered; it plays %u groups: %" PRIu64 " barriers, %" PRIu64
               " blocks of broadcasts, %" PRIu64 " writes, %" PRIu64 " groups failed\n",
               (unsigned)nic->groups, nic->counters.barriers, nic->counters.broadcasts,
               nic->counters.packets_sent, nic->counters.failed);
    }
    free(list);
}

static void print_segment(const struct segment *segment, const struct sights *sights,
                          const struct settings *settings)
{
    const struct sight *sight = &sights->now;
    if (MYR_ERR_NOT_THERE == sight->segment_status) {
        return; /* somebody else's file of that name */
    }
    if (MYR_OK == sight->segment_status) {
        printf("Memory %016" PRIx64 ": ", sight->segment.identity);
        print_bytes(sight->segment.bytes);
        printf(" of at most ");
        print_bytes(sight->segment.limit);
        printf("%s\n", sight->segment.full ? ", used up" : "");
    } else {
        printf("Memory: %s\n", sight->error.text);
    }
    print_processes(segment);
    if (MYR_OK == sight->nic_status && sight->nic.there) {
        print_nic(&sight->nic);
        print_secrets();
        print_groups(&sight->nic);
        print_ports(&sight->nic);
        waiting_print(&sight->nic, &sights->earlier.nic, segment, settings->all, os_now_ns());
        print_counters(&sight->nic, settings->counters);
    } else if (MYR_OK == sight->segment_status) {
        printf("  NIC        none: %s\n",
               MYR_OK == sight->nic_status ? sight->nic.why
               : MYR_ERR_NOT_THERE == sight->nic_status
                   ? "barriers on one node need none, or it was not asked for"
                   : sight->error.text);
    }
    if (MYR_OK == sight->segment_status) {
        print_rdma(segment);
    }
    putchar('\n');
}

static void print_kernel(const struct kernel_sight *sight, const struct settings *settings)
{
    if (MYR_ERR_NOT_THERE == sight->status) {
        return;
    }
    if (MYR_OK != sight->status) {
        printf("Kernel: %s\n\n", sight->error.text);
        return;
    }
    printf("Kernel: a NIC at interface %s\n", sight->report.interface);
    printf("  processes  myrd (%u)\n", (unsigned)sight->report.pid);
    print_addresses(&sight->nic, "kernel, ");
    printf("  run by     the kernel\n");
    print_secrets();
    print_groups(&sight->nic);
    waiting_print(&sight->nic, NULL, NULL, settings->all, os_now_ns());
    printf("  closed     %u, whose last epochs are kept for peers that ask\n",
           (unsigned)sight->report.closed);
    printf("  refused    %" PRIu64 " connections\n", sight->report.refused);
    print_counters(&sight->nic, settings->counters);
    putchar('\n');
}

static void print_all(const struct segments *segments, const struct kernel_sight *kernel,
                      const struct settings *settings)
{
    print_kernel(kernel, settings);
    if (0 == segments->count && MYR_OK != kernel->status) {
        printf("No process%s%s that you may look into uses nicbarr at present.\n",
               NULL == settings->job ? "" : " of job ", NULL == settings->job ? "" : settings->job);
    }
    struct sights *sights = look_twice(segments, settings->all);
    for (size_t s = 0; s < segments->count; ++s) {
        print_segment(&segments->segment[s], &sights[s], settings);
        myr_nic_view_free(&sights[s].now.nic);
        myr_nic_view_free(&sights[s].earlier.nic);
    }
    free(sights);
}

/* ---- JSON ---- */

static json_t *json_of_processes(const struct segment *segment)
{
    json_t *list = json_array();
    for (size_t p = 0; p < segment->count; ++p) {
        const struct process *process = &segment->processes[p];
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:s, s:s}", "pid", (int)process->pid, "name",
                                        process->name, "job", process->job, "rank", process->rank));
    }
    return list;
}

static json_t *json_of_counters(const struct mcp_counters *counted)
{
    json_t *json = json_object();
    uint64_t counts[COUNTERS];
    counts_of(counted, counts);
    for (int c = 0; c < COUNTERS; ++c) {
        json_object_set_new(json, counters[c].name, json_integer((json_int_t)counts[c]));
    }
    return json;
}

/* What all kinds of NICs have. */
static json_t *json_of_nic(const struct myr_nic_view *nic, const char *kind, const char *run_by)
{
    json_t *addresses = json_array(), *groups = json_array(), *ports = json_array();
    const uint64_t now = os_now_ns();
    for (uint32_t a = 0; a < nic->name.count; ++a) {
        char text[MCP_IP_TEXT];
        const struct mcp_ip *ip = &nic->name.address[a].ip;
        json_array_append_new(
            addresses, json_pack("{s:s, s:i, s:i}", "address", mcp_ip_text(ip, text), "prefix",
                                 (int)mcp_prefix_written(ip, nic->name.address[a].prefix), "port",
                                 (int)ntohs(nic->name.address[a].port)));
    }
    for (uint32_t g = 0; g < nic->groups; ++g) {
        const struct myr_group_view *group = &nic->group[g];
        json_array_append_new(
            groups, json_pack("{s:I, s:I, s:I, s:b, s:o, s:o}", "node", (json_int_t)group->node,
                              "done", (json_int_t)group->done, "started",
                              (json_int_t)group->started, "failed", (int)group->failed, "lost",
                              waiting_json_lost(group), "waits", waiting_json(group, now)));
    }
    for (uint32_t p = 0; p < nic->ports; ++p) {
        const struct myr_port_view *port = &nic->port[p];
        json_array_append_new(ports,
                              json_pack("{s:I, s:I, s:I}", "number", (json_int_t)port->number,
                                        "pid", (json_int_t)port->pid, "messages_under_way",
                                        (json_int_t)port->under_way));
    }
    return json_pack("{s:s, s:o, s:s, s:s, s:I, s:b, s:o, s:o, s:o}", "kind", kind, "addresses",
                     addresses, "secrets", secrets_words(), "run_by", run_by, "runner",
                     (json_int_t)nic->runner, "broken", (int)nic->broken, "groups", groups, "ports",
                     ports, "counters", json_of_counters(&nic->counters));
}

static json_t *json_of_rdma(const struct segment *segment)
{
    uint32_t count;
    struct myr_verbs_shown *list = myr_look_at_rdma(segment->fd, &count);
    json_t *all = json_array();
    for (uint32_t i = 0; i < count; ++i) {
        const struct myr_verbs_shown *nic = &list[i];
        json_array_append_new(
            all,
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "device", nic->device,
                      "port", (json_int_t)nic->port, "pid", (json_int_t)nic->pid, "queue_pairs",
                      (json_int_t)nic->links, "failed", (json_int_t)nic->broken, "routed",
                      (json_int_t)nic->routed, "registered", (json_int_t)nic->registered, "groups",
                      (json_int_t)nic->groups, "counters", json_of_counters(&nic->counters)));
    }
    free(list);
    return all;
}

static json_t *json_of_segment(const struct segment *segment)
{
    struct sight sight;
    json_t *json = NULL;
    look(segment, &sight);
    if (MYR_OK == sight.segment_status) {
        char identity[17];
        snprintf(identity, sizeof(identity), "%016" PRIx64, sight.segment.identity);
        json = json_pack("{s:s, s:I, s:I, s:b}", "memory", identity, "bytes",
                         (json_int_t)sight.segment.bytes, "limit", (json_int_t)sight.segment.limit,
                         "full", (int)sight.segment.full);
    } else if (MYR_ERR_NOT_THERE != sight.segment_status) {
        json = json_pack("{s:s}", "trouble", sight.error.text);
    }
    if (NULL != json) {
        json_object_set_new(json, "processes", json_of_processes(segment));
        json_object_set_new(json, "rdma", json_of_rdma(segment));
        json_object_set_new(json, "nic",
                            MYR_OK == sight.nic_status && sight.nic.there
                                ? json_of_nic(&sight.nic, "soft", runner_words(&sight.nic))
                                : json_null());
        if (MYR_OK == sight.nic_status && !sight.nic.there) {
            json_object_set_new(json, "trouble", json_string(sight.nic.why));
        } else if (MYR_ERR_FOREIGN == sight.nic_status) {
            json_object_set_new(json, "trouble", json_string(sight.error.text));
        }
    }
    myr_nic_view_free(&sight.nic);
    return json;
}

static json_t *json_of_kernel(const struct kernel_sight *sight)
{
    if (MYR_ERR_NOT_THERE == sight->status) {
        return json_null();
    }
    if (MYR_OK != sight->status) {
        return json_pack("{s:s}", "trouble", sight->error.text);
    }
    json_t *json = json_of_nic(&sight->nic, "kernel", "kernel");
    json_object_set_new(json, "interface", json_string(sight->report.interface));
    json_object_set_new(json, "closed", json_integer((json_int_t)sight->report.closed));
    json_object_set_new(json, "refused", json_integer((json_int_t)sight->report.refused));
    return json;
}

static void print_json(const struct segments *segments, const struct kernel_sight *kernel)
{
    json_t *list = json_array();
    for (size_t s = 0; s < segments->count; ++s) {
        json_t *one = json_of_segment(&segments->segment[s]);
        if (NULL != one) {
            json_array_append_new(list, one);
        }
    }
    json_t *whole = json_pack("{s:s, s:o, s:o}", "format", "nicbarr status 1", "segments", list,
                              "kernel", json_of_kernel(kernel));
    json_dumpf(whole, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
    putchar('\n');
    json_decref(whole);
}

/* ---- Prometheus ---- */

enum { NIC_TEXT = 96 };

static void add_counters(struct metrics *metrics, const struct mcp_counters *counted,
                         const char *labels)
{
    uint64_t counts[COUNTERS];
    counts_of(counted, counts);
    for (int c = 0; c < COUNTERS; ++c) {
        char name[64];
        snprintf(name, sizeof(name), "nicbarr_%s_total", counters[c].name);
        metrics_add(metrics, name, "counter", counters[c].text, labels, (double)counts[c]);
    }
}

static void add_groups(struct metrics *metrics, uint32_t groups, const char *labels)
{
    metrics_add(metrics, "nicbarr_groups", "gauge", "groups (communicators) that the NIC has open",
                labels, groups);
}

/* What soft and kernel's NICs have. Returns the labels, with the NIC's kind and name, to be freed.
 */
static char *add_nic(struct metrics *metrics, const struct myr_nic_view *nic, const char *kind,
                     char *labels)
{
    char name[NIC_TEXT] = "";
    if (0 != nic->name.count) {
        mcp_place_text(&nic->name.address[0].ip, nic->name.address[0].port, name);
    }
    labels = metrics_label(metrics_label(labels, "kind", kind), "nic", name);
    add_groups(metrics, nic->groups, labels);
    metrics_add(metrics, "nicbarr_groups_in_a_barrier", "gauge",
                "groups whose barrier, or other collective, is under way", labels,
                groups_in_a_barrier(nic));
    metrics_add(metrics, "nicbarr_ports", "gauge", "ports that the NIC has open, for messages",
                labels, nic->ports);
    metrics_add(metrics, "nicbarr_waiting_seconds", "gauge",
                "for how long a group has waited for other nodes, at the most", labels,
                waiting_longest(nic, os_now_ns()));
    metrics_add(metrics, "nicbarr_broken", "gauge",
                "1: a process was killed while it ran the NIC, which is of no use any more", labels,
                nic->broken);
    add_counters(metrics, &nic->counters, labels);
    return labels;
}

static void add_rdma(struct metrics *metrics, const struct segment *segment, const char *whose)
{
    uint32_t count;
    struct myr_verbs_shown *list = myr_look_at_rdma(segment->fd, &count);
    for (uint32_t i = 0; i < count; ++i) {
        const struct myr_verbs_shown *nic = &list[i];
        char name[NIC_TEXT], pid[16];
        char *device = text_printable(nic->device, sizeof(nic->device));
        snprintf(name, sizeof(name), "%.80s:%u", device, (unsigned)nic->port);
        snprintf(pid, sizeof(pid), "%u", (unsigned)nic->pid);
        free(device);
        char *labels = metrics_label(strdup(whose), "kind", "verbs");
        labels = metrics_label(metrics_label(labels, "nic", name), "pid", pid);
        add_groups(metrics, nic->groups, labels);
        metrics_add(metrics, "nicbarr_queue_pairs", "gauge", "queue pairs of an RDMA NIC", labels,
                    nic->links);
        metrics_add(metrics, "nicbarr_queue_pairs_failed", "gauge",
                    "queue pairs of an RDMA NIC that have failed", labels, nic->broken);
        metrics_add(metrics, "nicbarr_registered_bytes", "gauge",
                    "memory that an RDMA NIC has registered", labels, (double)nic->registered);
        add_counters(metrics, &nic->counters, labels);
        free(labels);
    }
    free(list);
}

/* The job of all its processes; "" where they are of several, as a daemon's are. */
static const char *job_of(const struct segment *segment)
{
    const char *job = 0 == segment->count ? "" : segment->processes[0].job;
    for (size_t p = 1; p < segment->count; ++p) {
        job = 0 == strcmp(job, segment->processes[p].job) ? job : "";
    }
    return job;
}

static void add_segment(struct metrics *metrics, const struct segment *segment)
{
    struct sight sight;
    look(segment, &sight);
    if (MYR_OK == sight.segment_status) {
        char identity[17];
        snprintf(identity, sizeof(identity), "%016" PRIx64, sight.segment.identity);
        char *labels = metrics_label(NULL, "memory", identity);
        labels = metrics_label(labels, "job", job_of(segment));
        metrics_add(metrics, "nicbarr_memory_bytes", "gauge", "memory that processes share", labels,
                    sight.segment.bytes);
        metrics_add(metrics, "nicbarr_memory_limit_bytes", "gauge",
                    "the most memory that these processes may share", labels, sight.segment.limit);
        add_rdma(metrics, segment, labels);
        if (MYR_OK == sight.nic_status && sight.nic.there) {
            const char *kind = MYR_NIC_DAEMON == sight.nic.runs_as ? "daemon" : "soft";
            labels = add_nic(metrics, &sight.nic, kind, labels);
        }
        free(labels);
    }
    myr_nic_view_free(&sight.nic);
}

static void add_kernel(struct metrics *metrics, const struct kernel_sight *sight)
{
    if (MYR_OK != sight->status) {
        return;
    }
    char *labels = metrics_label(NULL, "interface", sight->report.interface);
    labels = add_nic(metrics, &sight->nic, "kernel", labels);
    metrics_add(metrics, "nicbarr_groups_closed", "gauge",
                "closed groups whose last epochs are kept for peers that ask", labels,
                sight->report.closed);
    metrics_add(metrics, "nicbarr_connections_refused_total", "counter",
                "connections that the daemon of the kernel's NIC has refused", labels,
                (double)sight->report.refused);
    free(labels);
}

static void print_metrics(const struct segments *segments, const struct kernel_sight *kernel)
{
    struct metrics metrics;
    metrics_begin(&metrics);
    add_kernel(&metrics, kernel);
    for (size_t s = 0; s < segments->count; ++s) {
        add_segment(&metrics, &segments->segment[s]);
    }
    metrics_print(&metrics, stdout);
    metrics_end(&metrics);
}

/* ---- the command ---- */

enum { JOB = 256 };

static const struct argp_option options[] = {
    {"all", 'a', NULL, 0, "Also groups that have not waited for more than a second", 0},
    {"counters", 'c', NULL, 0, "Also the counters that are zero", 0},
    {"job", JOB, "NAME", 0,
     "Only the NICs of this job's processes, as the line `processes' calls it; not the kernel's "
     "NIC",
     0},
    {"json", 'j', NULL, 0, "Print JSON, on one line", 0},
    {"prometheus", 'p', NULL, 0,
     "Print all figures in Prometheus' text format, for the node exporter's textfile collector", 0},
    {"watch", 'w', "SECONDS", 0, "Again and again, until it is interrupted", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
    "Shows which processes of this machine use nicbarr, the NICs that they have, and what these "
    "have counted (counters that are zero are left out, see --counters): of your own processes, or "
    "as root of everybody's. Also the kernel's NIC, where "
    "myrd --kernel runs."
    "\v"
    "A line `waiting' tells of a group (a communicator, as the NICs know it) whose barrier does "
    "not "
    "go on: for how long, and for whom. A node is `heard' when its NIC says that its host has not "
    "come yet: it is alive, and its processes are late. A node that is never heard, or was not "
    "heard for long, may be gone or cut off. Where the group waits for processes of this node, it "
    "has done so for at least a second; they are named. JSON has all groups that wait, however "
    "short. Communicators within one node are not shown.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    char *end;
    switch (key) {
    case 'a':
        settings->all = true;
        return 0;
    case 'c':
        settings->counters = true;
        return 0;
    case JOB:
        settings->job = argument;
        return 0;
    case 'j':
        settings->form = JSON;
        return 0;
    case 'p':
        settings->form = PROMETHEUS;
        return 0;
    case 'w':
        settings->watch = strtod(argument, &end);
        if ('\0' != *end || end == argument ||
            !(settings->watch >= 0.01 && settings->watch <= 1e6)) {
            argp_error(state, "--watch is a number of seconds, 0.01 to 1000000, not '%s'",
                       argument);
        }
        return 0;
    case ARGP_KEY_END:
        if (PROMETHEUS == settings->form && 0 != settings->watch) {
            argp_error(state, "--prometheus prints one page of figures: leave --watch out");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void show(const struct settings *settings)
{
    struct segments segments;
    static struct kernel_sight kernel; /* large */
    segments_find(&segments, "/proc");
    if (NULL != settings->job) {
        segments_keep_job(&segments, settings->job);
        kernel.status = MYR_ERR_NOT_THERE;
    } else {
        look_at_kernel(&kernel);
    }
    if (JSON == settings->form) {
        print_json(&segments, &kernel);
    } else if (PROMETHEUS == settings->form) {
        print_metrics(&segments, &kernel);
    } else {
        if (0 != settings->watch && isatty(STDOUT_FILENO)) {
            fputs("\033[H\033[2J", stdout); /* a clean screen */
        }
        print_all(&segments, &kernel, settings);
    }
    segments_free(&segments);
}

int status_command(int argc, char **argv)
{
    const struct argp argp = {options, parse, NULL, doc, NULL, NULL, NULL};
    struct settings settings = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    show(&settings);
    const double whole = (double)(time_t)settings.watch;
    const struct timespec pause = {(time_t)settings.watch,
                                   (long)((settings.watch - whole) * 1000000000)};
    while (0 != settings.watch && 0 == fflush(stdout) && !ferror(stdout)) {
        nanosleep(&pause, NULL);
        show(&settings);
    }
    return EXIT_SUCCESS;
}
