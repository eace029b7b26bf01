/* SPDX-License-Identifier: BSD-3-Clause */
/* `nicbarr status --json`. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "firmware/soft/addresses.h"
#include "os/clock.h"
#include "tools/calls.h"
#include "tools/status_forms.h"
#include "tools/waiting.h"

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
    uint64_t counts[SNAPSHOT_COUNTERS];
    snapshot_counts(counted, counts);
    for (int c = 0; c < SNAPSHOT_COUNTERS; ++c) {
        json_object_set_new(json, snapshot_counters[c].name, json_integer((json_int_t)counts[c]));
    }
    return json;
}

/* Returns the members that all kinds of NICs have in common. */
static json_t *json_of_nic(const struct myr_soft_view *nic, const char *kind, const char *run_by)
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
    return json_pack("{s:s, s:o, s:s, s:s, s:I, s:b, s:o, s:o, s:I, s:o}", "kind", kind,
                     "addresses", addresses, "secrets", snapshot_secrets(), "run_by", run_by,
                     "runner", (json_int_t)nic->runner, "broken", (int)nic->broken, "groups",
                     groups, "ports", ports, "peers", (json_int_t)nic->peers, "counters",
                     json_of_counters(&nic->counters));
}

static json_t *json_of_rdma(const struct segment *segment)
{
    uint32_t count;
    struct myr_verbs_shown *list = myr_inspect_rdma(segment->fd, &count);
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
    struct snapshot snapshot;
    json_t *json = NULL;
    snapshot_take(segment, &snapshot);
    if (MYR_OK == snapshot.segment_status) {
        char identity[17];
        snprintf(identity, sizeof(identity), "%016" PRIx64, snapshot.segment.identity);
        json = json_pack("{s:s, s:I, s:I, s:b}", "memory", identity, "bytes",
                         (json_int_t)snapshot.segment.bytes, "limit",
                         (json_int_t)snapshot.segment.limit, "full", (int)snapshot.segment.full);
    } else if (MYR_ERR_NOT_THERE != snapshot.segment_status) {
        json = json_pack("{s:s}", "trouble", snapshot.error.text);
    }
    if (NULL != json) {
        json_object_set_new(json, "processes", json_of_processes(segment));
        json_object_set_new(json, "waits", calls_json(segment, os_now_ms()));
        json_object_set_new(json, "rdma", json_of_rdma(segment));
        json_object_set_new(json, "nic",
                            MYR_OK == snapshot.nic_status && snapshot.nic.there
                                ? json_of_nic(&snapshot.nic, "soft", snapshot_runner(&snapshot.nic))
                                : json_null());
        if (MYR_OK == snapshot.nic_status && !snapshot.nic.there) {
            json_object_set_new(json, "trouble", json_string(snapshot.nic.why));
        } else if (MYR_ERR_FOREIGN == snapshot.nic_status) {
            json_object_set_new(json, "trouble", json_string(snapshot.error.text));
        }
    }
    myr_soft_view_free(&snapshot.nic);
    return json;
}

static json_t *json_of_kernel(const struct kernel_snapshot *snapshot)
{
    if (MYR_ERR_NOT_THERE == snapshot->status) {
        return json_null();
    }
    if (MYR_OK != snapshot->status) {
        return json_pack("{s:s}", "trouble", snapshot->error.text);
    }
    json_t *json = json_of_nic(&snapshot->nic, "kernel", "kernel");
    json_object_set_new(json, "interface", json_string(snapshot->report.interface));
    json_object_set_new(json, "closed", json_integer((json_int_t)snapshot->report.closed));
    json_object_set_new(json, "refused", json_integer((json_int_t)snapshot->report.refused));
    return json;
}

void status_print_json(const struct segments *segments, const struct kernel_snapshot *kernel)
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
