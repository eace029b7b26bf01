/* SPDX-License-Identifier: BSD-3-Clause */
/* `nicbarr status` as text for reading. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "firmware/soft/addresses.h"
#include "libmyr/seal.h"
#include "os/clock.h"
#include "tools/calls.h"
#include "tools/status_forms.h"
#include "tools/table.h"
#include "tools/text.h"
#include "tools/waiting.h"

enum { GROUPS_SHOWN = 8 };

/* Prints a number of bytes in the largest unit in which it is at least 1. */
static void print_bytes(FILE *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); ++unit) {
        value /= 1024;
    }
    fprintf(out, value < 100 && value != (double)(uint64_t)value ? "%.1f %s" : "%.0f %s", value,
            units[unit]);
}

static void print_processes(const struct segment *segment)
{
    struct text_field field;
    FILE *out = text_field_begin(&field);
    for (size_t p = 0; p < segment->count; ++p) {
        const struct process *process = &segment->processes[p];
        fprintf(out, "%s%s (%d)", 0 == p ? "" : ", ", process->name, (int)process->pid);
        if ('\0' != process->job[0]) {
            fprintf(out, " rank %s of job %s", process->rank, process->job);
        }
    }
    text_field_end(&field, "processes");
}

static void print_addresses(const struct myr_soft_view *nic, const char *kind)
{
    struct text_field field;
    FILE *out = text_field_begin(&field);
    for (uint32_t a = 0; a < nic->name.count; ++a) {
        char text[MCP_NETWORK_TEXT];
        fprintf(out, "%s%s port %u", 0 == a ? kind : ", ",
                mcp_network_text(&nic->name.address[a].ip, nic->name.address[a].prefix, text),
                (unsigned)ntohs(nic->name.address[a].port));
    }
    text_field_end(&field, "NIC");
}

static void print_nic(const struct myr_soft_view *nic)
{
    print_addresses(nic, "soft, ");
    printf("  run by     ");
    if (nic->broken) {
        printf("none: a process was killed while it ran the NIC, so it cannot be used any more\n");
    } else if (MYR_SOFT_POLLED == nic->runs_as) {
        printf("waiting processes\n");
    } else {
        printf("%s process %u, and waiting processes\n",
               MYR_SOFT_DAEMON == nic->runs_as ? "myrd," : "a thread of", (unsigned)nic->runner);
    }
}

static void print_secrets(void)
{
    printf("  secrets    %s\n", myr_seals()
                                    ? "encrypted when sent to other nodes (libsodium)"
                                    : "sent in the clear: nicbarr was built without libsodium");
}

static void print_groups(const struct myr_soft_view *nic)
{
    printf("  groups     %u open, %u in a barrier", (unsigned)nic->groups,
           (unsigned)snapshot_groups_in_a_barrier(nic));
    for (uint32_t g = 0; g < nic->groups && g < GROUPS_SHOWN; ++g) {
        const struct myr_group_view *group = &nic->group[g];
        printf("%s%u%s", 0 == g ? "; barriers done: " : ", ", (unsigned)group->done,
               group->failed ? " (failed)" : "");
    }
    printf("%s\n", nic->groups > GROUPS_SHOWN ? ", ..." : "");
}

static void print_ports(const struct myr_soft_view *nic)
{
    struct text_field field;
    if (0 == nic->ports) {
        return;
    }
    FILE *out = text_field_begin(&field);
    for (uint32_t p = 0; p < nic->ports; ++p) {
        const struct myr_port_view *port = &nic->port[p];
        fprintf(out, "%snumber %u of process %u: %u messages under way", 0 == p ? "" : "; ",
                (unsigned)port->number, (unsigned)port->pid, (unsigned)port->under_way);
    }
    text_field_end(&field, "ports");
}

static void print_counters(const struct myr_soft_view *nic, bool zeros)
{
    static const struct table_column columns[] = {
        {"count", "", true}, {"counter", "", false}, {"meaning", "", false}};
    uint64_t counts[SNAPSHOT_COUNTERS];
    struct table table;
    snapshot_counts(&nic->counters, counts);
    table_begin(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int c = 0; c < SNAPSHOT_COUNTERS; ++c) {
        if (zeros || 0 != counts[c]) {
            table_cell(&table, "%" PRIu64, counts[c]);
            table_cell(&table, "%s", snapshot_counters[c].name);
            table_cell(&table, "%s", snapshot_counters[c].text);
        }
    }
    if (0 == table.count) {
        puts("  counters   all zero");
    } else {
        table_print(&table, stdout, 2);
    }
    table_end(&table);
}

static void print_rdma(const struct segment *segment)
{
    uint32_t count;
    struct myr_verbs_shown *list = myr_inspect_rdma(segment->fd, &count);
    for (uint32_t i = 0; i < count; ++i) {
        const struct myr_verbs_shown *nic = &list[i];
        struct text_field field;
        FILE *out = text_field_begin(&field);
        fprintf(out, "%s, port %u, of process %u: %u queue pairs", nic->device, (unsigned)nic->port,
                (unsigned)nic->pid, (unsigned)nic->links);
        if (0 != nic->routed) {
            fprintf(out, " (%u connected by librdmacm)", (unsigned)nic->routed);
        }
        if (0 != nic->broken) {
            fprintf(out, " (%u have failed)", (unsigned)nic->broken);
        }
        fprintf(out, ", ");
        print_bytes(out, nic->registered);
        fprintf(out,
                " registered; it serves %u groups: %" PRIu64 " barriers, %" PRIu64
                " blocks of broadcasts, %" PRIu64 " writes, %" PRIu64 " groups failed",
                (unsigned)nic->groups, nic->counters.barriers, nic->counters.broadcasts,
                nic->counters.packets_sent, nic->counters.failed);
        text_field_end(&field, "RDMA NIC");
    }
    free(list);
}

static void print_no_nic(const struct snapshot *snapshot)
{
    struct text_field field;
    fprintf(text_field_begin(&field), "none: %s",
            MYR_OK == snapshot->nic_status ? snapshot->nic.why
            : MYR_ERR_NOT_THERE == snapshot->nic_status
                ? "barriers on one node need none, or none was requested"
                : snapshot->error.text);
    text_field_end(&field, "NIC");
}

static void print_segment(const struct segment *segment, const struct snapshots *snapshots,
                          const struct status_settings *settings)
{
    const struct snapshot *snapshot = &snapshots->now;
    if (MYR_ERR_NOT_THERE == snapshot->segment_status) {
        return; /* a file of that name that belongs to another program */
    }
    if (MYR_OK == snapshot->segment_status) {
        printf("Memory %016" PRIx64 ": ", snapshot->segment.identity);
        print_bytes(stdout, snapshot->segment.bytes);
        printf(" of at most ");
        print_bytes(stdout, snapshot->segment.limit);
        printf("%s\n", snapshot->segment.full ? ", used up" : "");
    } else {
        printf("Memory: %s\n", snapshot->error.text);
    }
    print_processes(segment);
    calls_print(segment, os_now_ms());
    if (MYR_OK == snapshot->nic_status && snapshot->nic.there) {
        print_nic(&snapshot->nic);
        print_secrets();
        print_groups(&snapshot->nic);
        print_ports(&snapshot->nic);
        waiting_print(&snapshot->nic, &snapshots->earlier.nic, segment, settings->all, os_now_ns());
        print_counters(&snapshot->nic, settings->counters);
    } else if (MYR_OK == snapshot->segment_status) {
        print_no_nic(snapshot);
    }
    if (MYR_OK == snapshot->segment_status) {
        print_rdma(segment);
    }
    putchar('\n');
}

static void print_kernel(const struct kernel_snapshot *snapshot,
                         const struct status_settings *settings)
{
    if (MYR_ERR_NOT_THERE == snapshot->status) {
        return;
    }
    if (MYR_OK != snapshot->status) {
        printf("Kernel: %s\n\n", snapshot->error.text);
        return;
    }
    printf("Kernel: a NIC at interface %s\n", snapshot->report.interface);
    printf("  processes  myrd (%u)\n", (unsigned)snapshot->report.pid);
    print_addresses(&snapshot->nic, "kernel, ");
    printf("  run by     the kernel\n");
    print_secrets();
    print_groups(&snapshot->nic);
    waiting_print(&snapshot->nic, NULL, NULL, settings->all, os_now_ns());
    printf("  closed     %u, kept for peers that ask for their last epoch\n",
           (unsigned)snapshot->report.closed);
    printf("  refused    %" PRIu64 " connections\n", snapshot->report.refused);
    print_counters(&snapshot->nic, settings->counters);
    putchar('\n');
}

void status_print_text(const struct segments *segments, const struct kernel_snapshot *kernel,
                       const struct status_settings *settings)
{
    print_kernel(kernel, settings);
    if (0 == segments->count && MYR_OK != kernel->status) {
        printf("No process%s%s that you may inspect uses nicbarr at present.\n",
               NULL == settings->job ? "" : " of job ", NULL == settings->job ? "" : settings->job);
    }
    struct snapshots *snapshots = snapshot_take_all(segments, settings->all);
    for (size_t s = 0; s < segments->count; ++s) {
        print_segment(&segments->segment[s], &snapshots[s], settings);
        myr_soft_view_free(&snapshots[s].now.nic);
        myr_soft_view_free(&snapshots[s].earlier.nic);
    }
    free(snapshots);
}
