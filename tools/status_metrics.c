/* SPDX-License-Identifier: BSD-3-Clause */
/* `nicbarr status --prometheus`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firmware/soft/addresses.h"
#include "os/clock.h"
#include "tools/metrics.h"
#include "tools/status_forms.h"
#include "tools/text.h"
#include "tools/waiting.h"

enum { NIC_TEXT = 96 };

static void add_counters(struct metrics *metrics, const struct mcp_counters *counted,
                         const char *labels)
{
    uint64_t counts[SNAPSHOT_COUNTERS];
    snapshot_counts(counted, counts);
    for (int c = 0; c < SNAPSHOT_COUNTERS; ++c) {
        char name[64];
        snprintf(name, sizeof(name), "nicbarr_%s_total", snapshot_counters[c].name);
        metrics_add(metrics, name, "counter", snapshot_counters[c].text, labels, (double)counts[c]);
    }
}

static void add_groups(struct metrics *metrics, uint32_t groups, const char *labels)
{
    metrics_add(metrics, "nicbarr_groups", "gauge", "groups (communicators) that the NIC has open",
                labels, groups);
}

/* Adds the metrics of a soft NIC or of the kernel NIC. Returns the labels, with the NIC's kind
 * and name, to be freed. */
static char *add_nic(struct metrics *metrics, const struct myr_soft_view *nic, const char *kind,
                     char *labels)
{
    char name[NIC_TEXT] = "";
    if (0 != nic->name.count) {
        mcp_address_text(&nic->name.address[0].ip, nic->name.address[0].port, name);
    }
    labels = metrics_label(metrics_label(labels, "kind", kind), "nic", name);
    add_groups(metrics, nic->groups, labels);
    metrics_add(metrics, "nicbarr_groups_in_a_barrier", "gauge",
                "groups with a barrier or other collective under way", labels,
                snapshot_groups_in_a_barrier(nic));
    metrics_add(metrics, "nicbarr_ports", "gauge", "ports that the NIC has open, for messages",
                labels, nic->ports);
    metrics_add(metrics, "nicbarr_waiting_seconds", "gauge",
                "longest current wait of a group for other nodes", labels,
                waiting_longest(nic, os_now_ns()));
    metrics_add(metrics, "nicbarr_broken", "gauge",
                "1 if the NIC cannot be used any more, as a process was killed while it ran it",
                labels, nic->broken);
    add_counters(metrics, &nic->counters, labels);
    return labels;
}

static void add_rdma(struct metrics *metrics, const struct segment *segment, const char *whose)
{
    uint32_t count;
    struct myr_verbs_shown *list = myr_inspect_rdma(segment->fd, &count);
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

/* Returns the job to which all processes of a segment belong, or "" if there are several, as in the
 * segment of a daemon. */
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
    struct snapshot snapshot;
    snapshot_take(segment, &snapshot);
    if (MYR_OK == snapshot.segment_status) {
        char identity[17];
        snprintf(identity, sizeof(identity), "%016" PRIx64, snapshot.segment.identity);
        char *labels = metrics_label(NULL, "memory", identity);
        labels = metrics_label(labels, "job", job_of(segment));
        metrics_add(metrics, "nicbarr_memory_bytes", "gauge", "memory that processes share", labels,
                    snapshot.segment.bytes);
        metrics_add(metrics, "nicbarr_memory_limit_bytes", "gauge",
                    "limit of the memory that processes share", labels, snapshot.segment.limit);
        add_rdma(metrics, segment, labels);
        if (MYR_OK == snapshot.nic_status && snapshot.nic.there) {
            const char *kind = MYR_SOFT_DAEMON == snapshot.nic.runs_as ? "daemon" : "soft";
            labels = add_nic(metrics, &snapshot.nic, kind, labels);
        }
        free(labels);
    }
    myr_soft_view_free(&snapshot.nic);
}

static void add_kernel(struct metrics *metrics, const struct kernel_snapshot *snapshot)
{
    if (MYR_OK != snapshot->status) {
        return;
    }
    char *labels = metrics_label(NULL, "interface", snapshot->report.interface);
    labels = add_nic(metrics, &snapshot->nic, "kernel", labels);
    metrics_add(metrics, "nicbarr_groups_closed", "gauge",
                "closed groups kept for peers that ask for their last epoch", labels,
                snapshot->report.closed);
    metrics_add(metrics, "nicbarr_connections_refused_total", "counter",
                "connections that the daemon of the kernel NIC has refused", labels,
                (double)snapshot->report.refused);
    free(labels);
}

void status_print_metrics(const struct segments *segments, const struct kernel_snapshot *kernel)
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
